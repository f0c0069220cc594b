"""The command line as a process of its own, forked from one that has imported the laboratory already."""

from __future__ import annotations

import gc
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
from typing import Any

import tlstax
from tlstax.study.driver_catalogue import FOLDER_VARIABLE

LAB = Path(tlstax.__file__).parents[1]
MOST_BYTES = 1 << 17
READ_ONCE = (FOLDER_VARIABLE, "OPENSSL_CONF")
IMPORTED = ("tlstax.__main__", "tlstax.cli.app", "tlstax.cli.run_command", "tlstax.run.pipeline")
REPORTING = ("tlstax.cli.report_command", "tlstax.report.formats.render", "tlstax.report.page.html")
SERVERS = ("tlstax.cli.server_app", "tlstax.cli.server_command", "scipy.special")
"""What most commands import, which takes more CPU time than what they do with it in a short run."""


def ready_run(
    arguments: tuple[str, ...], environment: Mapping[str, str], within_s: float
) -> subprocess.CompletedProcess[str]:
    """Carry out this command line in a process of its own, with this environment and without input.

    Whoever signals a command, or looks at how it starts, starts it itself. One with drivers or settings of
    OpenSSL of its own starts anew, since these are read once. Charts are drawn only where the arguments ask
    for an HTML page: a run writes one each time, few tests read it, and what draws takes long to start.
    Raises subprocess.TimeoutExpired, and ends the process, where it takes longer.
    """
    environment = {**environment, "PYTHONPATH": str(LAB)}
    if any(variable in environment for variable in READ_ONCE):
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
            env={name: os.environ[name] for name in os.environ if name not in READ_ONCE}
            | {"PYTHONPATH": str(LAB)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[its.fileno()],
        )
    return ours


def _fork(asked: socket.socket) -> None:
    """For each command a process that tells its id and its status, and below it the command's own."""
    _warm_up()
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


def _warm_up() -> None:
    """What each command would do anew before it begins: imports, the command line, the page's templates.

    What there is by then is no garbage, and a command that looked for some, at its end too, would copy all
    the memory that it shares with this process.
    """
    for name in (*IMPORTED, *REPORTING, *SERVERS):
        __import__(name)
    from tlstax.cli.app import command_line  # noqa: PLC0415
    from tlstax.report.page.html import template  # noqa: PLC0415

    command_line()
    of_pages = template("template.html.j2").environment
    for name in of_pages.list_templates(extensions=["j2"]):
        of_pages.get_template(name)
    gc.collect()
    gc.freeze()


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


def _undrawn(_chart: dict[str, Any]) -> str:
    """In the place of a chart that nobody looks at."""
    return "<svg></svg>"


def _obey(arguments: list[str], environment: dict[str, str], directory: str) -> None:
    from tlstax import __main__ as command_line  # noqa: PLC0415
    from tlstax.topics.core import charts  # noqa: PLC0415

    if not any("html" in word for word in arguments):
        charts.svg = _undrawn
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [str(command_line.__file__), *arguments]
    sys.exit(command_line.start())


if __name__ == "__main__":
    _fork(socket.socket(fileno=int(sys.argv[1])))
