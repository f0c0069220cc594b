"""kill.py COUNT SEED [PRODUCT]: ends laboratories with kill -9 at random moments; what is left or lost.

Ways of running are taken in turn, on MySQL and MariaDB or on the product that is named (postgresql). After
each kill no process, network namespace or listening socket of the laboratory's may be left, every trial that
was over by its own words must be in the store, and after the next start its sessions, its control groups, its
shared memory and its tables at an external server must be gone.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from announced import over, takes_turns
from laboratory import Home, Laboratory, namespaces_of

from tlstax.specimens import process_tree, resolve, sessions
from tlstax.specimens.private_server import PrivateServer

ROOT = Path(__file__).resolve().parents[2]
COMMON = ("run", "--rows", "1000", "--budget", "6s", "--seed", "1")
OF_MYSQL: dict[str, tuple[str, ...]] = {
    "plain": ("--workload", "reconnect", "--tls", "off,1.3"),
    "profile": ("--workload", "point-select", "--tls", "off,1.3", "--profile"),
    "distance": ("--workload", "reconnect", "--tls", "off,1.3", "--rtt-ms", "0,5"),
    "path": ("--workload", "point-select", "--tls", "off", "--path", "direct,ssh-aes256-ctr,stunnel"),
    "driver": (
        "--workload",
        "point-select",
        "--tls",
        "off,1.3",
        "--client",
        "engine,pymysql-1.2",
        "--over-budget",
    ),
    "external": ("--workload", "docs/orders.toml", "--tls", "off,1.3"),
}
_POSTGRESQL = ("--server", "postgresql-18")
OF_POSTGRESQL: dict[str, tuple[str, ...]] = {
    "plain": (*_POSTGRESQL, "--workload", "reconnect", "--tls", "off,1.3-direct"),
    "two servers": ("--server", "postgresql-17,postgresql-14", "--workload", "reconnect", "--tls", "off,1.3"),
    "profile": (*_POSTGRESQL, "--workload", "point-select", "--tls", "off,1.3", "--profile"),
    "capture": (*_POSTGRESQL, "--workload", "reconnect", "--tls", "off,1.3", "--capture"),
    "locks": (*_POSTGRESQL, "--workload", "reconnect", "--tls", "off,1.3", "--count", "locks"),
    "distance": (*_POSTGRESQL, "--workload", "reconnect", "--tls", "off,1.3", "--rtt-ms", "0,5"),
    "path": (*_POSTGRESQL, "--workload", "point-select", "--tls", "off", "--path", "direct,haproxy,stunnel"),
    "pgbench": (*_POSTGRESQL, "--workload", "reconnect", "--tls", "off,1.3", "--client", "engine,pgbench"),
}
WAYS_OF = {"mysql": OF_MYSQL, "postgresql": OF_POSTGRESQL}
GONE_WITHIN_S = 10.0
LONGEST_S = 90.0


@dataclass
class Tally:
    """What came of one way of running: kills, those after which trials had been measured, what went wrong.

    An undisturbed run takes `length_s`, and `in_turns` if its cases take turns.
    """

    length_s: float
    in_turns: bool
    kills: int = 0
    with_trials: int = 0
    wrong: list[str] = field(default_factory=list)


class External:
    """A server that is not the laboratory's: started here, with an ordinary account and a schema for it."""

    def __init__(self, server: PrivateServer) -> None:
        self._server = server
        with server.admin() as admin:
            for statement in (
                "CREATE DATABASE scratch",
                "CREATE USER visitor@'%' IDENTIFIED BY 'a password'",
                "GRANT ALL ON scratch.* TO visitor@'%'",
                "CREATE TABLE scratch.of_others (id INT PRIMARY KEY)",
            ):
                admin.rows(statement)

    def options(self) -> tuple[str, ...]:
        """What leads a laboratory to it."""
        return ("--server", f"mysql://visitor@127.0.0.1:{self._server.endpoint().port}/scratch")

    def tables(self) -> set[str]:
        """What there is in its schema."""
        with self._server.admin() as admin:
            return {str(row[0]) for row in admin.rows("SHOW TABLES FROM scratch")}


def main(count: int, seed: int, product: str = "mysql") -> int:
    """Exit status: 0 where nothing was left or lost, else 1."""
    ways = WAYS_OF[product]
    choose = random.Random(seed)  # noqa: S311  # moments, not secrets
    with sessions.open_session() as session:
        build = resolve.named_server("mariadb-11.8", lambda _: None)
        with PrivateServer.start(build, session) as server:
            external = External(server)
            tallies = {way: _undisturbed(ways[way], external) for way in ways}
            for number in range(count):
                way = list(ways)[number % len(ways)]
                moment_s = choose.uniform(0, tallies[way].length_s)
                wrong = _kill(ways[way], moment_s, external, tallies[way])
                words = f"{'; '.join(wrong)}" if wrong else "nothing left, nothing lost"
                _say(f"{number + 1:4d} of {count}  {way:<11} after {moment_s:5.2f} s: {words}")
    for way, tally in tallies.items():
        _say(f"{way:<11} {tally.kills} kills, {tally.with_trials} after a trial, {len(tally.wrong)} wrong")
    wrong = [line for tally in tallies.values() for line in tally.wrong]
    _say(f"seed {seed}: {count} kills, {len(wrong)} with something left or lost")
    return 1 if wrong else 0


Way = tuple[str, ...]


def _arguments(way: Way, external: External) -> list[str]:
    options = [str(ROOT / option) if option.startswith("docs/") else option for option in way]
    return [*COMMON, *options, *(external.options() if _is_external(way) else ())]


def _is_external(way: Way) -> bool:
    return way == OF_MYSQL["external"]


def _begin(way: Way, home: Home, external: External) -> Laboratory:
    return Laboratory(home, _arguments(way, external), TLSTAX_PASSWORD="a password")


def _undisturbed(way: Way, external: External) -> Tally:
    """What such a run is like when nobody ends it."""
    home = Home()
    started = time.monotonic()
    laboratory = _begin(way, home, external)
    running = laboratory.watch(LONGEST_S)
    length_s = time.monotonic() - started
    if running:
        laboratory.kill()
    elif laboratory.close() != 0:
        raise SystemExit(f"a run with {' '.join(way)} does not work here:\n{laboratory.shown()[-2000:]}")
    home.remove()
    return Tally(length_s, takes_turns(laboratory.shown()))


def _kill(way: Way, moment_s: float, external: External, tally: Tally) -> list[str]:
    """Kill one at this moment; what was left or lost."""
    home, groups = Home(), _groups_of_the_dead()
    laboratory = _begin(way, home, external)
    laboratory.watch(moment_s)
    namespaces = home.network_namespaces()  # others on this machine make such too
    laboratory.kill()
    wrong, own = _left_running(home, namespaces), _memory_of(home)
    measured, stored = over(laboratory.shown(), in_turns=tally.in_turns), home.stored_trials()
    if stored < measured:
        wrong.append(f"{measured} trials were over, {stored} are in the store")
    wrong += _left_after_the_next_start(way, home, external)
    if not _becomes_true(lambda: not own & _memory() and _groups_of_the_dead() <= groups):
        left = [f"memory {number}" for number in own & _memory()]
        wrong.append(f"left in the kernel: {', '.join([*left, *(_groups_of_the_dead() - groups)])}")
    tally.kills += 1
    tally.with_trials += measured > 0
    if wrong:
        tally.wrong += wrong
    home.remove()
    return wrong


def _left_running(home: Home, namespaces: set[int]) -> list[str]:
    """Processes that are left; and what of its network namespaces still has a process in it."""

    def left() -> set[int]:
        return namespaces & namespaces_of(psutil.pids()) if namespaces else set()

    if _becomes_true(lambda: not home.processes() and not left()):
        return []
    running = home.processes()
    return [
        *([f"still running: {', '.join(running)}"] if running else []),
        *(["a network namespace"] if left() else []),
    ]


def _left_after_the_next_start(way: Way, home: Home, external: External) -> list[str]:
    if _is_external(way):
        again = _begin(way, home, external)
        ended = not again.watch(LONGEST_S)
        status = again.close() if ended else again.kill()
        if status != 0:
            return [f"the next start there ended with {status}: {again.shown()[-500:]}"]
        left = external.tables() - {"of_others"}
        lost = {"of_others"} - external.tables()
        return [*([f"tables left: {', '.join(left)}"] if left else []), *([f"lost: {lost}"] if lost else [])]
    next_start = Laboratory(
        home, ["doctor"]
    )  # it opens a session, as every command does that starts anything
    next_start.watch(LONGEST_S)
    next_start.close()
    left = [f"session {name}" for name in home.sessions()] + [f"socket {name}" for name in home.sockets()]
    return [f"left after the next start: {', '.join(left)}"] if left else []


def _memory_of(home: Home) -> set[str]:
    """The segments of shared memory that PostgreSQL servers at home here have made, by their own files."""
    files = (home.cache / "sessions").rglob("postmaster.pid")
    texts = [file.read_text("utf-8").splitlines() for file in files]
    return {lines[6].split()[1] for lines in texts if len(lines) > 6}


def _memory() -> set[str]:
    """The segments of shared memory that there are (proc(5), sysvipc)."""
    return {line.split()[1] for line in Path("/proc/sysvipc/shm").read_text("ascii").splitlines()[1:]}


def _groups_of_the_dead() -> set[str]:
    """Control groups of laboratories that are gone."""
    groups = [Path(at) / name for at, names, _ in os.walk("/sys/fs/cgroup") for name in names]
    ours = [path for path in groups if path.name.startswith(process_tree.PREFIX)]
    return {str(path) for path in ours if not psutil.pid_exists(int(path.name.split("-")[1]))}


def _becomes_true(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + GONE_WITHIN_S
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]))
