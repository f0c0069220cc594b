"""The documents, as frozen types: of a run, of `compare`, and of a bench, which is measured but is no run."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, PositiveInt

from tlstax.contract import Frozen
from tlstax.records.capture import Frame, Hello, StatementSeen
from tlstax.records.trial import Machine, Specimen, TrustFile
from tlstax.results.interval import Interval, Judgement
from tlstax.results.rows import Document, Row, Told
from tlstax.study import Level, Role, Study
from tlstax.study.factors import CaseLevels


class FirstBytes(Frozen):
    """What a tap saw first of one connection of a case, and `says` what can be read of it.

    `offered` is what the client offered first, `is_direct` whether TLS began without being asked for. `login`
    are PostgreSQL's messages until the login's end, and `statements` the first ones, that could be read.
    `after_login` are the first bytes after the login (after the handshake where the login is encrypted),
    `in_window` the first of the work.
    """

    case: CaseLevels
    label: str
    says: str
    offered: Hello | None
    is_direct: bool = False
    login: tuple[str, ...] = ()
    statements: tuple[StatementSeen, ...]
    after_login: tuple[Frame, ...]
    in_window: tuple[Frame, ...]


class Finding(Frozen):
    """An outcome, a case, a baseline, a ratio with its interval, and what to bear in mind.

    `baseline_value` is the geometric mean over the baseline's blocks, and `value` that times `ratio.point`:
    the three never contradict each other. The ratio is taken within blocks, of cases that took turns
    between neighbouring slices, which leaves out what disturbed single ones, in the mean of those to the
    baseline and to its control; `ratio_of_totals` is that of all slices together, None of others.
    `noise_floor` is the relative difference below which nothing can be told here, from the control (0.02 is
    2 %); None where there is no control. `judgement` follows from the interval, the noise floor and the
    study's `alike_within`; where it is inconclusive, `more_s` seconds more would tell if blocks go on to
    scatter so (None where that is not known, or it would take too long).
    """

    outcome: str
    unit: str
    role: Role
    case: CaseLevels
    baseline: CaseLevels
    value: float
    baseline_value: float
    ratio: Interval
    ratio_of_totals: float | None = None
    noise_floor: float | None
    judgement: Judgement | Literal["baseline"]
    more_s: float | None = None
    negotiated: str
    caveats: tuple[str, ...] = ()


class TrialCounts(Frozen):
    """How many trials came out how."""

    valid: int
    invalid: int
    unknown: int


class NeverValid(Frozen):
    """A case of which `trials` were run and none was valid, and the reason that was found most often."""

    case: CaseLevels
    label: str
    trials: PositiveInt
    reason: str


def _is_nothing(found: tuple[object, ...] | dict[str, object]) -> bool:
    return not found


class RunDocument(Document):
    """The one document that `run --json`, `study run --json` and `report --format json` print.

    `study` is the study's name, `design` the whole of it. `machine` is the only one, or that which leads the
    others. `topics` has what there is to tell of each topic, by its name; `first_bytes` what taps saw of
    cases. By their names `machines` are those that blocks were measured on, where they are several, and
    `load_machines` those that the load came from, where it came from others.
    """

    schema_version: Literal[3] = Field(default=3, alias="schema")
    run: str
    study: str
    status: str
    stopped_because: str
    started_at: str
    seed: int
    design: Study
    specimens: tuple[Specimen, ...]
    machine: Machine
    machines: dict[str, Machine] = Field(default={}, exclude_if=_is_nothing)
    load_machines: dict[str, Machine] = Field(default={}, exclude_if=_is_nothing)
    findings: tuple[Finding, ...]
    topics: dict[str, Told] = {}
    never_valid: tuple[NeverValid, ...] = ()
    trust_file: TrustFile | None = Field(default=None, exclude_if=lambda file: file is None)
    first_bytes: tuple[FirstBytes, ...] = Field(default=(), exclude_if=_is_nothing)
    trials: TrialCounts
    caveats: tuple[str, ...] = ()

    def rows_of(self, topic: str, *outcomes: str, role: str | None = None) -> tuple[Row, ...]:
        """The rows of a topic, of these outcomes and that role; none where the run shows nothing of it."""
        told = self.topics.get(topic)
        return told.of(*outcomes, role=role) if told is not None else ()


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


class RunComparison(Document):
    """The document that `compare --json` prints; each run stands beside the first."""

    schema_version: Literal[3] = Field(default=3, alias="schema")
    confidence: float
    beside: tuple[RunBeside, ...]


class GateResult(RunBeside, Document):
    """The document that `compare --json` prints beside limits: each case, and whether it kept to its own.

    A row's `more` has by how much it may rise at `most`, or must rise at `least`, relative (0.05 is 5 %,
    −0.05 a fall), and its `verdict`: PASS where all of its interval keeps to the limit, FAIL where all of it
    is beyond. A run of two sides is checked by itself: `run` and `against` are the same, and what B changes
    beside A is what has limits. `confidence` is that of all intervals together. The verdict of all is FAIL
    where one case fails, else INCONCLUSIVE where one is inconclusive.
    """

    schema_version: Literal[3] = Field(default=3, alias="schema")
    confidence: float
    verdict: GateVerdict


BenchStatus = Literal["complete", "budget", "interrupted", "failed"]


class BenchDocument(Document):
    """The one document of a bench: measured at once, kept in no store.

    `told` has its rows, `facts` what was asked for and what is known besides, by names that the bench
    declares. `status` is "budget" where the budget ended it before its end; `stopped_because` says why it
    failed, and is empty otherwise. `seed` is null where nothing was drawn.
    """

    schema_version: Literal[2] = Field(default=2, alias="schema")
    bench: str
    status: BenchStatus
    stopped_because: str = ""
    started_at: str
    tlstax_version: str
    seed: int | None = None
    machine: Machine
    specimens: tuple[Specimen, ...] = ()
    facts: dict[str, Level | None]
    told: Told
    caveats: tuple[str, ...] = ()

    def fact(self, name: str) -> float:
        """A fact that is a number. KeyError for one that is not there, ValueError for one that is none."""
        return float(self.facts[name] or 0)
