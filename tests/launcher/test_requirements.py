"""Ray is larger than all the rest, so the launcher installs it only where other machines are asked for."""

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


def test_both_have_the_same_versions_of_what_both_have() -> None:
    def pinned(name: str) -> set[str]:
        lines = (ROOT / "setup" / name).read_text(encoding="utf-8").splitlines()
        return {line.split(" ")[0] for line in lines if "==" in line and not line.startswith((" ", "#"))}

    assert pinned("requirements.txt") < pinned("requirements-ray.txt")
    assert any(line.startswith("ray==") for line in pinned("requirements-ray.txt"))
