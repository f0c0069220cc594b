"""watched.py COUNT SEED [BUDGET_S [SERVER [CONNECTIONS]]]: does a run that is watched measure the same?

COUNT pairs of the same run, one of them with `--live` and a headless Chromium open on its page, in turn the
first and the second of its pair. Printed is, over all pairs, how much higher each figure is where somebody
watches: every case's ratio of operations a second and of the server's CPU per operation, both of the
baseline's own values, and the noise floors; with intervals (Student's t over the pairs, all of them together
at 95 %). Needs PYTHONPATH=lab:tests/browser, and for figures that are to be believed an idle machine.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from math import copysign, exp, log
from pathlib import Path
from typing import Any

import psutil
from chromium import browser

from tlstax.stats.stats import difference_interval

LAUNCHER = Path(__file__).resolve().parents[2] / "tlstax"
OUTCOMES = ("ops_per_s", "server_cpu_us_per_op")
USUAL_S = 60.0
MOST = log(10)
CONFIDENCE = 0.95
SAYS = "the run as it goes: "
SAYS_WITHIN_S = 120.0

Figures = dict[str, float]
"""What a run shows, each as a logarithm, by its name."""


def figures(document: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The figures of a run that was printed as JSON."""
    for finding in document["findings"]:
        outcome = finding["outcome"]
        if outcome not in OUTCOMES:
            continue
        case = ", ".join(str(finding["case"][name]) for name in ("workload", "tls", "resumption"))
        if finding["role"] == "baseline":
            yield f"{outcome} itself: {case}", log(finding["value"])
        elif finding["role"] == "control":
            if finding["noise_floor"]:
                yield f"{outcome}, noise floor: {case}", log(1 + finding["noise_floor"])
        else:
            yield f"{outcome}, ratio: {case}", log(finding["ratio"]["point"])


def main(count: int, seed: int, budget_s: float, options: list[str]) -> int:
    """Exit status: 0 where no figure is told from what it is unwatched, else 1."""
    differences: dict[str, list[float]] = {}
    for number in range(count):
        found: dict[bool, Figures] = {}
        for watched in (number % 2 == 0, number % 2 == 1):
            found[watched] = _run(seed + number, budget_s, options, watched=watched)
        for name in found[True].keys() & found[False].keys():
            differences.setdefault(name, []).append(found[True][name] - found[False][name])
        _say(f"{number + 1} of {count} pairs")
    told = sum(_is_told(name, differences[name], len(differences)) for name in sorted(differences))
    _say(f"seed {seed}: {count} pairs of {budget_s:g} s; {told} of {len(differences)} figures differ")
    return 1 if told or not differences else 0


def _is_told(name: str, values: list[float], figures_in_all: int) -> bool:
    """Say how much higher a figure is where somebody watches; whether that is told from nothing."""
    interval = difference_interval(values, 1 - (1 - CONFIDENCE) / figures_in_all)
    if interval.low is None or interval.high is None:
        _say(f"{_percent(interval.point)} [one pair shows no interval] {name}")
        return False
    ends = f"[{_percent(interval.low)} … {_percent(interval.high)}]"
    _say(f"{_percent(interval.point)} {ends}{' DIFFERS' if interval.excludes_zero else ''} {name}")
    return interval.excludes_zero


def _run(seed: int, budget_s: float, options: list[str], *, watched: bool) -> Figures:
    """One run in a home of its own."""
    home = Path(tempfile.mkdtemp(prefix="watched"))
    command = [LAUNCHER, "run", "--json", "--seed", str(seed), "--budget", f"{budget_s:g}s", *options]
    try:
        with (home / "out").open("wb") as out, (home / "err").open("wb") as err, ExitStack() as stack:
            process = subprocess.Popen(
                [*command, *(["--live"] if watched else [])],
                env={**os.environ, "TLSTAX_DATA": str(home / "data")},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
            if watched:
                page = stack.enter_context(browser()).new_page()
                # Nobody reads of each event here, and a browser whose reader is gone would wait for it.
                page.call("Network.disable")
                page.go(_address(process, home / "err"))
            status = process.wait()
            if watched:
                is_over = page.evaluate("document.body.textContent.includes('The run is complete')")
                _say(f"the browser took {_cpu_s():.1f} s of CPU time; it saw the run's end: {is_over}")
        if status:
            raise SystemExit(f"a run ended with {status}:\n{(home / 'err').read_text()[-2000:]}")
        return dict(figures(json.loads((home / "out").read_text())))
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _address(process: subprocess.Popen[bytes], errors: Path) -> str:
    """Where the page is, which the run says before it starts a server."""
    deadline = time.monotonic() + SAYS_WITHIN_S
    while time.monotonic() < deadline and process.poll() is None:
        for line in errors.read_text().splitlines():
            if SAYS in line:
                return line.partition(SAYS)[2]
        time.sleep(0.2)
    raise SystemExit(f"the run does not say where its page is:\n{errors.read_text()[-2000:]}")


def _cpu_s() -> float:
    """The CPU time that this program's children have taken so far: the browser's."""
    children = psutil.Process().children(recursive=True)
    return sum(sum(child.cpu_times()[:2]) for child in children)


def _percent(difference: float) -> str:
    """A difference of logarithms as a percentage; a few pairs alone give intervals of any width."""
    if abs(difference) > MOST:
        return f"{'over' if difference > 0 else 'under'} {_percent(copysign(MOST, difference))}"
    return f"{100 * (exp(difference) - 1):+.2f} %"


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    given = [*sys.argv[1:], *("", "", "")]
    chosen = ["--server", given[3]] if given[3] else []
    chosen += ["--connections", given[4]] if given[4] else []
    try:
        status = main(int(given[0]), int(given[1]), float(given[2] or USUAL_S), chosen)
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)
