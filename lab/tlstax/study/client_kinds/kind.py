"""What is known of a load client before it is started, and what it may be asked to measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tlstax.contract import Schedule
from tlstax.study.level_names import STORM
from tlstax.study.server_abilities import ServerAbilities
from tlstax.study.workloads.user_defined import UserSequence, UserWorkload

if TYPE_CHECKING:
    from tlstax.study.factors import CaseLevels

PREPARED = frozenset(
    {
        "point-select",
        "select-range",
        "insert",
        "update",
        "delete",
        "oltp-read-only",
        "oltp-read-write",
    }
)
"""Built-in workloads whose statements are prepared unless `protocol` says otherwise."""

COUNTING = frozenset({"insert", "delete", "people-insert", "people-delete"})
"""Built-in workloads that draw each id once, over all connections together."""

Limit = tuple[bool, str]
"""Whether a case goes beyond what a client can do, and what the client does instead, to follow its name."""


@dataclass(frozen=True)
class Wanted:
    """A case that a client is to measure.

    `workloads` are the user's own, by name; `schedule` is when operations start; `server` is what the case's
    server can do, None where that is not known.
    """

    case: CaseLevels
    workloads: Mapping[str, UserWorkload]
    schedule: Schedule
    server: ServerAbilities | None = None

    @property
    def own(self) -> UserWorkload | None:
        """The case's workload where it is one of the user's own."""
        return self.workloads.get(self.case.workload)

    @property
    def keeps_connections(self) -> bool:
        """Whether its workload makes no connection while it is measured."""
        own = self.own
        reconnects = self.case.reconnects if own is None else own.reconnect
        return not (reconnects or self.case.workload == STORM)

    @property
    def is_prepared(self) -> bool:
        """Whether any of its statements is prepared."""
        if self.case.protocol != "default":
            return self.case.protocol == "prepared"
        if self.own is None:
            return self.case.workload in PREPARED
        own = self.own
        statements = [statement for each in own.transactions for statement in each.statements]
        return any((statement.protocol or own.protocol) == "prepared" for statement in statements)

    @property
    def counts(self) -> bool:
        """Whether it draws values that each are to be used once, over all connections together."""
        if self.own is None:
            return self.case.workload in COUNTING
        drawn = [each.parameters for each in self.own.transactions]
        drawn += [statement.parameters for each in self.own.transactions for statement in each.statements]
        return any(isinstance(parameter, UserSequence) for found in drawn for parameter in found.values())


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
