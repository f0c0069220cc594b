"""The page of one run, from what it notes while it goes on to its end and its report."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from tlstax.records.trial import StoredRun
from tlstax.report.page.live import live_parts
from tlstax.results.live import LiveRun
from tlstax.run.live.audience import Audience
from tlstax.run.live.follow import followed
from tlstax.run.live.server import served
from tlstax.support.errors import UserMistake

NEVER_BEGAN = "it ended before anything was measured"

Load = Callable[[str], StoredRun]
"""A run from the store, by its name. Raises TlstaxError."""

AsReport = Callable[[StoredRun], str]
"""A run's report as HTML."""


class LivePage:
    """A page that follows a run; `load` is asked once that has ended, `as_report` when the report is wanted.

    Without `as_report` the page is not there for long after the run, and has no link to it.
    """

    def __init__(self, load: Load, as_report: AsReport | None = None) -> None:
        self._load, self._as_report = load, as_report
        self._audience = Audience(live_parts(LiveRun()))
        self._run = ""

    @contextmanager
    def served(self, listener: socket.socket, token: str) -> Iterator[None]:
        """Shown to browsers for as long as the block lasts."""
        with served(listener, token, self._audience, self._report):
            yield

    def follow(self, directory: Path) -> LiveRun:
        """Show what the run notes there until it has ended, then its end, which is returned."""
        live = LiveRun()
        for live in followed(directory):
            self._run = live.run or self._run
            self._audience.show(live_parts(live))
        if not live.run:
            over = live.model_copy(update={"status": "interrupted", "stopped_because": NEVER_BEGAN})
            self._audience.show(live_parts(over), is_last=True)
            return over
        return self.show_ended(self._load(live.run))

    def show_ended(self, stored: StoredRun) -> LiveRun:
        """Show a run that has ended, with a link to its report."""
        from tlstax.stats.live import ended  # noqa: PLC0415 (takes time, and is needed at the end alone)

        self._run = stored.header.run
        found = ended(stored, datetime.now(UTC).isoformat(timespec="seconds"))
        self._audience.show(live_parts(found, has_report=self._as_report is not None), is_last=True)
        return found

    def _report(self) -> str:
        if not self._run or self._as_report is None:
            raise UserMistake("there is no report: nothing was measured")
        return self._as_report(self._load(self._run))
