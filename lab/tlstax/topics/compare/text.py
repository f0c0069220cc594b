"""Runs beside one another as sections, and limits that were kept or not, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from tlstax.results.document import GateResult, HeaderChange, RunBeside, RunComparison
from tlstax.results.rows import Row
from tlstax.stats.wording import alike, capitalised, change_words, percent, signed_percent
from tlstax.study.outcomes import OUTCOMES
from tlstax.support.grouping import grouped
from tlstax.support.text import counted
from tlstax.topics.core import figures
from tlstax.topics.core.printed import aligned, printed, styled
from tlstax.topics.core.section import Block, Items, Section, Words
from tlstax.topics.core.table import Table

STYLES = {"PASS": "green", "FAIL": "bold red", "INCONCLUSIVE": "yellow"}

MARKS = f"{figures.ALIKE}: alike; {figures.UNKNOWN}: inconclusive."


def sections(found: RunComparison) -> Iterator[Section]:
    """Each run beside the first."""
    for own in found.beside:
        yield Section(tuple(_beside(own)), f"{own.run} beside {own.against}")
    together = f"All intervals beside a run hold together with {percent(found.confidence)}."
    yield Section((Words(together, aside=True),))


def _beside(own: RunBeside) -> Iterator[Block]:
    changes = (f"{change.what}: {_from_to(change)}" for change in own.different)
    different = tuple(changes) or ("nothing that is known of them",)
    yield Items(different, "What is different", all_of_them=True)
    if not own.same_machine:
        yield Words(
            "These are two machines, so only ratios to each run's own baseline are compared.", aside=True
        )
    for outcome, rows in grouped(own.changes, lambda row: row.outcome).items():
        title = capitalised(OUTCOMES[outcome].words)
        yield Table(title, ("earlier", "later", "change"), tuple(map(_line, rows)), ())
    unclear = any(row.judgement == "inconclusive" for row in own.changes)
    yield Words(f"{MARKS} {_again(own.same_again, unclear=unclear)}", aside=True)
    for words, labels in (("earlier", own.only_before), ("later", own.only_after)):
        if labels:
            cases = f"{counted(len(labels), 'case')}: {'; '.join(labels)}"
            yield Words(f"Only the {words} run has {cases}", aside=True)


def _from_to(change: HeaderChange) -> str:
    return f"{change.before or 'none'} → {change.after or 'none'}"


def _line(row: Row) -> tuple[str, ...]:
    """Both figures, ratios to the baseline as such and values in their unit, and the change."""
    before, after = row.baseline_value or 0.0, row.value or 0.0
    is_ratio = row.role == "to the baseline"
    both = (f"{before:.3f}", f"{after:.3f}") if is_ratio else alike(before, after)
    unit = figures.TIMES if is_ratio else row.unit
    change = f"{figures.mark(row.judgement)} {figures.change_with_interval(row.known)}".strip()
    return row.label, *(f"{words} {unit}" for words in both), change


def _again(others: tuple[str, ...], *, unclear: bool) -> str:
    """By what it is known how far runs differ, and what would tell more."""
    if others:
        words = (
            "Intervals include how far runs of the same thing differ here: "
            f"{counted(len(others), 'other')} {'is' if len(others) == 1 else 'are'} known"
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
        words = "; ".join(f"{change.what} {_from_to(change)}" for change in found.different)
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
