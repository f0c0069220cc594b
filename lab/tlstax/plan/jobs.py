"""From a case to the job that its load client is given."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from tlstax import __version__
from tlstax.contract import (
    ClosedLoop,
    DriverTerms,
    Job,
    OpenLoop,
    TlsOff,
    TlsOn,
    TlsRequired,
    TlsUnset,
    Workload,
)
from tlstax.study import workloads
from tlstax.study.case_workload import CaseWorkload
from tlstax.study.client_kinds import kind_of
from tlstax.study.factors import FACTORS, CaseLevels
from tlstax.study.job_parts import JobTerms, merged
from tlstax.study.level_names import ENGINE, REQUIRED, UNSET
from tlstax.study.product import ProductName
from tlstax.study.workloads import draws_once, put_back_sql
from tlstax.study.workloads.statements import STORM_ROUNDS
from tlstax.study.workloads.user_defined import with_table

SOURCE_ADDRESSES = tuple(f"127.0.0.{host}" for host in range(2, 10))
"""Where clients of a private server connect from. A closed connection keeps its port for a minute
(TIME_WAIT); eight addresses have eight times the ports. All of 127.0.0.0/8 is the machine itself
(RFC 5735)."""

WARMUP_S = 0.05
"""Unmeasured work before each trial: thousands of operations on kept connections, enough for caches and
branch predictors; the server itself stays warm from trial to trial."""


STORM_CONNECTION_S = 0.5
"""How long to wait for each connection of a storm, of which the last waits for all others: MySQL 5.6 takes
0.07 s of its processor for a handshake with RSA 4096, and several times as long on a busy machine."""

CONNECTION_S = 0.02
"""The same of connections that are not a storm, which a client opens all at once, too: a handshake takes some
milliseconds of a processor, and ten times as long on a busy machine."""

STEADY_WITHIN_S = 10.0
"""The longest that a driver may take to become steady before it is measured."""

CAPTURED_OPERATIONS = 50
"""Operations of a captured trial: enough to tell what each sends from what only the first does."""

LONGEST_COUNTED_S = 600.0
"""The longest that a trial with a number of operations may last."""


def lingering(connections: int) -> int:
    """How many connections a client that reconnects may have closed and the server not yet, where it counts.

    Half as many as are open: the server is done with one after a round trip, and a connection lasts for four
    or more, so that a client hardly ever has to wait for that.
    """
    return ceil(connections / 2)


def comes_and_goes(workload: Workload) -> bool:
    """Whether a client makes connections while it is measured."""
    return workload.reconnect or workload.storm


def job_for(case: CaseLevels, terms: JobTerms, *, sequence: int) -> Job:
    """The job of one trial; `sequence`, its number in the run, keeps trials from drawing the same ids.

    A trial with a number of operations that changes its data is not warmed up: a warm-up would use up rows
    that the trial counts on. Nor is a storm, whose client has just opened every connection once to ask it
    what it has negotiated; nor one that makes connections where lingering ones count, since the laboratory
    waits after that for the server to be done with them all.
    """
    of_factors = merged(factor.part_of_job(case, terms) for factor in FACTORS.values())
    operations, rounds = counted_operations(case), rounds_of(case)
    resolved = CaseWorkload.of(case, terms.workloads, terms.product)
    writes = resolved.changes_data
    workload = _for_client(case, resolved.over(terms.tables, terms.rows))
    counts = terms.counts_lingering and case.client == ENGINE
    is_cold = (operations and writes) or case.is_storm or (counts and comes_and_goes(workload))
    connecting_s = STORM_CONNECTION_S if case.is_storm else CONNECTION_S
    return Job(
        **of_factors,
        tls=_tls(case, terms),
        workload=workload,
        schedule=terms.schedule,
        cpus=terms.client_cpus,
        warmup_s=0.0 if is_cold else WARMUP_S,
        duration_s=LONGEST_COUNTED_S if operations else terms.duration_s,
        operations=operations,
        rounds=rounds,
        reset=_reset(resolved, terms) if rounds > 1 and writes and not resolved.can_be_repeated else (),
        timeout_s=max(terms.timeout_s, connecting_s * case.connections),
        source_addresses=terms.source_addresses,
        seed=terms.seed + sequence,
        attributes=_attributes(terms.product, sequence),
        driver=_driver(case, uses_up=bool(operations) and draws_once(workload)),
        lingering=(lingering(case.connections) if workload.reconnect else 0) if counts else None,
    )


def _attributes(product: ProductName, sequence: int) -> dict[str, str]:
    """What clients say of themselves: connection attributes at MySQL, settings at PostgreSQL.

    PostgreSQL refuses settings that it does not know. By the name that it has, its log tells trials apart;
    names of one length, since what a connection sends is measured.
    """
    if product == "postgresql":
        return {"application_name": f"tlstax {__version__} trial {sequence:06d}"}
    return {"program_name": "tlstax", "_client_version": __version__}


def longest_warmup_s(job: Job) -> float:
    """How long the job's client may warm up."""
    return max(job.warmup_s, job.driver.steady_within_s if job.driver else 0.0)


def captured(job: Job) -> Job:
    """The job, a few operations long, for a trial in which a tap writes down what crosses the wire."""
    driver = job.driver.model_copy(update={"steady_within_s": 0.0}) if job.driver else None
    # A storm opens each of its connections once; what does not divide among connections, mysqlslap drops.
    share = job.connections * (job.driver.batch if job.driver else 1)
    operations = share if job.workload.storm else share * ceil(CAPTURED_OPERATIONS / share)
    few = {"operations": operations, "rounds": 1, "reset": (), "warmup_s": 0.0, "driver": driver}
    return job.model_copy(update={**few, "duration_s": LONGEST_COUNTED_S, "schedule": ClosedLoop()})


def _for_client(case: CaseLevels, workload: Workload) -> Workload:
    """The workload; for a driver, which does no mixes, one that is the same every time as its statements."""
    if kind_of(case.client).is_driver and len(workload.mix) == 1:
        return workload.model_copy(update={"statements": workload.mix[0].statements, "mix": ()})
    return workload


def _driver(case: CaseLevels, *, uses_up: bool) -> DriverTerms | None:
    """The part of a job that is for drivers alone; None for other clients.

    Where a warm-up `uses_up` what the trial has a limited number of, there is none.
    """
    if not kind_of(case.client).is_driver:
        return None
    return DriverTerms(
        options=case.options,
        steady_within_s=0.0 if uses_up else STEADY_WITHIN_S,
        batch=case.batch,
    )


def counted_operations(case: CaseLevels) -> int | None:
    """How many operations a trial of this case has in all its rounds; None where it lasts a time.

    A round of a storm has one for each connection.
    """
    each = case.connections if case.is_storm else case.queries
    return None if each is None else each * rounds_of(case)


def rounds_of(case: CaseLevels) -> int:
    """How many rounds a trial of this case has.

    A client that does all in one go has one, since the data is put back between rounds; it is the blocks that
    repeat it. A storm is all rounds, and nothing is put back between them.
    """
    if case.is_storm:
        return STORM_ROUNDS if case.rounds is None else case.rounds
    in_rounds = case.queries is not None and kind_of(case.client).works_in_rounds
    return case.rounds or 1 if in_rounds else 1


def _reset(workload: CaseWorkload, terms: JobTerms) -> tuple[str, ...]:
    """What puts the data back before a round, for clients that work in rounds."""
    table = terms.tables[workload.table]
    restore = (with_table(sql, table) for sql in workload.own.restore) if workload.own else ()
    return (*put_back_sql(table), *restore)


def _tls(case: CaseLevels, terms: JobTerms) -> TlsOff | TlsOn | TlsUnset | TlsRequired:
    if case.tls == "off":
        # Others cannot be told not to: `check_clients` asks whether they may (see `run.external`).
        may = terms.verification.get_server_public_key or case.client != ENGINE
        return TlsOff(get_server_public_key=may)
    if case.tls == UNSET:
        return TlsUnset(trusted_ca_file=terms.verification.ca_file)
    if case.tls == REQUIRED:
        return TlsRequired(trusted_ca_file=terms.verification.ca_file)
    return TlsOn(**merged(factor.tls(case, terms) for factor in FACTORS.values() if factor.tls is not None))


MOST_SKEW = 1 / 20
"""How far apart the beginnings of a slice on several machines may lie, in parts of its length."""

SEEDS_APART = 1 << 40
"""How far the seeds of two machines of one trial are apart: more than a run has trials."""


class LoadPlace(NamedTuple):
    """What a machine has for its client: CPUs, and addresses that it may connect from (empty: any)."""

    cpus: tuple[int, ...]
    source_addresses: tuple[str, ...] = ()


def shared(job: Job, places: Sequence[LoadPlace]) -> tuple[Job, ...]:
    """A job for each of these machines; the first of them alone have one where connections are fewer.

    Connections are dealt out evenly, and what is asked of all is asked of each by its part of them. Clients
    that change the same data get a part each of what may be there once. All slices count whole: the server's
    CPU clock is read on another machine than the clients', at their common ends.
    """
    machines = min(len(places), job.connections)
    return tuple(_part(job, number, machines, place) for number, place in enumerate(places[:machines]))


def _part(job: Job, number: int, machines: int, place: LoadPlace) -> Job:
    connections = job.connections // machines + (number < job.connections % machines)
    share = connections / job.connections
    schedule = job.schedule
    if isinstance(schedule, OpenLoop):
        schedule = schedule.model_copy(update={"rate_per_s": schedule.rate_per_s * share})
    writes = workloads.writes(job.workload)
    return job.model_copy(
        update={
            "connections": connections,
            "threads": min(connections, max(1, len(place.cpus))),
            "cpus": place.cpus,
            "source_addresses": place.source_addresses,
            "schedule": schedule,
            "workload": workloads.part_of(job.workload, number, machines) if writes else job.workload,
            "operations": None if job.operations is None else ceil(job.operations * share),
            "seed": job.seed + number * SEEDS_APART,
            "lingering": None if job.lingering is None else int(job.lingering * share),
            "row_samples": ceil(job.row_samples / machines),
            "full_load": None,
        }
    )
