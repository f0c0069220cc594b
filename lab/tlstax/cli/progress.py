"""What is shown on standard error while a run works: steps, warnings, and the moment in place."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from typing import TextIO

from tlstax.cli.progress_view import InPlace, Moment, Size, view
from tlstax.results.live import LiveRun
from tlstax.run.progress import Step
from tlstax.stats.stopping import Progress
from tlstax.support.untrusted import printable

_MOST_SHOWN = 1.0
"""A width that two blocks give may be beyond all measure; it only says that it is early."""
MANY_RATIOS = 20
_QUIET_EVERY_S = 10.0
"""Where nothing can be rewritten, a line this often is enough."""
_NO_CURSOR = ("dumb", "unknown")
"""Terminals that cannot move their cursor, by TERM (terminfo's names)."""
_PLAIN = str.maketrans("━╸╺…\N{MINUS SIGN}", "=- ~-")
"""What is written to a terminal whose encoding lacks these."""


class ProgressLine:
    """Steps as lines; trials in the terminal's last lines, which are rewritten; no thread disturbs a trial.

    Where standard error is no terminal, or one that cannot move its cursor, all are plain lines. `quiet`
    shows nothing but warnings. `size` gives the terminal's size, None where the stream itself does.
    """

    def __init__(
        self, *, quiet: bool = False, stream: TextIO | None = None, size: Size | None = None
    ) -> None:
        self._stream = stream or sys.stderr
        self._quiet = quiet
        rewrites = self._stream.isatty() and os.environ.get("TERM", "dumb") not in _NO_CURSOR
        self._terminal = InPlace(self._stream, size) if rewrites else None
        self._colour = not os.environ.get("NO_COLOR")
        self._moment: Moment | None = None
        self._started = time.monotonic()
        self._last_line_at = float("-inf")

    def step(self, text: str) -> None:
        """Something begins that may take a while; what was going on until now has ended."""
        if not self._quiet:
            self._moment = None
            self._line(f"{self._elapsed()}  ", text)

    def warn(self, text: str) -> None:
        """Something the user should know although the work goes on."""
        self._line("tlstax: ", text)

    def trial(self, step: Step) -> None:
        """A trial begins. In a plain line, what is left comes before what is measured, which may be long."""
        when = f"block {step.block + 1}" if step.block >= 0 else "beforehand"
        place, left = f"{when}, trial {step.place} of {step.of}", time_left(step.left_s)
        share = step.share if step.block >= 0 else None
        self._show(
            Moment(f"{place}: {step.label}", share, left, step.progress),
            f"{place} · {_known(step.progress)}{left} left · {step.label}",
        )

    def noted(self, live: LiveRun) -> None:
        """What is known between blocks is shown with the next trial."""

    def now(self, words: str, *, share: float | None = None, left_s: float | None = None) -> None:
        """What is going on at this moment; it takes the place of what was said so before.

        `share` is how much of all that is to be done is done, `left_s` how long the rest may take; None where
        that is not known.
        """
        left = "" if left_s is None else time_left(left_s)
        self._show(Moment(words, share, left), f"{words} · {left} left" if left else words)

    def close(self) -> None:
        """The work has ended: leave nothing of the moment."""
        self._moment = None
        if self._terminal is not None:
            self._terminal.erase()

    def _show(self, moment: Moment, plain: str) -> None:
        if self._quiet:
            return
        if self._terminal is not None:
            self._moment = moment
            self._terminal.show(self._view(moment, self._terminal))
        elif time.monotonic() - self._last_line_at >= _QUIET_EVERY_S:
            self._last_line_at = time.monotonic()
            self._line(f"{self._elapsed()}  ", plain)

    def _view(self, moment: Moment | None, terminal: InPlace) -> list[str]:
        if moment is None:
            return []
        return [
            self._writable(line)
            for line in view(moment, self._elapsed(), terminal.size(), colour=self._colour)
        ]

    def _line(self, beginning: str, text: str) -> None:
        """A line that stays, above the moment where one is shown."""
        text = printable(text)
        if self._terminal is None:
            self._stream.write(f"{beginning}{text}\n")
            self._stream.flush()
            return
        folded = textwrap.fill(
            text,
            max(1, self._terminal.size().columns - 1),
            initial_indent=beginning,
            subsequent_indent=" " * len(beginning),
            break_long_words=False,
            break_on_hyphens=False,
        )
        self._terminal.show(self._view(self._moment, self._terminal), above=f"{folded}\n")

    def _writable(self, line: str) -> str:
        """The line in what the stream's encoding has, each character in one place as before."""
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        try:
            line.encode(encoding)
        except UnicodeEncodeError:
            return line.translate(_PLAIN).encode(encoding, "replace").decode(encoding)
        return line

    def _elapsed(self) -> str:
        elapsed_s = int(time.monotonic() - self._started)
        return f"{elapsed_s // 60:3d}:{elapsed_s % 60:02d}"


def _known(progress: Progress | None) -> str:
    """How far the ratios are from what is wanted; nothing in the first blocks.

    Of a few, the widest interval counts; of many, one is always wide, so half of them do.
    """
    if progress is None:
        return ""
    many = progress.ratios > MANY_RATIOS
    width = progress.median_half_width if many else progress.worst_half_width
    if width is None or width > _MOST_SHOWN:
        return ""
    known = f"half of {progress.ratios} ratios" if many else "known"
    return f"{known} to ±{width:.1%} (wanted ±{progress.wanted:.1%}) · "


def time_left(left_s: float) -> str:
    """A time to wait for, in hours, minutes or seconds."""
    if left_s >= 5400:
        return f"{left_s / 3600:.1f} h"
    return f"{left_s / 60:.0f} min" if left_s >= 120 else f"{max(0, left_s):.0f} s"
