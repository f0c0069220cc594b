"""advised.py [BUDGET_S [CASE ...]]: plants mistakes in real servers, and has `tlstax advise` find them.

Each case is a private server with one mistake, and an account that may use one schema and read
performance_schema. The mistake must be named first or second among what to change, or among what is unsafe.
Where a saving of the server's CPU time is printed, mending the mistake is measured afterwards, on two other
processes, with and without it, in turns; the interval must hold what that saves. On servers without a
mistake nothing may be advised.
"""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median

import pymysql
from chain_of_three import chain_of_three

from tlstax.clients.choice import obtain_client
from tlstax.clients.engine import engine_command
from tlstax.clients.process import LoadClient
from tlstax.contract import Job, TlsOn
from tlstax.observers.process import CpuClock
from tlstax.specimens import resolve, sessions
from tlstax.specimens.certificates import CertificateRequest, KeyKind
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_settings import ServerSettings
from tlstax.sql.table_rows import answers_of
from tlstax.study.workloads import built_in
from tlstax.topics.advice.advise import Advice, Advised

LAUNCHER = Path(__file__).resolve().parents[2] / "tlstax"
PASSWORD, SMALL = "Sesame, open!", 64 * 1024 * 1024
LONG = timedelta(days=400)
WINDOWS, WINDOW_S, AT_ONCE = 10, 0.6, 4
P256_FIRST = "P-256:X25519:P-384:P-521"

Use = Callable[[PrivateServer, threading.Event], None]


@dataclass(frozen=True)
class Mistake:
    """A server with a mistake: how it is set up, what must be named, and what mending it changes.

    `change` is what must be advised, `concern` words of what must be called unsafe; empty where neither is.
    `mended` are the settings without the mistake, `tls` what the clients of the mended server do otherwise.
    """

    name: str
    server: str
    settings: ServerSettings
    change: str = ""
    concern: str = ""
    mended: ServerSettings | None = None
    tls: TlsOn | None = None
    use: Use | None = None
    arguments: tuple[str, ...] = ()


def settings(key: KeyKind = "rsa-2048", **more: object) -> ServerSettings:
    request = CertificateRequest(key=key, valid_for=LONG)
    common = {
        "buffer_pool_bytes": SMALL,
        "certificate": request,
        "options": ("--require-secure-transport=ON",),
    }
    return replace(ServerSettings(), **{**common, **more})  # type: ignore[arg-type]


CLEAN = settings()
LOWEST_SECURITY = (
    "openssl_conf = c\n[c]\nssl_conf = s\n[s]\nsystem_default = d\n[d]\nCipherString = ALL:@SECLEVEL=0\n"
)


def p_curves_alone() -> ServerSettings:
    conf = "openssl_conf = c\n[c]\nssl_conf = s\n[s]\nsystem_default = d\n[d]\nGroups = P-256:P-384\n"
    return settings(openssl_conf=conf)


def ends_in(days: int) -> ServerSettings:
    return settings(certificate=CertificateRequest(valid_for=timedelta(days=days, hours=1)))


def reconnects_for_each_statement(server: PrivateServer, end: threading.Event) -> None:
    while not end.is_set():
        with _login(server) as database, database.cursor() as cursor:
            cursor.execute("SELECT 1")


def compresses(server: PrivateServer, end: threading.Event) -> None:
    """One connection by Connector/Python, which can compress."""
    program = Path(obtain_client("mysql-connector-python-9", lambda _: None).command[0])
    (folder,) = (found.parents[1] for found in program.parent.rglob("mysql/connector"))
    keywords = {"host": "127.0.0.1", "port": server.endpoint().port, "user": "ann", "compress": True}
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r}); import mysql.connector as c; "
        f"d = c.connect(password=input(), **{keywords!r}); input()"
    )
    command = [sys.executable, "-I", "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        child.stdin.write(f"{PASSWORD}\n")
        child.stdin.flush()
        end.wait()
        child.stdin.write("\n")
        child.stdin.close()


def verifies_nobody(server: PrivateServer, end: threading.Event) -> None:
    with _login(server):
        end.wait()


def _login(server: PrivateServer) -> pymysql.connections.Connection:  # type: ignore[type-arg]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return pymysql.connect(
        host="127.0.0.1",
        port=server.endpoint().port,
        user="ann",
        password=PASSWORD,
        ssl=context,
        program_name="orders",
    )


def mistakes() -> Iterator[Mistake]:
    """All of them; those without a change or a concern are clean."""
    for server in ("mysql-9.7", "mysql-8.0.33", "mariadb-11.8"):
        yield Mistake(
            f"{server} rsa-4096", server, settings("rsa-4096"), "certificate", mended=settings("ec-p256")
        )
        yield Mistake(f"{server} reconnects", server, CLEAN, "pool", use=reconnects_for_each_statement)
        yield Mistake(f"{server} soon expired", server, ends_in(12), concern="ends in 12 days")
        yield Mistake(f"{server} chain", server, CLEAN, "chain")
        # MariaDB says who is connected only where its performance schema is on.
        seen = replace(ends_in(-2), options=(*ends_in(-2).options, "--performance-schema=ON"))
        named = "do not verify the server"
        yield Mistake(f"{server} is not verified", server, seen, concern=named, use=verifies_nobody)
    for server in ("mysql-9.7", "mysql-8.0.33"):
        yield Mistake(f"{server} compression", server, CLEAN, "compression", use=compresses)
    # 8.0.33 takes X25519, which clients offer first.
    yield Mistake("mysql-9.7 second hello", "mysql-9.7", CLEAN, "group", tls=TlsOn(groups=P256_FIRST))
    yield Mistake(
        "mysql-9.7 no sessions",
        "mysql-9.7",
        settings(options=("--require-secure-transport=ON", "--ssl-session-cache-mode=OFF")),
        "resumption",
        mended=CLEAN,
        tls=TlsOn(resumption=True),
    )
    yield Mistake(
        "mariadb-11.8 p-curves", "mariadb-11.8", p_curves_alone(), "group", tls=TlsOn(groups=P256_FIRST)
    )
    old = ("--require-secure-transport=ON", "--tls-version=TLSv1.1,TLSv1.2,TLSv1.3")
    yield Mistake(
        "mariadb-11.8 tls 1.1",
        "mariadb-11.8",
        settings(options=old, openssl_conf=LOWEST_SECURITY),
        concern="TLS 1.1",
    )
    yield Mistake("mariadb-11.8 clean", "mariadb-11.8", CLEAN)
    yield Mistake("mysql-8.0.33 ec-p256", "mysql-8.0.33", settings("ec-p256"))


@dataclass
class Tally:
    """What came of the cases."""

    lost: list[str] = field(default_factory=list)
    held: int = 0
    compared: int = 0
    rows: list[str] = field(default_factory=list)


@contextmanager
def planted(
    session: sessions.Session, case: Mistake, own: ServerSettings, folder: Path
) -> Iterator[PrivateServer]:
    """The server of the case, with a chain of three certificates where that is the mistake."""
    if case.change == "chain":
        files = chain_of_three(folder)
        options = (f"--ssl-cert={files.certificate_file}", f"--ssl-key={files.key_file}")
        own = replace(own, options=(*own.options, *options))
    build = resolve.named_server(case.server, progress=lambda _: None)
    with PrivateServer.start(build, session, own) as server:
        with server.admin() as database:
            for statement in (
                "CREATE DATABASE lent",
                f"CREATE USER ann@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
                "GRANT ALL ON lent.* TO ann@'127.0.0.1'",
                "GRANT SELECT ON performance_schema.* TO ann@'127.0.0.1'",
            ):
                database.rows(statement)
        yield server


def advice_for(server: PrivateServer, case: Mistake, budget_s: float) -> Advice:
    url = f"mysql://ann@127.0.0.1:{server.endpoint().port}/lent"
    budget = f"{budget_s:g}s"
    command = [LAUNCHER, "advise", url, "--json", "--budget", budget, "--there", "8s", "--watch", "3s"]
    done = subprocess.run(
        [*command, *case.arguments],
        env={**os.environ, "TLSTAX_PASSWORD": PASSWORD},
        capture_output=True,
        text=True,
        check=True,
    )
    return Advice.model_validate(json.loads(done.stdout))


def cpu_us_per_connect(server: PrivateServer, tls: TlsOn, seed: int) -> float:
    """What a connection with ten selects, as is assumed, costs the server in a window of its own."""
    job = Job(
        endpoint=server.endpoint(),
        account=server.load_account,
        tls=tls,
        workload=built_in("session-10x120", server.tables["answers"], 0),
        connections=AT_ONCE,
        duration_s=WINDOW_S,
        seed=seed,
        source_addresses=tuple(f"127.0.0.{host}" for host in range(2, 10)),
    )
    clock = CpuClock(server.pid)
    with LoadClient(engine_command(), job) as client:
        client.wait_ready(60)
        before_us = clock.read_us()
        client.go()
        done = client.wait_done(60)
        after_us, _ = clock.read_settled(comes_and_goes=True)
    return (after_us - before_us) / done.operations


def really_saved(session: sessions.Session, case: Mistake, folder: Path) -> float:
    """What share of such a connection mending saves: the median over windows in turn."""
    with ExitStack() as stack:
        before = stack.enter_context(planted(session, case, case.settings, folder))
        after = stack.enter_context(planted(session, case, case.mended or case.settings, folder))
        for server in (before, after):
            server.prepare_table(answers_of((120,), 1))
        pairs = [
            (
                cpu_us_per_connect(before, TlsOn(), number),
                cpu_us_per_connect(after, case.tls or TlsOn(), number),
            )
            for number in range(WINDOWS)
        ]
    return median(1 - own[1] / own[0] for own in pairs)


def run(case: Mistake, budget_s: float, session: sessions.Session, tally: Tally) -> None:
    """One case: planted, advised, judged."""
    with (
        tempfile.TemporaryDirectory() as folder,
        planted(session, case, case.settings, Path(folder)) as server,
        in_use(case.use, server),
    ):
        found = advice_for(server, case, budget_s)
    say(f"{case.name}: advised {[own.change for own in found.advised]}")
    if found.not_measured:
        say(f"    not measured: {found.not_measured}")
    judged(case, found, tally)
    first = next((own for own in found.advised if own.change == case.change), None)
    saved = first.saving.server_share if first is not None else None
    if first is not None and saved is not None and (case.mended or case.tls):
        with tempfile.TemporaryDirectory() as folder:
            compared(case, first, really_saved(session, case, Path(folder)), tally)


def judged(case: Mistake, found: Advice, tally: Tally) -> None:
    """Whether what was planted is among the first two, or called unsafe; of a clean server nothing."""
    changes = [own.change for own in found.advised]
    unsafe = [own.what for own in found.inspected.concerns if own.danger != "weak"]
    if case.change and case.change not in changes[:2]:
        tally.lost.append(f"{case.name}: {case.change} is not among {changes[:2]}")
    if case.concern and not any(case.concern in what for what in unsafe[:2]):
        tally.lost.append(f"{case.name}: {case.concern!r} is not among {unsafe[:2]}")
    allowed = {case.change, "group"} if case.server.startswith("mysql") else {case.change}
    if case.use is None and set(changes) - allowed - {case.change}:
        tally.lost.append(f"{case.name}: advised {changes}, where {case.change or 'nothing'} was planted")
    if not case.concern and unsafe:
        tally.lost.append(f"{case.name}: called unsafe: {unsafe}")


def compared(case: Mistake, own: Advised, real: float, tally: Tally) -> None:
    """Whether the interval of what is saved holds what mending really saves."""
    saved = own.saving.server_share
    assert saved is not None
    low, high = saved.low or saved.point, saved.high or saved.point
    tally.compared += 1
    holds = low <= real <= high
    tally.held += holds
    said = f"{saved.point:.1%} [{low:.1%}, {high:.1%}]"
    say(f"    {own.change}: {said}; mended: {real:.1%}: {'held' if holds else 'NOT HELD'}")
    if not holds:
        tally.lost.append(f"{case.name}: {said} does not hold {real:.1%}")


@contextmanager
def in_use(use: Use | None, server: PrivateServer) -> Iterator[None]:
    """While somebody uses the server so, if anybody does."""
    if use is None:
        yield
        return
    end = threading.Event()
    thread = threading.Thread(target=use, args=(server, end))
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def say(line: str) -> None:
    """A line at once, for whoever waits."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


Judge = Callable[[float, sessions.Session, Tally], None]


def judged_all(cases: Iterable[tuple[str, Judge]], head: Sequence[str] = ()) -> int:
    """Every case, or those named by words on the command line; the status is 1 where something is lost.

    Below `head`, where there is one, are the rows of the cases, as a table in Markdown.
    """
    budget_s = float(sys.argv[1]) if len(sys.argv) > 1 else 40.0
    words = sys.argv[2:]
    chosen = [case for case in cases if not words or any(word in case[0] for word in words)]
    tally = Tally()
    with sessions.open_session() as session:
        for _, judge in chosen:
            judge(budget_s, session, tally)
    for row in (*head, *tally.rows):
        say(row)
    say(f"{len(chosen)} cases; {tally.held} of {tally.compared} savings held what mending really saved")
    for words_lost in tally.lost:
        say(f"LOST {words_lost}")
    return 1 if tally.lost else 0


if __name__ == "__main__":
    sys.exit(judged_all((case.name, partial(run, case)) for case in mistakes()))
