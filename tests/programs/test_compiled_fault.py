"""A fault is compiled by this machine, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlstax.cli.machine_command import table_text
from tlstax.records.trial import PlantedClaim
from tlstax.specimens import catalogue, shelf
from tlstax.specimens.resolve import named_fault
from tlstax.tools.probes import specimen

NAME = "rand-per-byte"


@pytest.fixture
def _own_shelf(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("_own_shelf")
def test_a_fault_is_compiled_once_and_kept_like_any_specimen() -> None:
    said: list[str] = []
    made = named_fault(NAME, said.append)
    assert said == ["compiling rand-per-byte"]
    assert made.library.name == f"{catalogue.FAULT_MARK}fault-{NAME}.so"
    assert named_fault(NAME, said.append) == made
    assert said == ["compiling rand-per-byte"], "it was there already"
    assert made.claim() == PlantedClaim(name=NAME, sha256=made.specimen.sha256)
    listed = specimen.of_recipe(catalogue.RECIPES[NAME])
    assert (listed.kind, listed.status, listed.sha256) == ("fault", "ready", made.specimen.sha256)
    kept = shelf.present(catalogue.RECIPES[NAME])
    assert kept is not None
    assert shelf.verify(kept) == []
    text = table_text(specimen.listing(), width=120, colour=False)
    assert "Faults" in text
    made.library.write_bytes(b"another")
    assert shelf.verify(kept) == [f"{made.library.name} was changed"]
