"""Fake trials with exact numbers and real encoded histograms: what a run leaves behind, without a run.

`fake_record` makes one trial from a `Truth` (what is really so in the fake world); `fake_run` a whole
run of a study, with noise and a few invalid trials. The same arguments always give the same trials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice
from math import exp
from random import Random
from statistics import NormalDist

import numpy as np
from hdrh.histogram import HdrHistogram

from tlstax.contract import (
    Account,
    Counts,
    CpuTime,
    Done,
    ErrorCount,
    Handshakes,
    Job,
    Negotiated,
    Ready,
    RowSample,
    Statement,
    TcpEndpoint,
    TlsLibrary,
    TlsOff,
    TlsOn,
    TlsView,
    UniformInt,
    Wire,
    Workload,
)
from tlstax.plan.order import blocks
from tlstax.records.trial import (
    Machine,
    MappedLibrary,
    RunHeader,
    ServerCpu,
    ServerObservation,
    Specimen,
    StoredRun,
    Trial,
    TrialRecord,
    Verdict,
)
from tlstax.study import Case, Study, load_study
from tlstax.study.tls_levels import version_of

VALID = Verdict(value="valid")
LARGEST_NS = 60_000_000_000
Array = np.ndarray

LIBSSL = MappedLibrary(path="/usr/lib/x86_64-linux-gnu/libssl.so.3", sha256="5f" * 32)


@dataclass(frozen=True)
class Truth:
    """What is really so for a case: operations a second, and where an operation's time and CPU go.

    `phase_us` holds the median of each phase; a phase's histogram spreads around it (see `histogram`).
    """

    ops_per_s: float
    phase_us: Mapping[str, float]
    server_cpu_us_per_op: float
    client_cpu_us_per_op: float
    bytes_sent_per_op: int = 60
    bytes_received_per_op: int = 220
    segments_per_op: int = 2
    rss_bytes: int = 400_000_000
    hello_retry: bool = False

    def times(self, factor: float) -> Truth:
        """The same case on a machine that is `factor` times as fast in everything."""
        slower = {phase: us / factor for phase, us in self.phase_us.items()}
        return replace(
            self,
            ops_per_s=self.ops_per_s * factor,
            phase_us=slower,
            server_cpu_us_per_op=self.server_cpu_us_per_op / factor,
            client_cpu_us_per_op=self.client_cpu_us_per_op / factor,
        )


def kept(ops_per_s: float, server_cpu_us: float, client_cpu_us: float, *, record_bytes: int) -> Truth:
    """A point select on one of 8 kept connections; TLS adds `record_bytes` each way."""
    query_us = 8 / ops_per_s * 1e6
    return Truth(
        ops_per_s,
        {"query": query_us, "operation": query_us},
        server_cpu_us,
        client_cpu_us,
        bytes_sent_per_op=45 + record_bytes,
        bytes_received_per_op=190 + record_bytes,
    )


def reconnecting(ops_per_s: float, server_cpu_us: float, client_cpu_us: float, *, handshake: float) -> Truth:
    """Connect, one point select, close, by 8 connections; `handshake` is its share of the operation."""
    operation_us = 8 / ops_per_s * 1e6
    rest_us = operation_us * (1 - handshake)
    phases = {"tcp_connect": 0.08, "greeting": 0.17, "authentication": 0.4, "first_query": 0.25, "close": 0.1}
    phase_us = {phase: rest_us * share for phase, share in phases.items()}
    if handshake:
        phase_us["tls_handshake"] = operation_us * handshake
    phase_us["connect"] = operation_us - phase_us["first_query"] - phase_us["close"]
    phase_us["operation"] = operation_us
    return Truth(
        ops_per_s,
        phase_us,
        server_cpu_us,
        client_cpu_us,
        bytes_sent_per_op=1100 if handshake else 320,
        bytes_received_per_op=2900 if handshake else 610,
        segments_per_op=16 if handshake else 10,
        hello_retry=handshake > 0,
    )


TAX_TRUTHS: dict[tuple[str, str, str], Truth] = {
    ("point-select", "off", "off"): kept(28_000, 26.0, 8.4, record_bytes=0),
    ("point-select", "1.3", "off"): kept(26_000, 28.6, 10.9, record_bytes=22),
    ("point-select", "1.3", "on"): kept(26_050, 28.5, 10.9, record_bytes=22),
    ("point-select", "1.2", "off"): kept(26_200, 28.2, 10.8, record_bytes=29),
    ("reconnect", "off", "off"): reconnecting(5_000, 190.0, 74.0, handshake=0.0),
    ("reconnect", "1.3", "off"): reconnecting(1_020, 1450.0, 420.0, handshake=0.79),
    ("reconnect", "1.3", "on"): reconnecting(2_300, 520.0, 230.0, handshake=0.52),
    ("reconnect", "1.2", "off"): reconnecting(1_150, 1330.0, 380.0, handshake=0.76),
}
"""What is so in the fake world: by workload, TLS version and resumption."""


def whole_tax() -> Study:
    """The tax study with the cases that it leaves out unless they are asked for."""
    return load_study("tax").model_copy(update={"exclude": ()})


def tax_truth(case: Case) -> Truth:
    """The truth of a case of the tax study."""
    workload, tls, resumption = (str(case.levels[name]) for name in ("workload", "tls", "resumption"))
    return TAX_TRUTHS[workload, tls, resumption]


@lru_cache(maxsize=20_000)
def histogram(median_us: float, count: int, *, spread: float = 0.35, steps: int = 400) -> str:
    """A log-normal latency histogram as a client sends it: its quantiles, each as often as needed.

    All values are counted at once: HdrHistogram counts them one by one, which took most of the tests' time.
    """
    steps = min(steps, count)
    ends = np.arange(steps + 1) * count // steps if steps else np.zeros(1, dtype=int)
    values = np.maximum(1, np.rint(median_us * 1000 * _factors(steps, spread))).astype(np.int64)
    filled = HdrHistogram(1, LARGEST_NS, 3)
    np.add.at(np.ctypeslib.as_array(filled.counts), _places(filled, values), np.diff(ends))
    filled.total_count = count
    if steps:
        filled.min_value, filled.max_value = int(values.min()), int(values.max())
    return str(filled.encode().decode())


@cache
def _factors(steps: int, spread: float) -> Array:
    """The quantiles of a log-normal distribution around 1, one in the middle of each step."""
    normal = NormalDist()
    return np.array([exp(spread * normal.inv_cdf((step + 0.5) / steps)) for step in range(steps)])


def _places(filled: HdrHistogram, values: Array) -> Array:
    """Where HdrHistogram counts these values: in buckets of powers of two, each with as many places."""
    buckets = np.frexp(values | filled.sub_bucket_mask)[1] - (filled.sub_bucket_half_count_magnitude + 1)
    within = (values >> buckets) - filled.sub_bucket_half_count
    return ((buckets + 1) << filled.sub_bucket_half_count_magnitude) + within


def fake_record(
    trial: Trial,
    truth: Truth,
    *,
    duration_s: float = 1.0,
    verdict: Verdict = VALID,
    threads: int = 1,
) -> TrialRecord:
    """The record of a trial that went exactly as the truth says."""
    operations = round(truth.ops_per_s * duration_s)
    reconnect = trial.case.levels.get("workload") == "reconnect"
    view = _view(trial.case, truth)
    lifetime = _counts(trial.case, view, operations + 8 if reconnect else 8)
    return TrialRecord(
        trial=trial,
        started_at="2026-11-21T19:55:00+00:00",
        took_s=duration_s + 0.3,
        job=_job(trial.case, duration_s, threads),
        ready=Ready(
            client="tlstax-engine",
            client_version="0.1.0",
            pid=4242,
            server_version="9.7.4",
            tls_library=view
            and TlsLibrary(version="OpenSSL 3.5.5", libssl_path=LIBSSL.path, libcrypto_path=LIBSSL.path),
            negotiated=(Negotiated(connections=8, client=view, server=view),),
        ),
        done=Done(
            elapsed_s=operations / truth.ops_per_s,
            operations=operations,
            scheduled=operations,
            skipped=0,
            window=_counts(trial.case, view, operations if reconnect else 0),
            lifetime=lifetime,
            histograms_ns={phase: histogram(us, operations) for phase, us in truth.phase_us.items()},
            cpu=CpuTime(**_cpu(truth.client_cpu_us_per_op * operations)),
            wire=Wire(
                bytes_sent=truth.bytes_sent_per_op * operations,
                bytes_received=truth.bytes_received_per_op * operations,
                segments_sent=truth.segments_per_op // 2 * operations,
                segments_received=truth.segments_per_op // 2 * operations,
            ),
            errors=(),
            row_samples=(RowSample(sql="SELECT c FROM rows WHERE id = 17", rows=(("seventeen",),)),),
        ),
        client_mapped_tls_libraries=(LIBSSL,) if view else (),
        server=ServerObservation(
            version="9.7.4",
            tls_library_version="OpenSSL 3.6.1",
            status_delta=_status_delta(lifetime),
            cpu=ServerCpu(**_cpu(truth.server_cpu_us_per_op * operations)),
            rss_bytes=truth.rss_bytes,
            mapped_tls_libraries=(LIBSSL,),
        ),
        verdict=verdict,
    )


def crashed(trial: Trial, why: str = "the server died of signal 9") -> TrialRecord:
    """The record of a trial whose server died: no result, a log, a reason."""
    return TrialRecord(
        trial=trial,
        started_at="2026-11-21T19:55:00+00:00",
        took_s=0.2,
        job=_job(trial.case, 1.0, 1),
        ready=None,
        done=None,
        server=None,
        server_log="mysqld got signal 9\n",
        failure=why,
        verdict=Verdict(value="invalid", reasons=(why,)),
    )


def untrue(record: TrialRecord, reason: str) -> TrialRecord:
    """The same trial, measured but found not to be what it claims."""
    return record.model_copy(update={"verdict": Verdict(value="invalid", reasons=(reason,))})


def fake_header(study: Study | None = None, *, run: str = "20261121-195500-ab12", seed: int = 7) -> RunHeader:
    """The header of a run of that study (the built-in tax) on a machine of two cores."""
    return RunHeader(
        run=run,
        started_at="2026-11-21T19:55:00+00:00",
        tlstax_version="0.1.0",
        study=study or whole_tax(),
        seed=seed,
        trial_duration_s=1.0,
        machine=Machine(
            cpu_model="Fake CPU @ 3.00GHz",
            cores=2,
            memory_bytes=8 << 30,
            kernel="Linux 6.18.0",
            distribution="Debian GNU/Linux 12 (bookworm)",
            virtualization="kvm",
            server_cpus=(0,),
            client_cpus=(1,),
        ),
        specimens=(
            Specimen(
                name="mysql-9.7", kind="server", version="9.7.4-1", origin="Debian sid", sha256="ab" * 32
            ),
            Specimen(name="openssl-3.6", kind="tls_library", version="3.6.1-1", origin="Debian sid"),
            Specimen(name="tlstax-engine", kind="client", version="0.1.0", origin="this project"),
        ),
    )


def fake_run(  # noqa: PLR0913 (each is a choice of its own, with a default)
    study: Study | None = None,
    *,
    number_of_blocks: int = 8,
    noise: float = 0.015,
    seed: int = 7,
    truth: Callable[[Case], Truth] = tax_truth,
    invalid: bool = True,
) -> StoredRun:
    """A complete run: of the whole tax study unless told, each trial `noise` (log-normal) off the truth.

    Blocks share a common drift of the same size. With `invalid`, one TLS 1.3 trial of block 1 is
    invalid (it was not resumed), and one TLS 1.2 trial of block 2 is a crash of the server.
    """
    header = fake_header(study, seed=seed)
    generator = Random(seed)  # noqa: S311 (noise, not a secret)
    records: list[TrialRecord] = []
    for block in islice(blocks(header.study, seed), number_of_blocks):
        drift = exp(noise * _normal(generator))
        for trial in block:
            factor = drift * exp(noise * _normal(generator))
            record = fake_record(trial, truth(trial.case).times(factor))
            records.append(_spoiled(record) if invalid else record)
    return StoredRun(
        header=header,
        status="complete",
        stopped_because="every ratio is known to ±2 %",
        trials=tuple(records),
    )


def _spoiled(record: TrialRecord) -> TrialRecord:
    trial, levels = record.trial, record.trial.case.levels
    if levels.get("workload") != "reconnect":
        return record
    if trial.block == 1 and levels.get("resumption") == "on":
        return untrue(record, "resumption was asked for, but no handshake was resumed")
    if trial.block == 2 and levels.get("tls") == "1.2":
        return crashed(trial)
    return record


def _normal(generator: Random) -> float:
    """A standard normal draw, the same in every Python version for the same seed."""
    return NormalDist().inv_cdf(min(max(generator.random(), 1e-12), 1 - 1e-12))


def _cpu(total_us: float) -> dict[str, float]:
    return {"total_us": total_us, "user_us": total_us * 0.75, "system_us": total_us * 0.25}


def _view(case: Case, truth: Truth) -> TlsView | None:
    tls = case.levels.get("tls", "off")
    if tls == "off":
        return None
    resumed = case.levels.get("resumption") == "on"
    return TlsView(
        version={"1.0": "TLSv1", "default": "TLSv1.3"}.get(str(tls), f"TLSv{version_of(str(tls))}"),
        cipher="ECDHE-RSA-AES128-GCM-SHA256" if tls == "1.2" else "TLS_AES_128_GCM_SHA256",
        resumed=resumed,
        group="secp256r1",
        hello_retry=truth.hello_retry and tls != "1.2" and case.levels.get("group") != "P-256",
        certificate_key=None if resumed else "RSA 2048",
    )


def _counts(case: Case, view: TlsView | None, connections: int) -> Counts:
    handshakes: tuple[Handshakes, ...] = ()
    if view and connections:
        handshakes = (
            Handshakes(
                version=view.version,
                cipher=view.cipher,
                group=view.group,
                resumed=case.levels.get("resumption") == "on",
                hello_retry=view.hello_retry,
                count=connections,
            ),
        )
    logins = {"fast": connections} if connections else {}
    return Counts(connections=connections, handshakes=handshakes, authentications=logins)


def _status_delta(lifetime: Counts) -> dict[str, int]:
    return {
        "Connections": lifetime.connections,
        "Ssl_finished_accepts": sum(seen.count for seen in lifetime.handshakes),
        "Ssl_session_cache_hits": sum(
            seen.count * (2 if seen.hello_retry else 1) for seen in lifetime.handshakes if seen.resumed
        ),
    }


def _job(case: Case, duration_s: float, threads: int) -> Job:
    tls = case.levels.get("tls", "off")
    return Job(
        endpoint=TcpEndpoint(host="127.0.0.1", port=13306),
        account=Account(user="tlstax", password="", database="tlstax"),
        tls=TlsOff() if tls == "off" else TlsOn(resumption=case.levels.get("resumption") == "on"),
        workload=Workload(
            reconnect=case.levels.get("workload") == "reconnect",
            statements=(
                Statement(
                    sql="SELECT c FROM rows WHERE id = {id}",
                    parameters={"id": UniformInt(low=1, high=100_000)},
                ),
            ),
        ),
        connections=int(case.levels.get("connections", 8)),
        threads=threads,
        duration_s=duration_s,
        seed=1,
    )


def with_errors(record: TrialRecord, kind: str, count: int) -> TrialRecord:
    """The same trial, but with errors met in its window."""
    assert record.done is not None
    done = record.done.model_copy(update={"errors": (ErrorCount(kind=kind, code=2013, count=count),)})
    return record.model_copy(update={"done": done})
