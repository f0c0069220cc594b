"""A report is written though nobody can be shown anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from kept_runs import NAME, RUN, measuring_nothing
from tlstax.cli import measuring, report_command, streams
from tlstax.cli.options import MeasuringOptions
from tlstax.run.preparing import Request
from tlstax.store import open_store, row_tables
from tlstax.study import load_study
from tlstax.support.errors import MachineFault


@pytest.mark.parametrize("fault", [streams.NobodyReads(), MachineFault("standard output cannot be written")])
def test_a_report_is_written_though_nobody_can_be_shown_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("tlstax.run.pipeline.run", measuring_nothing(RUN))
    monkeypatch.setattr(report_command, "show", fails)
    with pytest.raises(type(fault)):
        measuring.measure(Request(study=load_study("tax")), MeasuringOptions(report=tmp_path / "r.html"))
    with open_store() as store:
        assert row_tables.missing(store) == []
    assert NAME in (tmp_path / "r.html").read_text(encoding="utf-8")
