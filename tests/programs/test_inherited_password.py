"""No program that we start finds the password in its environment."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tlstax.cli.measure_app import RunOptions
from tlstax.external.given_password import GivenPassword
from typed import status_of


@pytest.fixture(autouse=True)
def _places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TLSTAX_PASSWORD", raising=False)


@pytest.mark.parametrize("arguments", [("doctor",), ("run", "--server", "mysql://u@h/db")], ids=" ".join)
def test_no_process_inherits_the_password(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    def environment(options: RunOptions | None = None, **_: object) -> int:
        assert options is None or options.external.access.given_password == GivenPassword(b"s\xe9cret", b"pg")
        subprocess.run(["env"], check=True)
        return 0

    monkeypatch.setenv("TLSTAX_PASSWORD", "s\udce9cret")
    monkeypatch.setenv("MYSQL_PWD", "another")
    monkeypatch.setenv("PGPASSWORD", "pg")
    monkeypatch.setattr("tlstax.tools.doctor.diagnosis.diagnose", lambda: [] if environment() == 0 else None)
    monkeypatch.setattr("tlstax.cli.run_command.run_command", environment)
    assert status_of(monkeypatch, *arguments) == 0
    shown = capfd.readouterr().out
    assert "PATH=" in shown
    assert "TLSTAX_PASSWORD" not in shown
    assert "MYSQL_PWD" not in shown
    assert "PGPASSWORD" not in shown
