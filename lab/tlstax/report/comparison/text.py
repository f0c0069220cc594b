"""Runs beside one another and limits that were kept or not, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from tlstax.findings.core.wording import alike, capitalised, change_words, percent, signed_percent
from tlstax.results.comparison import (
    CaseChange,
    GatedCase,
    GateResult,
    GateVerdict,
    HeaderChange,
    Limit,
    RunBeside,
    RunComparison,
)
from tlstax.study.outcomes import OUTCOMES
from tlstax.support.grouping import grouped
from tlstax.support.text import counted
from tlstax.topics.core.printed import grid, printed, styled

STYLES: dict[GateVerdict, str] = {"PASS": "green", "FAIL": "bold red", "INCONCLUSIVE": "yellow"}


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
    unclear = any(own.judgement not in {"higher", "lower", "alike"} for own in found.changes)
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
    table = grid()
    for _ in range(3):
        table.add_column(overflow="fold")
    for own in found:
        table.add_row(styled(own.what), styled(own.before or "none"), styled(own.after or "none"))
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


def _changes(changes: list[CaseChange]) -> Iterator[RenderableType]:
    for own in changes:
        before, after = _figures(own)
        seen = own.judgement in {"higher", "lower"}
        yield Padding(styled(own.label), (0, 0, 0, 2))
        words = f"{before}, then {after}: {change_words(own.change)}, {own.judgement}"
        yield Padding(styled(words, "bold" if seen else "dim"), (0, 0, 0, 6))


def _figures(own: CaseChange) -> tuple[str, str]:
    """Both figures: ratios to the baseline as such, values in their unit."""
    if own.measure == "to the baseline":
        return f"{own.before:.3f} ×", f"{own.after:.3f} ×"
    before, after = alike(own.before, own.after)
    return f"{before} {own.unit}", f"{after} {own.unit}"


def gate_text(found: GateResult, *, width: int, colour: bool) -> str:
    """A line for each case, then what they come to."""
    table = grid()
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    several = len({own.limit for own in found.cases}) > 1
    for own in found.cases:
        table.add_row(styled(own.verdict, STYLES[own.verdict]), styled(_case_words(own, several=several)))
    parts: list[RenderableType] = [table, Text()]
    if found.different:
        words = "; ".join(
            f"{own.what} {own.before or 'none'} → {own.after or 'none'}" for own in found.different
        )
        parts.append(styled(f"Different beside: {words}", "dim"))
    parts.append(styled(_sum(found), "dim"))
    if found.run != found.against:
        parts.append(styled(_again(found.same_again, unclear=found.verdict == "INCONCLUSIVE"), "dim"))
    return printed(parts, width=width, colour=colour)


def _case_words(own: GatedCase, *, several: bool) -> str:
    outcome = f" ({_limit_words(own.limit)})" if several else ""
    change = own.change.change
    if own.verdict == "INCONCLUSIVE":
        way, far = ("down", change.low) if own.limit.most is None else ("up", change.high)
        could = (
            "a single block has no interval"
            if far is None
            else f"could be {way} to {signed_percent(far - 1)}"
        )
        return f"{own.change.label}{outcome}: {could}"
    return f"{own.change.label}{outcome}: {change_words(change)}"


def _limit_words(limit: Limit) -> str:
    """What is limited, and how: "operations a second at least −5 %"."""
    words = OUTCOMES[limit.outcome].words
    if limit.most is not None:
        return f"{words} at most {signed_percent(limit.most)}"
    return f"{words} at least {signed_percent(limit.least or 0.0)}"


def _sum(found: GateResult) -> str:
    limits = dict.fromkeys(_limit_words(own.limit) for own in found.cases)
    count = len(found.cases)
    hold = "The interval holds" if count == 1 else f"All {count} intervals hold together"
    together = f"{hold} with {percent(found.confidence)}."
    if found.run == found.against:
        return f"{found.verdict}: B beside A in {found.run}, {'; '.join(limits)}. {together}"
    measures = {own.change.measure for own in found.cases}
    of = "each to its own run's baseline" if measures == {"to the baseline"} else "the values themselves"
    return f"{found.verdict}: {found.run} beside {found.against}, {'; '.join(limits)}, {of}. {together}"
