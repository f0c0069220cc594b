"""What a user types, carried out in this process: the exit status of a command line."""

from __future__ import annotations

import pytest

from tlstax.cli.app import main


def status_of(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["tlstax", *arguments])
    try:
        return main()
    except SystemExit as end:
        return int(end.code or 0)


def sentence_for(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one sentence that refuses what a user typed, with status 2."""
    assert status_of(monkeypatch, *arguments) == 2
    out, err = capsys.readouterr()
    (line,) = err.strip().splitlines()
    assert (out, line.startswith("tlstax: ")) == ("", True)
    return line
