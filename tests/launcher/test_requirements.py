"""Extras are larger than all the rest, so the launcher installs each only where its command is used."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def chosen(*words: str) -> str:
    script = 'source setup/places.sh && requirements_for "$@"'
    command = ["bash", "-euo", "pipefail", "-c", script, "bash", *words]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--ray", "10.0.0.1:6379"),
        ("study", "run", "tax", "--ray=10.0.0.1:6379"),
        ("machines", "--json"),
        ("machines",),
    ],
)
def test_other_machines_want_ray(words: tuple[str, ...]) -> None:
    assert chosen(*words) == "setup/requirements-ray.txt"


@pytest.mark.parametrize(
    "words", [(), ("run",), ("report", "machines"), ("run", "--rate", "5"), ("run", "--", "--ray")]
)
def test_one_machine_does_without(words: tuple[str, ...]) -> None:
    assert chosen(*words) == "setup/requirements.txt"


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("runs", "explore"), "explore"),
        (("runs", "explore", "--port", "8001"), "explore"),
        (("explore",), "explore"),
        (("explore", "--port", "8001"), "explore"),
        (("runs", "export", "last", "--format", "parquet"), "parquet"),
        (("runs", "export", "--format=parquet"), "parquet"),
        (("runs", "export", "last", "-o", "a.parquet"), "parquet"),
        (("runs", "export", "-oa.PARQUET"), "parquet"),
        (("runs", "export", "--output=a.parquet"), "parquet"),
        (("runs", "export", "--output", "a.parquet", "--rows", "slices"), "parquet"),
    ],
)
def test_what_a_command_alone_needs_is_there_for_it(words: tuple[str, ...], extra: str) -> None:
    assert chosen(*words) == f"setup/requirements-{extra}.txt"


@pytest.mark.parametrize(
    "words",
    [
        ("runs", "export", "--format", "csv"),
        ("runs", "export", "--format", "csv", "-o", "a.parquet"),
        ("report", "-o", "a.parquet"),
        ("report", "explore"),
        ("run", "parquet"),
    ],
)
def test_other_words_want_no_extra(words: tuple[str, ...]) -> None:
    assert chosen(*words) == "setup/requirements.txt"


@pytest.mark.parametrize(
    ("extra", "library"), [("ray", "ray"), ("parquet", "duckdb"), ("explore", "datasette")]
)
def test_both_have_the_same_versions_of_what_both_have(extra: str, library: str) -> None:
    def pinned(name: str) -> set[str]:
        lines = (ROOT / "setup" / name).read_text(encoding="utf-8").splitlines()
        return {line.split(" ")[0] for line in lines if "==" in line and not line.startswith((" ", "#"))}

    assert pinned("requirements.txt") < pinned(f"requirements-{extra}.txt")
    assert any(line.startswith(f"{library}==") for line in pinned(f"requirements-{extra}.txt"))
