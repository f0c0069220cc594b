"""No word of a library or of the system reaches a user: whatever is typed, and whatever is in a file."""

from __future__ import annotations

import itertools
import re
import subprocess
from io import StringIO
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from tlstax.cli.app import command_tree
from tlstax.support.plain_words import place_in_toml, plain, reason
from typed import status_of

RAW = re.compile(
    r"\[Errno|Input should|unable to parse|Extra inputs|Field required|Traceback|[Vv]alidation error|"
    r"pydantic|codec can't|Expecting (?:value|property)|\(at line|Invalid JSON|object at 0x|\[\[|"
    r"\b(?:Value|Type|Key|OS|Decode)Error|<(?:str|int|float|list|Path)\b"
)
"""What only pydantic, the command-line library, json, tomllib or Python say."""

BAD = ("", "x", "-1", "1e999", "\u0663", "9" * 400, "a=b", "[]", "{}", "../..", "\t")
FILES: dict[str, bytes] = {
    "empty": b"",
    "binary": bytes(range(256)),
    "text": b"some words\nof no form\n",
    "array": b"[1, 2",
    "object": b'{"schema": "x", "cells": 3}',
    "toml": b"name = [1,\n[[a]",
    "fields": b'name = "a"\nquestion = 3\nunheard = true\n',
    "pack": b"tlstax pack 1 sha256=" + b"0" * 64 + b"\n" + b"x" * 90,
    "latin": b'name = "\xfc"',
}
OF_FILES = (
    "runs open {}",
    "runs publish site {}",
    "compare {} ./missing.tlstax",
    "compare ./missing.tlstax {} --max server_cpu_us_per_op+5%",
    "self-bench --show {}",
    "study show {}",
    "study plan {}",
    "study run {}",
    "run --workload {}",
    "run --server mysql://u@h/db --defaults-file {}",
    "inspect mysql://u@h/db --defaults-file {}",
)
NUMBERS = {"--rows", "--seed", "--most", "--back-log", "--blocks", "--rate", "--port", "--chain"}
COMMANDS = [command for command in command_tree().walk() if command.words]
OF_NUMBERS = [
    (*command.words, name)
    for command in COMMANDS
    for option in command.options
    for name in option.names
    if name in NUMBERS
]
TYPED = ("report --format", "report last --outcomes", "flames --side", "runs export --rows", "run --tls")


@pytest.fixture(autouse=True)
def _own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("sys.stdin", StringIO())
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("words", OF_NUMBERS, ids=" ".join)
def test_a_number_that_is_none_is_told_in_plain_words(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for bad in ("", "x", "1e", "\u0663x", "[]"):
        assert status_of(monkeypatch, *words, bad) == 2, bad
        said = "".join(capsys.readouterr())
        assert said
        assert not RAW.search(said), said


@pytest.mark.parametrize("words", [command.words for command in COMMANDS], ids=" ".join)
def test_help_and_mistaken_options_have_no_word_of_a_library(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in ("--help", "--no-such-option", "--help=3"):
        status_of(monkeypatch, *words, more)
        said = "".join(capsys.readouterr())
        assert said
        assert not RAW.search(said), said


@pytest.mark.parametrize("beginning", TYPED)
def test_what_is_typed_is_refused_in_plain_words(
    beginning: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for bad in BAD:
        assert status_of(monkeypatch, *beginning.split(), bad) == 2
        assert not RAW.search("".join(capsys.readouterr()))


@pytest.mark.parametrize(("line", "kind"), list(itertools.product(OF_FILES, [*FILES, "missing", "a folder"])))
def test_a_file_that_will_not_do_is_told_in_plain_words(
    line: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / ("file.toml" if re.match(r"study|run --work", line) else "file.tlstax")
    if kind == "a folder":
        file.mkdir()
    elif kind != "missing":
        file.write_bytes(FILES[kind])
    assert status_of(monkeypatch, *line.format(file).split()) in {2, 3}
    said = "".join(capsys.readouterr())
    assert said.startswith(("tlstax: ", "Usage: ")), said
    assert not RAW.search(said), said
    assert "a defect in tlstax" not in said, said


def test_every_message_of_a_library_has_plain_words(tmp_path: Path) -> None:
    for kind, value in ((int, "x"), (float, []), (str, 3), (bool, "x"), (list[int], 3), (dict[str, int], 3)):
        with pytest.raises(ValidationError) as caught:
            TypeAdapter(kind).validate_python(value)
        assert not RAW.search(plain(caught.value.errors()[0]["msg"]))
    with pytest.raises(OSError, match="Errno") as missing:
        (tmp_path / "missing").read_text()
    with pytest.raises(UnicodeDecodeError) as no_text:
        b"\xff".decode()
    of_program = subprocess.TimeoutExpired("x", 3.0)
    said = [reason(error) for error in (missing.value, no_text.value, of_program)]
    assert said == ["No such file or directory", "it is no text in UTF-8", "it did not end within 3 s"]
    assert place_in_toml(ValueError("Invalid value (at line 3, column 7)")) == "line 3, column 7"
