"""Pages on loopback for a browser of this machine: a run as it goes, how it ended, and the store."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from tlstax.cli.streams import show, tell, warn
from tlstax.contract.frozen import Frozen
from tlstax.records.trial import StoredRun
from tlstax.run.live_notes import keep_out_of_the_way, under_way
from tlstax.run.live_page import LivePage, address, listening, new_token
from tlstax.support.errors import Interrupted, MachineFault, UserMistake

LAST_WORDS_S = 1.0
"""How long the page of a run that has ended is there for those who look at it to hear of that."""


class Inherited(Frozen):
    """What `run --live` hands down on a line of standard input: its socket, the token, where it notes."""

    descriptor: int
    token: str
    directory: Path


def watch_command(run_name: str | None) -> int:
    """Serve a run's page until Ctrl-C. UserMistake where there is no such run, or none is under way."""
    chosen = _chosen(run_name)
    keep_out_of_the_way()
    page = LivePage(_stored, _report)
    if isinstance(chosen, StoredRun):
        page.show_ended(chosen)
    with listening() as listener:
        token = new_token()
        with page.served(listener, token):
            warn("Ctrl-C ends this page, and nothing else")
            show(f"{address(listener, token)}\n")
            if isinstance(chosen, Path):
                ended = page.follow(chosen)
                name = f"run {ended.run}" if ended.run else "the run"
                warn(f"{name} is {ended.status}: {ended.stopped_because}")
            while True:
                signal.pause()


def inherited_command() -> int:
    """Serve the page of the run that started this program, until that run is gone."""
    keep_out_of_the_way()
    try:
        given = Inherited.model_validate_json(sys.stdin.readline())
    except ValidationError as error:
        raise UserMistake("this is for `run --live` alone", remedy="use `tlstax runs watch`") from error
    page = LivePage(_stored)
    with socket.socket(fileno=given.descriptor) as listener, page.served(listener, given.token):
        page.follow(given.directory)
        time.sleep(LAST_WORDS_S)
    return 0


def _chosen(run_name: str | None) -> Path | StoredRun:
    """Where the run notes what is known of it; of one that has ended, the run itself."""
    notes = under_way()
    if run_name is None:
        if not notes:
            raise UserMistake(
                "no run is under way here", remedy="`tlstax runs watch last` shows how the last one ended"
            )
        return notes[0][0]
    stored = _stored(run_name)
    for directory, live in notes:
        if live.run == stored.header.run:
            return directory
    if stored.status == "running":
        raise UserMistake(
            f"run {stored.header.run} is under way, but nothing that it notes is in this cache",
            remedy="name the cache in TLSTAX_CACHE that the run has",
        )
    return stored


def _stored(run_name: str) -> StoredRun:
    from tlstax.store import open_store

    with open_store() as store:
        return store.load(run_name)


def _report(stored: StoredRun) -> str:
    from tlstax.cli.flames_command import draw
    from tlstax.report.formats.render import render
    from tlstax.topics.answer.document import document

    return render(stored, document(stored), "html", draw=draw)


COMMAND = (sys.executable, "-P", "-m", "tlstax", "live-page")

GONE_WITHIN_S = 3.0
"""It ends by itself when the run is gone; after so long it is ended."""


@contextlib.contextmanager
def served_beside(directory: Path) -> Iterator[None]:
    """Serve the page of the run that notes in a directory, and say where, while the block lasts.

    A program of its own does, for which the run never waits. Signals from the terminal do not reach it, so
    that it sees the run's end; and where this process is killed, it sees that as well.
    """
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
        warn(f"the run as it goes: {address(listener, token)}")
    try:
        yield
    finally:
        try:
            program.wait(GONE_WITHIN_S)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()


def explore_command(port: int) -> int:
    """Write rows that are missing, serve, and say where; the exit status.

    UserMistake for a store without a run, MachineFault for one that cannot be used.
    """
    from tlstax.store import open_store
    from tlstax.store.row_tables import write_missing

    try:
        from tlstax.store.explore.serving import serve
    except ImportError as error:
        raise MachineFault(
            "pages are made by Datasette, which is not installed here",
            remedy="start `./tlstax runs explore`: the launcher installs it",
        ) from error
    with open_store() as store:
        if not store.runs():
            raise UserMistake("there is no run in the store yet", remedy="`tlstax run` makes one")
        write_missing(store, tell)
        # Closed last, the store takes the files of its log with it.
        with contextlib.suppress(Interrupted):
            serve(store.path, port, lambda at: show(f"{at}\n{store.path}, read-only; Ctrl-C ends it\n"))
    return os.EX_OK
