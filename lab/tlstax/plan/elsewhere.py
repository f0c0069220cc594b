"""What keeps cases at an external server from taking turns: what was promised, and the way there. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tlstax.plan.jobs import is_storm
from tlstax.plan.timing import round_trips
from tlstax.plan.turns import TIMES_AN_OPERATION, held_at_once
from tlstax.study import Levels, Study
from tlstax.study.case_levels import CaseLevels


def most_connections(study: Study) -> int:
    """How many connections a server must have room for: the most that a case has."""
    return max(int(level) for level in study.levels_of().get("connections", (1,)))


NEAR_S = 0.0005
"""Within this a question is answered on the same machine or beside it: most of the time is the server's and
that of who asks, and not the way's."""


@dataclass(frozen=True)
class Elsewhere:
    """An external server.

    `promised` is how many connections it was promised to have at once at the most, `round_trip_s` how long it
    takes to be asked something and to answer. With `reads_afar` the CPU clock of its process is read there,
    which no load client can do: then all of a slice counts.
    """

    promised: int
    round_trip_s: float
    reads_afar: bool = False

    def why_not(self, cases: Sequence[Levels], study: Study, slice_s: float) -> str:
        """Why these cases have the server to themselves there, in a clause; empty where they take turns.

        Kept connections stay while their client rests, so all of them count. A slice must be many times as
        long as an operation, which a distance makes longer than was planned; but a storm's is a whole round.
        """
        held, connections = held_at_once(cases, study), max(CaseLevels.of(one).connections for one in cases)
        if held > self.promised:
            return (
                f"{len(cases)} of them in turns would hold {held} connections at once, and the server was "
                f"promised {self.promised} at the most "
                f"(--connections {connections},{held} promises that many)"
            )
        operation_s = max(round_trips(one, study) for one in cases) * self.round_trip_s
        is_far = self.round_trip_s > NEAR_S and TIMES_AN_OPERATION * operation_s > slice_s
        if is_far and not any(is_storm(one) for one in cases):
            return (
                f"the server answers after {self.round_trip_s * 1000:.2g} ms, so that an operation would not "
                f"be short beside a turn of {slice_s * 1000:.3g} ms"
            )
        return ""
