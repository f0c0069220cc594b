"""Locks that a server takes: how many in an operation of each case, which functions take them, who more.

The same of a load client that counts its own, in rows of their `side`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tlstax.plan import order as plan_order
from tlstax.records.profiles.stacks import SIDES, Side
from tlstax.records.trial import TrialRecord
from tlstax.records.window import LOCKS, LockCounts
from tlstax.results.document import RunDocument
from tlstax.results.rows import Row, RowSet, Told, by_case
from tlstax.stats.outcomes import outcome
from tlstax.stats.stats import geometric_mean
from tlstax.stats.wording import FAULT, MINUS, capitalised, case_label
from tlstax.study import Case, Study
from tlstax.study.factors import CaseLevels
from tlstax.support.errors import UserMistake
from tlstax.support.grouping import grouped
from tlstax.support.text import counted
from tlstax.topics.core import columns
from tlstax.topics.core.columns import TRIALS, Column
from tlstax.topics.core.section import Folded, OnPage, Roomy, Section, Words
from tlstax.topics.core.table import Number, Table
from tlstax.topics.core.topic import Run, Topic

RATE = "ops_per_s"
ALL_OF_THEM = "locks of a case"
IN_ALL: Mapping[Side, str] = {"server": "server_locks_per_op", "client": "client_locks_per_op"}
CALL, LIBRARY, FUNCTION, MOVED, NOT_FREE = "call", "library", "function", "moved_per_op", "contended_per_op"
FEWEST, MOST, SLOWER = "least_per_op", "most_per_op", "counting_times_slower"

LEAST = 0.005
"""Fewer calls in an operation than one in two hundred are not told from none."""

HEADS = ("all", "libcrypto", "libssl", "moved", "not free", "waits", "times\nslower")
READING = (
    "For each operation, on threads that serve connections: calls of POSIX functions that take a lock. Moved:"
    " another thread had taken it last; not free: it had to be waited for. Waits are for conditions. Locks "
    "within the C library and atomic operations are not seen. Times slower: what counting costs."
)
READING_OF_CLIENT = "The same of the load client, on all of its threads."
_SHOWN: tuple[tuple[Side, str, str], ...] = (
    ("server", "Locks that the server takes", READING),
    ("client", "Locks that the load client takes", READING_OF_CLIENT),
)
WHO = "Who takes them is in the report, and in `tlstax report --format md`."
UNNAMED = "(no name)"
SHOWN = 30
"""How many functions are shown of a case; the JSON has all of them."""

CHANGES_SHOWN = 20
"""The same of those that make the difference between two cases."""


def rows(run: Run) -> Iterator[Row]:
    """Of each case, in the plan's order, all its locks, then each function that takes them or waits.

    Those of its client follow, where that counts its own.
    Cases come with those valid trials that were counted; a control is counted with the case that it repeats.
    A count is exact: what trials differ by (`least_per_op`, `most_per_op`) is the server's doing.
    """
    for side in SIDES:
        yield from _of_side(run, side)


def _of_side(run: Run, side: Side) -> Iterator[Row]:
    study = run.study
    valid = [record for record in run.stored.trials if record.is_valid]
    seen = (one for one in valid if _counts_of(one, side) is not None)
    cases = grouped(seen, lambda one: _named(one, study))
    others = grouped((one for one in valid if one.locks is None), lambda one: _named(one, study))
    every = plan_order.cases(study)
    planned = {case.levels.without(FAULT): place for place, case in enumerate(every)}
    for named in sorted(cases, key=lambda named: planned.get(named.without(FAULT), len(every))):
        yield from _case(named, study, cases[named], others.get(named, []), side)


def _counts_of(record: TrialRecord, side: Side) -> LockCounts | None:
    return record.locks if side == "server" else record.client_locks


def _named(record: TrialRecord, study: Study) -> CaseLevels:
    """The levels by which the study knows the case: that its locks are counted may be none of its factors."""
    return study.known(record.trial.case.levels)


def _case(
    levels: CaseLevels,
    study: Study,
    records: Sequence[TrialRecord],
    not_counted: Sequence[TrialRecord],
    side: Side,
) -> Iterator[Row]:
    found = (_counts_of(record, side) for record in records)
    counts = [locks for locks in found if locks is not None and locks.operations]
    operations = sum(one.operations for one in counts)
    each = [_locks(one) / one.operations for one in counts]
    without, counting = (
        [rate for record in some if (rate := outcome(record, RATE))] for some in (not_counted, records)
    )
    label = case_label(levels.without(FAULT), study)
    yield Row(
        role=ALL_OF_THEM,
        outcome=IN_ALL[side],
        unit="1",
        label=label,
        case=levels,
        value=sum(map(_locks, counts)) / operations if operations else 0.0,
        more={
            TRIALS.name: len(counts),
            "watched_operations": operations,
            FEWEST: min(each, default=0.0),
            MOST: max(each, default=0.0),
            SLOWER: geometric_mean(without) / geometric_mean(counting) if without and counting else None,
            **_side(side),
        },
    )
    for (call, library, function), (calls, moved, contended) in _takers(counts):
        yield Row(
            outcome=f"{library}: {function}: {call}",
            unit="1",
            label=label,
            case=levels,
            value=calls / operations,
            more={
                CALL: call,
                LIBRARY: library,
                FUNCTION: function,
                MOVED: moved / operations,
                NOT_FREE: contended / operations,
                **_side(side),
            },
        )


def _side(side: Side) -> dict[str, str]:
    """What a row says of its side: nothing of the server's, which all clients' cases have."""
    return {} if side == "server" else {columns.SIDE.name: side}


def _rows_of(rows: Iterable[Row], side: Side) -> tuple[Row, ...]:
    return tuple(row for row in rows if (row.word(columns.SIDE.name) or "server") == side)


def _locks(counts: LockCounts) -> int:
    return sum(site.calls for site in counts.of_kinds(*LOCKS))


def _takers(counts: Sequence[LockCounts]) -> list[tuple[tuple[str, str, str], list[int]]]:
    """All calls from each function; those that found the lock moved, and taken; the busiest first."""
    calls: defaultdict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for site in (site for own in counts for site in own.sites):
        own = calls[site.kind, site.library, site.function]
        own[:] = [a + b for a, b in zip(own, (site.calls, site.moved, site.contended), strict=True)]
    return sorted(calls.items(), key=lambda own: (-own[1][0], own[0][1], own[0][2], own[0][0]))


def sections(told: Told, _: RunDocument) -> Iterator[Section]:
    """How many each case takes; by whom, where there is room."""
    for side, title, reading in _SHOWN:
        if cases := by_case(_rows_of(told.rows, side)):
            yield _section(cases, title, reading)


def _section(cases: Sequence[RowSet], title: str, reading: str) -> Section:
    tables = tuple(_table_of_takers(*case.rows) for case in cases)
    on_page = OnPage(lambda: (Folded("Who takes them", tables),), otherwise=tables)
    who = Roomy((on_page,), otherwise=(Words(WHO, aside=True),))
    in_all = Table("Locks for each operation", HEADS, [_all_of_case(*case.rows) for case in cases], ())
    return Section((in_all, Words(reading, aside=True), who), title)


def _all_of_case(case: Row, *takers: Row) -> tuple[str | Number, ...]:
    """All of them, from trial to trial where those differ in the digits that are shown; then by kind."""
    locks = [row for row in takers if row.word(CALL) in LOCKS]
    least, most = (f"{case.number(name):.1f}" for name in (FEWEST, MOST))
    return (
        case.label,
        f"{case.value:.1f}" if least == most else f"{case.value:.1f} ({least} to {most})",
        *(
            _rate(_sum(row.value for row in locks if row.word(LIBRARY).startswith(name)))
            for name in HEADS[1:3]
        ),
        *(_rate(_sum(row.number(column) for row in locks)) for column in (MOVED, NOT_FREE)),
        _rate(_sum(row.value for row in takers if row.word(CALL) == "wait")),
        Number(case.number(SLOWER), said="{:.1f}".format),
    )


def _sum(values: Iterable[float | None]) -> float:
    return sum(value or 0.0 for value in values)


def _table_of_takers(case: Row, *takers: Row) -> Table:
    shown = [row for row in takers if row.amount >= LEAST][:SHOWN]
    lines: list[tuple[str | Number, ...]] = [
        (_name(row), row.word(CALL), *(map(_rate, (row.value, row.number(MOVED), row.number(NOT_FREE)))))
        for row in shown
    ]
    left = _sum(row.value for row in takers) - _sum(row.value for row in shown)
    if left >= LEAST:
        lines.append(("all others", "", _rate(left), "", ""))
    heads = ("a call\nthat", "of an\noperation", "moved", "not free")
    return Table(case.label, heads, lines, (), of="function", literal=True)


def _name(row: Row) -> str:
    return f"{row.word(LIBRARY)}: {row.word(FUNCTION) or UNNAMED}"


def _rate(per_op: float | None) -> Number:
    return Number(per_op or None, said=lambda rate: "<0.01" if rate < LEAST else f"{rate:.2f}")


def explained(run: Run, case: Case | None = None, baseline: Case | None = None) -> Told:
    """Which functions take the locks that an operation takes more than in another case, or its own baseline.

    Without a case, it is that with the most more. After the row of all locks comes a row for each function
    whose calls differ, the greatest difference first; then the same of the client, where it counted its own.
    UserMistake where the locks of either were not counted.
    """
    again, run_name = "measure again with --count locks", run.stored.header.run
    found = tuple(rows(run))
    counted: dict[Side, Counted] = {
        side: {own.rows[0].case.without(FAULT): own.rows for own in by_case(_rows_of(found, side))}
        for side in SIDES
    }

    def other(levels: CaseLevels) -> CaseLevels:
        return (baseline.levels if baseline is not None else levels | run.study.baseline).without(FAULT)

    if case is not None:
        pair = (case.levels.without(FAULT), other(case.levels))
        if not counted["server"].keys() >= set(pair):
            raise UserMistake("the locks of that case were not counted", remedy=again)
    elif (foremost := _foremost(counted, other)) is not None:
        pair = foremost
    else:
        raise UserMistake(f"no locks were counted in run {run_name}", remedy=again)
    sentences, told = [], []
    for side in SIDES:
        if counted[side].keys() >= set(pair):
            own, beside = (counted[side][levels] for levels in pair)
            changes = _changes(own, beside)
            sentences.append(f"{_WHOSE[side]}{_sentence(own[0], beside[0], changes)}")
            all_of_them = {"baseline": beside[0].case, "baseline_value": beside[0].value}
            told += [own[0].model_copy(update=all_of_them), *changes]
    first, second = (counted["server"][levels][0].label for levels in pair)
    return Told(
        title=f"{first} against {second}, run {run_name}", sentences=tuple(sentences), rows=tuple(told)
    )


_WHOSE: Mapping[Side, str] = {"server": "", "client": "the load client: "}
"""What a sentence begins with that is of a side."""

Counted = Mapping[CaseLevels, Sequence[Row]]
"""The rows of each case on one side, the row of all its locks first."""


def _foremost(
    counted: Mapping[Side, Counted], other: Callable[[CaseLevels], CaseLevels]
) -> tuple[CaseLevels, CaseLevels] | None:
    """The case with the most more than its baseline, on both sides together; None where none was counted.

    Where each case is its own baseline, as where libraries alone differ, it is beside the first.
    """
    cases = list(counted["server"])
    pairs = [(own, other(own)) for own in cases if other(own) in cases]
    pairs = [pair for pair in pairs if pair[0] != pair[1]] or [(own, cases[0]) for own in cases[1:]] or pairs

    def more(pair: tuple[CaseLevels, CaseLevels]) -> float:
        values = ([rows[levels][0].amount if levels in rows else 0.0 for levels in pair] for rows in sides)
        return sum(own - beside for own, beside in values)

    sides = counted.values()
    return max(pairs, key=more, default=None)


_KEPT = (CALL, LIBRARY, FUNCTION, columns.SIDE.name)
"""What a row still says where it tells a change."""


def _changes(own: Sequence[Row], other: Sequence[Row]) -> list[Row]:
    """Each function that takes more or fewer than in the other case, from all rows of both."""
    (case, *takers), (baseline, *others) = own, other
    here, there = ({row.outcome: row for row in side} for side in (takers, others))
    two = {"label": case.label, "case": case.case, "baseline": baseline.case}
    changes = [
        row.model_copy(
            update={
                **two,
                "value": _value(here.get(name)),
                "baseline_value": _value(there.get(name)),
                "more": {column: row.more[column] for column in _KEPT if column in row.more},
            }
        )
        for name, row in {**there, **here}.items()
    ]
    told = [row for row in changes if abs(_more(row)) >= LEAST]
    return sorted(told, key=lambda row: (-abs(_more(row)), row.word(LIBRARY), row.word(FUNCTION)))


def _value(row: Row | None) -> float:
    return 0.0 if row is None else row.amount


def _more(row: Row) -> float:
    return row.amount - row.baseline_amount


def _sentence(case: Row, baseline: Row, changes: Sequence[Row]) -> str:
    said = (
        f"{case.label} takes {case.value:.1f} locks for each operation, {baseline.label} {baseline.value:.1f}"
    )
    more = case.amount - baseline.amount
    if abs(more) < LEAST or not changes:
        return f"{said}: no more and no fewer"
    first = changes[0]
    signed = f"{_more(first):+.1f}".replace("-", MINUS)
    who = f"{first.word(FUNCTION) or 'a function without a name'} of {first.word(LIBRARY)}"
    return f"{said}: {abs(more):.1f} {'more' if more > 0 else 'fewer'}, {signed} in {who}"


def explained_sections(told: Told) -> Iterator[Section]:
    """The same as blocks for a terminal, of each side that is told of."""
    sides = [side for side in SIDES if _rows_of(told.rows, side)]
    heads = ("a call that", "more", "here", "baseline")
    for side, sentence in zip(sides, told.sentences, strict=True):
        changes = _rows_of(told.rows, side)[1:]
        lines: list[tuple[str | Number, ...]] = [
            (
                _name(row),
                row.word(CALL),
                Number(_more(row)),
                *(Number(value or None, said="{:.2f}".format) for value in (row.value, row.baseline_value)),
            )
            for row in changes[:CHANGES_SHOWN]
        ]
        left = len(changes) - len(lines)
        note = (f"{counted(left, 'more function')}; --json has all.",) if left else ()
        table = Table("Functions that take more or fewer", heads, lines, note, of="function", literal=True)
        blocks = table if changes else Words("No function takes more or fewer.")
        yield Section((Words(told.title, aside=True), blocks), f"{capitalised(sentence)}.")


COLUMNS = (
    TRIALS,
    Column("watched_operations", "INTEGER", "how many operations they watched"),
    Column(FEWEST, "REAL", "locks in an operation of the trial with the fewest", "1"),
    Column(MOST, "REAL", "locks in an operation of the trial with the most", "1"),
    Column(SLOWER, "REAL", "how many times as many operations a second there are without counting", "1"),
    Column(CALL, "TEXT", "the kind of call: what it locks, or a wait"),
    columns.LIBRARY,
    columns.FUNCTION,
    columns.SIDE,
    Column(MOVED, "REAL", "calls in an operation that found that another thread took the lock last", "1"),
    Column(NOT_FREE, "REAL", "calls in an operation that found the lock taken", "1"),
)

TOPIC = Topic("locks", _SHOWN[0][1], rows, sections, columns=COLUMNS)
