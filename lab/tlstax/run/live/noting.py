"""Has a run note what is known of it between its blocks, for those who follow it; gone when the run is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from tlstax.results.live import LiveRun
from tlstax.run.live.note import NAME
from tlstax.run.pipeline import Watcher
from tlstax.run.progress import Step
from tlstax.specimens.sessions import open_session
from tlstax.support.errors import MachineFault


class Noting:
    """A run's watcher that also writes down what is known, whenever nobody is being measured.

    Whatever fails in that is nobody's concern but of those who would follow the run. `others` hears all of
    it as well.
    """

    def __init__(self, others: Watcher, directory: Path | None) -> None:
        self._others = others
        self._directory = directory
        self._has_begun = False

    def step(self, text: str) -> None:
        """Something begins that may take a while."""
        if not self._has_begun:
            self._write(LiveRun(doing=text))
        self._others.step(text)

    def warn(self, text: str) -> None:
        """Something the user should know although the work goes on."""
        self._others.warn(text)

    def trial(self, step: Step) -> None:
        """A trial begins: nothing is written now."""
        self._others.trial(step)

    def noted(self, live: LiveRun) -> None:
        """Nobody is being measured now, and this is known of the run."""
        self._has_begun = True
        self._write(live)
        self._others.noted(live)

    def close(self) -> None:
        """The trials have ended."""
        self._others.close()

    def _write(self, live: LiveRun) -> None:
        """The file is there whole, or as it was before; it need not outlive the machine."""
        if self._directory is None:
            return
        with contextlib.suppress(OSError):
            written = self._directory / f".{NAME}"
            written.write_text(live.model_dump_json(), encoding="utf-8")
            written.replace(self._directory / NAME)


@contextlib.contextmanager
def noting(others: Watcher) -> Iterator[tuple[Noting, Path | None]]:
    """A watcher that notes for as long as the block lasts, and where; None where nothing can be noted."""
    with ExitStack() as stack:
        directory = None
        with contextlib.suppress(MachineFault, OSError):
            directory = stack.enter_context(open_session()).path
        yield Noting(others, directory), directory
