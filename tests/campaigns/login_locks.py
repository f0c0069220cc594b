"""login_locks.py CONNECTIONS THREADS [LIBRARY…]: locks of libpq's logins at the client, by TLS library.

What `pgbench --connect -j` does over each of these libraries, in plaintext and in TLS 1.3: an account by
trust beside one by SCRAM, whose hashes OpenSSL computes at the client. Locks are counted as those of servers
are (docs/locks.md): what is printed does not depend on how busy the machine is.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tlstax.clients.companions import over
from tlstax.contract import Account
from tlstax.observers.symbols import Symbols
from tlstax.records.window import LOCKS
from tlstax.run.server_pages import named
from tlstax.specimens import resolve, sessions
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.shared_pages import LOCKS_VARIABLE, LockPage, taken_between
from tlstax.support import temporary

SERVER = "postgresql-18"
LIBRARIES = ("openssl-1.1.1-debian", "openssl-3.0-debian", "openssl-3.5-debian", "openssl-3.6")
SHOWN = 6

MAPPED_WITHIN_S = 1.0
"""When pgbench has all its libraries in memory, whose names are then to be read."""


def main(connections: int, threads: int, libraries: Sequence[str]) -> int:
    """Print locks for each connection, and who takes most of those that SCRAM adds."""
    counter = resolve.named_fault("count-locks", _quiet)
    with sessions.open_session() as session:
        build = resolve.named_server(SERVER, _quiet)
        with PrivateServer.start(build, session) as server:
            for name in libraries:
                for tls in (False, True):
                    taken: dict[str, Counter[str]] = {}
                    for method, account in (
                        ("trust", server.account_by("trust")),
                        ("SCRAM", server.load_account),
                    ):
                        words = _command(name, counter.library)
                        taken[method] = _counted(words, server, account, tls, connections, threads)
                    _tell(name, tls, connections, taken)
    return 0


def _command(name: str, counter: Path) -> list[str]:
    """pgbench over this library, with its locks counted."""
    build, library = resolve.named_server(SERVER, _quiet), resolve.named_tls_library(name, _quiet)
    executable, _ = build.companion("pgbench")
    words = build.command(program=executable, preload=counter)
    # pgbench is written in C and brings no unwinder, which names the callers.
    words[words.index("--preload") + 1] += ":libgcc_s.so.1"
    return over(words, library, _quiet)


def _counted(  # noqa: PLR0913, PLR0917 (what is started, and against whom)
    words: Sequence[str],
    server: PrivateServer,
    account: Account,
    tls: bool,
    connections: int,
    threads: int,
) -> Counter[str]:
    """Calls that take a lock, by who takes it, over all connections."""
    with temporary.directory() as folder:
        page = LockPage(folder / "locks")
        page.count_everyone()
        script = folder / "script"
        script.write_text("SELECT 1;\n", "ascii")
        endpoint = server.endpoint()
        environment = {
            "PGHOST": endpoint.host,
            "PGPORT": str(endpoint.port),
            "PGUSER": account.user,
            "PGPASSWORD": account.password,
            "PGDATABASE": account.database or "",
            "PGSSLMODE": "verify-full" if tls else "disable",
            "PGSSLROOTCERT": server.ca_file,
            "OPENSSL_CONF": "/dev/null",
            LOCKS_VARIABLE: str(page.path),
        }
        each = connections // threads
        asked = ["--no-vacuum", "--connect", f"-c{threads}", f"-j{threads}", f"-t{each}", f"-f{script}"]
        with subprocess.Popen(
            [*words, *asked], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as running:
            time.sleep(MAPPED_WITHIN_S)
            symbols = Symbols(running.pid)
            printed, said = running.communicate()
        if f"actually processed: {each * threads}/{each * threads}" not in printed:
            raise SystemExit(f"pgbench did not connect {connections} times:\n{printed}\n{said}")
        assert not page.lost
        calls: Counter[str] = Counter()
        for site in named(taken_between({}, page.read()), symbols):
            if site.kind in LOCKS:
                calls[f"{site.library}: {site.function} ({site.kind})"] += site.calls
        return calls


def _tell(name: str, tls: bool, connections: int, taken: Mapping[str, Counter[str]]) -> None:
    way = "TLS 1.3" if tls else "plaintext"
    for method, calls in taken.items():
        inside = sum(count for who, count in calls.items() if who.startswith("libcrypto")) / connections
        each = sum(calls.values()) / connections
        _say(f"{name:21} {way:9} {method:5} {each:9.1f} a connection, {inside:9.1f} of them libcrypto's")
    more = taken["SCRAM"].copy()
    more.subtract(taken["trust"])
    for who, count in more.most_common(SHOWN):
        if count >= connections / 10:
            _say(f"{'':24}{count / connections:9.1f} more by SCRAM: {who}")


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def _quiet(_: str) -> None:
    """Nobody waits for words."""


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or LIBRARIES))
