"""both_ways.py [STARTS [SLICES [DRIVER...]]]: drivers by adapters beside the programs that were there before.

Each driver is measured twice in turns, as two clients: by its adapter, and by the program that spoke the
contract itself (BEFORE, out of the history, built as a driver of a folder of its own). A pair is started
STARTS times, warmed up until it is steady, and has SLICES slices of 0.2 s in turns (ABBA). Of each start
the ratio of the sums is taken; printed are the mean ratio over the starts and its 95 % interval, of CPU
time and latency.

At the end the adapter's own cost is printed (`tlstax-tools driver-cost`): its loop without the driver.
"""

from __future__ import annotations

import itertools
import math
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tlstax.support.errors import TlstaxError

if TYPE_CHECKING:
    from tlstax.contract import Job
    from tlstax.run.bench import Bench

ROOT = Path(__file__).resolve().parents[2]
BEFORE = "15357bb5"
PAIRS = {
    "libmariadb-3.3": ("libmariadb-before", "c", ""),
    "pymysql-1.1": ("pymysql-before", "python", "requirements-{}.txt"),
    "connector-j-9.7": ("connector-j-before", "java", ""),
    "go-sql-driver-1.9": ("go-sql-driver-before", "go", ""),
    "mysql2-3": ("mysql2-before", "node", ""),
}
"""The driver of today, what the one before is called, its folder, and a lock that has the name in it."""

SLICE_S, WITHIN_S, STEADY_S = 0.2, 120.0, 20.0
T_975 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}
"""Student's t for a 95 % interval, by the number of starts."""


@dataclass
class Sums:
    """Over the slices of one client."""

    cpu_us: float = 0.0
    latency_us: float = 0.0
    operations: int = 0

    @property
    def costs_us(self) -> tuple[float, float]:
        """CPU time and latency of an operation."""
        return self.cpu_us / self.operations, self.latency_us / self.operations


def drivers_before(place: Path) -> None:
    """Fill a folder with drivers as they were, each by another name."""
    archive = subprocess.run(
        ["git", "-C", ROOT, "archive", BEFORE, "drivers"], check=True, capture_output=True
    ).stdout
    subprocess.run(["tar", "-x", "-C", place, "--strip-components=1"], input=archive, check=True)
    lines = (place / "drivers.toml").read_text(encoding="utf-8").splitlines()
    kept = []
    for today, (before, folder, lock) in PAIRS.items():
        (line,) = (line for line in lines if line.startswith(f'"{today}" ='))
        kept.append(line.replace(f'"{today}"', f'"{before}"', 1))
        if lock:
            (place / folder / lock.format(today)).rename(place / folder / lock.format(before))
    (place / "drivers.toml").write_text("\n".join(kept) + "\n", encoding="utf-8")


def main(starts: int, slices: int, names: list[str]) -> int:
    """Print a line for each pair and case; the exit status is 1 where a pair could not be measured."""
    from tlstax.clients.process import ClientFailure  # noqa: PLC0415 - the catalogue reads a variable at import
    from tlstax.run.bench import Needs, open_private_bench  # noqa: PLC0415

    status = 0
    needs = Needs(rows=10_000, connections=1, seed=1, duration_s=slices * SLICE_S)
    with open_private_bench(needs, lambda _: None) as bench:
        for today in names:
            for workload, tls, protocol in itertools.product(
                ("point-select", "reconnect"), ("off", "1.3"), ("text", "prepared")
            ):
                if (workload, protocol) == ("reconnect", "prepared"):
                    continue
                levels = {"tls": tls, "workload": workload, "protocol": protocol, "connections": "1"}
                try:
                    _compare(bench, today, levels, starts, slices)
                except (ClientFailure, TlstaxError) as failure:
                    status = 1
                    _say(f"{today} {levels}: not measured: {failure}")
            _tell_own_cost(bench, today)
    return status


def job_of(bench: Bench, name: str, levels: dict[str, str], slices: int) -> Job:
    from tlstax.contract import DriverTerms  # noqa: PLC0415
    from tlstax.plan.jobs import job_for  # noqa: PLC0415
    from tlstax.study.factors import CaseLevels  # noqa: PLC0415

    case = CaseLevels.of({**levels, "connections": 1, "client": name})
    job = job_for(case, bench.terms, sequence=0)
    terms = DriverTerms(options={}, steady_within_s=STEADY_S)
    return job.model_copy(update={"driver": terms, "duration_s": slices * SLICE_S, "timeout_s": 20.0})


def _compare(bench: Bench, today: str, levels: dict[str, str], starts: int, slices: int) -> None:
    logs: tuple[list[float], list[float]] = [], []
    case = f"{today} {' '.join(levels.values())}"
    for start in range(starts):
        (cpu, latency), (cpu_before, latency_before) = _started(bench, today, levels, start, slices)
        logs[0].append(math.log(cpu / cpu_before))
        logs[1].append(math.log(latency / latency_before))
        told = (
            f"CPU {cpu:.2f} beside {cpu_before:.2f} us, latency {latency:.2f} beside {latency_before:.2f} us"
        )
        _say(f"  {case}: {told} an operation")
    for what, values in zip(("CPU", "latency"), logs, strict=True):
        _say(f"{case}: {what} {_interval(values)}")


def _started(
    bench: Bench, today: str, levels: dict[str, str], start: int, slices: int
) -> tuple[tuple[float, float], ...]:
    """CPU time and latency of an operation, of the adapter and of the program before, both started anew."""
    from tlstax.clients.choice import obtain_client  # noqa: PLC0415
    from tlstax.clients.process import LoadClient  # noqa: PLC0415

    new, old = (
        LoadClient(obtain_client(name, lambda _: None).command, job_of(bench, name, levels, slices))
        for name in (today, PAIRS[today][0])
    )
    sums = Sums(), Sums()
    with new, old:
        for client in (new, old):
            client.wait_ready(WITHIN_S)
        for turn in range(slices):
            pairs = list(zip((new, old), sums, strict=True))
            for client, sum_ in pairs if (turn + start) % 2 == 0 else reversed(pairs):
                done = client.slice(SLICE_S, WITHIN_S)
                if turn > 0:  # The first finds caches as the warm-up of the other left them.
                    sum_.cpu_us += done.cpu_us
                    sum_.latency_us += done.latency_sum_s * 1e6
                    sum_.operations += done.operations
        for client in (new, old):
            client.finish(WITHIN_S)
    return tuple(each.costs_us for each in sums)


def _interval(logs: list[float]) -> str:
    mean = statistics.mean(logs)
    if len(logs) < 2:
        return f"{math.exp(mean):.4f}"
    half = T_975.get(len(logs), 2.2) * statistics.stdev(logs) / math.sqrt(len(logs))
    return f"{math.exp(mean):.4f} [{math.exp(mean - half):.4f}, {math.exp(mean + half):.4f}]"


def _tell_own_cost(bench: Bench, today: str) -> None:
    from tlstax.clients.choice import obtain_client  # noqa: PLC0415

    command = list(obtain_client(today, lambda _: None).command)
    command[command.index("driver")] = "driver-cost"
    for protocol in ("text", "prepared"):
        levels = {"tls": "off", "workload": "point-select", "protocol": protocol}
        job = job_of(bench, today, levels, 10).model_dump_json().encode() + b"\n"
        # Its standard input stays open: its end would end the adapter.
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
            if host.stdin is None or host.stdout is None:
                continue
            host.stdin.write(job)
            host.stdin.flush()
            _say(f"{today} {protocol}: own cost {host.stdout.readline().decode().strip()}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    if "TLSTAX_DRIVERS" not in os.environ:
        with tempfile.TemporaryDirectory(prefix="tlstax-before") as folder:
            drivers_before(Path(folder))
            again = subprocess.run(
                [sys.executable, "-P", *sys.argv], env={**os.environ, "TLSTAX_DRIVERS": folder}, check=False
            )
        sys.exit(again.returncode)
    given = sys.argv[1:]
    adapted = ["libmariadb-3.3", "pymysql-1.1", "connector-j-9.7"]
    sys.exit(main(int(given[0]) if given else 5, int(given[1]) if given[1:] else 20, given[2:] or adapted))
