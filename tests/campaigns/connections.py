"""connections.py COUNT SEED: how many connections external servers were promised, and how many they counted.

Ways of measuring are drawn from SEED and taken in turn at MySQL and MariaDB, half of them beside processes
that want all processors; some accounts are allowed just what was promised. More than was promised, an
operation that failed, or a run that did not end in order makes the status 1.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tlstax.specimens import resolve, sessions
from tlstax.specimens.private_server import PrivateServer

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "Sesame, open!"
SERVERS = ("mysql-9.7", "mariadb-11.8")
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
        server, is_busy = SERVERS[number % 2], number % 4 > 1
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
    """So many processes that want a processor each."""
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
        return tuple([database.rows(statement) for statement in statements][-1])


def limit(server: PrivateServer, connections: int) -> None:
    """How many connections the account may have; 0 for any number."""
    said(server, f"ALTER USER ann@'127.0.0.1' WITH MAX_USER_CONNECTIONS {connections}")


def carried_out(way: Way, server: PrivateServer, at_most: str = "") -> subprocess.CompletedProcess[str]:
    """One command, with a store of its own; a run may have `at_most` connections, where that is said."""
    url = f"mysql://ann@127.0.0.1:{server.endpoint().port}/lent"
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
    said(server, "FLUSH GLOBAL STATUS" if "MariaDB" in server.version else "FLUSH STATUS")
    with busy((os.cpu_count() or 1) if way.is_busy else 0):
        done = carried_out(way, server, at_most)
    ((_, most),) = said(server, "SHOW GLOBAL STATUS LIKE 'Max_used_connections'")
    # The owner, who asks, is there before the command and after it, and not meanwhile.
    used = int(str(most))
    numbers = re.findall(r"(?:at most|no more than) (\d+)(?: connections)? at once", done.stderr)
    promised = max(map(int, numbers), default=0)
    wrong = ""
    if done.returncode != 0:
        wrong = f"status {done.returncode}: {(done.stderr.strip().splitlines() or [''])[-1]}"
    elif used > promised:
        wrong = f"{used} of {promised}"
    elif "1226" in done.stderr + done.stdout:
        wrong = "an operation failed for want of a connection"
    words = " ".join(word for word in way.arguments if word not in COMMON)
    state = "busy" if way.is_busy else "quiet"
    counted = f"{allowed:>4} {promised:>4} {used:>4}"
    sys.stdout.write(f"{way.server:13} {state:6} {counted}  {words}  {wrong}\n")
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
                said(
                    server,
                    "CREATE DATABASE lent",
                    f"CREATE USER ann@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
                    "GRANT ALL ON lent.* TO ann@'127.0.0.1'",
                )
            if found := tried(way, started[way.server]):
                wrong[json.dumps(way.arguments)] = found
        for server in started.values():
            server.stop()
    sys.stdout.write(f"{len(wrong)} of {count} were wrong\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
