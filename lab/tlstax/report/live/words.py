"""What a run says of itself while it goes on, in words: one sentence, and the figures of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tlstax.findings.core.judgements import judge
from tlstax.findings.core.wording import capitalised, known_to, percent
from tlstax.results.live import LiveRatio, LiveRun
from tlstax.support.text import counted, duration
from tlstax.topics.core import figures

ENDED = {
    "complete": "The run is complete",
    "interrupted": "The run was interrupted",
    "failed": "The run failed",
}


@dataclass(frozen=True)
class RatioRow:
    """A row of the table; `mark` says why a difference is not one, `state` how well the ratio is known."""

    label: str
    change: str
    interval: str
    known: str
    mark: str
    state: str


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


def rows(live: LiveRun) -> tuple[RatioRow, ...]:
    """The ratios as they are known now."""
    return tuple(
        RatioRow(
            label=ratio.label,
            change=figures.change(ratio.now),
            interval=figures.interval(ratio.now),
            known=_known(ratio.now.half_width),
            mark=figures.mark(judge(ratio.now, ratio.noise_floor, live.alike_within)),
            state=_state(live, ratio),
        )
        for ratio in live.ratios
    )


def _state(live: LiveRun, ratio: LiveRatio) -> str:
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
