"""full.py COUNT SEED: lets single writes fail as on a full disk, chosen at random from all of a run.

Each time there must be one sentence and no defect, what was kept must be whole, and nothing may be left
running. Three kinds of work are tried: a run (store, report, sessions), fetching a specimen, and set-up.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from laboratory import LAUNCHER, Home

ROOT = Path(__file__).resolve().parents[2]
RUN = (
    "run",
    "--workload",
    "point-select",
    "--tls",
    "off,1.3",
    "--rows",
    "1000",
    "--budget",
    "2s",
    "--seed",
    "1",
)
FETCH = ("specimens", "fetch", "openssl-3.0-debian")
LABORATORY = "python,python3,python3.11,python3.12,python3.13,python3.14"
UNPACKING = "dpkg-deb,tar,cp"
SET_UP = "bash,mkdir,cp,mv,touch,cat,tar"
LONGEST_S = 120
SAYS_SO = r"full|No space left|its disk reports an error"
"""The last is what can be said where fsync fails: SQLite does not pass on why."""


@dataclass(frozen=True)
class Work:
    """What is done: a command, the programs whose writes count, and what must hold afterwards.

    Writes count below that folder of the home; all do where it is empty.
    """

    name: str
    command: Callable[[Home], Sequence[object]]
    programs: str
    check: Callable[[Home, str], list[str]]
    prepare: Callable[[Home], None] = lambda _: None
    below: str = ""


def main(count: int, seed: int) -> int:
    """Exit status: 0 where each write failed in order, else 1."""
    choose = random.Random(seed)  # noqa: S311  # which write, not secrets
    library = _compiled()
    all_wrong = 0
    for work in WORKS:
        writes, wrong = _try(work, library, None)
        if wrong:
            raise SystemExit(f"{work.name} does not work here: {'; '.join(wrong)}")
        chosen = sorted(choose.sample(range(1, writes + 1), min(count, writes)))
        _say(f"{work.name}: {writes} writes, of which {len(chosen)} fail, one at a time")
        for number in chosen:
            _, wrong = _try(work, library, number)
            if wrong:
                all_wrong += 1
                _say(f"  write {number}: {'; '.join(wrong)}")
    _say(f"seed {seed}: {all_wrong} went wrong")
    shutil.rmtree(library.parent)
    return 1 if all_wrong else 0


def _try(work: Work, library: Path, fail_at: int | None) -> tuple[int, list[str]]:
    """How many writes there were, and what went wrong."""
    home = Home()
    try:
        work.prepare(home)
        counter = library.parent / "count"
        counter.write_bytes(struct.pack("l", 0))
        environment = home.environment(
            LD_PRELOAD=str(library),
            FULL_BELOW=str(home.path / work.below),
            FULL_IN=work.programs,
            FULL_COUNT=str(counter),
        )
        if fail_at is not None:
            environment["FULL_AT"] = str(fail_at)
        done = subprocess.run(
            [str(word) for word in work.command(home)],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST_S,
        )
        (writes,) = struct.unpack("l", counter.read_bytes())
        wrong = _wrong_words(done, expected_to_fail=fail_at is not None)
        wrong += work.check(home, done.stdout)
        if running := home.processes():
            wrong.append(f"still running: {', '.join(running)}")
    except subprocess.TimeoutExpired:
        return 0, [f"it hung for {LONGEST_S} s"]
    else:
        return writes, wrong
    finally:
        home.remove()


def _wrong_words(done: subprocess.CompletedProcess[str], *, expected_to_fail: bool) -> list[str]:
    """A write that is not needed may fail unseen; one that is needed ends with status 3 and a sentence."""
    wrong = [
        f"{word!r} in its words: {done.stderr[-400:]}"
        for word in ("Traceback", "a defect in tlstax")
        if word in done.stderr
    ]
    if done.returncode == 0:
        return wrong
    if not expected_to_fail or done.returncode != 3:
        return [*wrong, f"status {done.returncode}: {done.stderr[-400:]}"]
    last = done.stderr.rstrip().splitlines()[-1:] or [""]
    if not last[0].startswith("tlstax: ") or not re.search(SAYS_SO, last[0]):
        wrong.append(f"its last line does not say that the disk is full: {last[0][:400]}")
    return wrong


def _check_run(home: Home, shown: str) -> list[str]:
    """The store is readable, and so is each run in it; no half of a report is there."""
    wrong = [f"half a file: {path}" for path in home.data.rglob("*.partial*")]
    wrong += [f"an empty report: {path}" for path in home.data.rglob("*.html") if path.stat().st_size < 1000]
    listed = _tlstax(home, "runs", "list")
    if listed.returncode != 0:
        return [*wrong, f"runs list ends with {listed.returncode}: {listed.stderr[-300:]}"]
    if (home.data / "store.sqlite").exists() and home.stored_trials():
        reported = _tlstax(home, "report", "last")
        if reported.returncode not in {0, 3} or "defect" in reported.stderr:
            wrong.append(f"report last ends with {reported.returncode}: {reported.stderr[-300:]}")
    elif "What TLS costs" in shown:
        wrong.append("a result was shown, and the store has no trial of it")
    return wrong


def _check_fetch(home: Home, _: str) -> list[str]:
    """The specimen is whole or not there; no network is asked again for one that is whole."""
    listed = _tlstax(home, "specimens", "list")
    wrong = [] if listed.returncode == 0 else [f"specimens list ends with {listed.returncode}"]
    if " broken " in listed.stdout:
        wrong.append("a specimen is broken")
    if (home.cache / "specimens" / FETCH[-1]).exists():
        verified = _tlstax(home, "specimens", "verify", FETCH[-1])
        if verified.returncode != 0:
            wrong.append(f"the specimen is not whole: {verified.stdout[-300:]}{verified.stderr[-300:]}")
    return wrong


def _own_shelf(home: Home) -> None:
    (home.cache / "specimens").unlink()
    (home.cache / "specimens").mkdir()


def _a_clone(home: Home) -> None:
    """A clone for the programs of the launcher's tests, which stand for Python and Rust; an empty cache."""
    for link in home.cache.iterdir():
        link.unlink()
    clone = home.path / "clone"
    (clone / "lab").mkdir(parents=True)
    shutil.copy(LAUNCHER, clone / "tlstax")
    shutil.copytree(ROOT / "setup", clone / "setup")
    source = clone / "engine" / "crates" / "engine" / "src"
    source.mkdir(parents=True)
    (source / "main.rs").write_text("//! First.\n", encoding="utf-8")
    (clone / "engine" / "Cargo.lock").touch()
    (home.path / "state").mkdir()


def _set_up(home: Home) -> Sequence[object]:
    state = home.path / "state"
    programs = ROOT / "tests" / "launcher" / "programs"
    settings = (f"FAKE_STATE={state}", f"FAKE_CALLS={state}/calls", f"PATH={programs}:/usr/bin:/bin")
    return ("env", *settings, home.path / "clone" / "tlstax", "run")


def _check_set_up(home: Home, _: str) -> list[str]:
    """The next start sets up what is missing and works."""
    environment = home.environment()
    again = subprocess.run(
        [str(word) for word in _set_up(home)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_S,
    )
    return (
        []
        if again.returncode == 0
        else [f"the next start ends with {again.returncode}: {again.stderr[-300:]}"]
    )


def _tlstax(home: Home, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(LAUNCHER), *words]
    return subprocess.run(
        command, env=home.environment(), capture_output=True, text=True, check=False, timeout=LONGEST_S
    )


def _compiled() -> Path:
    library = Path(tempfile.mkdtemp(prefix="tlx-full-")) / "full_disk.so"
    source = Path(__file__).with_name("full_disk.c")
    subprocess.run(
        [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True
    )
    return library


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


WORKS = (
    Work("a run", lambda _: (LAUNCHER, *RUN), LABORATORY, _check_run),
    Work("a fetch", lambda _: (LAUNCHER, *FETCH), f"{LABORATORY},{UNPACKING}", _check_fetch, _own_shelf),
    Work("set-up", _set_up, SET_UP, _check_set_up, _a_clone, "c"),
)

if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
