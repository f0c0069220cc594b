"""From the runs behind an advice to what each change saves of a connection, and what they took. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp

from tlstax.findings.core.series import Series
from tlstax.findings.core.wording import always_hello_retry
from tlstax.plan.advice_studies import Changes
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.interval import Interval
from tlstax.study import Level
from tlstax.study.factors import within
from tlstax.support.text import counted, duration

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
    may differ. Changes that were measured and whose ratio tells nothing are `inconclusive`, and have none.
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
        low, high = ratio.low, ratio.high
        return Interval(
            point=1 - ratio.point,
            low=None if high is None else 1 - high * exp(self.luck),
            high=None if low is None else 1 - low * exp(-self.luck),
            confidence=ratio.confidence,
            blocks=ratio.blocks,
        )

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
        return Interval(
            point=share.point * self.now,
            low=min(ends, default=None),
            high=max(ends, default=None),
            confidence=share.confidence,
            blocks=share.blocks,
        )

    def saved_of_session(self, change: str, statements: int) -> Interval | None:
        """What share it saves of a connection with so many statements; None where it was not measured."""
        share = self.saved_share(change)
        part = self.now / self.session(statements)
        return None if share is None else share.each(lambda own: own * part)

    def session(self, statements: int) -> float:
        """What a connection costs with so many statements."""
        return self.now + (statements - 1) * self.statement


def measured(run: Series, changes: Changes, outcome: str, *, luck: float = 0.0) -> Measured | None:
    """What the run says of this outcome; None where it has no valid block of the connection as it is now."""
    added: dict[str, Level] = {name: levels[0] for name, levels in run.study.factors.items()}
    now = {**changes.now, **added}
    level = _mean(run, now, outcome)
    kept = _mean(run, {**changes.changed["pool"], **added}, outcome)
    if level is None or kept is None:
        return None
    ratios = {
        name: found
        for name, levels in changes.changed.items()
        if (found := _ratio(run, name, {**levels, **added}, (now, changes, added), outcome)) is not None
    }
    telling = {name: own for name, own in ratios.items() if _tells(own)}
    return Measured(level, kept, luck, telling, frozenset(ratios.keys() - telling.keys()))


def _tells(ratio: Interval) -> bool:
    """Whether it has an interval that excludes no change at all, or is narrow enough to bound one."""
    if ratio.low is None or ratio.high is None:
        return False
    return ratio.excludes_one or ratio.high <= WIDEST * ratio.low


def _mean(run: Series, levels: Mapping[str, Level], outcome: str) -> float | None:
    logs = run.logs(levels, outcome)
    return exp(sum(logs.values()) / len(logs)) if logs else None


def _ratio(
    run: Series,
    name: str,
    levels: Mapping[str, Level],
    against: tuple[Mapping[str, Level], Changes, Mapping[str, Level]],
    outcome: str,
) -> Interval | None:
    """The change's ratio to what is now; that of another key by way of plaintext on both processes."""
    now, changes, added = against
    logs = run.log_ratios(levels, now, outcome)
    if name == "certificate" and "clear of it" in changes.changed:
        both = run.log_ratios(
            {**changes.changed["clear of it"], **added}, {**changes.changed["clear"], **added}, outcome
        )
        logs = {block: own - both[block] for block, own in logs.items() if block in both}
    return run.interval(logs) if logs else None


def is_asked_twice(stored: StoredRun, changes: Changes) -> bool:
    """Whether clients are asked for a second ClientHello where everything is as it is now."""
    return always_hello_retry(
        record for record in stored.measured if within(record.trial.case.levels, changes.now)
    )


def connections_made(stored: StoredRun) -> int:
    """How many connections the trials of a run made: each operation's own, or those that were kept."""
    return sum(_made(record) for record in stored.trials)


def _made(record: TrialRecord) -> int:
    done, case = record.done, record.trial.case.typed
    if done is None:
        return 0
    return done.operations if case.reconnects else case.connections


def spent_words(runs: Sequence[StoredRun]) -> str:
    """The same in words; empty where nothing was measured there."""
    made = sum(connections_made(stored) for stored in runs)
    spent_s = sum(record.done.elapsed_s for stored in runs for record in stored.trials if record.done)
    if not made:
        return ""
    times = f"{duration(spent_s)} of work for one processor at the most"
    return f"{counted(f'{made:,}', 'connection')} were made there, two at once at the most: {times}"
