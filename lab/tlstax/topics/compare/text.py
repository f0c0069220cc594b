"""Runs beside one another and limits that were kept or not, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from tlstax.findings.core.wording import alike, capitalised, change_words, percent, signed_percent
from tlstax.results.comparison import GateResult, HeaderChange, RunBeside, RunComparison
from tlstax.results.interval import DIFFERENCES
from tlstax.results.rows import Row
from tlstax.study.outcomes import OUTCOMES
from tlstax.support.grouping import grouped
from tlstax.support.text import counted
from tlstax.topics.core.printed import aligned, printed, styled

STYLES = {"PASS": "green", "FAIL": "bold red", "INCONCLUSIVE": "yellow"}


def comparison_text(found: RunComparison, *, width: int, colour: bool) -> str:
    """Each run beside the first, `width` columns wide."""
    parts = [part for own in found.beside for part in _beside(own)]
    parts.append(styled(f"All intervals beside a run hold together with {percent(found.confidence)}.", "dim"))
    return printed(parts, width=width, colour=colour)


def _beside(found: RunBeside) -> Iterator[RenderableType]:
    yield styled(f"{found.run} beside {found.against}", "bold")
    yield Text()
    yield from _different(found.different, same_machine=found.same_machine)
    for outcome, changes in grouped(found.changes, lambda own: own.outcome).items():
        yield styled(capitalised(OUTCOMES[outcome].words), "bold")
        yield from _changes(changes)
        yield Text()
    unclear = any(own.judgement == "inconclusive" for own in found.changes)
    yield styled(_again(found.same_again, unclear=unclear), "dim")
    yield Text()
    for words, labels in (
        ("Only the earlier run", found.only_before),
        ("Only the later run", found.only_after),
    ):
        if labels:
            yield styled(f"{words} has {counted(len(labels), 'case')}: {'; '.join(labels)}", "dim")
            yield Text()


def _different(found: tuple[HeaderChange, ...], *, same_machine: bool) -> Iterator[RenderableType]:
    yield styled("What is different", "bold")
    rows = ((own.what, own.before or "none", own.after or "none") for own in found)
    table = aligned(("words",) * 3, rows)
    yield Padding(table if found else styled("nothing that is known of them"), (0, 0, 0, 2))
    if not same_machine:
        yield styled("These are two machines, so only ratios to each run's own baseline are compared.", "dim")
    yield Text()


def _again(others: tuple[str, ...], *, unclear: bool) -> str:
    """By what it is known how far runs differ, and what would tell more."""
    if others:
        words = (
            f"Intervals include how far runs of the same thing differ here: {len(others)} others are known"
        )
    else:
        words = (
            "No other run of the same thing is known here, so that only great differences are told from the "
            "luck of a run"
        )
    if not unclear:
        return f"{words}."
    more = "more runs of the same narrow the intervals" if others else "three more runs of the same show it"
    return f"{words}. What two runs cannot tell `tlstax ab` can, in which both take turns; {more}."


def _changes(changes: Sequence[Row]) -> Iterator[RenderableType]:
    for own in changes:
        seen = own.judgement in DIFFERENCES
        yield Padding(styled(own.label), (0, 0, 0, 2))
        words = f"{_figures(own)}: {_change(own)}, {own.judgement}"
        yield Padding(styled(words, "bold" if seen else "dim"), (0, 0, 0, 6))


def _figures(own: Row) -> str:
    """Both figures: ratios to the baseline as such, values in their unit."""
    before, after = own.baseline_value or 0.0, own.value or 0.0
    if own.role == "to the baseline":
        return f"{before:.3f} ×, then {after:.3f} ×"
    before_words, after_words = alike(before, after)
    return f"{before_words} {own.unit}, then {after_words} {own.unit}"


def _change(own: Row) -> str:
    return change_words(own.interval) if own.interval is not None else ""


def gate_text(found: GateResult, *, width: int, colour: bool) -> str:
    """A line for each case, then what they come to."""
    several = len({_limit_words(own) for own in found.changes}) > 1
    cases = (
        (styled(own.word("verdict"), STYLES[own.word("verdict")]), _case_words(own, several=several))
        for own in found.changes
    )
    parts: list[RenderableType] = [aligned(("name", "words"), cases), Text()]
    if found.different:
        words = "; ".join(
            f"{own.what} {own.before or 'none'} → {own.after or 'none'}" for own in found.different
        )
        parts.append(styled(f"Different beside: {words}", "dim"))
    parts.append(styled(_sum(found), "dim"))
    if found.run != found.against:
        parts.append(styled(_again(found.same_again, unclear=found.verdict == "INCONCLUSIVE"), "dim"))
    return printed(parts, width=width, colour=colour)


def _case_words(own: Row, *, several: bool) -> str:
    named = f"{own.label} ({_limit_words(own)})" if several else own.label
    if own.interval is None or own.word("verdict") != "INCONCLUSIVE":
        return f"{named}: {_change(own)}"
    way, far = ("up", own.interval.high) if "most" in own.more else ("down", own.interval.low)
    if far is None:
        return f"{named}: a single block has no interval"
    return f"{named}: could be {way} to {signed_percent(far - 1)}"


def _limit_words(own: Row) -> str:
    """What is limited, and how: "operations a second at least −5 %"."""
    side = "most" if "most" in own.more else "least"
    return f"{OUTCOMES[own.outcome].words} at {side} {signed_percent(own.number(side) or 0.0)}"


def _sum(found: GateResult) -> str:
    limits = "; ".join(dict.fromkeys(map(_limit_words, found.changes)))
    count = len(found.changes)
    hold = "The interval holds" if count == 1 else f"All {count} intervals hold together"
    together = f"{hold} with {percent(found.confidence)}."
    if found.run == found.against:
        return f"{found.verdict}: B beside A in {found.run}, {limits}. {together}"
    on_ratios = {own.role for own in found.changes} == {"to the baseline"}
    of = "each to its own run's baseline" if on_ratios else "the values themselves"
    return f"{found.verdict}: {found.run} beside {found.against}, {limits}, {of}. {together}"
