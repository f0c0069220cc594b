"""The verdict on a published statement, from what each case shows of it: word, sentence, caveats."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from tlstax.findings.core.wording import change_words, mode_label, percent
from tlstax.results.document import (
    StatementCase,
    StatementResult,
    Tally,
)
from tlstax.results.interval import ClaimVerdict
from tlstax.study import Statement
from tlstax.study.factors import DISTANCE_FACTORS
from tlstax.study.labels import way_words
from tlstax.support.text import counted, some_of
from tlstax.topics.answer.inconclusive import bound_words, what_would_tell

MOST_NAMED = 2
"""So many of the cases that came out one way are named in the sentence, the clearest first."""

ACROSS = (
    "compared across servers: only each library's ratio to its own server's plaintext, so what the servers "
    "make of TLS otherwise is in it too, and the same TLS weighs more on a server whose plaintext costs less"
)
TO_OWN = "compared is what TLS costs over each library: its process's ratio to its own plaintext"
CHOSEN = "the best of several was chosen by the other blocks than the one that is compared"


def described(
    statement: Statement,
    cases: tuple[StatementCase, ...],
    plaintext: tuple[StatementCase, ...],
    *,
    pooled: Tally,
) -> StatementResult:
    """The whole result; the verdict rests on the cases pooled over connections."""
    verdict = verdict_of(statement, pooled)
    across = any(case.across_servers for case in cases)
    cells = Tally(
        held=sum(case.cells.held for case in cases),
        opposite=sum(case.cells.opposite for case in cases),
        alike=sum(case.cells.alike for case in cases),
        inconclusive=sum(case.cells.inconclusive for case in cases),
    )
    return StatementResult(
        says=statement.says,
        source=statement.source,
        kind=statement.kind,
        by=statement.by,
        alike_within=statement.alike_within,
        measured=statement.outcome,
        verdict=verdict,
        sentence=_sentence(statement, cases, pooled, cells),
        across_servers=across,
        pooled=pooled,
        cells=cells,
        cases=cases,
        plaintext=plaintext,
        caveats=(
            *([ACROSS] if across else []),
            *([TO_OWN] if not across and any(case.to_own_baseline for case in cases) else []),
            *([CHOSEN] if any(case.chosen for case in cases) else []),
            *_of_chance(cases),
            *_of_floor(cases),
            *_of_plaintext(plaintext),
        ),
    )


def verdict_of(statement: Statement, pooled: Tally) -> ClaimVerdict:
    """The verdict from in how many cases (a server, a workload, a TLS mode) the statement held.

    "Better" holds where it held in every case, and does not where it held in none and the opposite was
    seen, or both sides were alike in more than half of the cases. "Best in most cases" holds where it held in
    more than half of all cases, and does not where the opposite was seen, or both were alike, in half of them
    or more, so that the rest cannot be most. What held in some case but not in so many held in part.
    """
    number = pooled.number
    if not number:
        return "inconclusive"
    holds = pooled.held == number
    fails = pooled.held == 0 and (pooled.opposite > 0 or 2 * pooled.alike > number)
    if statement.kind == "best":
        holds, fails = 2 * pooled.held > number, 2 * (pooled.opposite + pooled.alike) >= number
    if holds:
        return "held"
    if fails:
        return "did not hold"
    return "held in part" if pooled.held else "inconclusive"


def case_label(case: StatementCase) -> str:
    """Where a case was seen: "mysql-9.7, reconnecting, TLS 1.3 resumed, 45 ms away"."""
    servers = " against ".join(case.sides)
    away = way_words({name: level for name, level in case.case.items() if name in DISTANCE_FACTORS})
    return ", ".join(part for part in (servers, mode_label(case.case), *away) if part)


def verdict_line(result: StatementResult) -> str:
    """The statement, who made it, and the verdict."""
    return f"“{result.says}” ({result.source}): {result.verdict}"


def _otherwise(statement: Statement) -> str:
    """What was seen where a statement did not hold."""
    if statement.kind == "alike":
        return "a larger difference"
    return "less" if statement.by > 1 else "the opposite"


def _sentence(statement: Statement, cases: Sequence[StatementCase], pooled: Tally, cells: Tally) -> str:
    if not cases:
        return "nothing that was measured bears on it"
    otherwise, alike = _otherwise(statement), f"alike within {percent(statement.alike_within - 1)}"
    held = f"it held in {pooled.held} of {counted(len(cases), 'case')} pooled over connections"
    found = [f"{held}{_named(cases, 'held')}"]
    found.append(f"{otherwise} was seen in {pooled.opposite or 'none'}{_named(cases, 'opposite')}")
    if pooled.alike:
        found.append(f"{pooled.alike} {_were(pooled.alike)} {alike}{_named(cases, 'alike')}")
    if pooled.inconclusive:
        found.append(f"{pooled.inconclusive} inconclusive{bound_words(cases)}")
        found += what_would_tell(statement, cases)
    single = [f"it held in {cells.held}", f"{otherwise} in {cells.opposite}"]
    single += [f"{cells.alike} {_were(cells.alike)} {alike}"] if cells.alike else []
    return (
        f"{'; '.join(found)}. Of {counted(cells.number, 'single case')}, not pooled, {', '.join(single)}, "
        f"{cells.inconclusive} inconclusive"
    )


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _named(cases: Sequence[StatementCase], outcome: str) -> str:
    """The clearest cases of one outcome, in brackets."""
    found = sorted(
        (case for case in cases if case.outcome == outcome), key=lambda case: -abs(log(case.ratio.point))
    )
    if not found:
        return ""
    words = some_of([f"{case_label(case)}: {change_words(case.ratio)}" for case in found], MOST_NAMED)
    return f" ({'; '.join(words)})"


def _of_chance(cases: Sequence[StatementCase]) -> list[str]:
    if len(cases) < 2:
        return []
    share = 1 - cases[0].ratio.confidence
    return [
        f"of {len(cases)} comparisons of equal things up to {percent(share)} would seem to differ by chance"
    ]


def _of_floor(cases: Sequence[StatementCase]) -> list[str]:
    """By what the differences were judged, one sentence for each source of the floor."""
    floors: dict[str, list[float]] = {}
    for case in cases:
        if case.noise_floor is not None:
            floors.setdefault(case.noise_from, []).append(case.noise_floor)
    if cases and not floors:
        return ["no twin was run: how much two processes of one kind differ is not known"]
    return [f"noise floor from {source}: {_span(values)}" for source, values in floors.items()]


def _span(values: Sequence[float]) -> str:
    low, high = percent(min(values)), percent(max(values))
    return f"\N{PLUS-MINUS SIGN}{low}" if low == high else f"\N{PLUS-MINUS SIGN}{low} to {high}"


def _of_plaintext(plaintext: Sequence[StatementCase]) -> list[str]:
    told = [case for case in plaintext if case.outcome in ("held", "opposite")]
    if told:
        words = "; ".join(f"{case_label(case)}: {change_words(case.ratio)}" for case in told)
        return [
            f"in plaintext, where the TLS library must not matter, it seems to ({words}): something else "
            "differs between these processes, so differences of that size under TLS prove nothing"
        ]
    if not plaintext:
        return []
    return ["in plaintext, where the TLS library must not matter, no difference was seen"]
