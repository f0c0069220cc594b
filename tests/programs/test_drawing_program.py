"""The program that draws flame graphs: it is missing, or it fails, and the command says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_sampled_runs import profiled_run
from kept_runs import keep
from tlstax.store import Store
from typed import status_of


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path))
    monkeypatch.setenv("NO_COLOR", "1")
    run = profiled_run()
    with Store.open(tmp_path / "store.sqlite") as store:
        keep(store, run, run.header.run)
    return tmp_path


def test_a_program_that_was_not_built_is_the_machines_fault(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = kept / "tlstax-engine"
    engine.touch()
    monkeypatch.setenv("TLSTAX_ENGINE", str(engine))
    assert status_of(monkeypatch, "flames") == 3
    assert "tlstax-tools has not been built; start tlstax by its launcher" in capsys.readouterr().err
    program = kept / "tlstax-tools"
    program.write_text("#!/bin/sh\necho 'tlstax-tools flames: line 1 is wrong' >&2; exit 2\n")
    program.chmod(0o755)
    assert status_of(monkeypatch, "flames") == 3
    assert "could not draw a flame graph (line 1 is wrong)" in capsys.readouterr().err
