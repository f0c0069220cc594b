"""Fake contestants for the self-bench with exact costs: what a trial leaves behind, without a trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from statistics import NormalDist

from tlstax.contract import (
    Counts,
    CpuTime,
    Done,
    ErrorCount,
    Handshakes,
    Negotiated,
    Ready,
    RowSample,
    TlsView,
    Wire,
)
from tlstax.records.trial import Machine, ServerCpu, Specimen
from tlstax.selfbench.plan import RESUMED, Cell, Contestant, Trial
from tlstax.selfbench.records import Header, Instructions, Observation, ServerFacts

MACHINE = Machine(
    cpu_model="a processor",
    cores=2,
    memory_bytes=2**34,
    kernel="6.1",
    distribution="Debian",
    virtualization=None,
    server_cpus=(0,),
    client_cpus=(1,),
)

SERVER = ServerFacts(
    name="mysql-9.7", version="9.7.0", tls_library_version="OpenSSL 3.5.0", tls_versions="TLSv1.3"
)

SELECT = Cell(workload="point-select", tls="off", connections=8)
SELECT_TLS = Cell(workload="point-select", tls="1.3", connections=8)
RECONNECT_TLS = Cell(workload="reconnect", tls="1.3", connections=8)
RECONNECT_RESUMED = Cell(workload="reconnect", tls="1.3-resumed", connections=8)


def header(*cells: Cell, budget_s: float = 60.0, seed: int = 1) -> Header:
    return Header(
        started_at="2026-11-21T12:00:00+00:00",
        tlstax_version="0.1.0",
        seed=seed,
        rows=1000,
        budget_s=budget_s,
        trial_duration_s=1.0,
        cells=cells,
        machine=MACHINE,
        specimens=(Specimen(name="tlstax-engine", kind="client", version="0.1.0", origin="this project"),),
        server=SERVER,
    )


def observation(trial: Trial, *, cpu_us_per_op: float, operations: int = 10_000) -> Observation:
    """What a contestant leaves behind that does as it is told."""
    cell = trial.cell
    encrypted, reconnects = cell.tls != "off", cell.workload == "reconnect"
    resumed = cell.tls == RESUMED
    view = TlsView(version="TLSv1.3", cipher="TLS_AES_128_GCM_SHA256", resumed=None) if encrypted else None
    handshakes = (
        Handshakes(
            version="TLSv1.3",
            cipher="TLS_AES_128_GCM_SHA256",
            group="secp256r1",
            resumed=resumed,
            hello_retry=True,
            count=operations,
        ),
    )
    counts = Counts(
        connections=operations if reconnects else 0,
        handshakes=handshakes if reconnects and encrypted else (),
        authentications={},
    )
    setup = {"Connections": cell.connections, "Com_select": 100}
    window = {"Com_select": operations, "Com_stmt_execute": 0 if reconnects else operations}
    if encrypted:
        setup["Ssl_finished_accepts"] = cell.connections
    if reconnects:
        window["Connections"] = operations
    if reconnects and encrypted:
        window["Ssl_finished_accepts"] = operations
    if resumed:
        window["Ssl_session_cache_hits"] = 2 * operations
    return Observation(
        trial=trial,
        ready=Ready(
            client="a client",
            client_version="1",
            pid=1,
            server_version="9.7.0",
            tls_library=None,
            negotiated=(Negotiated(connections=1, client=view, server=view),),
        ),
        done=done(cpu_us_per_op * operations, operations, counts),
        setup_delta=setup,
        window_delta={name: value for name, value in window.items() if value},
        server_cpu=ServerCpu(
            total_us=20.0 * operations, user_us=15.0 * operations, system_us=5.0 * operations
        ),
        instructions=Instructions(user=30_000 * operations, kernel=None),
    )


def done(cpu_us: float, operations: int, counts: Counts, errors: tuple[ErrorCount, ...] = ()) -> Done:
    return Done(
        elapsed_s=1.0,
        operations=operations,
        scheduled=operations,
        skipped=0,
        window=counts,
        lifetime=counts,
        histograms_ns={},
        cpu=CpuTime(total_us=cpu_us, user_us=cpu_us / 4, system_us=cpu_us * 3 / 4),
        wire=Wire(bytes_sent=1, bytes_received=1, segments_sent=None, segments_received=None),
        errors=errors,
        row_samples=(RowSample(sql="SELECT 1", rows=(("1",),)),),
    )


@dataclass
class World:
    """Contestants that cost so much CPU per operation, on a machine that scatters and drifts.

    Time stands still but for trials: each takes `trial_s` on the world's own clock.
    """

    cpu_us_per_op: Mapping[Contestant, float]
    scatter: float = 0.03
    seed: int = 7
    trial_s: float = 1.0
    now_s: float = 0.0
    trials: list[Trial] = field(default_factory=list)

    def clock(self) -> float:
        return self.now_s

    def measure(self, trial: Trial) -> Observation:
        self.trials.append(trial)
        self.now_s += self.trial_s
        draw = Random(self.seed * 100_003 + len(self.trials)).random()  # noqa: S311 (noise, not a secret)
        noise = NormalDist(1, self.scatter).inv_cdf(draw)
        drift = 1 + 0.1 * trial.block
        return observation(trial, cpu_us_per_op=self.cpu_us_per_op[trial.contestant] * noise * drift)


class Nobody:
    """A watcher who remembers how often it was told of a trial, and what time was left."""

    def __init__(self) -> None:
        self.left: list[float | None] = []
        self.closed = False

    def trial(self, trial: Trial, number: int, left_s: float | None) -> None:
        assert number == len(self.left) + 1
        assert trial.cell.connections > 0
        self.left.append(left_s)

    def close(self) -> None:
        self.closed = True
