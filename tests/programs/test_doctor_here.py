"""The doctor on this machine, with its programs and without any."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlstax.tools.doctor import network, programs, resources
from tlstax.tools.doctor.diagnosis import CHECKS, diagnose


def test_every_check_answers_here_under_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path))
    checks = diagnose()
    assert [check.name for check in checks] == list(CHECKS)
    assert all(check.found and check.meaning for check in checks)
    assert not [check for check in checks if "could not be looked at" in check.found]


def test_programs_that_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert resources.profiler().status == "missing"
    assert programs.child_control().status == "missing"
    assert programs.fetching().status == "missing"
    assert network.namespaces().status == "limited"
    monkeypatch.setattr(network, "_runs", lambda _: False)
    monkeypatch.setattr(network.shutil, "which", lambda *_, **__: None)
    assert "tc and ip not found" in network.delay().found
