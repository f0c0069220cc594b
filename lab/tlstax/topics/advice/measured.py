"""From the runs behind an advice to what each change saves of a connection, and what they took. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp

from tlstax.plan.advice_studies import Changes, clear_of
from tlstax.results.interval import Interval
from tlstax.stats.series import Series
from tlstax.study import Level
from tlstax.study.factors import CaseLevels

SERVER_CPU, TIME = "server_cpu_us_per_op", "latency_mean_us"


SPEED = 0.06
"""By how much a virtual machine may be faster or slower an hour later: known mixes cost 6 % less and 3 % more
when they were measured again (docs/predicting.md). It is in what is said in microseconds, and in no share."""

WIDEST = 1.5
"""An interval that holds no change at all and spans more than this factor tells nothing."""


@dataclass(frozen=True)
class Measured:
    """What one outcome of a connection with one statement is now, and its ratio with each change, by name.

    `statement` is what a statement costs by itself on a kept connection, `luck` by what share another process
    may differ. Changes that were tried and whose ratio tells nothing, or is of no block, are `inconclusive`,
    and have none.
    """

    now: float
    statement: float
    luck: float
    ratios: Mapping[str, Interval]
    inconclusive: frozenset[str] = frozenset()

    def without(self, change: str) -> Measured:
        """The same, where this change was measured on what is not like the server."""
        ratios = {name: own for name, own in self.ratios.items() if name != change}
        return replace(self, ratios=ratios, inconclusive=self.inconclusive - {change})

    def saved_share(self, change: str) -> Interval | None:
        """What share of a connection with one statement the change saves; None where it was not measured."""
        ratio = self.ratios.get(change)
        if ratio is None:
            return None
        low = None if ratio.high is None else 1 - ratio.high * exp(self.luck)
        high = None if ratio.low is None else 1 - ratio.low * exp(-self.luck)
        return ratio.model_copy(update={"point": 1 - ratio.point, "low": low, "high": high})

    def saved(self, change: str) -> Interval | None:
        """What the change saves of a connection, in the outcome's unit; None where it was not measured."""
        share = self.saved_share(change)
        if share is None:
            return None
        ends = [
            end * self.now * exp(sign * SPEED)
            for end in (share.low, share.high)
            if end is not None
            for sign in (1, -1)
        ]
        low, high = min(ends, default=None), max(ends, default=None)
        return share.model_copy(update={"point": share.point * self.now, "low": low, "high": high})

    def saved_of_session(self, change: str, statements: int) -> Interval | None:
        """What share it saves of a connection with N statements; None where it was not measured."""
        share = self.saved_share(change)
        part = self.now / (self.now + (statements - 1) * self.statement)
        return None if share is None else share.each(lambda own: own * part)


NOT_MEASURED = Measured(now=1.0, statement=0.0, luck=0.0, ratios={})
"""What nothing is known of."""


def measured(run: Series, changes: Changes, outcome: str, *, luck: float = 0.0) -> Measured | None:
    """What the run says of this outcome; None where it has no valid block of the connection as it is now.

    The ratio of a change on another process is taken by way of plaintext on both processes.
    """
    added: dict[str, Level] = {name: levels[0] for name, levels in run.study.factors.items()}
    now = CaseLevels.of({**changes.now, **added})
    changed = {name: CaseLevels.of({**levels, **added}) for name, levels in changes.changed.items()}
    logs_now, logs_kept = run.logs(now, outcome), run.logs(changed["pool"], outcome)
    if not logs_now or not logs_kept:
        return None
    telling: dict[str, Interval] = {}
    inconclusive = set()
    for name, levels in changed.items():
        logs = run.log_ratios(levels, now, outcome)
        if clear_of(name) in changed:
            both = run.log_ratios(changed[clear_of(name)], changed["clear"], outcome)
            logs = {block: own - both[block] for block, own in logs.items() if block in both}
        ratio = run.interval(logs)
        if ratio is not None and _tells(ratio):
            telling[name] = ratio
        else:
            inconclusive.add(name)
    level, kept = (exp(sum(logs.values()) / len(logs)) for logs in (logs_now, logs_kept))
    return Measured(level, kept, luck, telling, frozenset(inconclusive))


def _tells(ratio: Interval) -> bool:
    """Whether it has an interval that excludes no change at all, or is narrow enough to bound one."""
    if ratio.low is None or ratio.high is None:
        return False
    return ratio.excludes_one or ratio.high <= WIDEST * ratio.low
