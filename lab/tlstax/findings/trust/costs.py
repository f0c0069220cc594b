"""From cases by the number of authorities to what each connect takes more, and how often they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp
from statistics import fmean

from tlstax.findings.core.judgements import judge_difference
from tlstax.findings.core.series import Series, frozen
from tlstax.records.trial import TrustFile
from tlstax.results.interval import Interval
from tlstax.results.trust import TrustCost
from tlstax.study import Levels
from tlstax.study.labels import client_words, group_label
from tlstax.support.grouping import grouped

TRUST, CLIENT = "trust", "client"
ONE = 1
TIME, CLIENT_CPU, READ = "latency_mean_us", "client_cpu_us_per_op", "client_read_bytes_per_op"

AUTHORITY_BYTES = 1_160
"""How long each authority is in the files that the laboratory makes, as PEM (`specimens/certificates.py`)."""


def trust_costs(series: Series, file: TrustFile | None = None) -> tuple[TrustCost, ...]:
    """Each client with more authorities than those needed, in the plan's order; nothing where none is varied.

    `file` is the user's own, where they are its.
    """
    named = [case.levels for case in series.cases.values() if TRUST in case.levels]
    clients = grouped(named, lambda levels: frozen(levels, TRUST))
    return tuple(cost for own in clients.values() for cost in _of_client(series, own, file))


def _of_client(series: Series, several: Sequence[Levels], file: TrustFile | None) -> Iterator[TrustCost]:
    by_size = {int(levels[TRUST]): levels for levels in several}
    few = ONE if file is None else file.needed
    one = by_size.get(few)
    for size, levels in sorted(by_size.items()):
        if one is None or size == few:
            continue
        more_us = _more(series, levels, one, TIME)
        cost = TrustCost(
            case={name: level for name, level in levels.items() if name != TRUST},
            label=_label(series, levels),
            authorities=size,
            needed=few,
            reads=_reads(
                series, levels, one, (size - ONE) * AUTHORITY_BYTES if file is None else file.more_bytes
            ),
            more_us=more_us,
            more_cpu_us=_more(series, levels, one, CLIENT_CPU),
            judgement=judge_difference(more_us, None, _margin(series, one)) if more_us is not None else None,
        )
        if cost.more_us is not None or cost.more_cpu_us is not None:
            yield cost


def _label(series: Series, levels: Levels) -> str:
    """The client, and what else tells its cases apart."""
    known = series.study.levels_of()
    others = {
        name: level
        for name, level in levels.items()
        if name not in {TRUST, CLIENT} and len(known.get(name, ())) > 1
    }
    client = client_words(levels.get(CLIENT, "engine"))
    return ", ".join(filter(None, (client, group_label(others, series.study))))


def _more(series: Series, levels: Levels, one: Levels, outcome: str) -> Interval | None:
    """The mean difference over the blocks that both have."""
    more = _differences(series, levels, one, outcome)
    return series.pooling.difference(more) if more else None


def _margin(series: Series, one: Levels) -> float:
    """How much longer a connect may take and still count as alike."""
    return (series.study.alike_within - 1) * fmean(exp(log) for log in series.logs(one, TIME).values())


def _differences(series: Series, levels: Levels, one: Levels, outcome: str) -> Mapping[int, float]:
    many, few = series.logs(levels, outcome), series.logs(one, outcome)
    return {block: exp(many[block]) - exp(few[block]) for block in sorted(many.keys() & few.keys())}


def _reads(series: Series, levels: Levels, one: Levels, more_bytes: int) -> float | None:
    """How many times the further authorities' bytes were read for each connect."""
    more = _differences(series, levels, one, READ)
    return max(0.0, fmean(more.values()) / more_bytes) if more else None
