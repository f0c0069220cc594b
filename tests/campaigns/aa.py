"""aa.py COUNT SEED [--beside-load] [--keep FOLDER]: pairs of runs of one command, in which nothing differs.

aa.py --judge FOLDER judges the pairs that a folder keeps again, without measuring.

Each of COUNT pairs is two real runs of a command that is drawn from `COMMANDS`, one after the other, in a
store that is this campaign's own (FOLDER, which is made and may be continued; default: a new one).
With `--beside-load` other processes work now and then meanwhile. Every comparison of a pair that is called
higher or lower is false, and so is, as a rule, a pair of single runs' intervals that exclude each other.
Pairs are judged twice: as two runs alone, and beside the other runs of the same command that the folder
keeps, as `tlstax compare` has them from the store. At most one pair in twenty may have a false comparison,
and at most one in ten such intervals. At the end is how large a difference would have been told, so that
nobody takes "never told" for well told, and by how much runs differ: by what their own blocks say, one after
the other, and over all the time that the campaign took.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import fmean, median, variance

from tlstax.cli.compare_command import MOST_AGAIN
from tlstax.records.trial import StoredRun
from tlstax.results.interval import DIFFERENCES
from tlstax.stats.series import Series, series_of
from tlstax.store import Store
from tlstax.study.factors import CaseLevels
from tlstax.topics.answer.document import document
from tlstax.topics.compare.compare import compared

LAUNCHER = Path(__file__).resolve().parents[2] / "tlstax"
COMMANDS = (
    ("run", "--budget", "15s"),
    ("run", "--workload", "reconnect", "--budget", "15s"),
    ("run", "--workload", "reconnect", "--budget", "30s"),
    ("run", "--budget", "60s"),
)
OUTCOMES = ("ops_per_s", "server_cpu_us_per_op")
PAIRS, STORE = "pairs.jsonl", "store.sqlite"
BUSY = """
import random, sys, time
draw = random.Random(int(sys.argv[1]))
while True:
    end = time.monotonic() + draw.expovariate(1 / 6)
    while time.monotonic() < end:
        pass
    time.sleep(draw.expovariate(1 / 6))
"""
"""A process that works half of the time, for some seconds in a row, as a build or a backup does."""


@dataclass(frozen=True)
class Pair:
    """Two runs of one command, by their names, and the load average before and after each."""

    command: tuple[str, ...]
    runs: tuple[str, str]
    loads: tuple[float, ...]


@dataclass
class Tally:
    """What came of all pairs, judged in one way."""

    pairs: int = 0
    comparisons: int = 0
    false: int = 0
    false_pairs: int = 0
    half_widths: list[float] | None = None

    def words(self) -> str:
        """Everything in one line."""
        widths = self.half_widths or [0.0]
        return (
            f"{self.false} of {self.comparisons} comparisons false, in {self.false_pairs} of {self.pairs} "
            f"pairs; of ratios a difference of ×{1 + median(widths):.2f} would be told in the median"
        )


def main(count: int, seed: int, folder: Path, *, beside_load: bool) -> int:
    """Measure N pairs into the folder, then judge all that it keeps; 1 where too many are false."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(seed)  # noqa: S311 (order, not a secret)
    say(f"{count} pairs into {folder}{', beside other work' if beside_load else ''}")
    with busy(beside_load, seed):
        for _ in range(count):
            pair = measure(draw.choice(COMMANDS), draw, folder)
            with (folder / PAIRS).open("a", encoding="utf-8") as file:
                file.write(json.dumps(vars(pair)) + "\n")
            say(f"{' '.join(pair.command)}: {' and '.join(pair.runs)}, load {pair.loads[0]:.1f}")
    return judge(folder)


@contextmanager
def busy(is_wanted: bool, seed: int) -> Iterator[None]:
    """A process for each processor that works now and then; they end with the block."""
    started = [
        subprocess.Popen([sys.executable, "-c", BUSY, str(seed + number)])
        for number in range(os.cpu_count() or 1 if is_wanted else 0)
    ]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def measure(command: Sequence[str], draw: random.Random, folder: Path) -> Pair:
    """Two runs of the command, the second at once after the first."""
    environment = {**os.environ, "TLSTAX_DATA": str(folder), "TLSTAX_TURN": "aa"}
    runs, loads = [], []
    for _ in range(2):
        loads.append(os.getloadavg()[0])
        done = subprocess.run(
            [LAUNCHER, *command, "--over-budget", "--seed", str(draw.randrange(2**31)), "--json"],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise SystemExit(f"a run ended with {done.returncode}:\n{done.stderr[-2000:]}")
        runs.append(json.loads(done.stdout)["run"])
        time.sleep(1)
    return Pair(tuple(command), (runs[0], runs[1]), (*loads, os.getloadavg()[0]))


def judge(folder: Path) -> int:
    """Every pair that the folder keeps, each in both ways, then single runs' intervals."""
    with Store.open(folder / STORE) as store:
        pairs = [_pair(line) for line in (folder / PAIRS).read_text(encoding="utf-8").splitlines()]
        runs = {name: store.load(name) for pair in pairs for name in pair.runs}
    alone, known = Tally(half_widths=[]), Tally(half_widths=[])
    excluding, beside_each_other, pairs_excluding = 0, 0, 0
    for number, pair in enumerate(pairs, start=1):
        both = [runs[name] for name in pair.runs]
        others = [
            runs[name]
            for other in pairs
            if other.command == pair.command and other is not pair
            for name in other.runs
        ]
        say(f"{number}. {' '.join(pair.command)}: {' and '.join(pair.runs)}")
        for tally, words, again in ((alone, "alone", []), (known, "others known", others[:MOST_AGAIN])):
            compare(both, again, tally, words)
        outside, all_ = exclude(*both)
        excluding, beside_each_other = excluding + outside, beside_each_other + all_
        pairs_excluding += outside > 0
    say("")
    say(f"two runs alone: {alone.words()}")
    say(f"beside others:  {known.words()}")
    say(
        f"single runs: {excluding} of {beside_each_other} intervals of ratios exclude that of the other run, "
        f"in {pairs_excluding} of {len(pairs)} pairs"
    )
    say("")
    for words in scatter(pairs, runs):
        say(words)
    too_many = max(alone.false_pairs, known.false_pairs) > len(pairs) / 20
    return int(too_many or pairs_excluding > len(pairs) / 10)


def scatter(pairs: Sequence[Pair], runs: Mapping[str, StoredRun]) -> Iterator[str]:
    """For each command and outcome: the standard deviation of a run's mean within it, in a pair, of all.

    Of logarithms, the quadratic mean over cases; of a pair, the difference over √2.
    """
    known = {name: series_of(stored) for name, stored in runs.items()}
    for command in dict.fromkeys(pair.command for pair in pairs):
        own = [pair for pair in pairs if pair.command == command]
        for outcome in OUTCOMES:
            for measure in ("to the baseline", "itself"):
                within, beside, all_ = [], [], []
                for case in known[own[0].runs[0]].cases.values():
                    if (case.role == "baseline") != (measure == "itself"):
                        continue
                    logs = [
                        [_logs(known[name], case.levels, outcome, measure) for name in one.runs]
                        for one in own
                    ]
                    both = [pair for pair in logs if all(len(run) > 1 for run in pair)]
                    within += [variance(run) / len(run) for pair in both for run in pair]
                    beside += [(fmean(one) - fmean(two)) ** 2 / 2 for one, two in both]
                    means = [fmean(run) for pair in both for run in pair]
                    all_ += [variance(means)] if len(means) > 1 else []
                if within:
                    shares = ", ".join(f"{sqrt(fmean(each)):.1%}" for each in (within, beside, all_))
                    yield f"{' '.join(command)}: {len(own)} pairs, {outcome} {measure}: {shares}"


def _logs(series: Series, levels: CaseLevels, outcome: str, measure: str) -> list[float]:
    if measure == "itself":
        return list(series.logs(levels, outcome).values())
    return list(series.log_ratios(levels, series.own_baseline(levels), outcome).values())


def _pair(line: str) -> Pair:
    kept = json.loads(line)
    first, second = kept["runs"]
    return Pair(tuple(kept["command"]), (first, second), tuple(kept["loads"]))


def compare(both: Sequence[StoredRun], others: Sequence[StoredRun], tally: Tally, words: str) -> None:
    """What `tlstax compare` says of a pair: every difference is false."""
    (beside,) = compared(both, OUTCOMES, others=others).beside
    false = [own for own in beside.changes if own.judgement in DIFFERENCES]
    tally.pairs += 1
    tally.false += len(false)
    tally.false_pairs += bool(false)
    for own in beside.changes:
        change = own.interval
        if change is None or change.low is None or change.high is None:
            continue  # One block on a side has no interval, and is no comparison.
        tally.comparisons += 1
        if own.role == "to the baseline" and tally.half_widths is not None:
            tally.half_widths.append(sqrt(change.high / change.low) - 1)
        mark = "FALSE" if own in false else "     "
        say(
            f"   {mark} {words:12} {own.outcome:21} {own.label}: ×{change.point:.3f} "
            f"[{change.low:.3f}, {change.high:.3f}] {own.judgement}"
        )


def exclude(first: StoredRun, second: StoredRun) -> tuple[int, int]:
    """Of how many ratios to the baseline the two runs' own intervals exclude each other, and of how many."""
    ratios = [
        {
            (
                " ".join(f"{name}={level}" for name, level in finding.case.items()),
                finding.outcome,
            ): finding.ratio
            for finding in document(run).findings
            if finding.role == "treatment" and finding.outcome in OUTCOMES
        }
        for run in (first, second)
    ]
    outside = both = 0
    for key, own in ratios[0].items():
        other = ratios[1].get(key)
        if other is None or own.low is None or own.high is None or other.low is None or other.high is None:
            continue
        both += 1
        if own.high < other.low or other.high < own.low:
            outside += 1
            ends = f"{own.low:.3f} to {own.high:.3f}, {other.low:.3f} to {other.high:.3f}"
            say(f"   EXCLUDE {key[1]} {key[0]}: {ends}")
    return outside, both


def say(text: str) -> None:
    """A line, at once."""
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("count", type=int, nargs="?")
    options.add_argument("seed", type=int, nargs="?")
    options.add_argument("--beside-load", action="store_true")
    options.add_argument("--keep", type=Path)
    options.add_argument("--judge", type=Path)
    given = options.parse_args()
    if given.judge is not None:
        sys.exit(judge(given.judge))
    if given.count is None or given.seed is None:
        options.error("COUNT and SEED, or --judge FOLDER")
    kept = given.keep or Path(tempfile.mkdtemp(prefix="tlstax-aa-", dir="/tmp"))
    sys.exit(main(given.count, given.seed, kept, beside_load=given.beside_load))
