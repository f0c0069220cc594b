"""One job for a driver, with a tap before the server and its log on; and every hostile trick on one."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import (
    Account,
    DriverTerms,
    Endpoint,
    Job,
    Statement,
    TcpEndpoint,
    TlsOn,
    TlsRequired,
    TlsUnset,
    Workload,
)
from tlstax.mysql import status
from tlstax.mysql.statement_log import StatementLog
from tlstax.network.tap.opening import Tap, open_tap
from tlstax.plan.jobs import job_for
from tlstax.run.bench import Bench
from tlstax.specimens.certificates import CertificateRequest, Certificates, issue
from tlstax.specimens.processes import NO_LOCALHOST
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import REQUIRED, UNSET
from tlstax.support.errors import MachineFault
from tlstax.tools.probes.drivers.logins import carried_out
from tlstax.tools.probes.drivers.probed import (
    INSERT,
    TRICKS,
    Asked,
    Attack,
    Outcome,
    Refusal,
    TlsAsked,
    Trick,
)
from tlstax.tools.probes.drivers.relays import HostileWire

OPERATIONS = 4
"""Connections that a job makes one after another: what each does, and not the first alone."""

TIMEOUT_S, READY_WITHIN_S, DONE_WITHIN_S = 5.0, 60.0, 60.0
"""A driver whose runtime starts slowly on a busy machine is waited for, a server that is silent is not."""

_LEVELS: dict[TlsAsked, str] = {"unset": UNSET, "off": "off", "required": REQUIRED, "verified": "default"}


@dataclass(frozen=True)
class Ask:
    """What a driver is asked to do: `operations` connections, on each N `statements`.

    `trusted` is whether its runtime trusts the server's authority, where the rest is left to the driver;
    `verify` is what it is to check, where it is given that.
    `account` is whom to log in as, None for the server's usual load account. `options` are the driver's own.
    """

    driver: str
    tls: TlsAsked
    statements: int = 1
    operations: int = OPERATIONS
    trusted: bool = True
    verify: Literal["identity", "ca", "none"] = "identity"
    account: Account | None = None
    options: Mapping[str, str] = field(default_factory=dict)


def asked(ask: Ask, command: Sequence[str], bench: Bench, log: StatementLog) -> Asked:
    """Carry out the job, seen by tap and log. A refusal is in the answer. Raises MachineFault."""
    before = status.read_status(bench.admin)
    log.begin()
    with _tap(bench) as tap:
        done = _done(ask, command, bench, tap)
        capture = tap.capture()
    after = status.read_settled_status(bench.admin, status.connected(before))
    resumed = status.sessions_resumed(before, after)
    return done.model_copy(update={"capture": capture, "log": log.read(), "sessions_taken_up": resumed})


def connected(ask: Ask, command: Sequence[str], bench: Bench) -> Asked:
    """Carry out the job for its own sake: whether the driver does it at all. Raises MachineFault."""
    with _tap(bench) as tap:
        return _done(ask, command, bench, tap)


def _tap(bench: Bench) -> AbstractContextManager[Tap]:
    endpoint = bench.terms.endpoint
    if not isinstance(endpoint, TcpEndpoint):
        raise MachineFault("a tap can be put only before a server's TCP port")
    return open_tap(endpoint, at=NO_LOCALHOST)


def _done(ask: Ask, command: Sequence[str], bench: Bench, tap: Tap) -> Asked:
    """The job as the driver did it, or what it refused."""
    done = Asked(tls=ask.tls, statements=ask.statements, operations=ask.operations)
    try:
        with LoadClient(command, _job(ask, bench, tap.entry)) as client:
            ready = client.wait_ready(READY_WITHIN_S)
            tap.begin_window()
            client.go()
            result = client.wait_done(DONE_WITHIN_S)
            tap.end_window(result.operations)
            refusal = None if result.operations == ask.operations else _partly(client)
            return done.model_copy(update={"ready": ready, "refusal": refusal})
    except ClientFailure as failure:
        return done.model_copy(update={"refusal": _refusal(failure)})


def _job(ask: Ask, bench: Bench, endpoint: Endpoint) -> Job:
    case = CaseLevels.of({"client": ask.driver, "tls": _LEVELS[ask.tls], "connections": 1})
    job = job_for(case, bench.terms, sequence=0)
    tls = job.tls
    if isinstance(tls, TlsUnset | TlsRequired) and not ask.trusted:
        tls = tls.model_copy(update={"trusted_ca_file": None})
    if isinstance(tls, TlsOn):
        ca_file = tls.ca_file if ask.verify != "none" else None
        tls = tls.model_copy(update={"verify": ask.verify, "ca_file": ca_file})
    insert = Statement(sql=INSERT, repeat=ask.statements)
    return job.model_copy(
        update={
            "endpoint": endpoint,
            "account": ask.account or job.account,
            "tls": tls,
            "workload": Workload(reconnect=True, protocol="text", statements=(insert,)),
            "operations": ask.operations,
            "duration_s": DONE_WITHIN_S,
            "timeout_s": TIMEOUT_S,
            "warmup_s": 0.0,
            "row_samples": 0,
            "driver": DriverTerms(options=dict(ask.options)),
        }
    )


def _refusal(failure: ClientFailure) -> Refusal:
    kind = failure.errors[-1].kind if failure.errors else None
    return Refusal(kind=kind, words=str(failure))


def _partly(client: LoadClient) -> Refusal:
    """Operations that failed although the driver went on."""
    if client.errors:
        return Refusal(kind=client.errors[-1].kind, words=client.errors[-1].message)
    return Refusal(kind=None, words="it did not do everything that it was asked to do")


WORDS: tuple[TlsAsked, ...] = ("unset", "required", "verified")
"""What drivers are given for TLS: nothing, that there must be some, and that there must be some and who is to
answer."""


@dataclass(frozen=True)
class Ambush:
    """What is needed to attack drivers: their server, a certificate of nobody, and a file to ask for."""

    bench: Bench
    certificates: Certificates
    wanted_file: Path


def made_ambush(bench: Bench, directory: Path) -> Ambush:
    """An ambush whose files lie in this directory, and go with it."""
    place = directory / "hostile"
    place.mkdir(mode=0o700, exist_ok=True)
    request = CertificateRequest(key="ec-p256", addresses=(NO_LOCALHOST,))
    wanted = place / "wanted.txt"
    wanted.write_text(f"nobody is to send this: {secrets.token_hex(16)}\n", encoding="utf-8")
    return Ambush(bench, issue(place, request), wanted)


def attacks(ask: Ask, command: Sequence[str], ambush: Ambush) -> Iterator[Attack]:
    """Each trick that the driver lets come to: where it does not go on without TLS, nothing is asked there.

    Raises MachineFault where the server cannot be reached by TCP, or the driver's program does nothing.
    """
    for tls in WORDS:
        asked = replace(ask, tls=tls, operations=1, trusted=False)
        goes_on = False
        for trick in TRICKS:
            if trick not in {"offer taken away", "certificate of nobody"} and not goes_on:
                continue
            found = _attack(asked, command, ambush, trick)
            goes_on = goes_on or (found is not None and found.outcome == "went on")
            if found is not None:
                yield found


def _attack(ask: Ask, command: Sequence[str], ambush: Ambush, trick: Trick) -> Attack | None:
    """One trick; None where it did not come to it: a driver that begins no TLS is shown no certificate."""
    endpoint, account = ambush.bench.terms.endpoint, ask.account or ambush.bench.terms.account
    if not isinstance(endpoint, TcpEndpoint):
        raise MachineFault("a hostile wire can be put only before a server's TCP port")
    wire = HostileWire(endpoint, trick, account.password, ambush.certificates, ambush.wanted_file)
    with wire.listening() as entry:
        done = carried_out(command, _job(ask, ambush.bench, entry))
    if done.words and not done.kinds and not wire.connections:
        raise MachineFault(f"{ask.driver} neither connected nor said why: {done.words}")
    if trick == "certificate of nobody" and not wire.began_tls:
        return None
    return Attack(
        tls=ask.tls,
        trick=trick,
        outcome=_outcome(wire, trick),
        words=done.words,
        frames=tuple(wire.frames),
    )


def _outcome(wire: HostileWire, trick: Trick) -> Outcome:
    for gift in ("password", "file", "hash"):
        if gift in wire.gifts:
            return gift
    return "went on" if wire.logins and trick == "offer taken away" else "refused"
