"""both_ways.py [STARTS [SLICES [DRIVER...]]]: drivers by their adapters beside the programs that were there before.

Each driver is measured twice in turns, as two clients: by its adapter, and by the program that spoke the contract itself
(BEFORE, out of the history, built as a driver of a folder of its own). A pair is started STARTS times, warmed up until it
is steady, and has SLICES slices of 0.2 s in turns (ABBA). Of each start the ratio of the sums is taken; printed are the mean
ratio over the starts and its 95 % interval, of the client's CPU time and of the latency of an operation.

At the end the adapter's own cost is printed (`tlstax-tools driver-cost`): its loop without the driver, and an order.
"""

from __future__ import annotations

import itertools
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

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

SLICE_S, WITHIN_S, STEADY_S = 0.2, 120.0, 8.0
T_975 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}
"""Student's t for a 95 % interval, by the number of starts."""


def drivers_before(place: Path) -> None:
    """A folder of drivers as they were, each by another name."""
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
    from tlstax.run.bench import Needs, open_private_bench  # noqa: PLC0415 - reads the variable of the folder

    status = 0
    needs = Needs(rows=10_000, connections=1, seed=1, duration_s=slices * SLICE_S)
    with open_private_bench(needs, lambda _: None) as bench:
        for today in names:
            cases = itertools.product(("point-select", "reconnect"), ("off", "1.3"), ("text", "prepared"))
            for workload, tls, protocol in cases:
                if workload == "reconnect" and protocol == "prepared":
                    continue
                levels = {"tls": tls, "workload": workload, "protocol": protocol, "connections": 1}
                try:
                    _compare(bench, today, levels, starts, slices)
                except Exception as failure:
                    status = 1
                    print(f"{today} {levels}: not measured: {failure}", flush=True)
            _own_cost(bench, today)
    return status


def _job(bench, name: str, levels: dict, slices: int):  # noqa: ANN001, ANN202 - a script's own
    from tlstax.contract import DriverTerms  # noqa: PLC0415
    from tlstax.plan.jobs import job_for  # noqa: PLC0415

    job = job_for({**levels, "client": name}, bench.terms, sequence=0)
    terms = DriverTerms(options={}, steady_within_s=STEADY_S)
    return job.model_copy(update={"driver": terms, "duration_s": slices * SLICE_S, "timeout_s": 20.0})


def _compare(bench, today: str, levels: dict, starts: int, slices: int) -> None:  # noqa: ANN001
    from tlstax.clients.choice import obtain_client  # noqa: PLC0415
    from tlstax.clients.process import LoadClient  # noqa: PLC0415

    names = (today, PAIRS[today][0])
    commands = [obtain_client(name, lambda _: None).command for name in names]
    jobs = [_job(bench, name, levels, slices) for name in names]
    logs: dict[str, list[float]] = {"cpu": [], "latency": []}
    for start in range(starts):
        sums = [[0.0, 0.0, 0] for _ in names]
        with LoadClient(commands[0], jobs[0]) as new, LoadClient(commands[1], jobs[1]) as old:
            clients = (new, old)
            steady = [client.wait_ready(WITHIN_S).steady for client in clients]
            for turn in range(slices):
                order = (0, 1) if (turn + start) % 2 == 0 else (1, 0)
                for place in order:
                    done = clients[place].slice(SLICE_S, WITHIN_S)
                    if turn > 0:  # The first finds caches as the warm-up of the other left them.
                        sums[place][0] += done.cpu_us
                        sums[place][1] += done.latency_sum_s * 1e6
                        sums[place][2] += done.operations
            for client in clients:
                client.finish(WITHIN_S)
        per = [(cpu / count, latency / count) for cpu, latency, count in sums]
        logs["cpu"].append(math.log(per[0][0] / per[1][0]))
        logs["latency"].append(math.log(per[0][1] / per[1][1]))
        print(
            f"  {today} {' '.join(map(str, levels.values()))}: CPU {per[0][0]:.2f} beside {per[1][0]:.2f} us, "
            f"latency {per[0][1]:.2f} beside {per[1][1]:.2f} us an operation, steady {steady}",
            flush=True,
        )
    for what, values in logs.items():
        print(f"{today} {' '.join(map(str, levels.values()))} {what}: {_interval(values)}", flush=True)


def _interval(logs: list[float]) -> str:
    mean = statistics.mean(logs)
    if len(logs) < 2:
        return f"{math.exp(mean):.4f}"
    half = T_975.get(len(logs), 2.2) * statistics.stdev(logs) / math.sqrt(len(logs))
    return f"{math.exp(mean):.4f} [{math.exp(mean - half):.4f}, {math.exp(mean + half):.4f}]"


def _own_cost(bench, today: str) -> None:  # noqa: ANN001
    from tlstax.clients.choice import obtain_client  # noqa: PLC0415

    command = list(obtain_client(today, lambda _: None).command)
    command[command.index("driver")] = "driver-cost"
    for protocol in ("text", "prepared"):
        levels = {"tls": "off", "workload": "point-select", "protocol": protocol, "connections": 1}
        job = _job(bench, today, levels, 10).model_dump_json() + "\n"
        # Its standard input stays open: its end would end the adapter.
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as host:
            host.stdin.write(job)
            host.stdin.flush()
            print(f"{today} {protocol} own cost: {host.stdout.readline().strip()}", flush=True)
            host.stdin.close()


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
