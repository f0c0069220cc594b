"""What differs between runs, and whether a run keeps to a limit: the documents of `compare`."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from tlstax.contract import Frozen
from tlstax.results.rows import Row

Measure = Literal["to the baseline", "itself"]
"""Of a case in each of two runs: its ratio to its own run's baseline, or its own value."""

GateVerdict = Literal["PASS", "FAIL", "INCONCLUSIVE"]


class HeaderChange(Frozen):
    """Something that two runs' headers say differently; empty where one of them has no such thing."""

    what: str
    before: str
    after: str


class RunBeside(Frozen):
    """A run beside the one that it is compared with, and by what factor each case changed.

    A row has its case in the later run as `value`, and in the earlier one as `baseline_value`: geometric
    means over each run's blocks, of what its `role` says: the outcome `itself`, or its ratio `to the
    baseline` of its own run, the one thing to compare on machines that differ. Its `interval` is the later to
    the earlier, and includes how far two runs of the same thing differ here; its `blocks` are those of the
    run that has fewer. All intervals beside one run hold together with the document's confidence; each alone
    has the one that stands with it. `same_again` are other runs of the same things on the same machine, by
    which it is known how far runs differ there. `only_before` and `only_after` are the labels of cases that
    the other run does not have.
    """

    run: str
    against: str
    same_machine: bool
    different: tuple[HeaderChange, ...] = ()
    same_again: tuple[str, ...] = ()
    changes: tuple[Row, ...]
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()


class RunComparison(Frozen):
    """The document that `compare --json` prints; each run stands beside the first."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[3] = Field(default=3, alias="schema")
    confidence: float
    beside: tuple[RunBeside, ...]


class GateResult(RunBeside):
    """The document that `compare --json` prints beside limits: each case, and whether it kept to its own.

    A row's `more` has by how much it may rise at `most`, or must rise at `least`, relative (0.05 is 5 %,
    −0.05 a fall), and its `verdict`: PASS where all of its interval keeps to the limit, FAIL where all of it
    is beyond. A run of two sides is checked by itself: `run` and `against` are the same, and what B changes
    beside A is what has limits. `confidence` is that of all intervals together. The verdict of all is FAIL
    where one case fails, else INCONCLUSIVE where one is inconclusive.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[3] = Field(default=3, alias="schema")
    confidence: float
    verdict: GateVerdict
