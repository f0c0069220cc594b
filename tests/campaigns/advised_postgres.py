"""advised_postgres.py [BUDGET_S [CASE ...]]: plants mistakes in real PostgreSQL servers for `advise` to find.

As advised.py does it with MySQL and MariaDB: each case is a private server with one mistake, which must be
named first or second among what to change, or among the concerns. Where a saving of the server's CPU time is
printed, mending the mistake is measured afterwards, on two other processes, with and without it, in turns; so
is what a login costs a client whose password is hashed too often. On servers without a mistake nothing may be
advised, nor called unsafe. The case far away needs root.
"""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median

from advised import Tally, Use, in_use, judged_all, say
from chain_of_three import chain_of_three
from pg8000 import native

from tlstax.clients.engine import engine_command
from tlstax.clients.process import LoadClient
from tlstax.contract import Job, PostgreSqlServer, TlsOn
from tlstax.network.distance.opening import open_span
from tlstax.network.paths.design import Ends
from tlstax.network.paths.opening import open_path
from tlstax.observers.tree import TreeClock
from tlstax.plan.addresses import FAR_ADDRESS
from tlstax.postgres import accounts
from tlstax.postgres.database import PostgresDatabase
from tlstax.results.interval import Interval
from tlstax.specimens import processes, resolve, sessions
from tlstax.specimens.certificates import CertificateRequest, KeyKind
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.process_tree import ProcessTree
from tlstax.specimens.server_settings import ServerSettings
from tlstax.sql.table_rows import answers_of
from tlstax.study.factors import Distance
from tlstax.study.workloads import built_in
from tlstax.topics.advice.advise import Advice

LAUNCHER = Path(__file__).resolve().parents[2] / "tlstax"
PASSWORD = "Sesame, open!"
LONG = timedelta(days=400)
WINDOWS, WINDOW_S, AT_ONCE, LOGINS = 10, 0.6, 4, 8
P256_FIRST = "P-256:X25519:P-384:P-521"
SAFE = "hostssl all all all scram-sha-256"
EITHER = "host all all all scram-sha-256"


@dataclass(frozen=True)
class Mistake:
    """A server with a mistake: how it is set up, what must be named, and what mending it changes.

    `change` is what must be advised, `concern` words of what must be called unsafe or weak; a clean server
    has neither. `hba` are the lines of pg_hba.conf, `secret` what is kept of the account's password, `role`
    what the account may. `mended` are the settings without the mistake, `tls` what its clients do otherwise
    then.
    """

    name: str
    server: str = "postgresql-18"
    settings: ServerSettings = field(default_factory=ServerSettings)
    change: str = ""
    concern: str = ""
    hba: tuple[str, ...] = (SAFE,)
    secret: str = field(default_factory=lambda: accounts.scram_secret(PASSWORD))
    role: str = ""
    mended: ServerSettings | None = None
    tls: TlsOn | None = None
    use: Use | None = None
    sends_chain: bool = False
    through: str = ""
    far_ms: int = 0


def settings(*options: str, key: KeyKind = "rsa-2048", valid_for: timedelta = LONG) -> ServerSettings:
    return ServerSettings(certificate=CertificateRequest(key=key, valid_for=valid_for), options=options)


def logged_in(server: PrivateServer, *, encrypted: bool) -> native.Connection:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return native.Connection(
        "ann",
        host="127.0.0.1",
        port=server.endpoint().port,
        password=PASSWORD,
        database="lent",
        ssl_context=context if encrypted else False,
        application_name="orders",
    )


def reconnects_for_each_statement(server: PrivateServer, end: threading.Event) -> None:
    while not end.is_set():
        connection = logged_in(server, encrypted=True)
        connection.run("SELECT 1")
        connection.close()


def stays_in_the_clear(server: PrivateServer, end: threading.Event) -> None:
    connection = logged_in(server, encrypted=False)
    end.wait()
    connection.close()


def verifies_nobody(server: PrivateServer, end: threading.Event) -> None:
    connection = logged_in(server, encrypted=True)
    end.wait()
    connection.close()


def mistakes() -> Iterator[Mistake]:
    """All of them; those without a change or a concern are clean."""
    clean = settings()
    yield Mistake(
        "rsa-4096", settings=settings(key="rsa-4096"), change="certificate", mended=settings(key="ec-p256")
    )
    yield Mistake("reconnects", change="pool", use=reconnects_for_each_statement)
    yield Mistake(
        "tls 1.2", settings=settings("--ssl_max_protocol_version=TLSv1.2"), change="version", mended=clean
    )
    yield Mistake("groups", settings=settings("--ssl_groups=secp384r1"), change="groups", mended=clean)
    yield Mistake("p-256 alone", settings=settings("--ssl_groups=prime256v1"), change="groups", mended=clean)
    yield Mistake("second hello", "postgresql-15", change="group", far_ms=20)
    yield Mistake(
        "curve",
        "postgresql-17",
        settings=settings("--ssl_ecdh_curve=secp521r1"),
        change="groups",
        mended=clean,
        tls=TlsOn(groups=P256_FIRST),
    )
    yield Mistake("chain", change="chain", sends_chain=True)
    yield Mistake("iterations", change="login", secret=accounts.scram_secret(PASSWORD, 200_000))
    yield Mistake("far", change="direct", far_ms=20)
    yield Mistake("ssl off", settings=settings("--ssl=off"), concern="offers no TLS", hba=(EITHER,))
    yield Mistake("expired", settings=settings(valid_for=timedelta(days=-2)), concern="ended on")
    yield Mistake(
        "verifies nobody",
        settings=settings(valid_for=timedelta(days=-2)),
        concern="do not verify the server",
        role="pg_read_all_stats",
        use=verifies_nobody,
    )
    yield Mistake(
        "trust", concern="trusts clients", hba=(SAFE, "hostssl lent all 10.0.0.0/8 trust"), role="SUPERUSER"
    )
    yield Mistake("host lines", concern="in the clear are accepted", hba=(EITHER,), role="SUPERUSER")
    yield Mistake(
        "in the clear",
        concern="came without TLS",
        hba=(EITHER,),
        role="pg_read_all_stats",
        use=stays_in_the_clear,
    )
    yield Mistake("md5", concern="by md5", secret=accounts.md5_secret("ann", PASSWORD))
    yield Mistake("kept by md5", settings=settings("--password_encryption=md5"), concern="kept by md5")
    yield Mistake("pooler", concern="in the clear", hba=(EITHER,), through="pgbouncer-terminate")
    yield Mistake("clean 18")
    yield Mistake("clean 18 ec-p256", settings=settings(key="ec-p256"), role="SUPERUSER")
    yield Mistake("clean 15", "postgresql-15")


@contextmanager
def planted(
    session: sessions.Session, case: Mistake, own: ServerSettings, entering: tuple[str, ...] = ()
) -> Iterator[tuple[PrivateServer, TreeClock]]:
    """The server of the case and the clock of its processes; `ann` owns the database `lent`."""
    clock = TreeClock(ProcessTree())
    build = resolve.named_server(case.server, progress=lambda _: None)
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        if case.sends_chain:
            files = chain_of_three(Path(name))
            processes.give_away(Path(name), processes.unprivileged_user("PostgreSQL"))
            options = (f"--ssl_cert_file={files.certificate_file}", f"--ssl_key_file={files.key_file}")
            own = replace(own, options=(*own.options, *options))
        own = replace(own, tree=clock.tree, before_exec=clock.take, entering=entering)
        with PrivateServer.start(build, session, own) as server:
            ask(server, f"CREATE ROLE ann LOGIN PASSWORD '{case.secret}'", "CREATE DATABASE lent OWNER ann")
            if case.role:
                ask(
                    server,
                    "ALTER ROLE ann SUPERUSER" if case.role == "SUPERUSER" else f"GRANT {case.role} TO ann",
                )
            ((file,),) = ask(server, "SHOW hba_file")
            hba = Path(str(file))
            kept = [line for line in hba.read_text().splitlines() if "tlstax" in line and "local" in line]
            load = [
                line for line in hba.read_text().splitlines() if '"tlstax_load"' in line and "md5" not in line
            ]
            method = "md5" if case.secret.startswith("md5") else "scram-sha-256"
            lines = [line.replace("scram-sha-256", method) for line in case.hba]
            is_read = case.role == "SUPERUSER"
            hba.write_text("\n".join([*kept, *([] if is_read else load), *lines, ""]))
            ask(server, "SELECT pg_reload_conf()")
            yield server, clock


def ask(server: PrivateServer, *statements: str) -> list[tuple[object, ...]]:
    with server.admin() as admin:
        assert isinstance(admin, PostgresDatabase)
        return [admin.apart.rows(statement) for statement in statements][-1]


def advice_for(url: str, budget_s: float, *, there: bool, front: tuple[str, ...] = ()) -> Advice:
    budget = f"{budget_s:g}s" if budget_s else "off"
    times = ["--budget", budget, "--there", "8s" if there else "off", "--watch", "8s"]
    arguments = ["advise", url, "--json", *times]
    done = subprocess.run(
        [*front, LAUNCHER, *arguments],
        env={**os.environ, "TLSTAX_PASSWORD": PASSWORD},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Advice.model_validate(json.loads(done.stdout))


def found_by(session: sessions.Session, case: Mistake, budget_s: float) -> Advice:
    """What is advised of the case: as it is reached, through a pooler, or from far away."""
    with ExitStack() as stack:
        front: tuple[str, ...] = ()
        host, entering = "127.0.0.1", ()
        if case.far_ms:
            span = stack.enter_context(open_span(session, lambda _: None))
            span.set(Distance(case.far_ms))
            host, entering, front = FAR_ADDRESS, tuple(span.enter_far()), tuple(span.enter_near())
        server, _ = stack.enter_context(planted(session, case, case.settings, entering))
        port = server.endpoint().port
        if case.through:
            ends = Ends(session, port, server.certificates, spoken="postgresql", secrets={"ann": case.secret})
            port = stack.enter_context(open_path(case.through, ends)).entry.port
        stack.enter_context(in_use(case.use, server))
        url = f"postgres://ann@{host}:{port}/lent"
        # In the namespace from which the far server is reached no private one can be.
        like_it_s = 0.0 if front or case.concern else budget_s
        return advice_for(url, like_it_s, there=not case.concern, front=front)


def cpu_us_per_connect(server: PrivateServer, clock: TreeClock, tls: TlsOn, seed: int) -> float:
    """What a connection with ten selects, as is assumed, costs the server in a window of its own."""
    job = Job(
        endpoint=server.endpoint(),
        server=PostgreSqlServer(),
        account=server.load_account,
        tls=tls,
        workload=built_in("session-10x120", server.tables["answers"], 0),
        connections=AT_ONCE,
        duration_s=WINDOW_S,
        seed=seed,
        source_addresses=tuple(f"127.0.0.{host}" for host in range(2, 10)),
    )
    with LoadClient(engine_command(), job) as client:
        client.wait_ready(60)
        before_us = clock.read_us()
        client.go()
        done = client.wait_done(60)
        after_us, _ = clock.read_settled(comes_and_goes=True)
    return (after_us - before_us) / done.operations


def really_saved(session: sessions.Session, case: Mistake) -> float:
    """What share of such a connection mending saves: the median over windows in turn."""
    with ExitStack() as stack:
        before, clock_before = stack.enter_context(planted(session, case, case.settings))
        after, clock_after = stack.enter_context(planted(session, case, case.mended or case.settings))
        for server in (before, after):
            server.prepare_table(answers_of((120,), 1))
        pairs = [
            (
                cpu_us_per_connect(before, clock_before, TlsOn(), number),
                cpu_us_per_connect(after, clock_after, case.tls or TlsOn(), number),
            )
            for number in range(WINDOWS)
        ]
    return median(1 - own[1] / own[0] for own in pairs)


def hashing_saved_us(session: sessions.Session, case: Mistake) -> float:
    """What CPU time of a client, pg8000, a login takes less with 4,096 iterations."""
    means = []
    for secret in (case.secret, accounts.scram_secret(PASSWORD)):
        with planted(session, replace(case, secret=secret), case.settings) as (server, _):
            began = time.thread_time()
            for _ in range(LOGINS):
                logged_in(server, encrypted=True).close()
            means.append(1e6 * (time.thread_time() - began) / LOGINS)
    return means[0] - means[1]


def run(case: Mistake, budget_s: float, session: sessions.Session, tally: Tally) -> None:
    """One case: planted, advised, judged; what is printed that it saves is held against mending it."""
    found = found_by(session, case, budget_s)
    say(f"{case.name}: advised {[own.change for own in found.advised]}")
    for words in found.not_measured:
        say(f"    not measured: {words}")
    judged(case, found, tally)
    own = next((own for own in found.advised if own.change == case.change), None)
    if own is not None and own.saving.client_cpu_us is not None:
        held(case, own.saving.client_cpu_us, hashing_saved_us(session, case), tally)
    elif own is not None and own.saving.server_share is not None and (case.mended or case.tls):
        held(case, own.saving.server_share, really_saved(session, case), tally)


def judged(case: Mistake, found: Advice, tally: Tally) -> None:
    """Whether what was planted is among the first two; of a clean server nothing may be."""
    changes = [own.change for own in found.advised]
    concerns = [own.what for own in found.inspected.concerns]
    unsafe = [own.what for own in found.inspected.concerns if own.danger != "weak"]
    if case.change and case.change not in changes[:2]:
        tally.lost.append(f"{case.name}: {case.change} is not among {changes[:2]}")
    if case.concern and not any(case.concern in what for what in concerns[:2]):
        tally.lost.append(f"{case.name}: {case.concern!r} is not among {concerns[:2]}")
    if case.use is None and set(changes) - {case.change}:
        tally.lost.append(f"{case.name}: advised {changes}, where {case.change or 'nothing'} was planted")
    if not case.concern and unsafe:
        tally.lost.append(f"{case.name}: called unsafe: {unsafe}")


def held(case: Mistake, saved: Interval, real: float, tally: Tally) -> None:
    """Whether the interval of what is saved holds what mending really saves."""
    low, high = saved.low, saved.high
    holds = (low is None or low <= real) and (high is None or real <= high)
    tally.compared += 1
    tally.held += holds
    words = f"{saved.point:.4g} [{low} … {high}]; mended: {real:.4g}"
    say(f"    {words}: {'held' if holds else 'NOT HELD'}")
    if not holds:
        tally.lost.append(f"{case.name}: {words}")


if __name__ == "__main__":
    sys.exit(judged_all((case.name, partial(run, case)) for case in mistakes()))
