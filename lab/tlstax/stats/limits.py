"""Whether a change keeps to a limit, and how sure intervals are where all are to hold together. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from tlstax.results.document import GateVerdict
from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.study.outcomes import OUTCOMES
from tlstax.support.errors import UserMistake
from tlstax.support.text import enumerated

CONFIDENCE = 0.95
"""That no case of a check fails by chance alone."""

MAIN = ("ops_per_s", "server_cpu_us_per_op", "latency_p50_us")
"""What a limit for regressions is of where no outcome is named, beside the one that decides the study: speed,
the server's cost and the time that a client waits. The more outcomes, the wider all intervals."""


@dataclass(frozen=True)
class Limit:
    """By how much an outcome may rise at most, or must rise at least, relative: 0.05 is 5 %, −0.05 a fall.

    One of the two is None.
    """

    outcome: str
    most: float | None = None
    least: float | None = None

    def judged(self, change: Row) -> Row:
        """A row of a change with this limit and whether it kept to it."""
        side = {"most": self.most} if self.most is not None else {"least": self.least}
        return change.model_copy(update={"more": {**side, "verdict": verdict_of(change.interval, self)}})


@dataclass(frozen=True)
class Limits:
    """What a run is to keep to: limits of named outcomes, each of which must have a case, and `regression`.

    That is how much worse any main outcome may become, relative, of those that the runs have; None for no
    such limit. A main outcome with a named limit on its worse side has that one alone.
    """

    named: tuple[Limit, ...] = ()
    regression: float | None = None

    def __bool__(self) -> bool:
        return bool(self.named) or self.regression is not None

    def of(self, deciding: str) -> tuple[Limit, ...]:
        """All limits for runs of a study that this outcome decides."""
        if self.regression is None:
            return self.named
        sides = {(limit.outcome, limit.most is None) for limit in self.named}
        main = dict.fromkeys((deciding, *MAIN))
        directed = (name for name in main if OUTCOMES[name].lower_is_better is not None)
        general = (regression_limit(name, self.regression) for name in directed)
        return (*self.named, *(own for own in general if (own.outcome, own.most is None) not in sides))

    def check_each_has_a_case(
        self, of_cases: Collection[Limit], what: str, measured: Collection[str]
    ) -> None:
        """UserMistake for a named limit that is for nothing, or where none is for anything: all would pass.

        `what` is what has outcomes, and `measured` are those that it has.
        """
        idle = [limit.outcome for limit in self.named if limit not in of_cases]
        if self.regression is not None and not of_cases:
            idle += MAIN
        if idle:
            near = [other for name in idle for other in get_close_matches(name, sorted(measured), n=2)]
            known = [name for name in (*near, *MAIN) if name in measured] or sorted(measured)[:5]
            raise UserMistake(
                f"no {what} has {enumerated(dict.fromkeys(idle))}",
                remedy=f"it has {enumerated(dict.fromkeys(known))}" if known else "measure it again",
            )


def regression_limit(outcome: str, share: float) -> Limit:
    """How much worse an outcome may become: a cost may rise, a speed may fall by this share.

    UserMistake for an outcome of which neither more nor less is better.
    """
    lower_is_better = OUTCOMES[outcome].lower_is_better
    if lower_is_better is None:
        raise UserMistake(
            f"neither more nor less of {outcome} is better, so that it cannot become worse",
            remedy="limit it by --max or --min",
        )
    return Limit(outcome=outcome, most=share) if lower_is_better else Limit(outcome=outcome, least=-share)


def confidence_of_each(confidence: float, number: int) -> float:
    """How sure each of N intervals is to be for all to hold together (Bonferroni's inequality)."""
    return 1 - (1 - confidence) / max(number, 1)


def verdict_of(change: Interval | None, limit: Limit) -> GateVerdict:
    """PASS where all of the interval keeps to the limit, FAIL where all of it is beyond."""
    if change is None or change.low is None or change.high is None:
        return "INCONCLUSIVE"
    most = None if limit.most is None else 1 + limit.most
    least = None if limit.least is None else 1 + limit.least
    if (most is not None and change.low > most) or (least is not None and change.high < least):
        return "FAIL"
    keeps = (most is None or change.high <= most) and (least is None or change.low >= least)
    return "PASS" if keeps else "INCONCLUSIVE"


def worst(cases: Iterable[Row]) -> GateVerdict:
    """One verdict for all judged rows: a failure weighs more than what is inconclusive."""
    found = {case.word("verdict") for case in cases}
    return "FAIL" if "FAIL" in found else "INCONCLUSIVE" if "INCONCLUSIVE" in found else "PASS"
