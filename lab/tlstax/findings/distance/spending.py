"""What a case takes, block by block, and which of a study's workloads make connections or keep them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log

from tlstax.findings.core.contrasts import INSTANCE
from tlstax.findings.core.series import LADDER, Frozen, Series, frozen
from tlstax.study import Level, Levels, Study
from tlstax.study.case_levels import CaseLevels
from tlstax.study.labels import USUAL, label_levels
from tlstax.study.level_names import STORM

WORKLOAD, RTT, PATH, SERVER = "workload", "rtt_ms", "path", "server"
RECONNECT = "reconnect"

CONNECT_US, OPERATION_US, RATE = "connect_p50_us", "latency_p50_us", "ops_per_s"

_HOW = (WORKLOAD, LADDER, "rounds", "queries", "protocol")
"""The factors that say what is done, and not to what."""

_USUAL: dict[str, Level] = {**USUAL, INSTANCE: 1}
"""What goes without saying of a treatment."""

_HANDSHAKE = ("certificate", "resumption", "group")
"""The factors that bear on how a TLS connection is made, and on nothing after."""

ByBlock = Mapping[int, float]
"""A value for each block."""


def makes_connections(levels: Levels, study: Study) -> bool:
    """Whether operations of this case make connections: a storm's, or those that reconnect."""
    name = CaseLevels.of(levels).workload
    own = study.workloads.get(name)
    return own.reconnect if own is not None else name in {STORM, RECONNECT}


def first_processes(series: Series) -> Iterator[dict[str, Level]]:
    """The levels of all cases but the twins', which show nothing of their own, in the plan's order."""
    for case in series.cases.values():
        if case.levels.get(INSTANCE, 1) == 1:
            yield case.levels


def place_of(levels: Levels, study: Study) -> Frozen:
    """What neighbours share that are measured beside each other, whatever they do: server and distance."""
    return frozen(levels, *study.baseline, *_HOW)


def treatment_of(levels: Levels, study: Study) -> Frozen:
    """What is done to the connection: the levels in which a case may differ from its baseline."""
    return frozen({name: levels[name] for name in study.baseline if name in levels})


def treatment_label(levels: Levels, study: Study) -> str:
    """What a treatment is called, where it stands beside others of its server; what is usual is not said."""
    treatment = treatment_of(levels, study)
    return label_levels({name: level for name, level in treatment if _USUAL.get(name) != level}, study)


def rtt_of(levels: Levels) -> float:
    """The round trip time that was asked for, in milliseconds; 0 without a distance."""
    return CaseLevels.of(levels).distance.rtt_ms


def kept_beside(made: Levels, kept: Sequence[dict[str, Level]], study: Study) -> dict[str, Level] | None:
    """Of the cases on kept connections the one that belongs to a case which makes them; None without any.

    It has the same treatment, or, where none does, one that differs from it in the handshake alone: what a
    statement costs does not depend on that. Of several, that with as many connections, or the fewest.
    """
    place, treatment = place_of(made, study), treatment_of(made, study)
    beside = [levels for levels in kept if place_of(levels, study) == place]
    like = [levels for levels in beside if treatment_of(levels, study) == treatment]
    if not like:
        bulk = _without_handshake(treatment)
        like = [levels for levels in beside if _without_handshake(treatment_of(levels, study)) == bulk]
    wanted = made.get(LADDER, 1)
    return min(
        like, key=lambda levels: (levels.get(LADDER, 1) != wanted, levels.get(LADDER, 1)), default=None
    )


def _without_handshake(treatment: Frozen) -> Frozen:
    return tuple((name, level) for name, level in treatment if name not in _HANDSHAKE)


def column(series: Series, levels: Levels, outcome: str) -> dict[int, float]:
    """The outcome in each block that has it."""
    blocks = series.values.get(frozen(levels), {})
    return {block: values[outcome] for block, values in blocks.items() if outcome in values}


def scaled(values: ByBlock, factor: float) -> dict[int, float]:
    """All values times the factor."""
    return {block: value * factor for block, value in values.items()}


def log_quotients(one: ByBlock, other: ByBlock) -> dict[int, float]:
    """Ln of the one to the other in each block that has both above zero."""
    both = sorted(one.keys() & other.keys())
    return {block: log(one[block] / other[block]) for block in both if one[block] > 0 and other[block] > 0}
