"""many_nodes.py NODES TRIALS: what the head of a run takes for itself, with machines that measure nothing.

NODES simulated machines (tests/fakes/fake_cluster.py, behind the seam that Ray stands behind) report blocks
as fast as the head takes them, until TRIALS are in a store of its own. Printed are trials a second, the CPU
time a trial takes in each fifth of the run (it grows where something is not linear; the fake machines' own
part is in it), memory and the size of the store. Wants PYTHONPATH=lab:tests/fakes.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from fake_cluster import FakeCluster, FakeMachine
from tlstax.machines.pipeline import run_on
from tlstax.plan.order import trials_per_block
from tlstax.results.live import LiveRun
from tlstax.run.preparing import Request
from tlstax.run.progress import Step
from tlstax.store import Store
from tlstax.study import load_study, override
from tlstax.support.errors import Interrupted

PARTS = 5


class Counting(Store):
    """A store that looks at the clock as it grows, and has enough at some time."""

    wanted = 0
    stored = 0
    marks: list[tuple[int, float]] = []

    def add_trials(self, run: str, records: object) -> None:  # type: ignore[override]
        """Keep them; Interrupted where there are enough."""
        kept = tuple(records)  # type: ignore[call-overload]
        super().add_trials(run, kept)
        type(self).stored += len(kept)
        if self.stored >= self.wanted * (len(self.marks) + 1) / PARTS:
            self.marks.append((self.stored, time.process_time()))
        if self.stored >= self.wanted:
            raise Interrupted


class Silent:
    """Hears nothing."""

    def step(self, text: str) -> None:
        """Nothing."""

    def warn(self, text: str) -> None:
        """Nothing."""

    def trial(self, step: Step) -> None:
        """Nothing."""

    def noted(self, live: LiveRun) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


def main(nodes: int, trials: int) -> None:
    """Print what it takes."""
    small = override(override(load_study("tax"), "tls", ["off", "1.3"]), "workload", ["point-select"])
    # A precision that no run reaches, so that it goes on.
    study = small.model_copy(update={"budget_s": 3e7, "precision": 1e-9})
    cluster = FakeCluster(*(FakeMachine(f"node{number:04}") for number in range(nodes)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite"
        Counting.wanted = trials
        began, began_cpu = time.monotonic(), time.process_time()
        with Counting.open(path) as store:
            run_on(cluster, Request(study=study, seed=1), store, Silent())
        took_s = time.monotonic() - began
        size = path.stat().st_size
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    per_block, rate = trials_per_block(study), Counting.stored / took_s
    _say(f"{nodes} nodes, {Counting.stored} trials, {per_block} a block: {rate:,.0f} trials a second")
    before, before_cpu = 0, began_cpu
    for stored, cpu in Counting.marks:
        _say(f"  up to {stored:>9,}: {(cpu - before_cpu) / (stored - before) * 1e3:.2f} ms of CPU a trial")
        before, before_cpu = stored, cpu
    _say(f"  at most {peak_mb:,.0f} MB of memory, {size / Counting.stored:,.0f} bytes a trial in the store")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
