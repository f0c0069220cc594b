"""Whether load clients agree on what a server's work costs, each one's own cost left out.

Operations a second are the client's doing as much as the server's, and are not compared. What may be
compared is the server's CPU per operation; what TLS adds to it, as each client's ratio to its own plaintext;
and on one connection the time of an operation less the client's CPU. The last is no exact science: CPU that a
client uses while the server is at work already (falling asleep after it has sent) is taken off as well,
though it delays nothing.

A clue to a difference is only what was measured in these very trials: it differs itself, beyond chance, and
in the direction in which it would bear on the difference. What the clients are known to do otherwise (naps,
further system calls) is never said where it did not show.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from statistics import fmean
from typing import Any

from tlstax.records.trial import TrialRecord
from tlstax.results.document import RunDocument
from tlstax.results.interval import DIFFERENCES, Interval
from tlstax.results.rows import Row, Told
from tlstax.stats import stats
from tlstax.stats.contrasts import judge, nearest
from tlstax.stats.outcomes import UNITS, is_of_load_client
from tlstax.stats.series import Logs, Series, difference
from tlstax.stats.stats import relative_difference
from tlstax.stats.wording import (
    capitalised,
    microseconds,
    number,
    per_cent,
    percent,
    signed,
    signed_alike,
    signed_percent,
)
from tlstax.study import Study
from tlstax.study.client_kinds import client_words
from tlstax.study.factors import CaseLevels
from tlstax.study.labels import group_label, label_levels
from tlstax.study.level_names import ENGINE, LEFT_TO_THE_DRIVER, STREAM, TLS_SWITCH
from tlstax.support.grouping import grouped
from tlstax.support.text import counted, enumerated, with_commas
from tlstax.topics.core import figures
from tlstax.topics.core.columns import Column
from tlstax.topics.core.section import Pairs, Section, Words
from tlstax.topics.core.topic import Run, Topic

CLIENT = "client"
SWITCH = "tls_switch"
WHO = (CLIENT, SWITCH)
"""The factors that say who asks, and not what the server is to do."""

COST, TAX, CLUE = "client cost", "client tax", "client clue"
"""Roles of rows."""

TAXED, OUTSIDE = "server_cpu_us_per_op", "outside_client_us_per_op"
STATEMENTS, CONNECTIONS = "statements_per_op", "connections_per_op"
CLUE_TO, WHOLE = "clue_to", "whole_difference_us"

AGREE_WITHIN = 1.10
"""Clients agree where the whole interval of their ratio lies within this factor, and the noise floor too."""

COUNTED = (
    "begin",
    "commit",
    "delete",
    "insert",
    "insert_select",
    "select",
    "set_option",
    "update",
)
"""The commands that are statements of clients, as the server counts them."""

LEAST_MORE = {STATEMENTS: 0.001, CONNECTIONS: 0.000_1}
"""From how many more an operation on they are a clue."""

RAISERS = {
    TAXED: (
        "server_instructions_per_op",
        "server_context_switches_per_op",
        "client_context_switches_per_op",
    ),
    OUTSIDE: ("client_context_switches_per_op",),
}
"""For an outcome, what would raise it if it were raised."""

PARTS = {
    TAXED: ("server_cpu_system_us_per_op", "server_cpu_user_us_per_op"),
    OUTSIDE: (TAXED,),
}
"""For an outcome, what is a part of it."""

MOST = 0.6
"""From which share of a difference on a part of it is a clue."""

CLUE_WORDS = {
    "server_cpu_system_us_per_op": "is the server's CPU in the kernel",
    "server_cpu_user_us_per_op": "is the server's CPU in user mode",
    TAXED: "is CPU of the server",
    "server_instructions_per_op": "the server executes {change} instructions an operation",
    "server_context_switches_per_op": (
        "the server's threads change {own} times an operation, and {other} times with {reference}"
    ),
    "client_context_switches_per_op": (
        "the client's threads change {own} times an operation, and {other} times with {reference}"
    ),
    STATEMENTS: "the server runs {own} statements an operation, and {other} with {reference}",
}

QUANTITY_WORDS = {
    (COST, TAXED): "server CPU per operation",
    (COST, OUTSIDE): "the time of an operation less the client's own CPU",
    (TAX, TAXED): "what TLS adds to the server CPU per operation",
}

MOST_SENTENCES = 4
"""More cases than this are counted, not named one by one."""

ALWAYS_SAID = ("workload", "connections", "tls")

NO_CLUE = "nothing that was measured tells why"
NO_CLUE_TO_TAX = "see what each costs"

READING = (
    "Geometric means over the blocks that both clients have, and the change against the first one. "
    "Operations a second are not compared: they tell of the client as much as of the server. From an "
    "operation's time all of the client's CPU is taken off, with what it uses while the server is at work. "
    "Waking a client that has fallen asleep over its wait is work of the server. Clients are said to "
    "agree where even a difference of a tenth would have been seen."
)

Clients = Mapping[str, CaseLevels]
"""The same case with every client, by the client's name."""


Counted = Mapping[str, float]
"""Statements and connections that the server counted for one case in its trials' windows, per operation."""


def rows(run: Run) -> Iterator[Row]:
    """Every client beside the reference client, in each case that both ran and each outcome to compare by.

    A row of the role "client tax" has the outcome's ratio to the same client's trials in plaintext. Behind a
    difference come its clues, each a row. Drivers without TLS options each do what they like, and cannot be
    expected to agree. In the order of the plan; nothing where the study has one client, or asks what a client
    costs itself.
    """
    if is_of_load_client(run.study):
        return
    series = run.series
    cases = (
        case for case in series.cases.values() if CLIENT in case.levels and case.levels.workload != STREAM
    )
    comparable = (case.levels for case in cases if case.levels.tls not in LEFT_TO_THE_DRIVER)
    together = grouped(comparable, lambda levels: levels.without(*WHO)).values()
    groups = [{client_of(at): at for at in clients} for clients in together if len(clients) > 1]
    if not groups:
        return
    counts = counted_by_case(run.stored.measured)
    for outcome in (TAXED, OUTSIDE):
        floors = series.control_ratios(outcome)
        for clients in groups:
            yield from _Comparison(series, counts, COST, outcome, clients).rows(floors)
        for clients in groups if outcome == TAXED else ():
            if any(levels.get("tls", "off") != "off" for levels in clients.values()):
                yield from _Comparison(series, counts, TAX, outcome, clients).rows(floors)


def client_of(case: CaseLevels) -> str:
    """The client, and how it comes to its TLS where that is not by its own option."""
    at_server = case.get(SWITCH) == "server"
    return f"{case.client} ({TLS_SWITCH['server']})" if at_server else case.client


def counted_by_case(records: Iterable[TrialRecord]) -> dict[CaseLevels, Counted]:
    """By the case's levels, from all its valid trials whose window was watched; controls apart."""
    operations: Counter[CaseLevels] = Counter()
    counts: defaultdict[CaseLevels, Counter[str]] = defaultdict(Counter)
    for record in records:
        case, window = record.trial.case, record.window
        if not record.is_valid or case.role == "control" or record.done is None or window is None:
            continue
        levels = case.levels
        operations[levels] += record.watched_operations
        commands = record.commands_in_window
        counts[levels][STATEMENTS] += sum(commands.get(name, 0) for name in COUNTED)
        counts[levels][CONNECTIONS] += record.counted_in_window("connections") or 0
    return {
        levels: {name: counts[levels][name] / count for name in LEAST_MORE}
        for levels, count in operations.items()
        if count
    }


@dataclass(frozen=True)
class _Comparison:
    """Sets clients beside the reference client, by what a case costs or by what TLS adds to it."""

    series: Series
    counts: Mapping[CaseLevels, Counted]
    role: str
    outcome: str
    clients: Clients

    @property
    def reference(self) -> CaseLevels:
        """Of the engine, or else of the first client of the study."""
        return self.clients.get(ENGINE, next(iter(self.clients.values())))

    def rows(self, controls: Mapping[CaseLevels, Interval]) -> Iterator[Row]:
        """A row for each client that has a block in common with the reference client, and its clues."""
        control = nearest(self.series.own_baseline(self.reference), controls)
        floor = stats.noise_floor(control) if control else None
        for levels in self.clients.values():
            if levels is self.reference:
                continue
            row = self._beside(levels, floor)
            if row is None:
                continue
            yield row
            if self.role == COST and row.judgement in DIFFERENCES:
                yield from self._clues(levels, higher=row.judgement == "higher")

    def _row(self, levels: CaseLevels, **known: Any) -> Row:
        label = _case_words(levels, self.series.study)
        return Row(label=label, case=levels, baseline=self.reference, **known)

    def _beside(self, levels: CaseLevels, floor: float | None) -> Row | None:
        own, others = self._logs(levels), self._logs(self.reference)
        is_cost = self.role == COST
        ratios = difference(own, others)
        if is_cost:
            ratios = self.series.log_ratios(levels, self.reference, self.outcome)
        ratio = self.series.interval(ratios)
        if ratio is None:
            return None
        reference = exp(fmean(others[block] for block in ratios))
        return self._row(
            levels,
            role=self.role,
            outcome=self.outcome,
            unit=UNITS[self.outcome] if is_cost else "1",
            value=stats.beside(reference, ratio, exp(fmean(own[block] for block in ratios))),
            baseline_value=reference,
            interval=ratio,
            of="ratio",
            noise_floor=floor,
            judgement=judge(ratio, floor, AGREE_WITHIN),
        )

    def _logs(self, levels: CaseLevels) -> Logs:
        if self.role == COST:
            return self.series.logs(levels, self.outcome)
        plain = levels | {"tls": "off"} | ({"resumption": "off"} if "resumption" in levels else {})
        return self.series.log_ratios(levels, plain, self.outcome)

    def _clues(self, levels: CaseLevels, *, higher: bool) -> Iterator[Row]:
        """What was measured that goes with a difference, which is `higher` or lower."""
        own, other = (self.counts.get(case, {}) for case in (levels, self.reference))
        for name, least in LEAST_MORE.items() if higher and own and other else ():
            # Work that this client gives the server within the window, and the other does not.
            if own[name] - other[name] > least:
                yield self._clue(levels, name, (own[name], other[name]))
        for name in PARTS[self.outcome]:
            yield from self._part(levels, name)
        for name in RAISERS[self.outcome]:
            ratio = self.series.interval(self.series.log_ratios(levels, self.reference, name))
            if ratio is not None and ratio.excludes_one and (ratio.point > 1) == higher:
                value, beside = self.series.geometric_means(levels, self.reference, name)
                yield self._clue(levels, name, (stats.beside(beside, ratio, value), beside), ratio)

    def _part(self, levels: CaseLevels, name: str) -> Iterator[Row]:
        """A part of the outcome that makes up most of the difference, and differs beyond chance itself.

        Times of a part add up, and in a short window a part may be nothing at all, so means are arithmetic.
        """
        part, whole = (self._pairs(levels, outcome) for outcome in (name, self.outcome))
        if not whole or len(part) != len(whole):
            return
        more, of_it = (fmean(own - other for own, other in pairs.values()) for pairs in (part, whole))
        apart = self.series.pooling.difference({block: own - other for block, (own, other) in part.items()})
        if apart.excludes_zero and of_it and more / of_it >= MOST:
            own, other = (fmean(values) for values in zip(*part.values(), strict=True))
            clue = self._clue(levels, name, (own, other), apart)
            yield clue.model_copy(update={"of": "difference", "more": {**clue.more, WHOLE: of_it}})

    def _pairs(self, levels: CaseLevels, name: str) -> dict[int, tuple[float, float]]:
        """Both cases' values in each block that has both."""
        own, other = (self.series.values.get(case, {}) for case in (levels, self.reference))
        return {
            block: (own[block][name], other[block][name])
            for block in sorted(own.keys() & other.keys())
            if name in own[block] and name in other[block]
        }

    def _clue(
        self, levels: CaseLevels, name: str, values: tuple[float, float], known: Interval | None = None
    ) -> Row:
        """What two cases have of a quantity, and its ratio."""
        return self._row(
            levels,
            role=CLUE,
            outcome=name,
            unit=UNITS.get(name, "1"),
            value=values[0],
            baseline_value=values[1],
            interval=known,
            of="ratio",
            more={CLUE_TO: self.outcome, WHOLE: None},
        )


def _case_words(levels: CaseLevels, study: Study) -> str:
    """The case that the clients share: "point selects on kept connections, 1 connection, TLS 1.3".

    What is the same in the whole study goes without saying.
    """
    said = levels.without(*WHO).only(*ALWAYS_SAID, *study.varied)
    return with_commas(
        group_label(said, study), label_levels(said, study) if study.baseline.keys() & said else ""
    )


@dataclass(frozen=True)
class _Compared:
    """A case and what is compared in it: a row for each client, and the clues to all differences."""

    rows: Sequence[Row]
    clues: Sequence[Row]

    @property
    def quantity(self) -> str:
        """What is compared: "server CPU per operation"."""
        return QUANTITY_WORDS[self.rows[0].role, self.rows[0].outcome]

    @property
    def reference(self) -> str:
        return client_of(self.rows[0].baseline)

    def why(self, row: Row) -> str:
        """What was measured beside a difference, or that nothing was; empty where there is no difference."""
        if row.judgement not in DIFFERENCES:
            return ""
        clues = (clue for clue in self.clues if (clue.case, clue.word(CLUE_TO)) == (row.case, row.outcome))
        nothing = NO_CLUE if row.role == COST else NO_CLUE_TO_TAX
        return ", ".join(_clue_words(clue, row) for clue in clues) or nothing


def _compared(shown: Sequence[Row]) -> list[_Compared]:
    clues = [row for row in shown if row.role == CLUE]
    others = (row for row in shown if row.role != CLUE)
    cases = grouped(others, lambda row: (row.role, row.outcome, row.case.without(*WHO))).values()
    return [_Compared(rows, clues if rows[0].role == COST else ()) for rows in cases]


def sentences(_: Run, shown: Sequence[Row]) -> Iterator[str]:
    """The answer of a run in a few sentences: each case's, or how often each client agrees."""
    cases = _compared(shown)
    if len(cases) <= MOST_SENTENCES:
        yield from map(_sentence, cases)
        return
    for (quantity, reference), several in grouped(cases, lambda one: (one.quantity, one.reference)).items():
        rows = ((compared, row) for compared in several for row in compared.rows)
        by_client = grouped(rows, lambda seen: client_of(seen[1].case))
        tallies = (_tally(reference, client, seen) for client, seen in by_client.items())
        yield f"{quantity}: {'; '.join(tallies)}"


def _sentence(compared: _Compared) -> str:
    """What the clients show for one case: who agrees, who differs by how much and why, who is undecided."""
    quantity, said = compared.quantity, []
    agreeing = [row for row in compared.rows if row.judgement == "alike"]
    if agreeing:
        clients = (compared.reference, *(client_of(row.case) for row in agreeing))
        values = ", ".join(f"{_value_words(row)} ({_interval_words(row)})" for row in agreeing)
        first = _value_words(agreeing[0], of_reference=True)
        said.append(f"{enumerated(map(client_words, clients))} agree on {quantity}, {first} and {values}")
    for row in compared.rows:
        client, other = client_of(row.case), _value_words(row, of_reference=True)
        with_reference = f"{other} with {client_words(compared.reference)}"
        between = f"{_value_words(row)} and {with_reference} ({_interval_words(row)})"
        if row.judgement in DIFFERENCES:
            said.append(f"{client} differs in {quantity}, {between}: {compared.why(row)}")
        elif row.judgement == "inconclusive":
            said.append(f"{client} is inconclusive in {quantity}, {between}")
    return f"{compared.rows[0].label}: {'; '.join(said)}"


def _value_words(row: Row, *, of_reference: bool = False) -> str:
    """A value as people read it: "61.2 µs", or of a tax "+9.1 %"."""
    value = (row.baseline_value if of_reference else row.value) or 0.0
    return microseconds(value) if row.role == COST else signed_percent(value - 1)


def _interval_words(row: Row) -> str:
    """How far it is from the reference client: "+1.3 %, −0.4 to +3.0 % at 95 %"."""
    ratio = row.known
    if ratio.between is None:
        return f"{signed_percent(ratio.point - 1)} in one block alone"
    if not ratio.is_telling:
        return f"{signed_percent(ratio.point - 1)} in {counted(ratio.blocks, 'block')}, which are too few"
    point, low, high = signed_alike(*map(per_cent, (ratio.point, *ratio.between)))
    return f"{point} %, {low} to {high} % at {percent(ratio.confidence)}"


def _clue_words(clue: Row, row: Row) -> str:
    """A clue to the difference of the row.

    What each further connection must cost to be all of it is said, so that a reader can judge whether it can.
    """
    own, other = clue.amount, clue.baseline_amount
    if clue.outcome == CONNECTIONS:
        each_us = (row.amount - row.baseline_amount) / (own - other)
        return (
            f"{number(1000 * (own - other))} more connections are made within the window for every 1,000 "
            f"operations, which would be all of it at {microseconds(each_us)} each"
        )
    words, ratio = CLUE_WORDS[clue.outcome], clue.interval
    if ratio is not None and clue.of == "difference":
        return f"{signed(ratio.point)} of the {signed(clue.number(WHOLE) or 0.0)} µs {words}"
    counts = (f"{one:.3f}" if clue.outcome == STATEMENTS else number(one) for one in (own, other))
    return words.format(
        **dict(zip(("own", "other"), counts, strict=True)),
        change="" if ratio is None else signed_percent(ratio.point - 1),
        reference=client_words(clue.baseline.client),
    )


def _tally(reference: str, client: str, seen: Sequence[tuple[_Compared, Row]]) -> str:
    """How often a client agrees, and of its largest difference how large it is and what goes with it.

    Where none is seen, how large a difference the intervals leave room for.
    """

    def apart(row: Row) -> float:
        return relative_difference(row.known.point)

    agree = [row for _, row in seen if row.judgement == "alike"]
    differ = [(compared, row) for compared, row in seen if row.judgement in DIFFERENCES]
    inconclusive = [row.known for _, row in seen if row.judgement == "inconclusive"]
    in_cases = f"{len(agree)} of {counted(len(seen), 'case')}"
    parts = [f"{client} agrees with {client_words(reference)} in {in_cases}"]
    if agree:
        parts.append(f"within {percent(max(map(apart, agree)))}")
    if differ:
        compared, widest = max(differ, key=lambda place: apart(place[1]))
        largest = signed_percent(widest.known.point - 1)
        parts.append(f"differs in {len(differ)}, at most by {largest} ({compared.why(widest)})")
    if inconclusive:
        ends = [end for ratio in inconclusive for end in (ratio.low, ratio.high) if end is not None]
        hides = ""
        if ends and all(ratio.is_telling for ratio in inconclusive):
            hides = f": a difference of up to {percent(max(map(relative_difference, ends)))} could hide"
        parts.append(f"in {len(inconclusive)} it is inconclusive{hides}")
    return ", ".join(parts)


def sections(told: Told, _: RunDocument) -> Iterator[Section]:
    """What each client says of every case, and where it differs what was measured beside that."""
    yield Section((*map(_pairs, _compared(told.rows)), Words(READING, aside=True)), told.title)


def _pairs(compared: _Compared) -> Pairs:
    first = (compared.reference, _value_words(compared.rows[0], of_reference=True))
    lines = [first]
    for row in compared.rows:
        inconclusive = "; inconclusive" if row.judgement == "inconclusive" else ""
        mark = f"{figures.ALIKE} " if row.judgement == "alike" else ""
        said = f"{mark}{_value_words(row)} ({_interval_words(row)}{inconclusive})"
        lines += [(client_of(row.case), said), *([("", why)] if (why := compared.why(row)) else [])]
    return Pairs(f"{capitalised(compared.quantity)}: {compared.rows[0].label}", tuple(lines))


COLUMNS = (
    Column(CLUE_TO, "TEXT", "the outcome whose difference between two load clients this goes with"),
    Column(WHOLE, "REAL", "how much that outcome differs, an arithmetic mean over blocks", "us"),
)

TOPIC = Topic("agreement", "Whether the load clients agree", rows, sections, sentences, COLUMNS)
