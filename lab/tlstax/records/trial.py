"""What is kept, as frozen types: trials, what was between client and server, their verdicts, and runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from tlstax.contract import Done, ErrorEvent, Frozen, Job, Ready
from tlstax.records.beforehand import ExternalServer, LoadStep, Pilot, Predictions
from tlstax.records.capture import Capture
from tlstax.records.profiles.stacks import Profile
from tlstax.records.server_counts import Count, Counting, counting_of
from tlstax.records.window import Burned, Load, LockCounts, PortUse, Slices, Together, Window
from tlstax.study import Case, Study


class PathPart(Frozen):
    """One program of a path: where it stands, which process of which file, and whether it ran at the end.

    Of one that did not, `ended` says how it ended, as far as that is known, and `last_line` is the last line
    of its log.
    """

    role: Literal["near the client", "near the server"]
    program: str
    pid: int
    alive: bool
    ended: str = ""
    last_line: str = ""


class PathObservation(Frozen):
    """What the programs between client and server showed of one trial.

    `name` is the level of `path`, `specimen` and `version` what was run, `parts` its programs.
    `protection` is the path's own word for what protects the bytes between its ends ("aes256-ctr,
    hmac-sha2-256"), None where nothing does; `said_by` is who says so (its log, its status page).
    `connections` is how many the path counted over the client's whole life, None where it does not
    count. Clients enter at `entry_port`, and are led to `server_port` of the server's. `log` is the end of
    its programs' logs where one of them has died.
    """

    name: str
    specimen: str
    version: str
    parts: tuple[PathPart, ...]
    protection: str | None
    said_by: str
    connections: int | None
    entry_port: int
    server_port: int
    log: str = ""


class RoundTripTime(Frozen):
    """Round trip times that were measured over a distance, by `samples` packets sent out and answered."""

    median_ms: float
    lowest_ms: float
    highest_ms: float
    samples: int


class LaneUse(Frozen):
    """What one way of a distance carried: packets of IP, their bytes, and packets that found no room."""

    packets: int
    bytes: int
    drops: int


class Lateness(Frozen):
    """How late packets were handed over, against when they were due, in microseconds."""

    p50: float
    p99: float
    max: float


class LinkUse(Frozen):
    """What our own link carried to the server's place and to the client's, and how late."""

    to_far: LaneUse
    to_near: LaneUse
    lateness_us: Lateness


class DistanceObservation(Frozen):
    """The distance of a trial: what it was meant to be, what made it, and what was measured of it.

    `before` and `after` are measured from the client's place to the server's, by the kernels' own
    answers alone. `link` is what our own link carried from `before` on, None where the kernel delays.
    """

    rtt_ms: float
    jitter_ms: float
    rate_mbit: int
    made_by: Literal["netem", "tlstax-link"]
    before: RoundTripTime
    after: RoundTripTime | None
    link: LinkUse | None = None


class Trial(Frozen):
    """A case, to be run once, at its place: `block` counts from 0, `position` within the block from 0.

    A `profiled` trial is sampled while it runs, which costs something: it tells where the time goes, and
    nothing else is estimated from it. A `captured` trial does a few operations through a tap that writes down
    what crosses the wire, and is not estimated from either; nor is a `counted` one, whose server counts the
    locks that it takes.
    """

    block: int
    position: int
    case: Case
    profiled: bool = False
    captured: bool = False
    counted: bool = False

    @property
    def place(self) -> tuple[int, int]:
        """Its block and position, which no other trial of a run has."""
        return self.block, self.position

    @property
    def is_measured(self) -> bool:
        """Whether results are estimated from it."""
        return not self.profiled and not self.goes_before

    @property
    def goes_before(self) -> bool:
        """Whether its block is before all those whose trials are compared, and beside the budget."""
        return self.captured or self.counted


HEAD = "head"
"""What the machine of trials is called that name none."""


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
    """Which fault or variant a process is meant to be given: a specimen, and its file's checksum."""

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


class ConnectionsSeen(Frozen):
    """What the server said of the connections that did the measured work, on each of them, within the window.

    `version` and `cipher` are None on plaintext.
    """

    connections: int
    version: str | None
    cipher: str | None


class TableState(Frozen):
    """What a table held before a trial: rows, and the sum of a checksum of each.

    That is a row's CRC-32 (MySQL, MariaDB) or the first 32 bits of its MD5 (PostgreSQL, which has no CRC-32).
    """

    table: str
    rows: int
    checksum: int


class ServerObservation(Frozen):
    """What the server's side showed of one trial.

    `status_delta` holds the change of every numeric global status counter over the client's whole lifetime
    (connections, handshakes, session cache hits…); `cpu`, `rss_bytes` and `mapped_tls_libraries` are None or
    empty where the server's process is out of reach. `mapped_faults` are the files of faults of ours that
    are mapped into it, None where that was not seen. `answering_pid` is the process at the other end of the
    laboratory's Unix socket, `program` the file that it executes, `listening_port` the TCP port that it
    listens on, `data_directory` the server's own word for it, `instructions` those of the measured window;
    None where they are not available. Newer stores have them among the counters of `Evidence.window`, where
    `cpu` and `rss_bytes` stand too. `connections` are those that told of themselves in the window, None
    where none was to; `tls_versions` is what the server accepted during the trial (empty: no TLS),
    `durability` its setting of when a commit is on disk, None where a study leaves them alone. `ia32cap` is
    the process's variable OPENSSL_ia32cap, empty where it has none, `allowed_cpus` how many processors it
    may use. `demands_certificate` is whether it lets the load account in only with a client certificate,
    None where a study leaves that alone. `variables` are the server's own of the options that were asked for.
    `logged` are the connections that its log names as let in, None where it writes down none: over the
    client's whole lifetime, or, where they are `logged_until_ready`, those that it made before its window.
    Where a pooler lets clients in for it, they are those of the pooler's log.
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
    connections: tuple[ConnectionsSeen, ...] | None = None
    logged: tuple[ConnectionsSeen, ...] | None = Field(default=None, exclude_if=lambda seen: seen is None)
    logged_until_ready: bool = Field(default=False, exclude_if=lambda until_ready: not until_ready)
    tls_versions: str | None = None
    durability: str | None = None
    ia32cap: str | None = None
    allowed_cpus: int | None = None
    demands_certificate: bool | None = None
    variables: dict[str, str] = Field(default={}, exclude_if=lambda variables: not variables)

    @property
    def counting(self) -> Counting:
        """How this server counts what its clients do."""
        return counting_of(self.version, self.tls_library_version, self.status_delta)

    def counted(self, count: Count) -> int | None:
        """How many there were over the client's whole lifetime; None where the server does not count them."""
        return self.counting.of(self.status_delta, count)


class Verdict(Frozen):
    """Was the trial what it claims to be? `reasons` says why not; notes are caveats of a valid one."""

    value: Literal["valid", "invalid", "unknown"]
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _of_any_schema(job: object) -> object:
    """A job as it is stored; those of schema 1, whose window was one slice, are the same in form."""
    if isinstance(job, dict) and job.get("schema") == 1:
        return {**job, "schema": 2}
    return job


class Evidence(Frozen):
    """All that one trial left behind, before it is judged; `job` has no password.

    `claim` is which server it was meant to be, None for a guest; `client_claim` which TLS library the
    client was told to load, None for its own.
    `row_mismatches` names the statement of each row sample that the server answered differently.
    `failure` says why the trial did not come to its end; empty when it did. `window` is what observers saw,
    `profile` what was sampled of a profiled trial, `why_no_profile` why there is none of it. `data` is what
    the tables held before the trial, or its sitting, empty where the workload changes nothing. `path` is what
    was between client and server, None where they are connected directly; `distance` how far they were
    apart, None for loopback. `capture` is what a tap saw of a captured trial. `beside_another` is whether
    another run was measuring on the same machine meanwhile. `slices` is what it did in turns with others of a
    sitting, None of a trial that had the servers to itself; `window` is then the part of its work that
    was watched before the turns began, and `together` what the server counted of all clients during them.
    `burned` is what the fault `burn` did, None where that is not planted. `machine` names the one of several
    machines that it ran on, empty where the run has one. `load` has the machines that its load came from,
    None where the client was on the server's machine or, at an external server, here. `ports` are those that
    waited on the client's machine when it had finished, None where they do not matter. `client_ia32cap` is
    the client's variable OPENSSL_ia32cap, empty where it has none. `locks` are those that the server took
    while it was watched, `client_locks` those of the client, None where they are not counted.
    """

    trial: Trial
    started_at: str
    took_s: float
    job: Annotated[Job | None, BeforeValidator(_of_any_schema)]
    ready: Ready | None
    done: Done | None
    client_errors: tuple[ErrorEvent, ...] = ()
    client_log: str = ""
    client_mapped_tls_libraries: tuple[MappedLibrary, ...] = ()
    client_ia32cap: str | None = None
    server: ServerObservation | None
    window: Window | None = None
    profile: Profile | None = None
    why_no_profile: str = ""
    claim: ServerClaim | None = None
    client_claim: LibraryClaim | None = None
    server_log: str = ""
    row_mismatches: tuple[str, ...] = ()
    data: tuple[TableState, ...] = ()
    path: PathObservation | None = None
    distance: DistanceObservation | None = None
    capture: Capture | None = None
    slices: Slices | None = None
    together: Together | None = None
    burned: Burned | None = None
    failure: str = ""
    guest: bool = False
    beside_another: bool = False
    machine: str = ""
    load: Load | None = None
    ports: PortUse | None = None
    locks: LockCounts | None = None
    client_locks: LockCounts | None = Field(default=None, exclude_if=lambda locks: locks is None)

    @property
    def watched_operations(self) -> int:
        """How many operations were finished while observers watched: all of the trial's, or a part."""
        watched = self.window.operations if self.window is not None else None
        if watched is not None:
            return watched
        return self.done.operations if self.done is not None else 0

    @property
    def commands_in_window(self) -> dict[str, int]:
        """How often the server ran each command while it was watched, by the command's name."""
        if self.window is None or self.server is None:
            return {}
        return self.server.counting.of_commands(self.window.status_delta)

    def counted_in_window(self, count: Count) -> int | None:
        """How many there were at the server while it was watched; None where that is not counted."""
        if self.window is None or self.server is None:
            return None
        return self.server.counting.of(self.window.status_delta, count)


class TrialRecord(Evidence):
    """What is stored of a trial: its evidence and the verdict on it."""

    verdict: Verdict

    def without_password(self) -> TrialRecord:
        """The same, whose job has no password, were there one."""
        job = self.job.without_password() if self.job is not None else None
        return self.model_copy(update={"job": job})

    @property
    def is_valid(self) -> bool:
        """Whether it was what it claims to be."""
        return self.verdict.value == "valid"


class Specimen(Frozen):
    """Something real under study, and where it came from."""

    name: str
    kind: Literal["server", "tls_library", "client", "path", "fault", "variant"]
    version: str
    origin: str
    why: str = ""
    path: str = ""
    sha256: str = ""
    packages: dict[str, str] = {}


OTHERS_RAN = "other programs were running"
"""Begins the note of a machine that was busy with something else when a run began (observers/machine.py)."""


class Machine(Frozen):
    """Where the trials ran, as far as it bears on their numbers.

    The server was pinned to `server_cpus` and the client to `client_cpus` (empty: not pinned), which the
    user asked for (`cpus_asked_for`), a `pilot` balanced, or neither. `microcode` is the processor's own,
    None where the kernel does not say.
    """

    cpu_model: str
    cores: int
    memory_bytes: int
    kernel: str
    distribution: str
    virtualization: str | None
    microcode: str | None = None
    server_cpus: tuple[int, ...] = ()
    client_cpus: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    cpus_asked_for: bool = False
    pilot: Pilot | None = None


class TrustFile(Frozen):
    """A user's file of authorities by which clients verified the server, beside one with those needed.

    `authorities` are those in it, each once; `needed` is how many of them the server's chain needs, in
    `needed_bytes`, or 0 bytes where it is a private server's own authority that comes to the file. `repeated`
    are there more than once, `expired` are out of date, `others` are certificates of no authority.
    """

    sha256: str
    size_bytes: int
    authorities: int
    needed: int
    needed_bytes: int = 0
    repeated: int = 0
    expired: int = 0
    others: int = 0

    @property
    def more_bytes(self) -> int:
        """How many more bytes clients read than of the file that it is compared with."""
        return self.size_bytes - self.needed_bytes

    def peculiarities(self) -> str:
        """What is odd about it, such as "3 have expired, 2 are there again"; empty where nothing is."""
        found = (
            (self.expired, "has expired", "have expired"),
            (self.repeated, "is there again", "are there again"),
            (self.others, "is no authority's", "are no authorities'"),
        )
        return ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in found if count)


class LoadMachines(Frozen):
    """The machines that a run's load comes from, by their names, and where their clients reach the server.

    There were `offered` of them: no more were taken than it needed to keep the server busy, as `steps` saw
    before the first block (empty where there was nothing to choose).
    """

    server_address: str
    machines: dict[str, Machine]
    offered: int
    steps: tuple[LoadStep, ...] = ()


class Changes(Frozen):
    """What options changed of a study's file or of the CPUs that it runs on, as they were typed.

    `set` has one text for each `--set`.
    """

    set: tuple[str, ...] = ()
    budget: str | None = None
    blocks: int | None = None
    precision: str | None = None
    rate: str | None = None
    arrivals: str | None = None
    profile: bool = False
    capture: bool = False
    count: str | None = None
    server_cpus: str | None = None
    client_cpus: str | None = None


def _of_one_server(external: object) -> object:
    """What external servers were promised; a run from before there could be several has one, or none."""
    if external is None:
        return ()
    return (external,) if isinstance(external, Mapping) else external


RunName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
"""A run's name: it names files too, and may come from a pack, which anybody may have written."""


class RunHeader(Frozen):
    """What a run set out to do, known before its first trial.

    `changes` is what options changed of the study's file: a resumed run has them again. Where blocks are
    measured on several machines, `machines` has each by its name, and `machine` is the first that was ready.
    `load` has the machines that the load comes from, None where that is the server's own or, for an external
    server, this one. `external` is what each external server (there is one: `guest`) was promised; none in
    older runs. `trust` is the file of authorities that the user named, `predictions` what its cases are to
    be held against; None where nothing was predicted.
    """

    run: RunName
    started_at: str
    tlstax_version: str
    study: Study
    seed: int
    trial_duration_s: float
    machine: Machine
    specimens: tuple[Specimen, ...]
    guest: bool = False
    changes: Changes = Changes()
    machines: dict[str, Machine] = {}
    load: LoadMachines | None = None
    external: Annotated[tuple[ExternalServer, ...], BeforeValidator(_of_one_server)] = ()
    trust: TrustFile | None = Field(default=None, exclude_if=lambda trust: trust is None)
    predictions: Predictions | None = Field(default=None, exclude_if=lambda predictions: predictions is None)

    @property
    def all_machines(self) -> dict[str, Machine]:
        """Every machine that blocks were measured on, by its name."""
        return self.machines or {HEAD: self.machine}


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
        """The trials that results are estimated from: all but those profiled, captured and counted."""
        return tuple(record for record in self.trials if record.trial.is_measured)

    @property
    def is_empty(self) -> bool:
        """Whether it has measured nothing: none of its trials is valid."""
        return not any(record.is_valid for record in self.trials)

    @property
    def valid(self) -> tuple[TrialRecord, ...]:
        """The valid ones of those that are measured."""
        return tuple(record for record in self.measured if record.is_valid)

    @property
    def captured(self) -> tuple[TrialRecord, ...]:
        """The trials that went through a tap."""
        return tuple(record for record in self.trials if record.trial.captured)

    @property
    def counted(self) -> tuple[TrialRecord, ...]:
        """The trials whose server counted the locks that it took."""
        return tuple(record for record in self.trials if record.trial.counted)

    @property
    def compared(self) -> tuple[TrialRecord, ...]:
        """The trials of blocks that are compared, the profiled ones among them."""
        return tuple(record for record in self.trials if not record.trial.goes_before)

    @property
    def profiled(self) -> tuple[TrialRecord, ...]:
        """The trials that were sampled."""
        return tuple(record for record in self.trials if record.trial.profiled)
