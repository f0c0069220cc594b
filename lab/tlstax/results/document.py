"""What a run shows, as frozen types: findings, cases without a valid trial, the one document."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, PositiveInt

from tlstax.contract import Frozen
from tlstax.records.capture import Frame, Hello, StatementSeen
from tlstax.records.trial import Machine, Specimen, TrustFile
from tlstax.results.interval import Interval, Judgement
from tlstax.results.rows import Row, Told
from tlstax.study import Role, Study
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


class RunDocument(Frozen):
    """The one document that `run --json`, `study run --json` and `report --format json` print.

    `study` is the study's name, `design` the whole of it. `machine` is the only one, or that which leads the
    others. `topics` has what there is to tell of each topic, by its name; `first_bytes` what taps saw of
    cases. By their names `machines` are those that blocks were measured on, where they are several, and
    `load_machines` those that the load came from, where it came from others.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

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
