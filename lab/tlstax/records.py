"""What is kept: trials, their verdicts, runs, and the findings drawn from them, as frozen types."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from tlstax.contract import Done, ErrorEvent, Frozen, Job, Ready
from tlstax.explained import Explanation
from tlstax.observed import Window
from tlstax.profiles.stacks import Profile, Side
from tlstax.study import Case, Level, Role, Study

Judgement = Literal["higher", "lower", "no difference seen"]
"""Of a ratio, from its interval and the noise floor."""


class Trial(Frozen):
    """A case, to be run once, at its place: `block` counts from 0, `position` within the block from 0.

    A `profiled` trial is sampled while it runs, which costs something: it tells where the time goes, and
    nothing else is estimated from it.
    """

    block: int
    position: int
    case: Case
    profiled: bool = False


class MappedLibrary(Frozen):
    """A TLS library file that is mapped into a process, and its content's checksum."""

    path: str
    sha256: str


class ServerCpu(Frozen):
    """CPU time that the server's process used over exactly the measured window."""

    total_us: float
    user_us: float
    system_us: float


class LibraryClaim(Frozen):
    """Which TLS library a process is meant to run over: a specimen, its version and its files' checksums."""

    name: str
    version: str
    libssl_sha256: str
    libcrypto_sha256: str


class PlantedClaim(Frozen):
    """Which fault is meant to be planted in a process: a specimen, and its file's checksum."""

    name: str
    sha256: str


class ServerClaim(Frozen):
    """Which server a trial is meant to have measured.

    `version` is the specimen's, `program` the file that was started as process `pid`, `data_directory`
    where its tables are; `tls_library` is None where the server keeps the library that it comes with,
    `planted` where no fault is planted in it.
    """

    name: str
    version: str
    program: str
    pid: int
    data_directory: str
    tls_library: LibraryClaim | None = None
    planted: PlantedClaim | None = None


class ServerObservation(Frozen):
    """What the server's side showed of one trial.

    `status_delta` holds the change of every numeric global status counter over the client's whole
    lifetime (connections, handshakes, session cache hits…); `cpu`, `rss_bytes` and
    `mapped_tls_libraries` are None or empty where the server's process is out of reach. `mapped_faults` are
    the files of faults of ours that are mapped into it, None where that was not seen. `answering_pid`
    is the process at the other end of the laboratory's Unix socket, `program` the file that it executes,
    `listening_port` the TCP port that it listens on, `data_directory` the server's own word for it,
    `instructions` those of the measured window; None where they are not to be had. Newer stores have them
    among the counters of `Evidence.window`, where `cpu` and `rss_bytes` stand too.
    """

    version: str
    tls_library_version: str | None
    status_delta: dict[str, int]
    cpu: ServerCpu | None
    rss_bytes: int | None
    mapped_tls_libraries: tuple[MappedLibrary, ...] = ()
    mapped_faults: tuple[MappedLibrary, ...] | None = None
    answering_pid: int | None = None
    program: str | None = None
    listening_port: int | None = None
    data_directory: str | None = None
    instructions: int | None = None


class Verdict(Frozen):
    """Was the trial what it claims to be? `reasons` says why not; notes are caveats of a valid one."""

    value: Literal["valid", "invalid", "unknown"]
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Evidence(Frozen):
    """All that one trial left behind, before it is judged; `job` has no password.

    `claim` is which server it was meant to be, None for a guest; `client_claim` which TLS library the
    client was told to load, None for its own.
    `row_mismatches` names the statement of each row sample that the server answered differently.
    `failure` says why the trial did not come to its end; empty when it did. `window` is what observers saw,
    `profile` what was sampled of a profiled trial, `why_no_profile` why there is none of it.
    """

    trial: Trial
    started_at: str
    took_s: float
    job: Job | None
    ready: Ready | None
    done: Done | None
    client_errors: tuple[ErrorEvent, ...] = ()
    client_log: str = ""
    client_mapped_tls_libraries: tuple[MappedLibrary, ...] = ()
    server: ServerObservation | None
    window: Window | None = None
    profile: Profile | None = None
    why_no_profile: str = ""
    claim: ServerClaim | None = None
    client_claim: LibraryClaim | None = None
    server_log: str = ""
    row_mismatches: tuple[str, ...] = ()
    failure: str = ""
    guest: bool = False


class TrialRecord(Evidence):
    """What is stored of a trial: its evidence and the verdict on it."""

    verdict: Verdict


class Specimen(Frozen):
    """Something real under study, and where it came from."""

    name: str
    kind: Literal["server", "tls_library", "client", "path", "fault"]
    version: str
    origin: str
    why: str = ""
    path: str = ""
    sha256: str = ""
    packages: dict[str, str] = {}


class Machine(Frozen):
    """Where the trials ran, as far as it bears on their numbers."""

    cpu_model: str
    cores: int
    memory_bytes: int
    kernel: str
    distribution: str
    virtualization: str | None
    server_cpus: tuple[int, ...] = ()
    client_cpus: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


class Changes(Frozen):
    """What options changed of a study's file, as they were typed; `set` has one text for each `--set`."""

    set: tuple[str, ...] = ()
    budget: str | None = None
    precision: str | None = None
    rate: str | None = None
    arrivals: str | None = None
    profile: bool = False


class RunHeader(Frozen):
    """What a run set out to do, known before its first trial.

    `changes` is what options changed of the study's file: a resumed run has them again.
    """

    run: str
    started_at: str
    tlstax_version: str
    study: Study
    seed: int
    trial_duration_s: float
    machine: Machine
    specimens: tuple[Specimen, ...]
    guest: bool = False
    changes: Changes = Changes()


class StoredRun(Frozen):
    """A run as the store gives it back: its header, how it ended, and every trial in its order.

    `resumed_at` holds the times at which it was taken up again after it had been cut off.
    """

    header: RunHeader
    status: Literal["running", "complete", "interrupted", "failed"]
    stopped_because: str = ""
    resumed_at: tuple[str, ...] = ()
    trials: tuple[TrialRecord, ...]

    @property
    def measured(self) -> tuple[TrialRecord, ...]:
        """The trials that results are estimated from: all but the profiled ones."""
        return tuple(record for record in self.trials if not record.trial.profiled)

    @property
    def profiled(self) -> tuple[TrialRecord, ...]:
        """The trials that were sampled."""
        return tuple(record for record in self.trials if record.trial.profiled)


class Ratio(Frozen):
    """A ratio to the baseline with its interval, and from how many blocks it was taken.

    `low` and `high` are None where there is no interval: one block alone shows no scatter.
    """

    point: float
    low: float | None
    high: float | None
    confidence: float
    blocks: int


class Finding(Frozen):
    """An outcome, a case, a baseline, a ratio with its interval, and what to bear in mind.

    `value` and `baseline_value` are geometric means over the same blocks. `noise_floor` is the
    relative difference below which nothing can be told here, from the control (0.02 is 2 %); None
    where there is no control. `judgement` compares the ratio with the interval and the noise floor.
    """

    outcome: str
    unit: str
    role: Role
    case: dict[str, Level]
    baseline: dict[str, Level]
    value: float
    baseline_value: float
    ratio: Ratio
    noise_floor: float | None
    judgement: Judgement | Literal["baseline"]
    negotiated: str
    caveats: tuple[str, ...] = ()


class Unpaired(Frozen):
    """An outcome that the baseline does not have (plaintext has no handshake), so without a ratio.

    `value` is the geometric mean over the blocks, `low` and `high` its interval, None for one block.
    """

    outcome: str
    unit: str
    role: Role
    case: dict[str, Level]
    value: float
    low: float | None
    high: float | None
    confidence: float
    blocks: int
    negotiated: str


class ControlResult(Frozen):
    """How far the control strayed from the baseline in one comparison and outcome."""

    outcome: str
    case: dict[str, Level]
    ratio: Ratio
    noise_floor: float


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
    costs: dict[str, Ratio] = {}


class Control(Frozen):
    """What the same thing measured twice showed; the worst of it is the noise floor in a word."""

    comparisons: tuple[ControlResult, ...]


class ContrastFinding(Frozen):
    """A case beside the case that differs from it in `factor` alone, in the same blocks.

    Like a Finding, but `baseline` holds the levels compared with, and `noise_floor` is how far two processes
    of one kind differ (the twins that `noise_from` names; None and empty where no twin ran).
    """

    factor: str
    outcome: str
    unit: str
    case: dict[str, Level]
    baseline: dict[str, Level]
    value: float
    baseline_value: float
    ratio: Ratio
    noise_floor: float | None
    noise_from: str
    judgement: Judgement


class PooledRatio(Frozen):
    """The same ratio over all numbers of connections: one mean log ratio a block, the interval over blocks.

    `factor` is the contrast's, or empty for the ratio to the study's own baseline (the case's plaintext).
    `case` and `baseline` lack the connections, which `connections` lists. Workloads and TLS modes are
    never pooled.
    """

    factor: str
    outcome: str
    unit: str
    case: dict[str, Level]
    baseline: dict[str, Level]
    connections: tuple[int, ...]
    ratio: Ratio
    noise_floor: float | None
    noise_from: str
    judgement: Judgement


class Tally(Frozen):
    """In how many cases a statement held, the opposite held, and neither could be told."""

    held: int
    opposite: int
    untold: int


class StatementCase(Frozen):
    """What one server, or one pair of servers, shows of a statement under one workload and TLS mode.

    `ratio` is `better` to `than`, pooled over `connections`; where `across_servers`, of each side's ratio
    to its own server's baseline. `sides` names the two servers, the better's first. `cells` counts the
    single numbers of connections.
    """

    case: dict[str, Level]
    sides: tuple[str, ...]
    across_servers: bool
    connections: tuple[int, ...]
    ratio: Ratio
    noise_floor: float | None
    noise_from: str
    outcome: Literal["held", "opposite", "could not be told"]
    cells: Tally


class StatementResult(Frozen):
    """A published statement and what this run says of it.

    `pooled` counts `cases` (pooled over connections; the verdict rests on these), `cells` the single
    numbers of connections in them. `plaintext` holds the same comparison without TLS, where a TLS library
    must not matter. `sentence` is the verdict in words.
    """

    says: str
    source: str
    kind: Literal["better", "best"]
    measured: str
    verdict: Literal["held", "held in part", "did not hold", "could not be told"]
    sentence: str
    across_servers: bool
    pooled: Tally
    cells: Tally
    cases: tuple[StatementCase, ...]
    plaintext: tuple[StatementCase, ...]
    caveats: tuple[str, ...]


class PublishedFigure(Frozen):
    """A published figure, what stands in for it here, and both as ratios to the same reference.

    `measured` is the geometric mean over blocks with its interval, None where nothing stands in for it or
    that was not measured. `against` names the reference; `published_ratio` is the figure to the
    reference's, `ratio` the same of what stands in for them here, block by block. `comparable` says what may
    be compared; `verdict` whether taking a planted fault out comes out as the fix, empty where the two differ
    by more than that.
    """

    label: str
    outcome: str
    unit: str
    value: float
    source: str
    note: str
    beside: dict[str, Level]
    measured: float | None
    measured_low: float | None
    measured_high: float | None
    blocks: int
    against: str
    published_ratio: float | None
    ratio: Ratio | None
    comparable: str
    verdict: str = ""


class RunDocument(Frozen):
    """The one document that `run --json`, `study run --json` and `report --format json` print.

    `study` is the study's name, `design` the whole of it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
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
    unpaired: tuple[Unpaired, ...] = ()
    contrasts: tuple[ContrastFinding, ...] = ()
    pooled: tuple[PooledRatio, ...] = ()
    statements: tuple[StatementResult, ...] = ()
    published: tuple[PublishedFigure, ...] = ()
    explanations: tuple[Explanation, ...] = ()
    control: Control
    trials: TrialCounts
    profiling: Profiling | None = None
    caveats: tuple[str, ...] = ()
