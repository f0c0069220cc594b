"""Words that are no command, or not as it takes them, are refused before anything is set up for them."""

from __future__ import annotations

import difflib
import random
import subprocess
import sys

import pytest

from conftest import ROOT, Clone
from tlstax.cli import app

WORDS = [line.split("\t") for line in (ROOT / "setup" / "words.txt").read_text(encoding="utf-8").splitlines()]

MISTAKES = (
    *("rnu", "it's", 'it\'s "so"', "client-nod", "back\\slash", "two\nlines", "--", "-v", "--versoin"),
    *("-- run --sevrer", "study", "specimens", "study rn", "study -- rn", "drivers prob", "runs exprot"),
    *("run --sevrer x", "run --sevrer=x", "run --tls-libary y", "run --budge 5s", "run --budget", "run -j"),
    *("run --json=1", "run x", "run -", "run -- --server", "run --server x y z", "run --seed 1 --sede 2"),
    *("report a b", "report -x", "report -o", "report -ofile x y", "report --output", "runs delete -oxo"),
    *(
        "specimens add",
        "specimens add name",
        "specimens remove",
        "runs publish",
        "publish folder",
        "completion",
    ),
    *("ab", "ab --a=1", "ab --b 1 x", "machines", "check", "chekc", "compare --json"),
    *(
        "study run tax --resume --jsn",
        "study run --resume",
        "study plan tax --st x",
        "study run tax --resume x y",
    ),
    *("drivers probe --optoin 1 x", "advise --redcat", "self-bench --forma", "watch --foo", "doctor --josn"),
    *(
        "explain --case",
        "runs list --x\x1b[2Jy",
        "predict --tsl 1.3",
        "open",
        "runs pakc",
        "pakc",
        "bundle --pyhton 3.11",
    ),
)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_launcher_says_what_the_laboratory_would(
    clone: Clone, mistake: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = [mistake] if "'" in mistake or "\n" in mistake else mistake.split(" ")
    monkeypatch.setattr(sys, "argv", ["tlstax", *words])
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        app.main()
    meant = capfd.readouterr().err
    assert (ended.value.code, meant != "") == (2, True), "a mistake for the laboratory as well"
    done = clone.start(*words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", meant)
    assert (clone.calls(""), clone.cache.exists()) == ([], False)


RIGHT = (
    *(
        "run",
        "run --server mysql-9.7 --json",
        "run --budget=5s",
        "run --server --json",
        "report",
        "report last",
    ),
    *(
        "report -o file",
        "report -ofile",
        "report last -o file --format md",
        "study run tax --resume",
        "doctor",
    ),
    *("study run tax --resume last --json", "specimens fetch a b c", "specimens add name --mysqld x", "node"),
    *(
        "runs publish folder a b",
        "-- run",
        "run --",
        "pack last -o x",
        "check last --max x",
        "memory --rounds 2",
        "advise --no-redact",
        "drivers probe",
        "ab --a x --b y",
    ),
)


@pytest.mark.parametrize("words", RIGHT)
def test_what_is_no_mistake_is_taken(clone: Clone, words: str) -> None:
    done = clone.start(*words.split(" "))
    assert done.returncode == 0, done.stderr
    assert words == "doctor" or f"-m tlstax {words}\n" in done.stdout


def test_mistakes_are_seen_where_only_the_engine_is_missing(clone: Clone) -> None:
    assert clone.start().returncode == 0
    clone.main_rs.write_text("//! Second.\n")
    assert clone.start("rnu").returncode == 2
    assert clone.builds() == 1


def test_the_nearest_names_are_pythons() -> None:
    """Ones that are misspelt in every way, against the names among which each is looked for."""
    misspelt, chance = [], random.Random(1)  # noqa: S311 (not a secret)
    for _, _, *items in WORDS:
        names = [
            name.rstrip("=") for item in items if ":" not in item for name in item.lstrip("!").split(",")
        ]
        for name in chance.sample(names, min(3, len(names))):
            letters = list(name)
            for _ in range(chance.randint(1, 4)):
                place = chance.randrange(len(letters))
                letters[place : place + chance.randint(0, 2)] = chance.choices(
                    "-aeimnrst", k=chance.randint(0, 2)
                )
                letters = letters or ["-"]
            misspelt.append(("".join(letters), names))
    script = 'source setup/mistakes.sh; while read -ra line; do nearest "${line[@]}" | paste -s -d " "; done'
    lines = "".join(f"{word} {' '.join(names)}\n" for word, names in misspelt)
    command = ["bash", "-euo", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=ROOT, input=lines, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    meant = [" ".join(difflib.get_close_matches(word, names)) for word, names in misspelt]
    assert done.stdout.splitlines() == meant
    assert len(set(meant)) > 30
