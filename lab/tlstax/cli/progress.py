"""What is shown on standard error while a run works: steps, one status line, the time left."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from tlstax.findings.stopping import Progress
from tlstax.outlook import Step

_ERASE_LINE = "\r\x1b[2K"
_MOST_SHOWN = 1.0
"""A width that two blocks give may be beyond all measure; it only says that it is early."""
MANY_RATIOS = 20
_QUIET_EVERY_S = 10.0
"""Where standard error is not a terminal, a line this often is enough."""


class ProgressLine:
    """Steps as lines, trials as one line that is rewritten; no thread, so nothing disturbs a trial.

    `quiet` shows nothing but warnings.
    """

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._quiet = quiet
        self._rewrites = self._stream.isatty()
        self._started = time.monotonic()
        self._last_line_at = float("-inf")
        self._open_line = False

    def step(self, text: str) -> None:
        """Something begins that may take a while."""
        if not self._quiet:
            self._line(f"{self._elapsed()}  {text}")

    def warn(self, text: str) -> None:
        """Something the user should know although the work goes on."""
        self._line(f"tlstax: {text}")

    def trial(self, step: Step) -> None:
        """A trial begins. What is left comes before what is measured, which may be too long for the line."""
        when = f"block {step.block + 1}" if step.block >= 0 else "beforehand"
        self.now(
            f"{when}, trial {step.place} of {step.of} · {_known(step.progress)}"
            f"{time_left(step.left_s)} left · {step.label}"
        )

    def now(self, words: str) -> None:
        """What is going on at this moment; it takes the place of what was said so before."""
        if self._quiet:
            return
        text = f"{self._elapsed()}  {words}"
        if self._rewrites:
            self._stream.write(_ERASE_LINE + text[:119])
            self._stream.flush()
            self._open_line = True
        elif time.monotonic() - self._last_line_at >= _QUIET_EVERY_S:
            self._last_line_at = time.monotonic()
            self._line(text)

    def close(self) -> None:
        """The work has ended: leave the terminal with a clean line."""
        if self._open_line:
            self._stream.write(_ERASE_LINE)
            self._stream.flush()
            self._open_line = False

    def _line(self, text: str) -> None:
        self.close()
        self._stream.write(text + "\n")
        self._stream.flush()

    def _elapsed(self) -> str:
        elapsed_s = int(time.monotonic() - self._started)
        return f"{elapsed_s // 60:3d}:{elapsed_s % 60:02d}"


def _known(progress: Progress | None) -> str:
    """How far the ratios are from what is wanted; nothing in the first blocks.

    Of a few, the widest interval tells; of many, one is always wide, and half of them tell more.
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
