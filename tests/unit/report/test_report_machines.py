"""Several machines in reports: named in the facts, each with its own ratio, and the same as ever of one."""

from __future__ import annotations

import csv
from io import StringIO

import pytest

from fake_trials import fake_run
from machine_runs import machine_run, machine_study
from report_runs import with_document
from tlstax.records.trial import StoredRun
from tlstax.report.formats.render import render
from tlstax.report.machines.section import ALIKE, INCONCLUSIVE, TITLE


def apart() -> StoredRun:
    return machine_run({"": 1.0, "node-b": 1.2})


def alike() -> StoredRun:
    return machine_run({"": 1.0, "node-b": 1.0})


def few() -> StoredRun:
    return machine_run({"": 1.0, "node-b": 1.2}, blocks=4)


@pytest.mark.parametrize("form", ["terminal", "md", "html"])
def test_every_format_has_each_machines_own_ratio(form: str) -> None:
    stored, document = with_document(apart)
    text = " ".join(render(stored, document, form).split())
    assert TITLE in text
    assert "Machines differ beyond chance in operations a second of TLS 1.3" in text
    assert text.count("node-b") >= 3
    assert "Machine head" in text
    assert "Machine node-b" in text
    assert "intervals are of these two machines" in text


def test_a_terminal_has_them_below_each_other() -> None:
    lines = render(*with_document(apart), "terminal").splitlines()
    place = next(place for place, line in enumerate(lines) if line.strip().startswith("all together"))
    assert lines[place - 2].split()[0] == "head"
    assert lines[place - 1].split()[0] == "node-b"
    assert lines[place - 2].split()[-1] == lines[place].split()[-1]


def test_it_says_where_machines_do_not_differ_or_where_that_is_not_known() -> None:
    assert ALIKE in " ".join(render(*with_document(alike), "md").split())
    assert INCONCLUSIVE in " ".join(render(*with_document(few), "md").split())


def test_a_sheet_has_a_row_for_each_machine() -> None:
    rows = list(csv.DictReader(StringIO(render(*with_document(apart), "csv"))))
    own = [row for row in rows if row["role"] == "machine"]
    assert [(row["outcome"], row["caveats"]) for row in own] == [
        (outcome, f"on {machine}; machines differ beyond chance")
        for outcome in ("ops_per_s", "server_cpu_us_per_op")
        for machine in ("head", "node-b")
    ]
    assert [row["blocks"] for row in own] == ["6"] * 4
    assert float(own[0]["ratio"]) / float(own[1]["ratio"]) == pytest.approx(1.2, abs=0.03)
    even = csv.DictReader(StringIO(render(*with_document(alike), "csv")))
    assert {row["caveats"] for row in even if row["role"] == "machine"} == {"on head", "on node-b"}


def test_one_machine_is_told_as_ever() -> None:
    stored, document = with_document(lambda: fake_run(machine_study(), number_of_blocks=3, invalid=False))
    text = render(stored, document, "terminal")
    assert TITLE not in text
    assert "\nMachine  " in text
    assert '"machines"' not in render(stored, document, "json")


def test_one_block_on_each_of_two_machines_has_no_interval() -> None:
    stored, document = with_document(lambda: machine_run({"": 1.0, "node-b": 1.2}, blocks=2))
    text = " ".join(render(stored, document, "terminal").split())
    assert "in one block on each machine alone" in text
    (tls,) = (f for f in document.findings if (f.role, f.outcome) == ("treatment", "ops_per_s"))
    assert (tls.judgement, tls.ratio.blocks, tls.ratio.low) == ("inconclusive", 2, None)
    assert tls.caveats[0] == "one block on each machine only: there is no interval"
