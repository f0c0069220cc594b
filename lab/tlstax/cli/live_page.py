"""`--live`: the run's page, served by a program of its own beside the run, which never waits for it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tlstax.cli.streams import tell
from tlstax.cli.watch_command import Inherited
from tlstax.watch.server import address, listening, new_token

COMMAND = (sys.executable, "-P", "-m", "tlstax", "live-page")

GONE_WITHIN_S = 3.0
"""It ends by itself when the run is gone; after so long it is ended."""


@contextlib.contextmanager
def beside() -> Iterator[Callable[[Path | None], None]]:
    """Gives what serves the page of the run that notes in a directory, and says where, while the block lasts.

    None is a run that cannot note anything. Signals from the terminal do not reach the program, so that it
    sees the run's end; and where this process is killed, it sees that as well.
    """
    programs: list[subprocess.Popen[bytes]] = []
    try:
        yield lambda directory: programs.append(_started(directory)) if directory is not None else None
    finally:
        for program in programs:
            _ended(program)


def _started(directory: Path) -> subprocess.Popen[bytes]:
    token = new_token()
    with listening() as listener:
        given = Inherited(descriptor=listener.fileno(), token=token, directory=directory)
        program = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )
        # Not among its arguments, which others on this machine can read.
        with contextlib.suppress(OSError), program.stdin or contextlib.nullcontext() as line:
            if line is not None:
                line.write(f"{given.model_dump_json()}\n".encode())
        tell(f"tlstax: the run as it goes: {address(listener, token)}")
    return program


def _ended(program: subprocess.Popen[bytes]) -> None:
    """Wait until it has seen that the run is gone; where it does not, end it."""
    try:
        program.wait(GONE_WITHIN_S)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()
