"""planted.py COUNT SEED [BUDGET_S [SERVER [CONNECTIONS]]]: plants costs of known size in a real server.

First a short run learns what an operation costs the server. Then each of COUNT runs of the study `planted`
has a case in which nothing is planted, one with 0 ns, the control, and one each with 1, 3, 10 and 30 % of
that cost burned in each answer, all of them in turns on one process. A planted cost is found where the
interval of server CPU per operation is above 1; where nothing was planted, it is a false alarm that the
interval leaves 1 out. What was planted is what burning was charged to the server's threads in the same
slices, by their own CPU clocks, over what an operation of the baseline cost.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import exp, log, sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.stats import slices
from tlstax.store import Store

LAUNCHER = Path(__file__).resolve().parents[2] / "tlstax"
OUTCOME = "server_cpu_us_per_op"
SHARES = (0.01, 0.03, 0.10, 0.30)
SHORTEST_S, USUAL_S = 20.0, 90.0
NOTHING, AGAIN = "0 ns", "control"


@dataclass(frozen=True)
class Planted:
    """What was found of one amount in one run: the interval of the ratio, and the ratio that was planted.

    `extra_ns` is what burning cost each operation more than in the baseline.
    """

    name: str
    low: float
    point: float
    high: float
    planted: float
    extra_ns: float

    @property
    def is_found(self) -> bool:
        """Whether a cost is told from none."""
        return self.low > 1

    @property
    def is_alarm(self) -> bool:
        """Whether any difference is told from none."""
        return self.low > 1 or self.high < 1

    @property
    def holds(self) -> bool:
        """Whether the interval holds what was planted."""
        return self.low <= self.planted <= self.high

    def words(self) -> str:
        """One line of what came of it."""
        if self.name in (NOTHING, AGAIN):
            said = "a false alarm" if self.is_alarm else "nothing found"
        else:
            said = f"{'found' if self.is_found else 'LOST'}, {'held' if self.holds else 'NOT HELD'}"
        return (
            f"{self.name:>8}: planted {_percent(self.planted)} ({self.extra_ns:,.0f} ns), "
            f"found {_percent(self.point)} [{_percent(self.low)} … {_percent(self.high)}]: {said}"
        )


@dataclass
class Tally:
    """What came of one amount in all runs."""

    counts: Counter[str] = field(default_factory=Counter)
    errors: list[float] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)

    def add(self, one: Planted) -> None:
        """One more run."""
        self.counts += Counter(
            {"found": one.is_found, "alarm": one.is_alarm, "held": one.holds, "runs": True}
        )
        self.errors.append(log(one.point / one.planted))
        self.widths.append((log(one.high) - log(one.low)) / 2)

    def words(self, name: str) -> str:
        """All runs in one line: how often found and held, by how much the point is off in the mean."""
        counts, runs = self.counts, self.counts["runs"]
        scatter = f" ±{stdev(self.errors) / sqrt(runs):.2%}" if runs > 1 else ""
        return (
            f"{name:>8}: found in {counts['found']} of {runs}, different from 1 in {counts['alarm']}, "
            f"what was planted held in {counts['held']}; off by {mean(self.errors):+.2%}{scatter} in the "
            f"mean, half width {mean(self.widths):.2%}"
        )


def planted_ratio(run: StoredRun, burn: str, role: str = "treatment") -> tuple[float, float]:
    """The ratio of server CPU per operation that was planted in a case, and the nanoseconds per operation.

    What burning took in the case's slices more than in the baseline's of the same block (which reads the
    clocks, too), over what an operation cost there; their geometric mean over the blocks.
    """
    logs, extras_ns = [], []
    baselines = {record.trial.block: record for record in _valid(run, "baseline")}
    for record in _valid(run, role):
        base = baselines.get(record.trial.block)
        if record.trial.case.levels.burn != burn or base is None:
            continue
        extra_ns = _burning_ns(record) - _burning_ns(base)
        extras_ns.append(extra_ns)
        logs.append(log(1 + extra_ns / 1000 / slices.values(base)[OUTCOME]))
    return exp(mean(logs)), mean(extras_ns)


def _burning_ns(record: TrialRecord) -> float:
    """What burning was charged to the server for each operation, in a trial's slices."""
    if record.burned is None or record.slices is None:
        raise SystemExit("a trial has no count of what was burned")
    return sum(record.burned.cpu_ns[1:]) / sum(record.slices.finished)


def found_in(document: dict[str, Any], run: StoredRun) -> Iterator[Planted]:
    """What a run shows of each amount that was planted in it. `document` is what the command printed."""
    for finding in document["findings"]:
        if finding["outcome"] != OUTCOME or finding["role"] == "baseline":
            continue
        ratio, burn, role = finding["ratio"], finding["case"]["burn"], finding["role"]
        planted, extra_ns = planted_ratio(run, burn, role)
        name = {"control": AGAIN, "0ns": NOTHING}.get(role if role == "control" else burn, burn)
        yield Planted(name, ratio["low"], ratio["point"], ratio["high"], planted, extra_ns)


def main(count: int, seed: int, budget_s: float, on: Sequence[str]) -> int:
    """Exit status: 0 where all is as it is to be, else 1. `on` are levels, as `--set` takes them."""
    cost_us = _cost_us(seed, on)
    amounts = {f"{round(1000 * cost_us * share)}ns": share for share in SHARES}
    names = {NOTHING: NOTHING, AGAIN: AGAIN, **{burn: f"{share:.0%}" for burn, share in amounts.items()}}
    _say(f"{', '.join(on)}: an operation costs the server {cost_us:.1f} µs; planted are {', '.join(amounts)}")
    tallies = {name: Tally() for name in names.values()}
    invalid = 0
    for number in range(count):
        document, run = _run(seed + number, budget_s, on, ["off", "0ns", *amounts])
        bad = [record for record in run.trials if record.verdict.value != "valid"]
        invalid += len(bad)
        blocks = len({record.trial.block for record in run.trials})
        _say(f"{number + 1:3d} of {count}: {len(run.trials)} trials, {len(bad)} not valid, {blocks} blocks")
        for one in found_in(document, run):
            _say(f"    {one.words()}")
            tallies[names[one.name]].add(one)
    for name, tally in tallies.items():
        _say(tally.words(name))
    wrong = list(_wrong(tallies, count, invalid))
    _say(f"seed {seed}: {count} runs of {budget_s:g} s; {'; '.join(wrong) or 'as it is to be'}")
    return 1 if wrong else 0


def _wrong(tallies: dict[str, Tally], count: int, invalid: int) -> Iterator[str]:
    """What is not as it is to be: 18 of 20 found and held, one false alarm in 20."""
    few, least = count // 20, count - count // 10
    if invalid:
        yield f"{invalid} trials were not valid"
    for name in (NOTHING, AGAIN):
        if (alarms := tallies[name].counts["alarm"]) > few:
            yield f"{name}: {alarms} false alarms"
    for share in SHARES:
        counts = tallies[f"{share:.0%}"].counts
        if counts["found"] < least:
            yield f"{share:.0%} was found in {counts['found']}"
        if share != SHARES[0] and counts["held"] < least:
            yield f"{share:.0%} was held in {counts['held']}"


def _cost_us(seed: int, on: Sequence[str]) -> float:
    """What an operation costs the server with the library loaded and nothing burned, in a short run."""
    _, run = _run(seed, SHORTEST_S, on, ["off", "0ns"])
    return exp(mean(log(slices.values(record)[OUTCOME]) for record in _valid(run, "baseline")))


def _run(
    seed: int, budget_s: float, on: Sequence[str], burns: Sequence[str]
) -> tuple[dict[str, Any], StoredRun]:
    """One run in a home of its own: what it printed, and what it stored."""
    data = Path(tempfile.mkdtemp(prefix="planted"))
    try:
        chosen = [f"--set={levels}" for levels in (*on, f"burn={','.join(burns)}")]
        done = subprocess.run(
            [
                LAUNCHER,
                "study",
                "run",
                "planted",
                "--seed",
                str(seed),
                "--budget",
                f"{budget_s:g}s",
                "--json",
                *chosen,
            ],
            env={**os.environ, "TLSTAX_DATA": str(data)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise SystemExit(f"a run ended with {done.returncode}:\n{done.stderr[-2000:]}")
        with Store.open(data / "store.sqlite") as store:
            return json.loads(done.stdout), store.load(store.runs()[0].run)
    finally:
        shutil.rmtree(data, ignore_errors=True)


def _valid(run: StoredRun, role: str) -> list[TrialRecord]:
    records = (record for record in run.measured if record.verdict.value == "valid" and record.slices)
    return [record for record in records if record.trial.case.role == role]


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.2f} %"


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    given = [*sys.argv[1:], *("", "", "")]
    where = (f"server={given[3] or 'mysql-9.7'}", f"connections={given[4] or 8}")
    try:
        status = main(int(given[0]), int(given[1]), float(given[2] or USUAL_S), where)
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)
