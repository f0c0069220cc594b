"""From a case to the job that its load client is told."""

from __future__ import annotations

from math import ceil
from typing import Literal

from tlstax import __version__
from tlstax.contract import (
    Account,
    ClosedLoop,
    DriverTerms,
    Endpoint,
    Frozen,
    Job,
    Schedule,
    TlsOff,
    TlsOn,
    TlsRequired,
    TlsUnset,
    TlsVersion,
    Workload,
)
from tlstax.study import Levels, legacy_tls
from tlstax.study.client_exclusions import works_in_rounds
from tlstax.study.factors import GROUP_LISTS, OWN, REQUIRED, STORM, UNSET, is_driver
from tlstax.study.levels import auth_of, choice_of, client_library_of, client_of, options_of
from tlstax.study.workload_level import changes_data, name_of, table_of, workload_of
from tlstax.study.workloads import Shape, can_be_repeated, draws_once, put_back_sql
from tlstax.study.workloads.storm import ROUNDS
from tlstax.study.workloads.user_defined import UserWorkload, with_table

SOURCE_ADDRESSES = tuple(f"127.0.0.{host}" for host in range(2, 10))
"""Where clients of a private server connect from. A closed connection keeps its port for a minute
(TIME_WAIT); eight addresses have eight times the ports. All of 127.0.0.0/8 is the machine itself
(RFC 5735)."""

WARMUP_S = 0.05
"""Unmeasured work before each trial: thousands of operations on kept connections, enough for caches and
branch predictors; the server itself stays warm from trial to trial."""


class Verification(Frozen):
    """What the load client checks of the server's certificate, and with which files.

    Without TLS there is no certificate: `get_server_public_key` says whether the server's RSA key may be
    taken for the password, unverified.
    """

    verify: Literal["none", "ca", "identity"] = "none"
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    get_server_public_key: bool = True


class JobTerms(Frozen):
    """What all jobs of a run on one server have in common.

    `accounts` are those of other levels of `auth` than the server's default.
    `tables` names the table of each shape, `workloads` are the user's own, by name.
    `client_libraries` maps the levels of `client_tls_library` to the libssl that each stands for.
    """

    endpoint: Endpoint
    account: Account
    accounts: dict[str, Account] = {}
    tables: dict[Shape, str]
    rows: int
    workloads: dict[str, UserWorkload] = {}
    verification: Verification
    client_cpus: tuple[int, ...]
    source_addresses: tuple[str, ...] = ()
    schedule: Schedule = ClosedLoop()
    client_libraries: dict[str, str] = {}
    duration_s: float
    seed: int
    timeout_s: float = 10.0


STORM_CONNECTION_S = 0.5
"""So long is waited for each connection of a storm, of which the last waits for all others: MySQL 5.6 takes
0.07 s of its processor for a handshake with RSA 4096, and several times as long on a busy machine."""

STEADY_WITHIN_S = 10.0
"""The longest that a driver may take to become steady before it is measured."""

CAPTURED_OPERATIONS = 50
"""So many operations a captured trial has: enough to tell what each sends from what only the first does."""

LONGEST_COUNTED_S = 600.0
"""The longest that a trial of so many operations may last."""


def job_for(levels: Levels, terms: JobTerms, *, sequence: int) -> Job:
    """The job of one trial; `sequence`, its number in the run, keeps trials from drawing the same ids.

    A trial of so many operations that changes its data is not warmed up: a warm-up would use up rows that
    the count is of. Nor is a storm, whose client has just opened every connection once to ask it what it has
    negotiated.
    """
    connections = int(levels["connections"])
    operations, rounds = counted_operations(levels), rounds_of(levels)
    writes = changes_data(levels, terms.workloads)
    workload = _workload(levels, terms)
    return Job(
        endpoint=terms.endpoint,
        account=terms.accounts.get(auth_of(levels), terms.account),
        tls=_tls(levels, terms),
        workload=workload,
        schedule=terms.schedule,
        connections=connections,
        threads=min(connections, max(1, len(terms.client_cpus))),
        cpus=terms.client_cpus,
        warmup_s=0.0 if (operations and writes) or is_storm(levels) else WARMUP_S,
        duration_s=LONGEST_COUNTED_S if operations else terms.duration_s,
        operations=operations,
        rounds=rounds,
        reset=_reset(levels, terms) if rounds > 1 and writes and not can_be_repeated(name_of(levels)) else (),
        timeout_s=max(terms.timeout_s, STORM_CONNECTION_S * connections if is_storm(levels) else 0.0),
        source_addresses=terms.source_addresses,
        seed=terms.seed + sequence,
        attributes={"program_name": "tlstax", "_client_version": __version__},
        driver=_driver(levels, uses_up=bool(operations) and draws_once(workload)),
    )


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


def _workload(levels: Levels, terms: JobTerms) -> Workload:
    """The workload; for a driver, which does no mixes, one that is the same every time as its statements."""
    workload = workload_of(levels, terms.workloads, terms.tables, terms.rows)
    if is_driver(client_of(levels)) and len(workload.mix) == 1:
        return workload.model_copy(update={"statements": workload.mix[0].statements, "mix": ()})
    return workload


def _driver(levels: Levels, *, uses_up: bool) -> DriverTerms | None:
    """What only a driver is told; None for clients that are none.

    Where a warm-up `uses_up` what the trial has so many of, there is none.
    """
    if not is_driver(client_of(levels)):
        return None
    return DriverTerms(
        options=options_of(levels),
        steady_within_s=0.0 if uses_up else STEADY_WITHIN_S,
        batch=int(levels.get("batch", 1)),
    )


def is_storm(levels: Levels) -> bool:
    """Whether all connections are opened at once."""
    return name_of(levels) == STORM


def counted_operations(levels: Levels) -> int | None:
    """How many operations a trial of this case has in all its rounds; None where it lasts a time.

    A round of a storm has one for each connection.
    """
    if is_storm(levels):
        return int(levels["connections"]) * rounds_of(levels)
    return int(levels["queries"]) * rounds_of(levels) if "queries" in levels else None


def rounds_of(levels: Levels) -> int:
    """How many rounds a trial of this case has.

    A client that does all in one go has one, since the data is put back between rounds; it is the blocks that
    repeat it. A storm is all rounds, and nothing is put back between them.
    """
    if is_storm(levels):
        return int(levels.get("rounds", ROUNDS))
    in_rounds = "queries" in levels and works_in_rounds(client_of(levels))
    return int(levels.get("rounds", 1)) if in_rounds else 1


def _reset(levels: Levels, terms: JobTerms) -> tuple[str, ...]:
    """What puts the data back before a round, for clients that work in rounds."""
    table = terms.tables[table_of(levels, terms.workloads)]
    own = terms.workloads.get(name_of(levels))
    restore = (with_table(sql, table) for sql in own.restore) if own else ()
    return (*put_back_sql(table), *restore)


def _tls(levels: Levels, terms: JobTerms) -> TlsOff | TlsOn | TlsUnset | TlsRequired:
    level = levels.get("tls", "off")
    if level == "off":
        return TlsOff(get_server_public_key=terms.verification.get_server_public_key)
    if level == UNSET:
        return TlsUnset(trusted_ca_file=terms.verification.ca_file)
    if level == REQUIRED:
        return TlsRequired(trusted_ca_file=terms.verification.ca_file)
    version: TlsVersion | None = None if level == "default" else str(level)  # type: ignore[assignment]
    library, verification = client_library_of(levels), terms.verification
    return TlsOn(
        min_version=version,
        max_version=version,
        cipher_list=legacy_tls.cipher_list(
            version, choice_of(levels).certificate, None if _suites(levels) else _cipher(levels)
        ),
        ciphersuites=_suites(levels),
        groups=_groups(levels, version),
        weak_dh=_cipher(levels).startswith("DHE-") and version in {"1.0", "1.1"},
        verify=verification.verify,
        ca_file=verification.ca_file,
        certificate_file=verification.certificate_file,
        key_file=verification.key_file,
        resumption=levels.get("resumption", "off") == "on",
        library=None if library == OWN else terms.client_libraries[library],
    )


def _cipher(levels: Levels) -> str:
    """The only cipher suite that the client is to offer; empty for the library's own."""
    cipher = str(levels.get("cipher", "default"))
    return "" if cipher == "default" else cipher


def _suites(levels: Levels) -> str | None:
    """The same where it is one of TLS 1.3, whose names begin alike (RFC 8446, appendix B.4)."""
    return cipher if (cipher := _cipher(levels)).startswith("TLS_") else None


def _groups(levels: Levels, version: TlsVersion | None) -> str | None:
    """The groups that the client offers; TLS 1.0 and 1.1 are spoken here without a key exchange by groups."""
    group = str(levels.get("group", "default"))
    return None if group == "default" or version in {"1.0", "1.1"} else GROUP_LISTS.get(group, group)
