"""What a run shows, as frozen types: findings, controls, statements, published figures, the one document."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, PositiveInt

from tlstax.contract import Frozen
from tlstax.profiles.stacks import Side
from tlstax.records.trial import Machine, Specimen, TrustFile
from tlstax.results.bulk import BulkCurve
from tlstax.results.captures import Captures
from tlstax.results.connect import RoundTripsResult, StormResult
from tlstax.results.distance import Distances, TunnelWorth
from tlstax.results.explanation import Explanation
from tlstax.results.hello_retry import HelloRetries
from tlstax.results.interval import ClaimVerdict, Interval, Judgement
from tlstax.results.load import LoadFound
from tlstax.results.locks import CaseLocks
from tlstax.results.machines import Machines
from tlstax.results.rows import Row, Told
from tlstax.results.scaling import Scaling
from tlstax.results.two_sides import SideEffect
from tlstax.study import Level, Role, Study
from tlstax.study.published import StatementKind


class Finding(Frozen):
    """An outcome, a case, a baseline, a ratio with its interval, and what to bear in mind.

    `baseline_value` is the geometric mean over the baseline's blocks, and `value` that times `ratio.point`:
    the three never contradict each other. The ratio is taken within blocks, of cases that took turns
    between neighbouring slices, which leaves out what disturbed single ones, in the mean of those to the
    baseline and to its control; `ratio_of_totals` is that of all slices together, None of others.
    `noise_floor` is the relative difference below which nothing can be told here, from the control (0.02 is
    2 %); None where there is no control. `judgement` follows from the interval, the noise floor and the
    study's `alike_within`; where it is inconclusive, `more_s` seconds more would tell if blocks go on to
    scatter so (None where that is not known, or nobody would wait for it).
    """

    outcome: str
    unit: str
    role: Role
    case: dict[str, Level]
    baseline: dict[str, Level]
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


class Profiling(Frozen):
    """What was sampled of a run's profiled trials, which are beside all others, and what that cost.

    `profiles` of the `trials` have a profile; `why_none` says why others have none. `kernel_names` is whether
    the kernel's functions could be told apart, `sides` who could be sampled, and `coverage` which share of
    its CPU time has samples (of a process that sleeps often, perf misses some). `costs` holds, by outcome,
    the ratio of profiled to unprofiled trials of the same cases and blocks, pooled over all cases.
    """

    trials: TrialCounts
    profiles: int
    event: str
    frequency_hz: int
    kernel: bool
    kernel_names: bool
    sides: tuple[Side, ...]
    coverage: dict[Side, float]
    samples: int
    lost: int
    why_none: tuple[str, ...] = ()
    costs: dict[str, Interval] = {}


class PoolSaving(Frozen):
    """What making one connection costs the server, in operations on connections that are kept.

    Both are CPU time of the server per operation, of the workloads `made` and `kept`, in the same blocks and
    with as many connections, pooled over `connections`. `case` lacks the workload and the connections.
    From `operations_needed` operations on each connection, making it is less than `share` of what the
    server spends. `kept_to_plaintext` and `made_to_plaintext` are what TLS does to either; None without TLS.
    """

    case: dict[str, Level]
    kept: str
    made: str
    connections: tuple[int, ...]
    operations_worth: Interval
    share: float
    operations_needed: Interval
    kept_to_plaintext: Interval | None = None
    made_to_plaintext: Interval | None = None


class Tally(Frozen):
    """In how many cases a statement held, the opposite did, both were alike, and nothing could be told."""

    held: int
    opposite: int
    alike: int
    inconclusive: int

    @property
    def number(self) -> int:
        """All of them."""
        return self.held + self.opposite + self.alike + self.inconclusive


class StatementCase(Frozen):
    """What one server, or one pair of servers, shows of a statement under one workload and TLS mode.

    `ratio` is `better` to `than`, pooled over `connections`; with `to_own_baseline`, of each side's ratio to
    its own process's baseline, as it always is where `across_servers`. `sides` names the two servers, the
    better's first; `chosen` says whether the best of several was taken for one of them. `cells` counts the
    single numbers of connections.
    """

    case: dict[str, Level]
    sides: tuple[str, ...]
    across_servers: bool
    to_own_baseline: bool
    connections: tuple[int, ...]
    ratio: Interval
    noise_floor: float | None
    noise_from: str
    outcome: Literal["held", "opposite", "alike", "inconclusive"]
    cells: Tally
    chosen: bool = False


class StatementResult(Frozen):
    """A published statement and what this run says of it.

    `pooled` counts `cases` (pooled over connections; the verdict rests on these), `cells` the single
    numbers of connections in them. `by` is the factor that is claimed at least, or of things alike allowed at
    most; 1 where none is. Below the factor `alike_within` a difference counts as none, where the statement
    says nothing of its size. `plaintext` holds the same comparison without TLS, where a TLS library must not
    matter. `sentence` is the verdict in words.
    """

    says: str
    source: str
    kind: StatementKind
    by: float = 1.0
    alike_within: float
    measured: str
    verdict: ClaimVerdict
    sentence: str
    across_servers: bool
    pooled: Tally
    cells: Tally
    cases: tuple[StatementCase, ...]
    plaintext: tuple[StatementCase, ...]
    caveats: tuple[str, ...]


class NeverValid(Frozen):
    """A case of which `trials` were run and none was valid, and the reason that was found most often."""

    case: dict[str, Level]
    label: str
    trials: PositiveInt
    reason: str


def _is_none(found: object) -> bool:
    return found is None


def _is_nothing(found: tuple[object, ...]) -> bool:
    return not found


class RunDocument(Frozen):
    """The one document that `run --json`, `study run --json` and `report --format json` print.

    `study` is the study's name, `design` the whole of it. `machine` is the only one, or that which leads the
    others; `machines` is there where trials ran on several, `load` where the load came from other machines.
    `topics` has what there is to tell of each topic, by its name.
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
    findings: tuple[Finding, ...]
    topics: dict[str, Told] = {}
    never_valid: tuple[NeverValid, ...] = ()
    statements: tuple[StatementResult, ...] = ()
    pool: tuple[PoolSaving, ...] = ()
    scaling: tuple[Scaling, ...] = Field(default=(), exclude_if=_is_nothing)
    bulk: tuple[BulkCurve, ...] = Field(default=(), exclude_if=_is_nothing)
    trust_file: TrustFile | None = Field(default=None, exclude_if=lambda file: file is None)
    two_sides: tuple[SideEffect, ...] = Field(default=(), exclude_if=_is_nothing)
    locks: tuple[CaseLocks, ...] = Field(default=(), exclude_if=_is_nothing)
    storms: tuple[StormResult, ...] = ()
    round_trips: tuple[RoundTripsResult, ...] = ()
    distances: Distances | None = None
    tunnels: tuple[TunnelWorth, ...] = ()
    hello_retries: HelloRetries | None = None
    captures: Captures | None = None
    machines: Machines | None = Field(default=None, exclude_if=_is_none)
    load: LoadFound | None = Field(default=None, exclude_if=_is_none)
    explanations: tuple[Explanation, ...] = ()
    trials: TrialCounts
    profiling: Profiling | None = None
    caveats: tuple[str, ...] = ()

    def rows_of(self, topic: str, *outcomes: str, role: str | None = None) -> tuple[Row, ...]:
        """The rows of a topic, of these outcomes and that role; none where the run shows nothing of it."""
        told = self.topics.get(topic)
        return told.of(*outcomes, role=role) if told is not None else ()
