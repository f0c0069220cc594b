"""How much load an external server gets at which others are at work: raised until it fills. Pure.

On an idle server every case has the connections that it has by default, so that runs can be compared with
each other. Where others' statements are seen, the load begins with one connection and is doubled; the last
number is taken with which more connections still brought more, and others ran as much as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt

from tlstax.plan.order import cases
from tlstax.records.beforehand import AtWork, AtWorkStep
from tlstax.study import Study
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import DIRECT, ENGINE

LEAST_PER_S = 5.0
"""Others who run fewer statements a second are no work: a health check, or who watches the server."""

LOOK_S, LONG_LOOK_S, STEP_S = 1.0, 3.0, 0.5
"""How long is looked at what others do, how long where a server counts once in a second what a session has
done, and how long a step lasts: thousands of operations."""

PAYS = 0.5
"""More connections pay as long as each brings half of what those before did; else they wait in a queue."""

CROWDED, SURE = 0.75, 3.0
"""Others are crowded out where they run less than this share of their statements, and that is no chance: by
this many standard deviations of a count (Poisson's)."""


def steps_to(most: int) -> list[int]:
    """The numbers of connections that are tried: 1, 2, 4 and so on, and the most."""
    found = [1]
    while found[-1] * 2 < most:
        found.append(found[-1] * 2)
    return found if most == 1 else [*found, most]


def load_case(study: Study, server: str | None = None) -> CaseLevels | None:
    """The case by which the load at this level of `server` is raised.

    None where the study has none that can be done again and again. One that keeps its connections, if there
    is one, under whatever TLS both sides agree on, if there is TLS.
    """
    suited = [
        case.levels
        for case in cases(study)
        if not study.workload_of(case.levels).changes_data
        and not case.levels.is_storm
        and case.levels.queries is None
        and case.levels.address == DIRECT
        and case.levels.server == server
    ]
    kept = [levels for levels in suited if not study.workload_of(levels).makes_connections]
    chosen = next(iter((*kept, *suited)), None)
    if chosen is None:
        return None
    encrypted = any(levels.is_encrypted for levels in suited)
    return chosen | {"tls": "default" if encrypted else "off", "client": ENGINE}


def is_at_work(others_per_s: float) -> bool:
    """Whether others run so many statements that the load is to be raised with care."""
    return others_per_s >= LEAST_PER_S


def taken(steps: Sequence[AtWorkStep], others_per_s: float) -> int:
    """How many connections are taken: the last number before one that only fills the server."""
    for before, step in pairwise(steps):
        if not _pays(before, step) or crowds(step, others_per_s):
            return before.connections
    return steps[-1].connections


def is_enough(steps: Sequence[AtWorkStep], others_per_s: float) -> bool:
    """Whether what was tried last is more than the server has room for, so that no more is tried."""
    return taken(steps, others_per_s) < steps[-1].connections or crowds(steps[-1], others_per_s)


def crowds(step: AtWorkStep, others_per_s: float) -> bool:
    """Whether others got clearly fewer statements in beside this load than before it."""
    expected = others_per_s * step.took_s
    counted = step.others_per_s * step.took_s
    return counted < CROWDED * expected and expected - counted > SURE * sqrt(expected)


def words(found: AtWork) -> str:
    """What was found and what is taken, in a line; empty where nobody else was at work."""
    if not is_at_work(found.others_per_s):
        return ""
    what = "transactions" if found.transactions else "statements"
    seen = f"others run about {found.others_per_s:,.0f} {what} a second there"
    if not found.steps:
        return f"{seen}; every case has {found.most} connections all the same"
    last = found.steps[-1]
    (before,) = [step for step in found.steps if step.connections == found.taken]
    if crowds(last, found.others_per_s):
        why = f"beside {_connections(last)} they run {last.others_per_s:,.0f}"
    elif len(found.steps) == 1:
        why = f"beside {_connections(last)} they run as many"
    else:
        fewer = found.steps[-2] if before is last else before
        what = "one does" if fewer.connections == 1 else f"{fewer.connections} do"
        gain = last.per_s / fewer.per_s
        why = f"{last.connections} connections bring {gain:.1f} times what {what}"
    are = "1 is taken" if found.taken == 1 else f"{found.taken} are taken"
    full = "" if found.taken == found.most else f" (--full-load takes {found.most})"
    return f"{seen}; {why}: {are} for each case{full}"


def _pays(before: AtWorkStep, step: AtWorkStep) -> bool:
    more = step.connections / before.connections - 1
    return step.per_s >= before.per_s * (1 + PAYS * more)


def _connections(step: AtWorkStep) -> str:
    return "one connection" if step.connections == 1 else f"{step.connections} connections"
