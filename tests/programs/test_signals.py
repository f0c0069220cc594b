"""Which signals end a command: those that were not ignored when it was started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence

import pytest

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

PROGRAM = """
import sys
from tlstax.cli.exit import guarded

def command():
    print("ready", flush=True)
    sys.stdin.readline()
    print("done", flush=True)

sys.exit(guarded(command))
"""


def started(*ignored: signal.Signals, before: Sequence[str] = ()) -> subprocess.Popen[str]:
    def settle() -> None:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    process = subprocess.Popen(
        [*before, sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        preexec_fn=settle,  # noqa: PLW1509 - the tests have no threads
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_command_in_order(number: signal.Signals) -> None:
    with started() as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "tlstax: interrupted\n")


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_that_was_ignored_stays_ignored(number: signal.Signals) -> None:
    with started(number) as process:
        process.send_signal(number)
        out, err = process.communicate("\n", timeout=60)
    assert (process.returncode, out, err) == (0, "done\n", "")


def test_nohup_is_obeyed() -> None:
    with started(before=("nohup",)) as process:
        process.send_signal(signal.SIGHUP)
        out, _ = process.communicate("\n", timeout=60)
    assert (process.returncode, out) == (0, "done\n")


EARLY = """
import builtins, os, signal, sys
import tlstax.__main__ as started
imported = builtins.__import__

def interrupted(name, *arguments, **named):
    if name == "tlstax.cli.exit":
        os.kill(os.getpid(), signal.SIGINT)
    return imported(name, *arguments, **named)

builtins.__import__ = interrupted
sys.argv = ["tlstax", "runs", "list"]
started.start()
"""
"""Ctrl-C while the commands are still being read, before anything could handle it."""


def test_ctrl_c_before_the_commands_are_read_leaves_no_traceback() -> None:
    ended = subprocess.run(
        [sys.executable, "-P", "-c", EARLY],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, "")
