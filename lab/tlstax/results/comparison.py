"""What differs between runs, and whether a run keeps to a limit: the documents of `compare` and `check`."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from tlstax.contract import Frozen
from tlstax.results.interval import Interval, Judgement
from tlstax.study import Level

Measure = Literal["to the baseline", "itself"]
"""Of a case in each of two runs: its ratio to its own run's baseline, or its own value."""

GateVerdict = Literal["PASS", "FAIL", "INCONCLUSIVE"]


class HeaderChange(Frozen):
    """Something that two runs' headers say differently; empty where one of them has no such thing."""

    what: str
    before: str
    after: str


class CaseChange(Frozen):
    """One case in two runs: an outcome there, and by what factor it changed.

    `before` and `after` are geometric means over each run's blocks, of the outcome or of its ratio to the
    baseline, as `measure` says. `change` is the second to the first; its interval includes how far two runs
    of the same thing differ here, and its `blocks` are those of the run that has fewer. All intervals beside
    one run hold together with the document's confidence; each alone has the one that stands with it.
    """

    outcome: str
    unit: str
    case: dict[str, Level]
    label: str
    measure: Measure
    before: float
    after: float
    change: Interval
    judgement: Judgement


class RunBeside(Frozen):
    """A run beside the one that it is compared with.

    On machines that differ, only ratios to each run's own baseline are compared. `only_before` and
    `only_after` are the labels of cases that the other run does not have. `same_again` are other runs of the
    same things on the same machine, by which it is known how far runs differ there.
    """

    run: str
    against: str
    same_machine: bool
    different: tuple[HeaderChange, ...]
    same_again: tuple[str, ...] = ()
    changes: tuple[CaseChange, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]


class RunComparison(Frozen):
    """The document that `compare --json` prints; each run stands beside the first."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[2] = Field(default=2, alias="schema")
    confidence: float
    beside: tuple[RunBeside, ...]


class Limit(Frozen):
    """By how much an outcome may rise at most, or must rise at least, relative: 0.05 is 5 %, −0.05 a fall.

    One of the two is None.
    """

    outcome: str
    most: float | None = None
    least: float | None = None


class GatedCase(Frozen):
    """Whether one case kept to a limit.

    It passes where all of its interval keeps to the limit, and fails where all of it is beyond; all intervals
    of a check hold together with the check's confidence.
    """

    limit: Limit
    change: CaseChange
    verdict: GateVerdict


class GateResult(Frozen):
    """The document that `check --json` prints.

    A run of two sides is checked by itself: `run` and `against` are the same, and what B changes beside A is
    what has limits. `same_again` is as of `RunBeside`. `confidence` is that of all intervals together. The
    verdict is FAIL where one case fails, else INCONCLUSIVE where one is inconclusive.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[2] = Field(default=2, alias="schema")
    run: str
    against: str
    same_machine: bool
    confidence: float
    different: tuple[HeaderChange, ...]
    same_again: tuple[str, ...] = ()
    cases: tuple[GatedCase, ...]
    verdict: GateVerdict
