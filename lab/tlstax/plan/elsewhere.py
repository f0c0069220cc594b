"""What an external server is promised, and what keeps cases from taking turns there. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tlstax.plan.jobs import is_storm, lingering
from tlstax.plan.order import cases as cases_of
from tlstax.plan.timing import round_trips
from tlstax.plan.turns import TIMES_AN_OPERATION, held_at_once
from tlstax.study import Levels, Study
from tlstax.study.case_levels import CaseLevels
from tlstax.study.workload_level import makes_connections


def most_connections(study: Study) -> int:
    """How many connections a server must have room for: the most that a case has."""
    return max(int(level) for level in study.levels_of().get("connections", (1,)))


OWN_CONNECTIONS = 3
"""The laboratory's: one that holds the lock, one that asks, and one that logs in before a plaintext trial, or
in place of one that was cut."""

UNSEEN, UNSEEN_OF_FEW, CLOSED_BEFORE = 2, 8, 3
"""How many a server counts that no client sees, at least: its thread may be kept from its last steps for as
long as a connection takes; of few connections that may be as many as there are. How many wind up of clients
that close some before they are measured."""


@dataclass(frozen=True)
class Promise:
    """How many connections a server gets at once by its own count (Max_used_connections), at the most.

    `cases` are those of a case, or of all that take turns; a server counts a connection until it has wound it
    up, so that there are others where clients that go on have closed some (`reconnects`, or `closes` some
    before they begin). `own` are the laboratory's.
    """

    cases: int
    reconnects: bool = False
    closes: bool = False
    own: int = OWN_CONNECTIONS

    @property
    def winding_up(self) -> int:
        """Those that were closed and count still.

        Of clients that reconnect, half of their number is what they may leave to the server
        (`jobs.lingering`). The rest is for what no client sees: a server that has closed its end counts the
        connection until its thread has run to the end. Where clients waited for the server's end each time,
        it counted up to 13 for 8 and up to 76 for 64, on two processors with load for thirty.
        """
        if self.reconnects:
            unseen = max(UNSEEN, min(self.cases, UNSEEN_OF_FEW), self.cases // 2)
            return lingering(self.cases) + unseen
        return CLOSED_BEFORE if self.closes else 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.cases + self.winding_up + self.own

    def words(self) -> str:
        """For example "at most 23 connections at once: 8 for a case, 12 winding up, 3 of tlstax's own"."""
        parts = [f"{self.cases} for {'a case' if self.cases > 1 else 'each case'}"]
        parts += [f"{self.winding_up} winding up"] if self.winding_up else []
        return f"at most {self.total} connections at once: {', '.join(parts)}, {self.own} of tlstax's own"

    def with_most(self, allowed: int) -> Promise | None:
        """The same with as many connections of a case as fit; None where not even one does."""
        fitting = (replace(self, cases=cases) for cases in range(min(self.cases, max(allowed, 0)), 0, -1))
        return next((promise for promise in fitting if promise.total <= allowed), None)


def promise_of(study: Study, at_once: int | None = None) -> Promise:
    """What a study promises an external server; its cases have `at_once`, None for what it says itself."""
    levels = [case.levels for case in cases_of(study)]
    makes = [makes_connections(one, study.workloads) for one in levels]
    storms = [is_storm(one) for one in levels]
    return Promise(
        cases=at_once or most_connections(study),
        reconnects=any(made and not storm for made, storm in zip(makes, storms, strict=True)),
        closes=any(storms) or any(CaseLevels.of(one).resumes for one in levels),
    )


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
