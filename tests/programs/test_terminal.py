"""A command in a terminal of its own: our colours, and nothing else that steers it."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path

import pytest

import tlstax
from hostile_texts import kept_hostile_run, steering


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory whose one run is of a server that would steer terminals."""
    folder = kept_hostile_run(tmp_path)
    monkeypatch.setenv("TLSTAX_DATA", str(folder))
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.mark.parametrize("arguments", [("report",), ("runs", "list")], ids=" ".join)
def test_a_terminal_gets_our_colours_alone(data: Path, arguments: tuple[str, ...]) -> None:
    """In a terminal of its own, where colours are on and those of a server could hide a text."""
    child, terminal = pty.fork()
    if child == 0:
        lab = str(Path(tlstax.__file__).parents[1])
        kept = {"PATH": os.environ["PATH"], "TLSTAX_DATA": str(data), "PYTHONPATH": lab, "TERM": "xterm"}
        os.execve(sys.executable, [sys.executable, "-P", "-m", "tlstax", *arguments], kept)  # noqa: S606
    shown = b""
    try:
        while more := os.read(terminal, 65536):
            shown += more
    except OSError:
        pass  # The other end is closed: Linux says so with EIO.
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    text = shown.decode()
    assert ("\x1b[1m" in text) == (arguments == ("report",))
    assert "\x1b[8m" not in text
    assert steering(text, coloured=True) == set()
