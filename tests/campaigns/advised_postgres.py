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
from tlstax.study.workloads.sized import Session
from tlstax.topics.advice.advise import Advice, SeenUse

LAUNCHER = Path(__file__).resolve().parents[2] / "tlstax"
PASSWORD = "Sesame, open!"
LONG = timedelta(days=400)
WINDOWS, WINDOW_S, AT_ONCE = 10, 0.6, 4
SESSION = "session-10x120"
"""A connection with ten selects, as is assumed where nothing is known of how a server is used."""
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
    yield from costly()
    yield from unsafe()
    yield Mistake("clean 18")
    yield Mistake("clean 18 ec-p256", settings=settings(key="ec-p256"), role="SUPERUSER")
    yield Mistake(
        "clean 18, plaintext refused first",
        hba=("hostnossl all all all reject", EITHER),
        role="SUPERUSER",
    )
    yield Mistake("clean 15", "postgresql-15")


def costly() -> Iterator[Mistake]:
    """Those of which a change must be advised."""
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
    # One that clients offer behind others, and that nobody asks for by name.
    yield Mistake("rare group", settings=settings("--ssl_groups=X448"), change="groups", mended=clean)
    yield Mistake("log_hostname", settings=settings("--log_hostname=on"), change="lookup")
    yield Mistake("short idle", settings=settings("--idle_session_timeout=20000"), change="idle")
    yield Mistake("chain", change="chain", sends_chain=True)
    yield Mistake("iterations", change="login", secret=accounts.scram_secret(PASSWORD, 200_000))
    yield Mistake("far", change="direct", far_ms=20)


def unsafe() -> Iterator[Mistake]:
    """Those that must be called unsafe or weak."""
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
        "tls 1.0",
        settings=settings("--ssl_min_protocol_version=TLSv1", "--ssl_ciphers=ALL:@SECLEVEL=0"),
        concern="TLS 1.0",
    )
    yield Mistake(
        "rsa key exchange",
        settings=settings("--ssl_ciphers=ECDHE-RSA-AES128-GCM-SHA256:AES128-GCM-SHA256"),
        concern="key exchange by RSA",
    )
    yield Mistake(
        "trust", concern="trusts clients", hba=("hostssl lent all 10.0.0.0/8 trust", SAFE), role="SUPERUSER"
    )
    yield Mistake(
        "trust behind",
        concern="trusts clients over TCP behind others",
        hba=(SAFE, "hostssl lent all 10.0.0.0/8 trust"),
        role="SUPERUSER",
    )
    yield Mistake(
        "password in the clear",
        concern="asks for passwords in the clear",
        hba=("hostnossl lent all 10.0.0.0/8 password", SAFE),
        role="SUPERUSER",
    )
    yield Mistake(
        "hostnossl first",
        concern="in the clear are accepted",
        hba=("hostnossl all all all scram-sha-256", SAFE),
        role="SUPERUSER",
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


def cpu_us_per_operation(
    server: PrivateServer, clock: TreeClock, workload: str, tls: TlsOn, seed: int
) -> float:
    """What a connection with its statements, or a statement, costs the server in a window of its own."""
    job = Job(
        endpoint=server.endpoint(),
        server=PostgreSqlServer(),
        account=server.load_account,
        tls=tls,
        workload=built_in(workload, server.tables["answers"], 0),
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


def really_saved(session: sessions.Session, case: Mistake) -> list[float]:
    """What share of such a connection mending saves, in windows that take turns."""
    with ExitStack() as stack:
        before, clock_before = stack.enter_context(planted(session, case, case.settings))
        after, clock_after = stack.enter_context(planted(session, case, case.mended or case.settings))
        for server in (before, after):
            server.prepare_table(answers_of((120,), 1))
        pairs = [
            (
                cpu_us_per_operation(before, clock_before, SESSION, TlsOn(), number),
                cpu_us_per_operation(after, clock_after, SESSION, case.tls or TlsOn(), number),
            )
            for number in range(WINDOWS)
        ]
    return [1 - own[1] / own[0] for own in pairs]


def kept_saves(session: sessions.Session, case: Mistake, use: SeenUse) -> list[float]:
    """What share of such a connection its statements spare where it is kept."""
    made = Session(use.statements, use.answer_bytes).name
    kept = Session(None, use.answer_bytes).name
    with planted(session, case, case.settings) as (server, clock):
        server.prepare_table(answers_of((use.answer_bytes,), 1))
        pairs = [
            (
                cpu_us_per_operation(server, clock, made, TlsOn(), number),
                cpu_us_per_operation(server, clock, kept, TlsOn(), number),
            )
            for number in range(WINDOWS)
        ]
    return [1 - use.statements * each / whole for whole, each in pairs]


def hashing_saved_us(session: sessions.Session, case: Mistake) -> list[float]:
    """What CPU time of a client, pg8000, a login takes less with 4,096 iterations, login by login."""
    took: list[list[float]] = []
    for secret in (case.secret, accounts.scram_secret(PASSWORD)):
        with planted(session, replace(case, secret=secret), case.settings) as (server, _):
            took.append([])
            for _ in range(WINDOWS):
                began = time.thread_time()
                logged_in(server, encrypted=True).close()
                took[-1].append(1e6 * (time.thread_time() - began))
    return [before - after for before, after in zip(*took, strict=True)]


def run(case: Mistake, budget_s: float, session: sessions.Session, tally: Tally) -> None:
    """One case: planted, advised, judged; what is printed that it saves is held against mending it."""
    found = found_by(session, case, budget_s)
    say(f"{case.name}: advised {[own.change for own in found.advised]}")
    for words in found.not_measured:
        say(f"    not measured: {words}")
    judged(case, found, tally)
    own = next((own for own in found.advised if own.change == case.change), None)
    place = next((number for number, own in enumerate(found.advised, 1) if own.change == case.change), 0)
    if case.concern:
        concerns = [own.what for own in found.inspected.concerns]
        place = next((number for number, what in enumerate(concerns, 1) if case.concern in what), 0)
    named = Row(case, place)
    if own is None:
        tally.rows.append(named.words())
        return
    saving = own.saving
    if saving.client_cpu_us is not None:
        held(
            named.of(saving.client_cpu_us, "of a client's CPU", MILLISECOND),
            hashing_saved_us(session, case),
            tally,
        )
    elif case.far_ms and saving.time_us is not None:
        # What a round trip takes is known: it was set.
        held(named.of(saving.time_us, "of the time", MILLISECOND), [1000.0 * case.far_ms] * WINDOWS, tally)
    elif saving.server_share is not None and case.change == "pool":
        held(named.of(saving.server_share, "of the CPU"), kept_saves(session, case, found.use), tally)
    elif saving.server_share is not None and (case.mended or case.tls):
        held(named.of(saving.server_share, "of the CPU"), really_saved(session, case), tally)
    else:
        counted = [f"{saving.round_trips:g} round trips"] * bool(saving.round_trips)
        counted += [f"{saving.bytes:,.0f} bytes"] * bool(saving.bytes)
        tally.rows.append(named.words(", ".join(counted)))


PERCENT, MILLISECOND = (100.0, "%"), (0.001, "ms")


@dataclass(frozen=True)
class Row:
    """What was planted, in which place it is named, and what is said that mending it saves, if anything."""

    case: Mistake
    place: int
    saved: Interval | None = None
    of_what: str = ""
    unit: tuple[float, str] = PERCENT

    def of(self, saved: Interval, of_what: str, unit: tuple[float, str] = PERCENT) -> Row:
        """The same, with what is said that it saves."""
        return replace(self, saved=saved, of_what=of_what, unit=unit)

    def said(self, point: float, low: float | None, high: float | None) -> str:
        """A figure with its ends, in the row's unit."""
        times, unit = self.unit
        ends = " … ".join("" if end is None else f"{times * end:.3g}" for end in (low, high))
        return f"{times * point:.3g} {unit} [{ends}]"

    def words(self, advised: str = "", measured: str = "", agrees: str = "") -> str:
        """The row of the table in Markdown."""
        what = self.case.change or self.case.concern or "nothing"
        place = str(self.place or "–")
        return f"| {self.case.name} | {what} | {place} | {advised} | {measured} | {agrees} |"


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


def held(row: Row, real: list[float], tally: Tally) -> None:
    """Whether the interval of what is saved holds what mending really saves: the median over windows.

    Its own interval is from the second least of ten windows to the second greatest, which holds the median
    in 98 of 100 (the sign test).
    """
    saved, ordered = row.saved, sorted(real)
    assert saved is not None
    point = median(ordered)
    holds = (saved.low is None or saved.low <= point) and (saved.high is None or point <= saved.high)
    tally.compared += 1
    tally.held += holds
    advised = f"{row.said(saved.point, saved.low, saved.high)} {row.of_what}"
    measured = row.said(point, ordered[1], ordered[-2])
    say(f"    {advised}; mended: {measured}: {'held' if holds else 'NOT HELD'}")
    tally.rows.append(row.words(advised, measured, "yes" if holds else "no"))
    if not holds:
        tally.lost.append(f"{row.case.name}: {advised} does not hold {measured}")


HEAD = (
    "| planted | what must be named | place | saves, as advised | measured when mended | agree |",
    "|---|---|---|---|---|---|",
)


if __name__ == "__main__":
    sys.exit(judged_all(((case.name, partial(run, case)) for case in mistakes()), HEAD))
