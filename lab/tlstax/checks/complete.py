"""What checks are given, and what they say of it."""

from __future__ import annotations

from typing import NamedTuple

from tlstax.contract import Counts, Done, Ready
from tlstax.contract.event import less
from tlstax.records.trial import Evidence, ServerObservation
from tlstax.study.factors import CaseLevels


class Complete(NamedTuple):
    """The evidence of a trial that came to its end."""

    case: CaseLevels
    ready: Ready
    done: Done
    server: ServerObservation
    evidence: Evidence

    @property
    def alone(self) -> Counts:
        """What the client opened while the server could count it alone: less what it opened in turns."""
        lifetime, together = self.done.lifetime, self.evidence.together
        return lifetime if together is None else less(lifetime, together.own)

    @property
    def is_logged(self) -> bool:
        """Whether the server's log names every connection of the client, none being made after it."""
        if self.server.logged is None:
            return False
        return not self.server.logged_until_ready or not self.done.window.connections


class Doubt(NamedTuple):
    """Something found: `reason` makes the trial `weight` (a note leaves it valid)."""

    weight: str
    reason: str
