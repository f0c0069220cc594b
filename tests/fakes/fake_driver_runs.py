"""Fake runs of the study of drivers: what encryption, asking and the driver's version cost is planted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from fake_trials import Truth, fake_run, untrue
from tlstax.contract import CpuTime, DriverTerms, Negotiated, TlsUnset, TlsView, WarmupSlice
from tlstax.records.trial import ServerCpu, StoredRun, TrialRecord
from tlstax.records.window import Window
from tlstax.study import Case, Levels, Study, load_study
from tlstax.study.factors import CaseLevels

OPERATIONS = 10_000
"""Each trial has this many, whatever time they take."""

PLAINTEXT_OPTIONS = {"useSSL": "false", "sslMode": "DISABLED"}
Cpu = TypeVar("Cpu", CpuTime, ServerCpu)

TOO_OLD = "connector-j-5.1.6"
WHY_NOT = {
    "caching_sha2_password": "connector-j-5.1.6 says: Unable to load authentication plugin",
    "useSSL": "connector-j-5.1.6 says: No appropriate protocol",
}


@dataclass(frozen=True)
class Planted:
    """What an operation takes with 5.1.6, and what a newer driver, asking and encryption add to it."""

    old_us: float = 60.0
    version_us: float = 15.0
    asking_us: float = 5.0
    encryption_us: float = 45.0
    cold_factor: float = 20.0


def encrypts(levels: Levels) -> bool:
    """Whether the driver of this case encrypts by itself."""
    options = CaseLevels.of(levels).options
    told_not_to = any(options.get(name) == level for name, level in PLAINTEXT_OPTIONS.items())
    return levels["client"] != TOO_OLD and not told_not_to


def fake_driver_run(planted: Planted, *, blocks: int = 8, noise: float = 0.004) -> StoredRun:
    """A run of the built-in study in which exactly this is so; what 5.1.6 cannot do is invalid."""
    return fake_study_run(load_study("driver-defaults"), planted, blocks=blocks, noise=noise)


def fake_study_run(study: Study, planted: Planted, *, blocks: int = 8, noise: float = 0.004) -> StoredRun:
    """The same of another study of drivers."""
    stored = fake_run(
        study,
        number_of_blocks=blocks,
        noise=noise,
        truth=lambda case: _truth(case, planted),
        invalid=False,
    )
    return stored.model_copy(update={"trials": tuple(_as_driver(r, planted) for r in stored.trials)})


def takes_us(levels: Levels, planted: Planted) -> float:
    """What an operation of this case takes."""
    us = planted.old_us
    if levels["client"] != TOO_OLD:
        us += planted.version_us
        if CaseLevels.of(levels).options.get("useLocalSessionState") != "true":
            us += planted.asking_us
    return us + (planted.encryption_us if encrypts(levels) else 0.0)


def _truth(case: Case, planted: Planted) -> Truth:
    us = takes_us(case.levels, planted)
    return Truth(
        1e6 / us, {"operation": us, "query": us}, server_cpu_us_per_op=20.0, client_cpu_us_per_op=us / 2
    )


def _as_driver(record: TrialRecord, planted: Planted) -> TrialRecord:
    levels = record.trial.case.levels
    assert record.job is not None
    assert record.ready is not None
    assert record.done is not None
    view = _view(levels)
    assert record.server is not None
    assert record.server.cpu is not None
    factor = OPERATIONS / record.done.operations
    counted = {
        "elapsed_s": record.done.elapsed_s * factor,
        "operations": OPERATIONS,
        "scheduled": OPERATIONS,
        "cpu": _times(record.done.cpu, factor),
    }
    done = record.done.model_copy(update={"wire": None, "threads_cpu_us": (), **counted})
    server = record.server.model_copy(update={"cpu": _times(record.server.cpu, factor)})
    job = record.job.model_copy(
        update={
            "tls": TlsUnset(),
            "operations": OPERATIONS,
            "connections": int(levels["connections"]),
            "driver": DriverTerms(options=CaseLevels.of(levels).options, steady_within_s=10.0),
        }
    )
    ready = record.ready.model_copy(
        update={
            "client": levels["client"],
            "tls_library": None,
            "negotiated": (Negotiated(connections=1, client=None, server=view, client_tells=False),),
            "warmup": _warmup(planted.cold_factor),
            "steady": not (levels["client"] == "connector-j-5.1.49" and record.trial.block == 1),
        }
    )
    window = Window(took_s=done.elapsed_s, status_delta=_counted(levels))
    told = {"job": job, "ready": ready, "done": done, "window": window, "server": server}
    found = record.model_copy(update=told)
    if levels["client"] == TOO_OLD:
        asked = {str(levels.get("auth")), *CaseLevels.of(levels).options}
        why = next((words for name, words in WHY_NOT.items() if name in asked), "")
        return untrue(found, why) if why else found
    return found


def _counted(levels: Levels) -> dict[str, int]:
    """A batch begins with a question, unless the driver keeps track of its session by itself."""
    batch = int(levels.get("batch", 1))
    asks = batch > 1 and "useLocalSessionState" not in CaseLevels.of(levels).options
    asked = {"Com_select": OPERATIONS // batch} if asks else {}
    return {"Com_insert": OPERATIONS, "Com_stmt_execute": OPERATIONS, **asked}


def _times(cpu: Cpu, factor: float) -> Cpu:
    spent = ("total_us", "user_us", "system_us")
    return cpu.model_copy(update={name: getattr(cpu, name) * factor for name in spent})


def _warmup(cold_factor: float) -> tuple[WarmupSlice, ...]:
    """Twelve slices, the first N times as slow as the last six."""
    factors = (cold_factor, cold_factor / 2, 4.0, 2.0, 1.5, 1.2, *[1.0] * 6)
    return tuple(
        WarmupSlice(elapsed_s=0.1 * (place + 1), operations=1000, cpu_us=1000 * 30.0 * factor)
        for place, factor in enumerate(factors)
    )


def _view(levels: Levels) -> TlsView | None:
    if not encrypts(levels):
        return None
    older = (
        levels["client"] == "connector-j-5.1.49" or "enabledSSLCipherSuites" in CaseLevels.of(levels).options
    )
    version, cipher = (
        ("TLSv1.2", "ECDHE-RSA-AES128-SHA256") if older else ("TLSv1.3", "TLS_AES_256_GCM_SHA384")
    )
    return TlsView(
        version=version, cipher=cipher, resumed=False, group=None, hello_retry=None, certificate_key=None
    )
