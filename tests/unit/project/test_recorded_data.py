"""The measurements beside the pages: each file is listed with its page and run, and can be computed with."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DATA = ROOT / "docs" / "data"
FILES = sorted(DATA.glob("*.csv"))
LISTED = re.compile(
    r"^\| \[([\w-]+\.csv)\]\(\1\) \| \[[^]]+\]\(\.\./([\w-]+\.md)\) \| (\S+) \| `([^`]+)` \|$", re.MULTILINE
)
ROWS = {name: (page, run) for name, page, run, _ in LISTED.findall((DATA / "README.md").read_text())}
MOST_BYTES = 250_000
"""What a repository can carry for each run."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_file_is_listed_with_the_page_that_tells_of_its_run(path: Path) -> None:
    assert path.name in ROWS, f"docs/data/README.md does not list {path.name}"
    page, run = ROWS[path.name]
    text = (ROOT / "docs" / page).read_text()
    assert f"(data/{path.name})" in text
    assert run in text


def test_nothing_is_listed_that_is_not_there() -> None:
    assert ROWS.keys() == {path.name for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_file_has_ratios_by_case_and_block(path: Path) -> None:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    outcomes = [name.removesuffix("_ratio") for name in rows[0] if name.endswith("_ratio")]
    assert outcomes
    assert {row["role"] for row in rows} <= {"baseline", "treatment", "control"}
    blocks = {int(row["block"]) for row in rows}
    assert min(blocks) == 1
    assert len(blocks) > 1, "one block alone has no interval"
    for name in outcomes:
        ratios = [float(row[f"{name}_ratio"]) for row in rows if row[f"{name}_ratio"]]
        assert ratios
        assert min(ratios) > 0
    assert path.stat().st_size <= MOST_BYTES
