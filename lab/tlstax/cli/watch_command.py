"""`tlstax runs watch`: a page on loopback that shows a run as it goes, and how it ended."""

from __future__ import annotations

import signal
import socket
import sys
import time
from pathlib import Path

from pydantic import ValidationError

from tlstax.cli.streams import show, tell
from tlstax.contract.frozen import Frozen
from tlstax.records.trial import StoredRun
from tlstax.results.live import LiveRun
from tlstax.support.errors import UserMistake
from tlstax.watch.follow import keep_out_of_the_way
from tlstax.watch.note import under_way
from tlstax.watch.page import LivePage
from tlstax.watch.server import address, listening, new_token

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
            tell("tlstax: Ctrl-C ends this page, and nothing else")
            show(f"{address(listener, token)}\n")
            if isinstance(chosen, Path):
                tell(f"tlstax: {_end(page.follow(chosen))}")
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


def _end(found: LiveRun) -> str:
    name = f"run {found.run}" if found.run else "the run"
    return f"{name} is {found.status}: {found.stopped_because}"


def _stored(run_name: str) -> StoredRun:
    from tlstax.cli.kept import open_store

    with open_store() as store:
        return store.load(run_name)


def _report(stored: StoredRun) -> str:
    from tlstax.cli.flame_program import draw
    from tlstax.report.formats.render import render
    from tlstax.topics.answer.document import document

    return render(stored, document(stored), "html", draw=draw)
