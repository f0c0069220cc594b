"""An advice as sections of a page: the savings as a picture, then each change and how it is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.report.advice.words import (
    RANKED,
    end_words,
    nothing_words,
    reason_words,
    saving_lines,
    share_words,
)
from tlstax.results.advice import Advice, Advised, Change
from tlstax.results.inspection import Step
from tlstax.results.interval import Interval
from tlstax.topics.core import palette
from tlstax.topics.core.charts import ratio_chart
from tlstax.topics.core.marks import RatioMark, Style
from tlstax.topics.core.panel import Panel, at_both_widths
from tlstax.topics.core.section import Block, Charts, Claim, Claims, Dump, Items, Section

LABELS: dict[Change, str] = {
    "pool": "a pool",
    "certificate": "another key",
    "resumption": "resumption",
    "group": "P-256 first",
    "version": "TLS version",
    "chain": "shorter chain",
    "compression": "no compression",
}
"""What changes are called beside a picture, which has little room."""

LEAST_LEFT = 0.01
"""What is left of a cost is drawn down to a hundredth of it."""


def advice_sections(found: Advice) -> tuple[Section, ...]:
    """What is unsafe, what to change, what would save little, and what measuring took."""
    return tuple(_sections(found))


def _sections(found: Advice) -> Iterator[Section]:
    concerns = found.inspected.concerns
    if concerns:
        claims = tuple(
            Claim(says=own.what, verdict=own.danger, lines=(own.why, own.remedy), blocks=_dumped(own.steps))
            for own in concerns
        )
        yield Section((Claims(claims),), "Unsafe: mend first")
    blocks: list[Block] = [*_picture(found.changes)]
    if not found.advised:
        blocks.append(Items((nothing_words(found),)))
    if found.changes:
        blocks.append(Claims(tuple(map(_claim, found.changes)), whole_width=True))
    yield Section(tuple(blocks), RANKED)
    yield Section((Items(tuple(end_words(found))),), "What was measured, and where")


def _claim(own: Advised) -> Claim:
    steps = () if own.why_not else _dumped(own.steps)
    first, *more = [*saving_lines(own.saving), "what it saves was not measured"]
    source = reason_words(own) if own.why_not else own.seen
    return Claim(says=own.what, verdict=first, lines=tuple(more[:-1]), source=source, blocks=steps)


def _dumped(steps: Sequence[Step]) -> tuple[Dump, ...]:
    return tuple(Dump(step.where, step.lines) for step in steps)


def _picture(found: Sequence[Advised]) -> Iterator[Charts]:
    """What is left of the server's CPU time of a connection with its statements, change by change."""
    marks = tuple(_marks(found))
    if not marks:
        return
    low = min(0.9, *(mark.low for mark in marks))
    domain = (low * 0.9, max(1.1, *(mark.high * 1.05 for mark in marks)))
    words = "; ".join(mark.description for mark in marks)
    drawings = at_both_widths(
        words, lambda width: ratio_chart(marks, noise_floor=None, domain=domain, width=width)
    )
    reading = (
        "What is left of the server's CPU time of a connection with its statements, with 95 % intervals."
    )
    yield Charts((Panel("What each change would leave", reading, drawings),))


def _marks(found: Sequence[Advised]) -> Iterator[RatioMark]:
    for place, own in enumerate(found):
        saved = own.saving.server_share
        if saved is not None:
            left = _left(saved)
            ink = palette.LEVELS[place % len(palette.LEVELS)]
            style = Style(LABELS[own.change], ink.light, palette.SHAPES[place % len(palette.SHAPES)])
            text = share_words(saved)
            yield RatioMark(style, *left, text=text.split(" [")[0], description=f"{own.what}: {text}")


def _left(saved: Interval) -> tuple[float, float, float]:
    """What is left of the whole, with the ends of its interval."""
    ends = (saved.point, saved.high or saved.point, saved.low or saved.point)
    point, low, high = (max(LEAST_LEFT, 1 - end) for end in ends)
    return point, low, high
