"""Small runs of many studies as f826185e measured them, packed without names: all open and are shown.

Every topic of a report occurs in one of them. Those named `made-…` were made up, since they need several
machines. `tests/campaigns/same_numbers.py` compares what two versions show of such runs.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tlstax.records.trial import StoredRun
from tlstax.report.formats.render import FORMATS, render
from tlstax.report.run_tables import TABLES, Tabulated, blocks_csv, rows_csv, rows_json
from tlstax.results.document import RunDocument
from tlstax.stats.series import block_rows
from tlstax.store.pack import opened
from tlstax.topics.answer.document import document

RECORDED = sorted(Path(__file__).with_name("recorded").glob("*.tlstax"))
MOST_BYTES = 1_500_000
"""Of all packs together."""

FACTS = {
    "schema_version",
    "run",
    "study",
    "status",
    "stopped_because",
    "started_at",
    "seed",
    "design",
    "specimens",
}
"""Fields of a document that say which run it is; all others are what some run shows."""


@cache
def shown(path: Path) -> tuple[StoredRun, RunDocument]:
    _, stored = opened(path)
    return stored, document(stored)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_run_is_shown_in_every_format(path: Path) -> None:
    stored, found = shown(path)
    texts = [render(stored, found, form) for form in FORMATS]
    texts.append(render(stored, found, "terminal", width=40, verbose=True))
    tabulated = Tabulated(stored, found)
    tables = {name: list(tabulated.rows(name)) for name in TABLES}
    texts += [rows_csv(TABLES["findings"], tables["findings"]), rows_json(tables["findings"])]
    names = ("ops_per_s", "server_cpu_us_per_op")
    texts.append(blocks_csv(block_rows(stored, names), names))
    assert all(text.strip() for text in texts)


def test_every_topic_occurs_in_a_recorded_run() -> None:
    found = [shown(path)[1] for path in RECORDED]
    topics = RunDocument.model_fields.keys() - FACTS
    assert [topic for topic in topics if not any(getattr(one, topic) for one in found)] == []


def test_recorded_runs_are_small_and_name_nobody() -> None:
    assert sum(path.stat().st_size for path in RECORDED) <= MOST_BYTES
    for path in RECORDED:
        packed, stored = opened(path)
        assert packed.names_left_out
        assert not re.search(r'"/(?:root|home|tmp|work)\b', stored.model_dump_json())
