"""idle_clients.py [SECONDS [CLIENT...]]: what clients cost that wait at the gate while others take turns.

Each client that takes turns is started with eight connections to a private MySQL, proved, warmed up, has one
slice, and then waits for SECONDS. Printed is the CPU time that its process, with all that it started, used
meanwhile, in per cent of one core. A client that is not available is named with the reason.
"""

from __future__ import annotations

import sys
import time

import psutil

from tlstax.clients.choice import obtain_client
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import TlsOn
from tlstax.observers.process import CpuClock
from tlstax.plan.jobs import job_for
from tlstax.run.bench import Bench, Needs, open_private_bench
from tlstax.study.client_kinds import kind_of
from tlstax.study.driver_catalogue import DRIVERS
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import ENGINE
from tlstax.support.errors import TlstaxError

CONNECTIONS, SLICE_S, WITHIN_S, SETTLE_S = 8, 0.05, 60.0, 0.5
MOST_PER_CENT = 0.5


def main(seconds: float, names: list[str]) -> int:
    """Exit status: 0 where every client that could be measured stays below the limit, else 1."""
    taking_turns = [name for name in (ENGINE, *DRIVERS) if kind_of(name).takes_turns]
    above = []
    needs = Needs(rows=1000, connections=CONNECTIONS, seed=1, duration_s=SLICE_S)
    with open_private_bench(needs, _unsaid) as bench:
        for name in names or taking_turns:
            try:
                per_cent = _measured(name, bench, seconds)
            except (ClientFailure, TlstaxError) as failure:
                _say(f"{name:<24} not measured: {failure}")
                continue
            _say(f"{name:<24} {per_cent:.3f} % of a core")
            if per_cent > MOST_PER_CENT:
                above.append(name)
    _say(f"above {MOST_PER_CENT} %: {', '.join(above) or 'none'}")
    return 1 if above else 0


def _measured(name: str, bench: Bench, seconds: float) -> float:
    """The CPU time of a client at the gate, in per cent of one core."""
    command = obtain_client(name, _unsaid).command
    levels = {"tls": "default", "client": name, "workload": "point-select", "connections": CONNECTIONS}
    job = job_for(CaseLevels.of(levels), bench.terms, sequence=0)
    # Some drivers cannot be told a version or whom to verify, which makes no difference to who waits.
    job = job.model_copy(update={"tls": TlsOn()})
    with LoadClient(command, job) as client:
        client.wait_ready(WITHIN_S)
        client.slice(SLICE_S, WITHIN_S)
        time.sleep(SETTLE_S)
        before_s, began_s = _cpu_s(client.pid), time.monotonic()
        time.sleep(seconds)
        used_s, took_s = _cpu_s(client.pid) - before_s, time.monotonic() - began_s
        client.finish(WITHIN_S)
    return used_s / took_s * 100


def _cpu_s(pid: int) -> float:
    """What a process and all below it have used."""
    process = psutil.Process(pid)
    everyone = (process, *process.children(recursive=True))
    return sum(CpuClock(one.pid).read_us() for one in everyone) / 1e6


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _unsaid(_: str) -> None:
    """Steps are of no interest here."""


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 15.0, sys.argv[2:]))
