"""Which noise floor holds where no control ran: that of the nearest group that has one. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tlstax.findings import stats
from tlstax.findings.series import Frozen
from tlstax.findings.stats import Interval
from tlstax.study import Levels

NEVER_ACROSS = ("workload",)
"""A floor is not carried from one of these levels to another: their trials do not scatter alike."""


def nearest(levels: Levels, controls: Mapping[Frozen, Interval]) -> Interval | None:
    """The control that tells how much of a difference can be seen among cases with these levels.

    `controls` holds each control's ratio by its baseline's levels. Its own is the nearest; otherwise the
    one that shares most levels (the same server, library and TLS, another number of connections); of
    several, the one with the largest floor. None where no control ran under the same workload.
    """
    found = [
        (sum(levels.get(name) == level for name, level in at), stats.noise_floor(control) or 0.0, control)
        for at, control in controls.items()
        if all(dict(at).get(name) == levels.get(name) for name in NEVER_ACROSS)
    ]
    return max(found, key=lambda candidate: candidate[:2])[2] if found else None
