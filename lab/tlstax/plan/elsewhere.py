"""What external servers are promised: how many connections one gets at once, and who shares them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from tlstax.plan.jobs import lingering
from tlstax.plan.timing import round_trips
from tlstax.records.trial import Trial
from tlstax.study import Study
from tlstax.study.factors import CaseLevels
from tlstax.support.grouping import grouped
from tlstax.support.text import counted

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

    `kept` are those of the `keeping` cases that keep them while others have their turn, `made` those of cases
    that make them anew, of which one works at a time. A server counts a connection until it has wound it up,
    so that there are others where clients that go on have closed some (`reconnects`, or `closes` some before
    they begin). `own` are the laboratory's. `used_by` is what they are for, where that is no case of a study.
    """

    kept: int = 0
    keeping: int = 1
    made: int = 0
    reconnects: bool = False
    closes: bool = False
    own: int = OWN_CONNECTIONS
    used_by: str = ""

    @classmethod
    def of(cls, cases: Iterable[CaseLevels], study: Study) -> Promise:
        """What these cases need that take turns with each other; of one case, what it needs by itself."""
        kept, made, reconnects, closes = [], [0], False, False
        for case in cases:
            if study.workload_of(case).makes_connections:
                made.append(case.connections)
                reconnects |= not case.is_storm
            else:
                kept.append(case.connections)
            closes |= case.is_storm or case.resumes
        return cls(sum(kept), len(kept), max(made), reconnects, closes)

    @property
    def winding_up(self) -> int:
        """Those that were closed and count still.

        Of clients that reconnect, half of their number is what they may leave to the server
        (`jobs.lingering`). The rest is for what no client sees: a server that has closed its end counts the
        connection until its thread has run to the end. Where clients waited for the server's end each time,
        it counted up to 13 for 8 and up to 76 for 64, on two processors with load for thirty.
        """
        if self.reconnects:
            unseen = max(UNSEEN, min(self.made, UNSEEN_OF_FEW), self.made // 2)
            return lingering(self.made) + unseen
        return CLOSED_BEFORE if self.closes else 0

    @property
    def held(self) -> int:
        """Those of the clients: who makes connections anew has none left when the next one's turn begins."""
        return self.kept + self.made

    @property
    def total(self) -> int:
        """All of them."""
        return self.held + self.winding_up + self.own

    def parts(self) -> str:
        """What they are for, such as "32 for 4 cases in turns, 3 of tlstax's own"."""
        holding = self.keeping + (self.made > 0)
        cases = f"{holding} cases in turns" if holding > 1 else "a case"
        parts = [f"{self.held} for {self.used_by or cases}"]
        parts += [f"{self.winding_up} winding up"] if self.winding_up else []
        return f"{', '.join(parts)}, {self.own} of tlstax's own"


SHARE, LEAST = 4, 8
"""A run takes one in this many of the connections that are free, unless it is told how many; and at least
this many where that is no more than half of them, with which one connection can be measured in every way."""


@dataclass(frozen=True)
class Room:
    """How many connections an external server lets in, and how many are in use without this run's.

    `of_account` is the account's own limit (None: it has none), `by_account` how many it has in use. `asked`
    is how many the user allows the run, None for a share of those that are free. `server` is its address,
    `limit_of_account` what its own limit is called there.
    """

    max_connections: int
    in_use: int
    of_account: int | None = None
    by_account: int = 0
    asked: int | None = None
    server: str = "the server"
    limit_of_account: str = "the account's MAX_USER_CONNECTIONS"

    @property
    def free(self) -> int:
        """How many more it would let in. The one that a server keeps for administrators is not among them."""
        free = self.max_connections - self.in_use
        if self.of_account is not None:
            free = min(free, self.of_account - self.by_account)
        return max(0, free)

    @property
    def at_most(self) -> int:
        """How many a run takes at the most."""
        if self.asked is not None:
            return min(self.asked, self.free)
        return max(self.free // SHARE, min(self.free // 2, LEAST))

    @property
    def is_the_accounts(self) -> bool:
        """Whether it is the account's limit that decides."""
        own = self.of_account
        return own is not None and own - self.by_account < self.max_connections - self.in_use

    def words(self) -> str:
        """For example "151 connections, 3 of them in use"."""
        if self.is_the_accounts and self.of_account is not None:
            return f"{self.of_account} for this account, {self.by_account} of them in use"
        return f"{counted(self.max_connections, 'connection')}, {self.in_use} of them in use"


OPERATIONS_IN_SLICE, OPERATIONS_EACH, LONGEST_SLICE_S = 20, 5, 0.1
"""How many operations a slice has at the least at a server that is some way off, together and of each
connection: all of them begin at once, and the last is waited for. Where a slice had to last longer than this
for that, cases take no turns: the way, which takes most of the time there, does not come in bursts, and a
whole window knows more than a slice or two (docs/decisions.md)."""


@dataclass(frozen=True)
class Elsewhere:
    """An external server.

    `at_most` is how many connections it gets at once, with the laboratory's own, `round_trip_s` how long it
    takes to be asked something and to answer. With `reads_afar` the CPU clock of its process is read there,
    which no load client can do: then all of a slice counts.
    """

    at_most: int
    round_trip_s: float
    reads_afar: bool = False

    def is_too_far(self, cases: Iterable[CaseLevels], study: Study) -> bool:
        """Whether operations of these cases take too long there to be many in a slice."""
        return max(self._least_s(levels, study) for levels in cases) > LONGEST_SLICE_S

    def slice_s(self, cases: Iterable[CaseLevels], study: Study, near_s: float) -> float:
        """How long each slice of these cases lasts there that would last `near_s` at a server beside us."""
        return max([near_s, *(self._least_s(levels, study) for levels in cases)])

    def has_room(self, part: Iterable[Trial], study: Study) -> bool:
        """Whether these trials can have their connections at once."""
        return Promise.of((trial.case.levels for trial in part), study).total <= self.at_most

    def _least_s(self, case: CaseLevels, study: Study) -> float:
        if case.is_storm:
            return 0.0
        each = max(OPERATIONS_EACH, ceil(OPERATIONS_IN_SLICE / case.connections))
        return each * round_trips(case, study) * self.round_trip_s


@dataclass(frozen=True)
class ExternalLimits:
    """The external servers of a run by their levels of `server`, None for one that no case names.

    The other servers of its cases are our own. Cases of one company are at one server, or, where two sides
    are servers, at two: then what holds for either holds for all of them.
    """

    servers: Mapping[str | None, Elsewhere]

    def parted(self, company: Sequence[Trial], study: Study) -> list[list[Trial]]:
        """The trials of a company, which has one of the baseline, in as few parts as have room by themselves.

        Each part has the baseline. Who has no room even with the baseline alone is in none, and so is
        everybody where the way is too long for turns.
        """
        if self.is_too_far([trial.case.levels for trial in company], study):
            return []
        return _parts(company, lambda part: self._has_room(part, study))

    def is_too_far(self, cases: Sequence[CaseLevels], study: Study) -> bool:
        """Whether operations of these cases take too long at one of them to be many in a slice."""
        return any(own.is_too_far(cases, study) for own in self._of(cases))

    def slice_s(self, cases: Sequence[CaseLevels], study: Study, near_s: float) -> float:
        """How long each slice of these cases lasts that would last `near_s` at servers beside us."""
        return max([near_s, *(own.slice_s(cases, study, near_s) for own in self._of(cases))])

    def reads_afar(self, cases: Sequence[CaseLevels]) -> bool:
        """Whether the CPU clock of a server of these cases is read where it runs."""
        return any(own.reads_afar for own in self._of(cases))

    def _has_room(self, part: Sequence[Trial], study: Study) -> bool:
        at = grouped(part, lambda trial: trial.case.levels.server)
        return all(
            self.servers[name].has_room(own, study) for name, own in at.items() if name in self.servers
        )

    def _of(self, cases: Sequence[CaseLevels]) -> list[Elsewhere]:
        named = {case.server for case in cases}
        return [own for name, own in self.servers.items() if name in named]


def _parts(company: Sequence[Trial], has_room: Callable[[Sequence[Trial]], bool]) -> list[list[Trial]]:
    baseline = next(trial for trial in company if trial.case.role == "baseline")
    others = [trial for trial in company if trial is not baseline]
    for count in range(1, len(others) + 1):
        parts = [_in_order([baseline, *others[place::count]]) for place in range(count)]
        if all(map(has_room, parts)):
            return parts
    pairs = (_in_order([baseline, other]) for other in others)
    return [pair for pair in pairs if has_room(pair)]


def _in_order(trials: Iterable[Trial]) -> list[Trial]:
    return sorted(trials, key=lambda trial: trial.position)
