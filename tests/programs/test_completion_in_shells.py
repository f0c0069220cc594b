"""What a shell offers at a press of the tab key: asked of bash, zsh and fish themselves."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tlstax
from kept_runs import NAME, RUN, keep
from tlstax.store import Store

PATIENCE_S = 60.0

ASK_BASH = r"""
source "$1"
COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=($2) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_tlstax
printf '%s\n' "${COMPREPLY[@]}"
"""
ASK_FISH = "source $argv[1]; complete --do-complete $argv[2]"


@pytest.fixture
def environment(store: Store, path: Path, tmp_path: Path) -> dict[str, str]:
    """One in which `tlstax` is this program, with a run that is kept."""
    keep(store, RUN)
    folder = tmp_path / "bin"
    folder.mkdir()
    starter = folder / "tlstax"
    starter.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m tlstax "$@"\n')
    starter.chmod(0o755)
    return {
        "PATH": f"{folder}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "PYTHONPATH": str(Path(tlstax.__file__).parents[1]),
        "TLSTAX_DATA": str(path.parent),
    }


def script(shell: str, environment: dict[str, str]) -> Path:
    file = Path(environment["HOME"]) / f"completion.{shell}"
    done = subprocess.run(["tlstax", "completion", shell], env=environment, capture_output=True, check=True)
    file.write_bytes(done.stdout)
    return file


def offered(shell: str, typed: str, environment: dict[str, str]) -> list[str]:
    asking = ["bash", "-c", ASK_BASH, "bash"] if shell == "bash" else ["fish", "--command", ASK_FISH, "--"]
    command = [*asking, str(script(shell, environment)), typed]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert done.stderr == ""
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_a_shell_offers_what_can_follow(shell: str, environment: dict[str, str]) -> None:
    def asked(typed: str) -> list[str]:
        return offered(shell, typed, environment)

    assert sorted(asked("tlstax st")) == ["storm", "study"]
    assert asked("tlstax study run compo") == ["components"]
    assert "--server" in asked("tlstax run --serv")
    assert "mysql-9.7,mariadb-11.8" in asked("tlstax run --server mysql-9.7,mari")
    assert NAME in asked("tlstax runs show 2")
    assert sorted(asked("tlstax nonsense --")) == ["--help", "--version"]
    assert [word for word in asked("tlstax run --budget 5") if word] == []


def test_zsh_completes_a_line(environment: dict[str, str]) -> None:
    """Typed into a zsh of its own, until the rest of the word has come."""
    file = script("zsh", environment)
    child, terminal = pty.fork()
    if child == 0:
        os.execve("/usr/bin/zsh", ["zsh", "-f", "-i"], environment)  # noqa: S606
    begin = f"autoload -Uz compinit; compinit -u; source {file}; PS1='ready> '\n"
    try:
        type_until(terminal, begin, "ready> ")
        type_until(terminal, "tlstax study run compo\t", "nents")
        type_until(terminal, "\x15tlstax runs show 2\t", NAME[1:])
        type_until(terminal, "\x15tlstax run --server=mysql-9.7,mariadb-11.4\t", "-wolfssl")
    finally:
        os.close(terminal)
        os.waitpid(child, 0)


def type_until(terminal: int, typed: str, wanted: str) -> None:
    """Type, and read until this is shown beyond what was typed."""
    os.write(terminal, typed.encode())
    shown, deadline = "", time.monotonic() + PATIENCE_S
    while wanted not in shown.replace(typed, ""):
        assert time.monotonic() < deadline, f"zsh showed {shown!r}"
        if select.select([terminal], [], [], 0.2)[0]:
            shown += os.read(terminal, 65536).decode(errors="replace")
