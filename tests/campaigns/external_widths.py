"""external_widths.py COUNT SEED [--server NAME] [--rtt-ms 0,2,45] [--budget 60s] [--tree FOLDER]: sharp runs?

COUNT rounds; in each, in random order, the same server is measured as one of tlstax's own and as an external
one, at each of these distances (0: beside it; others are made between two network namespaces by the
project's own link, and measured as an external one alone). With --tree other checkouts of tlstax measure too.
Printed are half-widths of the 95 % intervals of the rate's ratio to plaintext, the widest of each kind, the
ratios, and the most connections that the server counted beside what it was promised.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import median
from typing import Any

from tlstax.network.distance.opening import open_span
from tlstax.plan.addresses import FAR_ADDRESS
from tlstax.specimens import resolve
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import open_session
from tlstax.sql.database import SqlError
from tlstax.study.factors import Distance

OWN = Path(__file__).resolve().parents[2]
PASSWORD = "Sesame, open!"
SMALL = 128 * 1024 * 1024


@dataclass(frozen=True)
class Kind:
    """What is measured: from which tree, at which distance (None: as a private server)."""

    tree: Path
    rtt_ms: float | None

    def words(self) -> str:
        where = "private" if self.rtt_ms is None else f"external, {self.rtt_ms:g} ms"
        return where if self.tree == OWN else f"{where}, {self.tree.name}"


@dataclass(frozen=True)
class Outcome:
    """The widest half-widths and the ratios of a run, by workload, and connections promised and counted."""

    half_widths: dict[str, float]
    ratios: dict[str, float]
    promised: int
    counted: int


def main(count: int, seed: int, kinds: Sequence[Kind], server: str, budget: str) -> None:
    """Measure all kinds N times, and print what came of it as it comes."""
    draw = random.Random(seed)  # noqa: S311 (order, not a secret)
    found: dict[Kind, list[Outcome]] = {kind: [] for kind in kinds}
    for number in range(count):
        for kind in draw.sample(list(kinds), len(kinds)):
            outcome = measured(kind, server, budget)
            found[kind].append(outcome)
            say(f"{number + 1}. {kind.words():30} {line(outcome)}")
    say("")
    for kind, outcomes in found.items():
        say(f"{kind.words():30} {line(middle(outcomes))}")


def middle(outcomes: Sequence[Outcome]) -> Outcome:
    """The medians of several."""

    def of(field: str) -> dict[str, float]:
        return {
            name: median(getattr(one, field)[name] for one in outcomes)
            for name in getattr(outcomes[0], field)
        }

    return Outcome(
        of("half_widths"), of("ratios"), max(o.promised for o in outcomes), max(o.counted for o in outcomes)
    )


def line(outcome: Outcome) -> str:
    """One outcome in a line."""
    widths = ", ".join(f"{name} ±{width:.1%}" for name, width in outcome.half_widths.items())
    ratios = ", ".join(f"{name} {ratio:.3f}" for name, ratio in outcome.ratios.items())
    return f"{widths}; {ratios}; promised {outcome.promised}, counted {outcome.counted}"


def measured(kind: Kind, server: str, budget: str) -> Outcome:
    """One run of this kind."""
    common = ("--budget", budget, "--over-budget", "--json")
    if kind.rtt_ms is None:
        return outcome_of(tlstax(kind.tree, (), "run", "--server", server, *common), promised=0, counted=0)
    with lent(server, kind.rtt_ms) as (owner, url, entering):
        forget_most_used(owner)
        done = tlstax(kind.tree, entering, "run", "--server", url, *common)
        with closing(owner.admin()) as database:
            ((_, most),) = database.rows("SHOW GLOBAL STATUS LIKE 'Max_used_connections'")
        return outcome_of(done, promised=promised(done.stdout), counted=int(most))


def promised(said: str) -> int:
    """How many connections the server was promised at the most; 0 of a tree that does not keep that."""
    found = re.search(r'"promised": ?(\d+)', said)
    return int(found[1]) if found else 0


def forget_most_used(owner: PrivateServer) -> None:
    """MariaDB's FLUSH STATUS is the session's alone from 11.5 on (its manual, "FLUSH")."""
    with closing(owner.admin()) as database:
        try:
            database.rows("FLUSH GLOBAL STATUS")
        except SqlError:
            database.rows("FLUSH STATUS")


@contextmanager
def lent(name: str, rtt_ms: float) -> Iterator[tuple[PrivateServer, str, tuple[str, ...]]]:
    """A server at this distance, its address, and how a client's place is entered."""
    build = resolve.named_server(name, lambda _: None)
    with ExitStack() as stack:
        session = stack.enter_context(open_session())
        settings = ServerSettings(buffer_pool_bytes=SMALL, max_connections=151)
        entering: tuple[str, ...] = ()
        address = "127.0.0.1"
        if rtt_ms:
            span = stack.enter_context(open_span(session, lambda _: None))
            span.set(Distance(rtt_ms=rtt_ms))
            entering, address = span.enter_near(), FAR_ADDRESS
            settings = ServerSettings(buffer_pool_bytes=SMALL, max_connections=151, entering=span.enter_far())
        owner = stack.enter_context(PrivateServer.start(build, session, settings))
        with closing(owner.admin()) as database:
            for statement in (
                "CREATE DATABASE lent",
                f"CREATE USER ann@'%' IDENTIFIED BY '{PASSWORD}'",
                "GRANT ALL ON lent.* TO ann@'%'",
            ):
                database.rows(statement)
        yield owner, f"mysql://ann@{address}:{owner.endpoint().port}/lent", entering


def tlstax(tree: Path, entering: Sequence[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """What tlstax of this tree says; the campaign ends where it fails."""
    with tempfile.TemporaryDirectory(prefix="tlstax-widths-") as data:
        done = subprocess.run(
            [*entering, sys.executable, "-P", "-m", "tlstax", *arguments],
            env={
                **os.environ,
                "PYTHONPATH": str(tree / "lab"),
                "TLSTAX_DATA": data,
                "TLSTAX_PASSWORD": PASSWORD,
                "TLSTAX_TURN": "widths",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done


def outcome_of(done: subprocess.CompletedProcess[str], *, promised: int, counted: int) -> Outcome:
    """From a run's document."""
    document: dict[str, Any] = json.loads(done.stdout)
    widths: dict[str, float] = {}
    ratios: dict[str, float] = {}
    for finding in document["findings"]:
        case, ratio = finding["case"], finding["ratio"]
        if finding["outcome"] != "ops_per_s" or finding["role"] != "treatment" or ratio["low"] is None:
            continue
        name = "kept" if case["workload"] == "point-select" else "reconnecting"
        width = sqrt(ratio["high"] / ratio["low"]) - 1
        widths[name] = max(width, widths.get(name, 0.0))
        resumed = " resumed" if case.get("resumption") == "on" else ""
        ratios[f"{name} {case['tls']}{resumed}"] = ratio["point"]
    return Outcome(widths, ratios, promised, counted)


def say(text: str) -> None:
    """A line, at once."""
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("count", type=int)
    options.add_argument("seed", type=int)
    options.add_argument("--server", default="mariadb-10.11")
    options.add_argument("--rtt-ms", default="0")
    options.add_argument("--budget", default="60s")
    options.add_argument("--tree", type=Path, action="append", default=[])
    given = options.parse_args()
    distances = [float(each) for each in given.rtt_ms.split(",")]
    trees = [OWN, *(tree.resolve() for tree in given.tree)]
    asked = [Kind(tree, rtt_ms) for tree in trees for rtt_ms in distances]
    if 0.0 in distances:
        asked.insert(0, Kind(OWN, None))
    main(given.count, given.seed, asked, given.server, given.budget)
