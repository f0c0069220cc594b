"""A program that is to be added as a server is started, and turned down where it is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from typed import status_of


@pytest.mark.parametrize(
    ("libraries", "said"),
    [((), "does not run as a database server"), (("--libssl", "/usr"), "loads no libssl")],
)
def test_what_is_no_server_is_not_added(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    libraries: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "cache"))
    assert status_of(monkeypatch, "specimens", "add", "mine", "--mysqld", "/bin/true", *libraries) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
