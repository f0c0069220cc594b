"""Fake contestants for the self-bench with exact costs: what a trial leaves behind, without a trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    Slice,
    TlsView,
    Wire,
)
from tlstax.records.slices import Slices
from tlstax.records.trial import Machine, ServerCpu, Specimen
from tlstax.selfbench.plan import BESIDE, RESUMED, WHOLE, Cell, Contestant, Sitting, Trial
from tlstax.selfbench.proof import Work, claims
from tlstax.selfbench.records import Header, Instructions, InTurns, Observation, ServerFacts

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

OPS_PER_S, SERVER_US = 10_000, 20.0
"""Of every contestant, in every cell."""

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
        window_s=0.5,
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
            total_us=SERVER_US * operations, user_us=15.0 * operations, system_us=5.0 * operations
        ),
        instructions=Instructions(user=30_000 * operations, kernel=None),
    )


def in_turns(
    trial: Trial,
    *,
    slice_s: float,
    costs_us: Sequence[float],
    beside_us: Sequence[float] = (),
    others_operations: int = 0,
) -> Observation:
    """What one leaves behind that does as it is told in turns: `costs_us` is what an operation cost in each.

    A slice that costs more lasts no longer and has no fewer operations. The watched one is as the first,
    `beside_us` are the costs in those beside a window, which have ten times as many operations.
    Others had `others_operations` in their turns meanwhile.
    """
    each = round(OPS_PER_S * slice_s)
    alone = observation(trial, cpu_us_per_op=costs_us[0], operations=each)
    turns = each * (len(costs_us) + 10 * len(beside_us))
    all_of_it = observation(trial, cpu_us_per_op=1.0, operations=each + turns).done
    assert alone.done is not None
    assert all_of_it is not None
    all_us = each * (costs_us[0] + sum(costs_us) + 10 * sum(beside_us))
    together = Work(operations=turns, handshakes=alone.done.window.handshakes[:1])
    hits = together.model_copy(
        update={
            "handshakes": tuple(
                seen.model_copy(update={"count": together.operations}) for seen in together.handshakes
            )
        }
    )
    claimed = claims(trial.cell, [hits, Work(operations=others_operations, handshakes=())])
    return alone.model_copy(
        update={
            "watched": Slice(
                elapsed_s=slice_s,
                operations=each,
                latency_sum_s=0.0,
                cpu_us=each * costs_us[0],
                counts=alone.done.window,
            ),
            "slices": slices_of(each, slice_s, costs_us),
            "beside": slices_of(each * 10, slice_s * 10, beside_us) if beside_us else None,
            "in_turns": InTurns(
                clients=2 if others_operations else 1,
                status_delta={counter: least for counter, (least, _) in claimed.items()},
                claims=claimed,
            ),
            "done": done(all_us, all_of_it.operations, all_of_it.window),
        }
    )


def slices_of(each: int, slice_s: float, costs_us: Sequence[float]) -> Slices:
    """Slices of so many operations, and what each of them cost in each."""
    return Slices(
        sitting=0,
        length_s=slice_s,
        took_s=1.0,
        rounds=tuple(range(len(costs_us))),
        operations=tuple(each for _ in costs_us),
        elapsed_s=tuple(slice_s for _ in costs_us),
        latency_sum_s=tuple(0.0 for _ in costs_us),
        client_cpu_us=tuple(each * cost_us for cost_us in costs_us),
        server_cpu_us=tuple(each * SERVER_US for _ in costs_us),
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

    Time stands still but for sittings: each takes `sitting_s` on the world's own clock. `burst` gives how
    many times as much a contestant's operations cost in the round with a number (-1: in its window, or in
    the first of the two slices beside it; -2: in the second).
    """

    cpu_us_per_op: Mapping[Contestant, float]
    scatter: float = 0.03
    seed: int = 7
    sitting_s: float = 3.0
    now_s: float = 0.0
    burst: Callable[[Contestant, int], float] = lambda _contestant, _round: 1.0
    trials: list[Trial] = field(default_factory=list)

    def clock(self) -> float:
        return self.now_s

    def measure(self, sitting: Sitting) -> tuple[Observation, ...]:
        self.now_s += self.sitting_s
        return tuple(self._observation(sitting, trial) for trial in sitting.trials)

    def _observation(self, sitting: Sitting, trial: Trial) -> Observation:
        self.trials.append(trial)
        draw = Random(self.seed * 100_003 + len(self.trials)).random()  # noqa: S311 (noise, not a secret)
        noise = NormalDist(1, self.scatter).inv_cdf(draw)
        cost_us = self.cpu_us_per_op[trial.contestant] * noise * (1 + 0.1 * trial.block)
        if trial.contestant == WHOLE:
            return observation(trial, cpu_us_per_op=cost_us * self.burst(trial.contestant, -1))
        lengths = sitting.lengths
        is_beside = trial.contestant == BESIDE and lengths.slices_are_shorter
        others = sum(other.contestant not in {WHOLE, trial.contestant} for other in sitting.trials)
        return in_turns(
            trial,
            slice_s=lengths.slice_s,
            costs_us=[cost_us * self.burst(trial.contestant, number) for number in range(lengths.rounds)],
            beside_us=[cost_us * self.burst(trial.contestant, number) for number in (-1, -2) if is_beside],
            others_operations=others * lengths.rounds * round(OPS_PER_S * lengths.slice_s),
        )


class Nobody:
    """A watcher who remembers what time was left at each sitting."""

    def __init__(self) -> None:
        self.left: list[float | None] = []
        self.closed = False

    def sitting(self, sitting: Sitting, left_s: float | None) -> None:
        assert sitting.cell.connections > 0
        self.left.append(left_s)

    def close(self) -> None:
        self.closed = True
