"""The command line as a process of its own, forked from one that has imported the laboratory already."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile

import tlstax
from tlstax.study.driver_catalogue import FOLDER_VARIABLE

LAB = Path(tlstax.__file__).parents[1]
MOST_BYTES = 1 << 17
IMPORTED = ("tlstax.__main__", "tlstax.cli.app", "tlstax.cli.run_command", "tlstax.run.pipeline")
REPORTING = ("tlstax.cli.report_command", "tlstax.report.formats.render", "tlstax.report.page.html")
"""What most commands import, which takes more CPU time than what they do with it in a short run."""


def ready_run(
    arguments: tuple[str, ...], environment: Mapping[str, str], within_s: float
) -> subprocess.CompletedProcess[str]:
    """Carry out this command line in a process of its own, with this environment and without input.

    Whoever signals a command, or looks at how it starts, starts it itself. One with drivers of its own starts
    anew, since the list of drivers is read as it is imported. Raises subprocess.TimeoutExpired, and ends the
    process, where it takes longer.
    """
    environment = {**environment, "PYTHONPATH": str(LAB)}
    if FOLDER_VARIABLE in environment:
        command = [sys.executable, "-P", "-m", "tlstax", *arguments]
        return subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=within_s,
            check=False,
        )
    told, telling = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with told, TemporaryFile() as out, TemporaryFile() as err:
        with telling:
            asked = json.dumps([arguments, environment, str(Path.cwd())]).encode()
            assert len(asked) < MOST_BYTES
            socket.send_fds(_forking(), [asked], [out.fileno(), err.fileno(), telling.fileno()])
        pid = int(told.recv(64))
        told.settimeout(within_s)
        try:
            status = int(told.recv(64))
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(["tlstax", *arguments], within_s) from None
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(
            ["tlstax", *arguments], status, out.read().decode(), err.read().decode()
        )


@cache
def _forking() -> socket.socket:
    """Where the process that forks is asked; it ends with the tests, which hold the other end."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        subprocess.Popen(
            [sys.executable, "-P", __file__, str(its.fileno())],
            env={name: os.environ[name] for name in os.environ if name != FOLDER_VARIABLE}
            | {"PYTHONPATH": str(LAB)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[its.fileno()],
        )
    return ours


def _fork(asked: socket.socket) -> None:
    """For each command a process that tells its id and its status, and below it the command's own."""
    for name in (*IMPORTED, *REPORTING):
        __import__(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        words, given, _, _ = socket.recv_fds(asked, MOST_BYTES, 3)
        if not words:
            return
        if os.fork() == 0:
            asked.close()
            _attend(words, *given)
        for descriptor in given:
            os.close(descriptor)


def _attend(words: bytes, out: int, err: int, telling: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        os.close(telling)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.closerange(3, max(out, err) + 1)
        _obey(*json.loads(words))
    os.write(telling, str(pid).encode())
    _, status = os.waitpid(pid, 0)
    with suppress(BrokenPipeError):
        os.write(telling, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _obey(arguments: list[str], environment: dict[str, str], directory: str) -> None:
    from tlstax import __main__ as command_line  # noqa: PLC0415

    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [str(command_line.__file__), *arguments]
    sys.exit(command_line.start())


if __name__ == "__main__":
    _fork(socket.socket(fileno=int(sys.argv[1])))
