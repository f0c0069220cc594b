"""Which noise floor holds where no control ran: that of the nearest group that has one."""

from __future__ import annotations

from collections.abc import Mapping

from tlstax.findings.core import stats
from tlstax.findings.core.series import Frozen, frozen
from tlstax.results.interval import Interval
from tlstax.study import Levels

NEVER_ACROSS = ("workload",)
"""Noise is not carried from one of these levels to another: their trials do not scatter alike."""


def nearest(levels: Levels, controls: Mapping[Frozen, Interval]) -> Interval | None:
    """The control that tells how much of a difference can be seen among cases with these levels.

    `controls` holds each control's ratio by its baseline's levels. Its own is the nearest; otherwise the
    one that shares most levels (the same server, library and TLS, another number of connections); of
    several, the one with the largest floor. None where no control ran under the same workload.
    """
    own = controls.get(frozen(levels))
    if own is not None:
        return own
    wanted = set(levels.items())
    found = [
        (len(wanted.intersection(at)), stats.noise_floor(control) or 0.0, control)
        for at, control in controls.items()
        if all((name, levels.get(name)) in at for name in NEVER_ACROSS if name in levels)
    ]
    return max(found, key=lambda candidate: candidate[:2])[2] if found else None
