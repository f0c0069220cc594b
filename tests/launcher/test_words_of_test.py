"""`./test` and what it is given: parts, files and options; a word that makes no sense ends it at once."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def started(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / "test", *words], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("untl",), "there is no part named untl; the parts are: lint engine unit"),
        (("all", "untl"), "there is no part named untl"),
        (("unit", "servres"), "there is neither a part nor a file named servres"),
        (("unit", "stats/test_nothing.py::test_it"), "nor a file named stats/test_nothing.py"),
        (
            ("unit", "servers", "-k", "name"),
            "one of these parts alone: unit programs servers browser",
        ),
        (("lint", "-k", "name"), "come after one of these parts alone"),
        (("-k", "name"), "there is no part named -k"),
    ],
)
def test_words_that_make_no_sense_are_named(words: tuple[str, ...], said: str) -> None:
    done = started(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("test: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [("--help",), ("-h",), ("all", "--help")])
def test_help_has_every_part(words: tuple[str, ...]) -> None:
    done = started(*words)
    assert (done.returncode, done.stderr) == (0, "")
    for part in ("lint", "engine", "unit", "programs", "drivers", "servers", "browser", "bare-tests"):
        assert f"\n  {part} " in done.stdout
