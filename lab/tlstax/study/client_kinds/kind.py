"""What is known of a load client before it is started, and what it may be asked to measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tlstax.contract import ClosedLoop, Schedule
from tlstax.study.case_workload import CaseWorkload
from tlstax.study.server_abilities import ServerAbilities

if TYPE_CHECKING:
    from tlstax.study.factors import CaseLevels

Limit = tuple[bool, str]
"""Whether a case goes beyond what a client can do, and what the client does instead, to follow its name."""


@dataclass(frozen=True)
class Wanted:
    """A case that a client is to measure, with its workload.

    `schedule` is when operations start; `server` is what the case's server can do, None where that is not
    known.
    """

    case: CaseLevels
    workload: CaseWorkload
    schedule: Schedule = field(default_factory=ClosedLoop)
    server: ServerAbilities | None = None


def _not_known(version: str) -> bool | None:  # noqa: ARG001
    return None


@dataclass(frozen=True)
class ClientKind:
    """A load client: its level of `client`, what it is called in sentences, and what it can do.

    `limits` names what it cannot do of a case, the first that holds being the reason to leave the case out.
    One that `asks` asks its connections what they have negotiated before the window, counts its handshakes
    and keeps rows to be checked; of any other the server's word alone counts. One that `connects_in_window`
    makes the connections that work within the window, and each records itself at the server. One that
    `works_in_rounds` does all operations of a round in one go, and the data is put back between rounds;
    one that `makes_storms` opens all its connections at once, round after round. One that `takes_turns`
    works in slices of a few milliseconds whenever it is told; any other cannot stop in the middle of a run.
    One that `tells_full_load` reports what it did of a slice while all of its connections were at work.
    Beside one that `has_one_thread` nobody has more than one processor to work on.
    `verifies` says of one that reports this version of itself whether it can be relied on to verify the
    server's certificate on every connection, None where nobody has looked.
    """

    name: str
    words: str
    limits: Callable[[Wanted], Iterable[Limit]]
    is_driver: bool = False
    asks: bool = True
    connects_in_window: bool = False
    has_one_thread: bool = False
    works_in_rounds: bool = False
    makes_storms: bool = False
    takes_turns: bool = False
    tells_full_load: bool = False
    verifies: Callable[[str], bool | None] = _not_known

    @property
    def is_silent(self) -> bool:
        """Whether nothing but the server's counters, and what it accepts, tells of its connections."""
        return not (self.asks or self.connects_in_window)

    def why_not(self, wanted: Wanted) -> str:
        """Why it cannot measure the case; empty where it can."""
        return next((f"{self.name} {words}" for beyond, words in self.limits(wanted) if beyond), "")
