"""From a case to the job that its load client is given."""

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
from tlstax.study import legacy_tls
from tlstax.study.case_workload import CaseWorkload
from tlstax.study.client_kinds.known import kind_of
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import EACH, ENGINE, GROUP_LISTS, OWN, REQUIRED, UNSET
from tlstax.study.workloads import Shape, draws_once, put_back_sql
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


class ClientProof(Frozen):
    """What a client proves itself by, beside its password: files (PEM), and the account that demands them."""

    account: Account
    certificate_file: str
    key_file: str


class JobTerms(Frozen):
    """What all jobs of a run on one server have in common.

    `accounts` are those of other levels of `auth` than the server's default.
    `tables` names the table of each shape, `workloads` are the user's own, by name.
    `trust_files` maps the levels of `trust` to files of as many authorities, `client_proof` is what clients
    with a certificate have, None where none has one.
    `addresses` are those by which an external server is reached besides `endpoint`.
    `client_libraries` maps the levels of `client_tls_library` to the libssl that each stands for.
    `counts_lingering` where the server was promised how many connections it gets at once.
    """

    endpoint: Endpoint
    addresses: dict[str, Endpoint] = {}
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
    trust_files: dict[int, str] = {}
    client_proof: ClientProof | None = None
    duration_s: float
    seed: int
    timeout_s: float = 10.0
    counts_lingering: bool = False


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
    connections = case.connections
    operations, rounds = counted_operations(case), rounds_of(case)
    resolved = CaseWorkload.of(case, terms.workloads)
    writes = resolved.changes_data
    workload = _for_client(case, resolved.over(terms.tables, terms.rows))
    counts = terms.counts_lingering and case.client == ENGINE
    is_cold = (operations and writes) or case.is_storm or (counts and comes_and_goes(workload))
    return Job(
        endpoint=terms.addresses.get(case.address, terms.endpoint),
        account=_account(case, terms),
        tls=_tls(case, terms),
        compression=case.compression,
        workload=workload,
        schedule=terms.schedule,
        connections=connections,
        threads=min(connections, max(1, len(terms.client_cpus))),
        cpus=terms.client_cpus,
        warmup_s=0.0 if is_cold else WARMUP_S,
        duration_s=LONGEST_COUNTED_S if operations else terms.duration_s,
        operations=operations,
        rounds=rounds,
        reset=_reset(resolved, terms) if rounds > 1 and writes and not resolved.can_be_repeated else (),
        timeout_s=max(terms.timeout_s, (STORM_CONNECTION_S if case.is_storm else CONNECTION_S) * connections),
        source_addresses=terms.source_addresses,
        seed=terms.seed + sequence,
        attributes={"program_name": "tlstax", "_client_version": __version__},
        driver=_driver(case, uses_up=bool(operations) and draws_once(workload)),
        lingering=(lingering(connections) if workload.reconnect else 0) if counts else None,
    )


def _account(case: CaseLevels, terms: JobTerms) -> Account:
    if case.proves_client:
        return _proof(terms).account
    return terms.accounts.get(case.auth, terms.account)


def _proof(terms: JobTerms) -> ClientProof:
    if terms.client_proof is None:
        raise RuntimeError("a client is to have a certificate, and none was made")
    return terms.client_proof


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
        return ROUNDS if case.rounds is None else case.rounds
    in_rounds = case.queries is not None and kind_of(case.client).works_in_rounds
    return case.rounds or 1 if in_rounds else 1


def _reset(workload: CaseWorkload, terms: JobTerms) -> tuple[str, ...]:
    """What puts the data back before a round, for clients that work in rounds."""
    table = terms.tables[workload.table]
    restore = (with_table(sql, table) for sql in workload.own.restore) if workload.own else ()
    return (*put_back_sql(table), *restore)


def _tls(case: CaseLevels, terms: JobTerms) -> TlsOff | TlsOn | TlsUnset | TlsRequired:
    level = case.tls
    if level == "off":
        # Others cannot be told not to: `check_clients` asks whether they may (see `run.external`).
        may = terms.verification.get_server_public_key or case.client != ENGINE
        return TlsOff(get_server_public_key=may)
    if level == UNSET:
        return TlsUnset(trusted_ca_file=terms.verification.ca_file)
    if level == REQUIRED:
        return TlsRequired(trusted_ca_file=terms.verification.ca_file)
    version: TlsVersion | None = None if level == "default" else str(level)  # type: ignore[assignment]
    library, verification = case.client_tls_library, terms.verification
    own = _proof(terms) if case.proves_client else verification
    return TlsOn(
        min_version=version,
        max_version=version,
        cipher_list=legacy_tls.cipher_list(
            version,
            case.certificate,
            None if _suites(case) else _cipher(case),
        ),
        ciphersuites=_suites(case),
        groups=_groups(case, version),
        weak_dh=_cipher(case).startswith("DHE-") and version in {"1.0", "1.1"},
        verify=verification.verify,
        ca_file=verification.ca_file if case.trust is None else terms.trust_files[case.trust],
        certificate_file=own.certificate_file,
        key_file=own.key_file,
        resumption=case.resumes,
        own_context=case.tls_context == EACH,
        library=None if library == OWN else terms.client_libraries[library],
    )


def _cipher(case: CaseLevels) -> str:
    """The only cipher suite that the client is to offer; empty for the library's own."""
    cipher = case.cipher
    return "" if cipher == "default" else cipher


def _suites(case: CaseLevels) -> str | None:
    """The same where it is one of TLS 1.3, whose names begin alike (RFC 8446, appendix B.4)."""
    return cipher if (cipher := _cipher(case)).startswith("TLS_") else None


def _groups(case: CaseLevels, version: TlsVersion | None) -> str | None:
    """The groups that the client offers; TLS 1.0 and 1.1 are spoken here without a key exchange by groups."""
    group = case.group
    return None if group == "default" or version in {"1.0", "1.1"} else GROUP_LISTS.get(group, group)
