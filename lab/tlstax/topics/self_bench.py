"""What the load engine costs itself: beside the bare floor, the least that a client can do, and others.

The engine and the floor take turns in slices; beside a client that cannot stop, both work in whole windows.
A slice finds another client's data in the processor's caches, as a window does, but more often: so a client
is compared with the engine that worked as it did.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from tlstax.records.trial import TrialRecord
from tlstax.results.document import RunDocument
from tlstax.results.rows import Row, Told
from tlstax.stats import stats
from tlstax.stats.contrasts import judge, nearest
from tlstax.stats.outcomes import UNITS, is_of_load_client
from tlstax.stats.series import Series
from tlstax.stats.wording import capitalised, each, negotiated, tls_label, with_ends
from tlstax.study import workloads
from tlstax.study.client_kinds import FLOOR, client_words
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import ENGINE, POINT_SELECT, RECONNECT, protocol_words
from tlstax.support.grouping import grouped
from tlstax.support.text import counted, enumerated
from tlstax.topics.core.section import Section
from tlstax.topics.core.table import Cell, Line, Lines, Number, number
from tlstax.topics.core.topic import Run, Topic

CLIENT_CPU, RATE = "client_cpu_us_per_op", "ops_per_s"
WHO = ("client", "client_tls_library")
ALONE, BESIDE = "engine alone", "engine beside"

OPERATIONS = {POINT_SELECT: "a point select", RECONNECT: "a reconnect"}
GROUPS = {POINT_SELECT: "Point selects", RECONNECT: "Reconnects"}

USUAL_CONNECTIONS = 64
"""How many connections the answer is given for, or, where these were not measured, the nearest below."""

TITLE = "Operations a second, and the client's CPU time of one in µs"

NOTES = (
    "A ratio is the engine's value over the other's, with its interval; below 1 is less CPU.",
    "The engine's own values, and ratios to the floor, are of slices in turn: ratios are taken between "
    "neighbours, and so are not exactly those of the values beside them. Ratios to a client that cannot stop "
    "in the middle of a run are of whole windows of both.",
)


def rows(run: Run) -> Iterator[Row]:
    """The engine's rate and CPU time per operation in each cell, by themselves and as ratios to the others'.

    A cell is what all clients are asked to do. A row of the role "engine beside" has the other client's value
    as the baseline's. Cells are in the plan's order, resumed ones after those with full handshakes.
    """
    if not is_of_load_client(run.study):
        return
    series = run.series
    engines = [case.levels for case in series.cases.values() if case.levels.client == ENGINE]
    by_mode = grouped(engines, lambda levels: levels.without(*WHO, "slice_ms", "connections")).values()
    for of_mode in by_mode:
        for of_cell in grouped(of_mode, lambda levels: levels["connections"]).values():
            for outcome in (RATE, CLIENT_CPU):
                yield from _alone(series, of_cell, outcome)
                for engine in of_cell:
                    yield from _beside(series, engine, outcome)


def _alone(series: Series, engines: Iterable[CaseLevels], outcome: str) -> Iterator[Row]:
    """The engine's value in turns, or in whole windows where it had none."""
    known = [levels for levels in engines if series.logs(levels, outcome)]
    for engine in sorted(known, key=lambda levels: levels.slice_ms == 0)[:1]:
        named: dict[str, Any] = {"role": ALONE, "outcome": outcome, "unit": UNITS[outcome]}
        yield from series.rows(series.logs(engine, outcome), label=_label(engine), case=engine, **named)


def _beside(series: Series, engine: CaseLevels, outcome: str) -> Iterator[Row]:
    """The engine's value to that of each client that worked as this engine did."""
    control = nearest(series.own_baseline(engine), series.control_ratios(outcome))
    floor = stats.noise_floor(control) if control else None
    for other in (case.levels for case in series.cases.values()):
        if other.without(*WHO) != engine.without(*WHO) or other.client == ENGINE:
            continue
        ratio = series.interval(series.log_ratios(engine, other, outcome))
        if ratio is None:
            continue
        own, others = series.geometric_means(engine, other, outcome)
        yield Row(
            role=BESIDE,
            outcome=outcome,
            unit=UNITS[outcome],
            label=_label(engine),
            case=engine,
            baseline=other,
            value=own,
            baseline_value=others,
            interval=ratio,
            of="ratio",
            noise_floor=floor,
            judgement=judge(ratio, floor, series.study.alike_within),
        )


def _label(case: CaseLevels) -> str:
    """A cell in words: "mysql-9.7, reconnecting for every point select, 64 connections, TLS 1.3"."""
    server = (case.server,) if case.server is not None else ()
    connections = counted(case.connections, "connection")
    return ", ".join((*server, workloads.in_words(case.workload), *_sent(case), connections, tls_label(case)))


def _sent(case: CaseLevels) -> tuple[str, ...]:
    """How its statements travel, where that was asked for."""
    return () if case.protocol == "default" else (protocol_words(case.protocol),)


def sentences(run: Run, shown: Sequence[Row]) -> Iterator[str]:
    """How much of each other client's CPU the engine spends, and where two did not do the same work."""
    compared = [row for row in shown if row.role == BESIDE and row.outcome == CLIENT_CPU]
    for client, own in grouped(compared, _rival).items():
        yield _sentence(client, own)
    for words in _unlike(run.stored.measured, compared):
        yield f"they did not negotiate the same: {words}"


def _rival(row: Row) -> str:
    return row.baseline.client


def _sentence(client: str, compared: Sequence[Row]) -> str:
    many = {row.case.connections for row in compared}
    shown = max((each for each in many if each <= USUAL_CONNECTIONS), default=min(many))
    of_whom, parts = f" of {client_words(client)}'s CPU", []
    at_shown = [row for row in compared if row.case.connections == shown]
    several = len({row.case.server for row in compared}) > 1
    for own in grouped(at_shown, lambda row: _kind(row.case, several=several)).values():
        on_what = f" on {_operation(own[0].case, several=several)}"
        for row in own:
            parts.append(f"{with_ends(row.ratio, each(ratio_text))}{of_whom}{on_what} {_under(row.case)}")
            of_whom = on_what = ""
    return f"at {counted(shown, 'connection')} the engine spends {enumerated(parts)}"


def _operation(case: CaseLevels, *, several: bool) -> str:
    """What a client does: "a prepared point select", "a reconnect at mysql-9.7" where there are `several`."""
    words = OPERATIONS.get(case.workload, case.workload)
    if case.protocol == "prepared":
        words = f"a prepared {words.removeprefix('a ')}"
    elif case.protocol != "default":
        words = f"{words} {protocol_words(case.protocol)}"
    return f"{words} at {case.server}" if several else words


def _under(levels: CaseLevels) -> str:
    mode = tls_label(levels)
    return "in plaintext" if mode == "plaintext" else f"under {mode}"


def _unlike(records: Iterable[TrialRecord], compared: Iterable[Row]) -> Iterator[str]:
    """Where two clients have another TLS version or cipher; one that says nothing of it is not compared."""
    of_case = grouped(records, lambda record: record.trial.case.levels)
    said = dict.fromkeys(
        f"the engine {own}, {client_words(_rival(row))} {other}"
        for row in compared
        if (own := _ciphers(of_case, row.case)) != (other := _ciphers(of_case, row.baseline)) and other
    )
    yield from said


def _ciphers(of_case: dict[CaseLevels, list[TrialRecord]], levels: CaseLevels) -> str:
    """The versions and ciphers of a case's valid trials; empty where none is told."""
    valid = (each for each in of_case.get(levels, ()) if each.is_valid)
    told = negotiated(valid).split("; ")
    return " and ".join(dict.fromkeys(" ".join(words.split(" ")[:2]).rstrip(",") for words in told))


def ratio_text(value: float) -> str:
    """Two decimals, fewer where the ratio is large: 0.47, 12.3, 140."""
    decimals = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{decimals}f}" if value < 1000 else ">999"


def sections(told: Told, _: RunDocument) -> Iterator[Section]:
    """A line for each cell: what the engine does, and what it is to each of the others.

    The floor's rate is left out: it is made to spend little, not to be fast.
    """
    rivals = tuple(dict.fromkeys(_rival(row) for row in told.of(role=BESIDE)))
    in_rate = tuple(client for client in rivals if client != FLOOR)
    heads = (
        "ops/s\nengine",
        *(f"ops/s to\n{client}'s" for client in in_rate),
        *(f"CPU\n{client}" for client in (ENGINE, *rivals)),
        *(f"CPU to\n{client}'s" for client in rivals),
    )
    several = len({row.case.server for row in told.rows}) > 1
    by_cell = grouped(told.rows, lambda row: row.label).values()
    lines = [_line(own, in_rate, rivals, several=several) for own in by_cell]
    together = grouped(lines, lambda line: line.group).values()
    whole = Lines(TITLE, heads, tuple(chain(*together)), NOTES).whole()
    yield Section((replace(whole, of="TLS, connections"),), told.title)


def _kind(case: CaseLevels, *, several: bool) -> str:
    """What cells have in common that are shown together; with their server where there are `several`."""
    workload = GROUPS.get(case.workload, capitalised(workloads.in_words(case.workload)))
    return ", ".join((workload, *_sent(case), *([str(case.server)] if several else ())))


def _line(own: Sequence[Row], in_rate: Sequence[str], rivals: Sequence[str], *, several: bool) -> Line:
    case = own[0].case
    alone = {row.outcome: row.value for row in own if row.role == ALONE}
    beside = {(row.outcome, _rival(row)): row for row in own if row.role == BESIDE}
    others = [beside.get((CLIENT_CPU, client)) for client in rivals]
    cells: tuple[Cell, ...] = (
        Number(alone.get(RATE)),
        *(_ratio(beside.get((RATE, client))) for client in in_rate),
        Number(alone.get(CLIENT_CPU)),
        *(Number(row.baseline_value if row else None) for row in others),
        *map(_ratio, others),
    )
    return Line(
        _kind(case, several=several), f"{'resumed' if case.resumes else case.tls} {case.connections}", cells
    )


def _ratio(row: Row | None) -> Number:
    return number(row.ratio if row is not None else None, ratio_text, is_whole=True)


TOPIC = Topic("self_bench", "What the load engine costs itself", rows, sections, sentences)
