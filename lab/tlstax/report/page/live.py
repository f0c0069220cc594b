"""The page of a run that goes on: what stays, and the parts that change, in words and small drawings.

A drawing is of a ratio's interval block after block: how far it has shrunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import log
from typing import Any

from markupsafe import Markup

from tlstax import __version__
from tlstax.report.page.html import style, template
from tlstax.results.interval import Interval
from tlstax.results.live import KnownRatio, LiveRun
from tlstax.stats.contrasts import judge
from tlstax.stats.wording import MINUS, capitalised, known_to, percent
from tlstax.support.text import counted, duration
from tlstax.topics.core import figures, palette
from tlstax.topics.core.charts import STRETCHES
from tlstax.topics.core.figures import DIVIDED, TIMES, change_with_interval

LIVE_PARTS = (
    *("title", "question", "status", "report", "progress", "facts_heading", "facts"),
    *("ratios_heading", "ratios", "strips", "trials"),
)
"""The parts of a live page, as its template has them."""

ENDED = {
    "complete": "The run is complete",
    "interrupted": "The run was interrupted",
    "failed": "The run failed",
}

WIDTH, HEIGHT = 320, 132
LEFT, RIGHT, TOP, BOTTOM = 52, 8, 6, 22
"""Room beside, above and below the plot, for the axes' words."""

DRAWING = {"WIDTH": WIDTH, "HEIGHT": HEIGHT, "LEFT": LEFT, "RIGHT": RIGHT, "TOP": TOP, "BOTTOM": BOTTOM}
"""The same for the template."""

LARGEST_STRETCH = 10.0
"""An interval that reaches farther than this tells nothing, and is cut off at the edge."""

TIMES_NOW = 6
"""The first intervals may be beyond all measure: what is farther off than this many times the last one's half
width is cut off."""


def live_html(parts: Mapping[str, str], *, version: int, is_last: bool, nonce: str) -> str:
    """The page of a run that goes on, with its `parts` as `live_parts` makes them, by `version`.

    Its only style and script have the `nonce`, for the server's policy; the script asks for what is new.
    """
    marked = {name: Markup(part) for name, part in parts.items()}  # noqa: S704 - made below
    return template("live.html.j2").render(
        parts=marked, version=version, is_last=is_last, nonce=nonce, tlstax=__version__, style=style()
    )


def live_parts(live: LiveRun, *, has_report: bool = False) -> dict[str, str]:
    """What changes on that page, by name, as HTML. Whatever a server or a client said is escaped."""
    of_part = template("live_parts.html.j2")
    shown = {
        "live": live,
        "status": status(live),
        "facts": tuple(facts(live)),
        "rows": rows(live),
        "strips": strips(live.ratios, live.wanted),
        "drawing": DRAWING,
        "has_report": has_report,
    }
    return {name: of_part.render(part=name, **shown).strip() for name in LIVE_PARTS}


def status(live: LiveRun) -> str:
    """Where the run is, in a sentence or two."""
    if live.is_over:
        why = f": {live.stopped_because}" if live.stopped_because else ""
        return f"{ENDED[live.status]}{why}."
    if live.status == "preparing":
        return f"The run is being made ready: {live.doing}." if live.doing else "The run is being made ready."
    if not live.blocks:
        return f"The first block is being measured{_left(live)}."
    done = f"{counted(live.blocks, 'block')} measured"
    if not live.ratios:
        return f"{capitalised(done)}, and no ratio yet{_left(live)}."
    precise = sum(ratio.precise for ratio in live.ratios)
    wanted = f" to ±{percent(live.wanted)}" if live.wanted is not None else ""
    return f"{done}: {precise} of {counted(len(live.ratios), 'ratio')} known{wanted}{_left(live)}."


def _left(live: LiveRun) -> str:
    return "" if live.left_s is None else f"; about {duration(max(1.0, live.left_s))} left"


def facts(live: LiveRun) -> Iterator[tuple[str, str]]:
    """Names and what is said of each."""
    if live.run:
        yield "Run", live.run
    if not live.is_over:
        yield "Now", capitalised(live.doing) or "being made ready"
        if live.left_s is not None:
            yield "Time left", f"about {duration(max(1.0, live.left_s))}, at most what the budget leaves"
    if live.run:
        yield "Blocks", f"{live.blocks:,}"
    if live.wanted is not None:
        yield "Wanted", f"every ratio known to ±{percent(live.wanted)}"
    if floor := noise_floor(live):
        yield "Noise floor", floor
    if live.at:
        yield "As of", live.at


def noise_floor(live: LiveRun) -> str:
    """How far the controls may stray from their baselines; empty where no control has an interval yet."""
    floors = sorted(r.noise_floor for r in live.ratios if r.is_control and r.noise_floor is not None)
    if not floors:
        return ""
    words = f"±{percent(floors[0])}"
    if len(floors) > 1:
        words += f" to ±{percent(floors[-1])}, of {len(floors)} controls"
    return f"{words}; smaller differences cannot be told from noise"


def rows(live: LiveRun) -> list[dict[str, str]]:
    """The ratios as they are known now; `mark` says why a difference is not one, `state` how well each is."""
    return [
        {
            "label": ratio.label,
            "change": figures.change(ratio.now),
            "interval": figures.interval(ratio.now),
            "known": _known(ratio.now.half_width),
            "mark": figures.mark(judge(ratio.now, ratio.noise_floor, live.alike_within)),
            "state": _state(live, ratio),
        }
        for ratio in live.ratios
    ]


def _state(live: LiveRun, ratio: KnownRatio) -> str:
    """Whether a ratio is known as wanted; where it is narrow enough, what it lacks are blocks."""
    if ratio.precise:
        return "as wanted"
    width = ratio.now.half_width
    if width is not None and live.wanted is not None and width <= live.wanted:
        return "of few blocks"
    return "not reached" if live.is_over else "not yet"


def _known(half_width: float | None) -> str:
    if half_width is None:
        return "one block shows no interval"
    return known_to(half_width).removeprefix("known to ")


Strip = dict[str, Any]
"""Where things are in a drawing, in its units; y grows downwards.

`area` is the interval's outline, `line` its middle, both as SVG points; `dots` are the middles of an interval
that has no neighbour. `floor` is the noise floor around no difference (from where and how high), `none` no
difference, each None where it is out of sight; `wanted` are the precision's two ends.
"""


def strips(ratios: tuple[KnownRatio, ...], wanted: float | None) -> list[Strip]:
    """A strip for each ratio that has an interval, in its own colour; the controls' are grey."""
    inks = iter(range(len(ratios)))
    drawn = []
    for ratio in ratios:
        ink = palette.CONTROL if ratio.is_control else palette.level_ink(next(inks))
        if ratio.now.half_width is not None:
            drawn.append(_strip(ratio, ink.light, wanted))
    return drawn


def _strip(ratio: KnownRatio, ink: str, wanted: float | None) -> Strip:
    history = [known for known in ratio.history if known.half_width is not None]
    plot, floor = _Plot(history), ratio.noise_floor
    ends = (1 + wanted, 1 / (1 + wanted)) if wanted is not None else ()
    return {
        "label": ratio.label,
        "ink": ink,
        "words": _in_words(ratio, history),
        "area": _points([*plot.ends(high=True), *reversed([*plot.ends(high=False)])]),
        "line": _points(plot.middles()),
        "dots": plot.middles() if len(history) == 1 else (),
        "floor": plot.band(1 / (1 + floor), 1 + floor) if floor is not None else None,
        "none": plot.seen(1.0),
        "wanted": [y for factor in ends if (y := plot.seen(plot.centre * factor)) is not None],
        "above": plot.end_words("+", TIMES),
        "middle": f"{plot.centre:.3g}{TIMES}",
        "below": plot.end_words(MINUS, DIVIDED),
        "first": history[0].blocks,
        "last": history[-1].blocks,
    }


class _Plot:
    """From blocks and ratios to places: the last ratio in the middle, as much above it as below."""

    def __init__(self, history: list[Interval]) -> None:
        self._history = history
        now = history[-1]
        self.centre = now.point
        own = 1 + max(now.half_width or 0.0, 0.001)
        ends = [known.ends for known in history]
        farthest = max(own, *(max(self.centre / low, high / self.centre) for low, high in ends))
        limit = min(LARGEST_STRETCH, max(min(own**1.5, 1.2 * own), min(farthest, own**TIMES_NOW)))
        self.stretch = next((step for step in STRETCHES if step >= limit), limit)

    def ends(self, *, high: bool) -> Iterator[tuple[float, float]]:
        """One end of each interval."""
        for place, known in enumerate(self._history):
            yield self._x(place), self._y(known.ends[high])

    def middles(self) -> list[tuple[float, float]]:
        """The ratio itself after each block."""
        return [(self._x(place), self._y(known.point)) for place, known in enumerate(self._history)]

    def seen(self, ratio: float) -> float | None:
        """Where a ratio is; None where that is beyond the drawing."""
        return self._y(ratio) if 1 / self.stretch <= ratio / self.centre <= self.stretch else None

    def band(self, low: float, high: float) -> tuple[float, float] | None:
        """From one ratio to another, as far as it is in the drawing; None where nothing of it is."""
        top, bottom = self._y(high), self._y(low)
        return (top, round(bottom - top, 1)) if bottom - top > 0.05 else None

    def end_words(self, sign: str, factor: str) -> str:
        """How far an end of the axis is from the middle: "+5 %", and from a doubling on "×2"."""
        if self.stretch >= 2:
            return f"{factor}{self.stretch:.3g}"
        off = self.stretch - 1 if factor == TIMES else 1 - 1 / self.stretch
        return f"{sign}{percent(off)}"

    def _x(self, place: int) -> float:
        """By blocks, of which not every one may be kept."""
        first, last = self._history[0].blocks, self._history[-1].blocks
        share = (self._history[place].blocks - first) / (last - first) if last > first else 0.5
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def _y(self, ratio: float) -> float:
        """What is beyond the drawing is at its edge."""
        off = log(ratio / self.centre) / log(self.stretch)
        share = (1 - min(1.0, max(-1.0, off))) / 2
        return round(TOP + share * (HEIGHT - TOP - BOTTOM), 1)


def _points(places: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in places)


def _in_words(ratio: KnownRatio, history: list[Interval]) -> str:
    """What is drawn, for who does not see it."""
    first, now = history[0], history[-1]
    known = f"{ratio.label}: {change_with_interval(now)} after {counted(now.blocks, 'block')}"
    widths = [percent(own.half_width) for own in (first, now) if own.half_width is not None]
    if len(history) < 2:
        return f"{known}, known to ±{widths[-1]}"
    return f"{known}, known to ±{widths[0]} after {first.blocks} and to ±{widths[-1]} now"
