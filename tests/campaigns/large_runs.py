"""large_runs.py COUNT [STUDY [SEED]]: what keeping and reporting a run of COUNT trials takes.

The trials of the store's last run (`./tlstax run --budget 20s` makes one) are multiplied to a run of STUDY,
or of `tax`, in a store of its own; PYTHONPATH holds lab and tests/fakes. Printed are CPU times and the most
memory that each command took, the start of Python included: of adding the trials, of `report` in each format
and of `runs list`. Other work on the machine makes CPU times longer, by as much as half again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from multiplied_runs import multiplied
from tlstax.plan.order import trials_per_block
from tlstax.report.formats.render import FORMATS
from tlstax.store import Store
from tlstax.study import Study, load_study
from tlstax.support.directories import data_dir

LAUNCHER = Path(__file__).resolve().parents[2] / "tlstax"


def main(count: int, study: Study, seed: int) -> int:
    """Make the run, report it in every format, print what each took; the exit status."""
    home = Path(tempfile.mkdtemp(prefix="large"))
    try:
        _keep(home / "store.sqlite", count, study, seed)
        for name in FORMATS:
            _command(home, ["report", "last", "--format", name, "--output", str(home / f"run.{name}")])
            _say(f"{'':12}{(home / f'run.{name}').stat().st_size:,} bytes")
        _command(home, ["runs", "list"])
    finally:
        shutil.rmtree(home)
    return 0


def _keep(file: Path, count: int, study: Study, seed: int) -> None:
    """The trials in a store, each block of them in a transaction of its own, as a run adds its sittings."""
    with Store.open(data_dir() / "store.sqlite") as own:
        recorded = own.load("last")
    header = recorded.header.model_copy(update={"study": study})
    made = multiplied(recorded, study, count, seed)
    taken_s = cpu_s = 0.0
    with Store.open(file) as store:
        store.begin(header)
        while block := list(islice(made, min(100, trials_per_block(study)))):
            began_s, began_cpu_s = time.monotonic(), time.process_time()
            store.add_trials(header.run, block)
            taken_s += time.monotonic() - began_s
            cpu_s += time.process_time() - began_cpu_s
        store.finish(header.run, "complete", "there are as many trials as were asked for")
    stored_bytes = file.stat().st_size
    _say(f"{count:,} trials of {study.name}: {count / taken_s:,.0f} a second added ({cpu_s:.1f} s of CPU)")
    _say(f"store       {stored_bytes:,} bytes, {stored_bytes / count:,.0f} a trial")


def _command(home: Path, arguments: list[str]) -> None:
    """Run tlstax with this store, and print what it took."""
    environment = {**os.environ, "TLSTAX_DATA": str(home)}
    started = subprocess.Popen([LAUNCHER, *arguments], env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise SystemExit(f"tlstax {' '.join(arguments)} ended with {started.returncode}")
    name = arguments[3] if len(arguments) > 3 else " ".join(arguments)
    _say(f"{name:12}{used.ru_utime + used.ru_stime:.1f} s of CPU, {used.ru_maxrss / 1024:,.0f} MiB at most")


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    given = [*sys.argv[1:], *("", "", "")]
    sys.exit(main(int(given[0]), load_study(given[1] or "tax"), int(given[2] or 1)))
