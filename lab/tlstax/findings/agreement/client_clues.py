"""Why two load clients' trials differ: only what was measured in these very trials. Pure.

A clue differs itself, beyond chance, and in the direction in which it would bear on the difference. What the
clients are known to do otherwise (naps, further system calls) is never said where it did not show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean

from tlstax.findings.core import stats
from tlstax.findings.core.series import Frozen, Series, frozen
from tlstax.findings.core.wording import microseconds, number, signed, signed_percent
from tlstax.records.trial import TrialRecord
from tlstax.results.document import Clue
from tlstax.study import Levels
from tlstax.study.case_levels import CaseLevels
from tlstax.study.labels import client_words

STATEMENTS = (
    "Com_begin",
    "Com_commit",
    "Com_delete",
    "Com_insert",
    "Com_insert_select",
    "Com_select",
    "Com_set_option",
    "Com_update",
)
"""The server's counters of statements that clients send (SHOW STATUS, MySQL reference manual)."""

MORE_STATEMENTS = 0.001
MORE_CONNECTIONS = 0.000_1
"""From how many more an operation on they are reported."""

_RATIOS = {
    "server_cpu_us_per_op": {
        "server_instructions_per_op": "the server executes {change} instructions an operation",
        "server_context_switches_per_op": (
            "the server's threads change {own} times an operation, and {other} times with {reference}"
        ),
        "client_context_switches_per_op": (
            "the client's threads change {own} times an operation, and {other} times with {reference}"
        ),
    },
    "outside_client_us_per_op": {
        "client_context_switches_per_op": (
            "the client's threads change {own} times an operation, and {other} times with {reference}"
        ),
    },
}
"""For an outcome, what would raise it if it were raised."""

_PARTS = {
    "server_cpu_us_per_op": {
        "server_cpu_system_us_per_op": "is the server's CPU in the kernel",
        "server_cpu_user_us_per_op": "is the server's CPU in user mode",
    },
    "outside_client_us_per_op": {"server_cpu_us_per_op": "is CPU of the server"},
}
"""For an outcome, what is a part of it."""

MOST = 0.6
"""From which share of a difference on a part of it is reported."""


@dataclass(frozen=True)
class Seen:
    """What the server counted for one case over its trials' windows, per operation."""

    statements: float
    connections: float


def seen_by_case(records: Iterable[TrialRecord]) -> dict[Frozen, Seen]:
    """By the case's levels, from all its valid trials whose window was watched; controls apart."""
    operations: dict[Frozen, int] = defaultdict(int)
    statements: dict[Frozen, int] = defaultdict(int)
    connections: dict[Frozen, int] = defaultdict(int)
    for record in records:
        case, window = record.trial.case, record.window
        if record.verdict.value != "valid" or case.role == "control" or record.done is None or window is None:
            continue
        levels = frozen(case.levels)
        operations[levels] += record.watched_operations
        statements[levels] += sum(window.status_delta.get(name, 0) for name in STATEMENTS)
        connections[levels] += window.status_delta.get("Connections", 0)
    return {
        levels: Seen(statements[levels] / count, connections[levels] / count)
        for levels, count in operations.items()
        if count
    }


def clues(  # noqa: PLR0913 (two cases, what was seen of them, and the difference between them)
    series: Series,
    seen: Mapping[Frozen, Seen],
    levels: Levels,
    reference: Levels,
    *,
    outcome: str,
    higher: bool,
) -> tuple[Clue, ...]:
    """What was measured that goes with a difference of `outcome`, which is `higher` or lower."""
    named = client_words(CaseLevels.of(reference).client)
    both = seen.get(frozen(levels)), seen.get(frozen(reference))
    own, other = series.geometric_means(levels, reference, outcome)
    found: list[Clue | None] = [*_counted(*both, named, own - other)] if higher else []
    for name, words in _PARTS[outcome].items():
        found.append(_part(series, levels, reference, (outcome, name), words))
    for name, words in _RATIOS[outcome].items():
        found.append(_raised(series, levels, reference, name, words, higher=higher))
    return tuple(clue for clue in found if clue is not None)


def _counted(own: Seen | None, other: Seen | None, reference: str, more_us: float) -> Iterator[Clue]:
    """Work that this client gives the server within the window, and the other does not.

    `more_us` is the difference that it may be behind: what each connection must cost for that is reported, so
    that a reader can judge whether it can.
    """
    if own is None or other is None:
        return
    if own.statements - other.statements > MORE_STATEMENTS:
        yield Clue(
            name="statements_per_op",
            value=own.statements,
            reference_value=other.statements,
            words=f"the server runs {own.statements:.3f} statements an operation, and {other.statements:.3f} "
            f"with {reference}",
        )
    connections = own.connections - other.connections
    if connections > MORE_CONNECTIONS:
        yield Clue(
            name="connections_per_op",
            value=own.connections,
            reference_value=other.connections,
            words=f"{number(1000 * connections)} more connections are made within the window for every 1,000 "
            f"operations, which would be all of it at {microseconds(more_us / connections)} each",
        )


def _part(
    series: Series, levels: Levels, reference: Levels, names: tuple[str, str], words: str
) -> Clue | None:
    """A part of the outcome that makes up most of the difference, and differs beyond chance itself.

    Times of a part add up, and in a short window a part may be nothing at all, so means are arithmetic here.
    """
    whole, part = (_pairs(series, levels, reference, name) for name in names)
    if not whole or len(part) != len(whole):
        return None
    more, of_it = (fmean(own - other for own, other in pairs.values()) for pairs in (part, whole))
    apart = series.pooling.difference({block: own - other for block, (own, other) in part.items()})
    if not apart.excludes_zero or not of_it or more / of_it < MOST:
        return None
    return Clue(
        name=names[1],
        value=fmean(own for own, _ in part.values()),
        reference_value=fmean(other for _, other in part.values()),
        words=f"{signed(more)} of the {signed(of_it)} µs {words}",
    )


def _pairs(series: Series, levels: Levels, reference: Levels, name: str) -> dict[int, tuple[float, float]]:
    """Both cases' values in each block that has both."""
    own, other = (series.values.get(frozen(case), {}) for case in (levels, reference))
    return {
        block: (own[block][name], other[block][name])
        for block in sorted(own.keys() & other.keys())
        if name in own[block] and name in other[block]
    }


def _raised(  # noqa: PLR0913 (two cases, a quantity, its words and which way it should go)
    series: Series, levels: Levels, reference: Levels, name: str, words: str, *, higher: bool
) -> Clue | None:
    """A quantity that differs beyond chance, in the same direction."""
    ratio = series.interval(series.log_ratios(levels, reference, name))
    if ratio is None or not ratio.excludes_one or (ratio.point > 1) != higher:
        return None
    own, other = series.geometric_means(levels, reference, name)
    own = stats.beside(other, ratio, own)
    said = words.format(
        change=signed_percent(ratio.point - 1),
        own=number(own),
        other=number(other),
        reference=client_words(CaseLevels.of(reference).client),
    )
    return Clue(name=name, value=own, reference_value=other, words=said)
