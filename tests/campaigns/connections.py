"""connections.py COUNT SEED: how many connections external servers were promised, and how many they counted.

Ways of measuring are drawn from SEED and taken in turn at MySQL, MariaDB and PostgreSQL, half of them beside
processes that want all processors; some accounts are allowed just what was promised. More than was promised,
an operation that failed, or a run that did not end in order makes the status 1. PostgreSQL does not keep how
many there were at once, so they are looked for all the time: there may have been more for a moment.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sql_postgres import House

from tlstax.postgres import accounts
from tlstax.postgres.database import apart
from tlstax.specimens import resolve, sessions
from tlstax.specimens.private_server import PrivateServer

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "Sesame, open!"
SERVERS = ("postgresql-18", "mysql-9.7", "mariadb-11.8")
LOOK_AGAIN_S = 0.002
COMMON = ("--rows", "500", "--budget", "3s", "--over-budget")
WORKLOADS = ("reconnect", "point-select", "point-select,reconnect", "insert", "oltp-read-write", "storm")
CONNECTIONS = ("1", "2", "5", "8", "16", "2,8", "3,12")
TLS = ("off,1.3", "1.2,1.3", None)


@dataclass(frozen=True)
class Way:
    """One way of measuring."""

    server: str
    arguments: tuple[str, ...]
    is_busy: bool
    is_limited: bool


def drawn(count: int, seed: int) -> Iterator[Way]:
    """Ways of measuring; one of eight is an inspection, one of twelve an advice."""
    chance = random.Random(seed)  # noqa: S311 (a choice, not a secret)
    for number in range(count):
        server, is_busy = SERVERS[number % len(SERVERS)], number % 4 > 1
        if number % 8 == 7:
            yield Way(server, ("inspect", "--watch", "1s"), is_busy, is_limited=False)
        elif number % 12 == 10:
            yield Way(server, ("advise", "--budget", "6s"), is_busy, is_limited=False)
        else:
            asked = ["run", *COMMON, "--workload", chance.choice(WORKLOADS)]
            asked += ["--connections", chance.choice(CONNECTIONS)]
            tls = chance.choice(TLS)
            asked += ["--tls", tls] if tls else []
            yield Way(server, tuple(asked), is_busy, is_limited=chance.random() < 1 / 3)


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """N processes that want a processor each."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def said(server: PrivateServer, *statements: str) -> tuple[tuple[object, ...], ...]:
    """What the server's owner is answered."""
    with server.admin() as database:
        return tuple([apart(database).rows(statement) for statement in statements][-1])


def is_postgresql(server: PrivateServer) -> bool:
    """Whether it speaks PostgreSQL's protocol."""
    return server.specimen.name.startswith("postgresql")


def limit(server: PrivateServer, connections: int) -> None:
    """How many connections the account may have; 0 for any number."""
    if is_postgresql(server):
        said(server, f"ALTER ROLE ann CONNECTION LIMIT {connections or -1}")
    else:
        said(server, f"ALTER USER ann@'127.0.0.1' WITH MAX_USER_CONNECTIONS {connections}")


def invite(server: PrivateServer) -> None:
    """Lend the account a database."""
    if is_postgresql(server):
        House(server).let_in()
        said(server, f"CREATE ROLE ann LOGIN PASSWORD '{accounts.scram_secret(PASSWORD)}'")
        said(server, "CREATE DATABASE lent OWNER ann")
        return
    said(
        server,
        "CREATE DATABASE lent",
        f"CREATE USER ann@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
        "GRANT ALL ON lent.* TO ann@'127.0.0.1'",
    )


class Used:
    """How many connections the account had at once, from the beginning of the block to its end."""

    def __init__(self, server: PrivateServer) -> None:
        self._server, self._most, self._end = server, 0, threading.Event()
        self._thread = threading.Thread(target=self._look)

    @property
    def most(self) -> int:
        """The most, once the block has ended; with the owner, who is not there meanwhile."""
        if is_postgresql(self._server):
            return self._most
        ((_, most),) = said(self._server, "SHOW GLOBAL STATUS LIKE 'Max_used_connections'")
        return int(str(most))

    def _look(self) -> None:
        asked = "SELECT COUNT(*) FROM pg_stat_activity WHERE usename = 'ann'"
        with self._server.admin() as database:
            while not self._end.wait(LOOK_AGAIN_S):
                ((now,),) = apart(database).rows(asked)
                self._most = max(self._most, int(str(now)))

    def __enter__(self) -> Used:
        if is_postgresql(self._server):
            self._thread.start()
        else:
            is_mariadb = "MariaDB" in self._server.version
            said(self._server, "FLUSH GLOBAL STATUS" if is_mariadb else "FLUSH STATUS")
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()


def carried_out(way: Way, server: PrivateServer, at_most: str = "") -> subprocess.CompletedProcess[str]:
    """One command, with a store of its own; a run may have `at_most` connections, where that is said."""
    scheme = "postgres" if is_postgresql(server) else "mysql"
    url = f"{scheme}://ann@127.0.0.1:{server.endpoint().port}/lent"
    command, *rest = way.arguments
    address = ("--server", url) if command == "run" else (url,)
    if command == "run" and at_most:
        rest += ["--max-connections", at_most]
    with tempfile.TemporaryDirectory() as data:
        environment = {**os.environ, "TLSTAX_DATA": data, "TLSTAX_PASSWORD": PASSWORD}
        environment["PYTHONPATH"] = str(ROOT / "lab")
        return subprocess.run(
            [sys.executable, "-P", "-m", "tlstax", command, *address, *rest],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


def tried(way: Way, server: PrivateServer) -> str:
    """Carry it out, print its line of the table; what was wrong, empty where nothing was."""
    limit(server, 0)
    allowed, at_most = "-", ""
    if way.is_limited:
        # Nothing fits one connection, so the refusal says how many are needed.
        limit(server, 1)
        found = re.search(r"at most (\d+) connections at once", carried_out(way, server).stderr)
        allowed = found[1] if found else "?"
        at_most = found[1] if found else ""
        limit(server, int(at_most or 0))
    with Used(server) as counted, busy((os.cpu_count() or 1) if way.is_busy else 0):
        done = carried_out(way, server, at_most)
    used = counted.most
    numbers = re.findall(r"(?:at most|no more than) (\d+)(?: connections)? at once", done.stderr)
    promised = max(map(int, numbers), default=0)
    wrong = ""
    if done.returncode != 0:
        wrong = f"status {done.returncode}: {(done.stderr.strip().splitlines() or [''])[-1]}"
    elif used > promised:
        wrong = f"{used} of {promised}"
    elif re.search(r"\b(1226|53300)\b", done.stderr + done.stdout):
        wrong = "an operation failed for want of a connection"
    words = " ".join(word for word in way.arguments if word not in COMMON)
    state = "busy" if way.is_busy else "quiet"
    numbers_of = f"{allowed:>4} {promised:>4} {used:>4}"
    sys.stdout.write(f"{way.server:13} {state:6} {numbers_of}  {words}  {wrong}\n")
    sys.stdout.flush()
    return wrong


def main(count: int, seed: int) -> int:
    """Carry out as many, and print a line for each."""
    sys.stdout.write("server        state  limit prom used  what\n")
    wrong: dict[str, str] = {}
    with sessions.open_session() as session:
        started: dict[str, PrivateServer] = {}
        for way in drawn(count, seed):
            if way.server not in started:
                build = resolve.named_server(way.server, progress=lambda _: None)
                started[way.server] = server = PrivateServer.start(build, session)
                invite(server)
            if found := tried(way, started[way.server]):
                wrong[json.dumps(way.arguments)] = found
        for server in started.values():
            server.stop()
    sys.stdout.write(f"{len(wrong)} of {count} were wrong\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
