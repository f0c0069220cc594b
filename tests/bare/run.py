"""Tries tlstax on bare machines, as a stranger would: `./test bare`, and with all tests `./test bare-tests`.

Takes releases as arguments (bookworm, trixie and sid where none is named). With --wheel FILE it is that
wheel, installed by pipx and started by uvx, that is tried in place of a clone; with --bundle FILE that
bundle, without a network.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bundled import bundle_attempt
from roots import USER, NotMade, Root, pack, unpack
from rows import RUN_TIMEOUT_S, Attempt, Row, has_report, packages_of, wrong
from wheel import wheel_attempt

from tlstax.support.directories import cache_dir, ensure_directory

CHECKOUT = Path(__file__).resolve().parents[2]
RELEASES = {"bookworm": "Debian 12", "trixie": "Debian 13", "sid": "Debian sid"}
WORDS_TIMEOUT_S, TESTS_TIMEOUT_S = 60, 5400


def main() -> int:
    """Exit status: 0 where all went well, 1 where anything failed, 3 where this is not root."""
    arguments = argparse.ArgumentParser(prog="./test bare", description=__doc__)
    arguments.add_argument("releases", nargs="*", choices=[*RELEASES, []], help="such as trixie")
    arguments.add_argument("--tests", action="store_true", help="run ./test all in each root, as root")
    arguments.add_argument("--wheel", type=Path, metavar="FILE", help="try this wheel")
    arguments.add_argument("--bundle", type=Path, metavar="FILE", help="try this bundle, of MariaDB alone")
    chosen = arguments.parse_args()
    if os.geteuid() != 0:
        sys.stderr.write("bare roots are made and entered by root alone\n")
        return 3
    attempt = _attempt(chosen)
    kept = ensure_directory(cache_dir() / "bare")
    rows: list[Row] = []
    for release in chosen.releases or RELEASES:
        try:
            packed = pack(release, kept, attempt.packages)
        except NotMade as reason:
            rows.append(Row(release, "", {"root made": str(reason)}))
            continue
        rows += [_try(release, packed, who, kept, attempt) for who in attempt.users]
    _print_table(rows, kept)
    return 1 if any(row.failed() for row in rows) else 0


def _attempt(chosen: argparse.Namespace) -> Attempt:
    if chosen.wheel is not None:
        return wheel_attempt(chosen.wheel)
    if chosen.bundle is not None:
        return bundle_attempt(chosen.bundle)
    if chosen.tests:
        return Attempt("tests", ("git",), ("root",), _clone, _tests)
    return Attempt("clone", ("git",), ("root", USER), _clone, _first_steps)


def _clone(folder: Path) -> None:
    subprocess.run(["git", "clone", "--quiet", CHECKOUT.as_uri(), folder], check=True)


def _try(release: str, packed: Path, who: str, kept: Path, attempt: Attempt) -> Row:
    row = Row(release, who)
    log = kept / f"{release}-{who}-{attempt.name}.log"
    log.unlink(missing_ok=True)
    say(f"{RELEASES[release]}, {who}: everything goes to {log}")
    with tempfile.TemporaryDirectory(prefix="tlstax-bare-", dir=kept) as folder:
        root = unpack(packed, Path(folder) / "root", attempt.bring)
        attempt.steps(root, who, log, row)
    for what, how in row.tried.items():
        say(f"  {what}: {how or 'ok'}")
    return row


def _first_steps(root: Root, who: str, log: Path, row: Row) -> None:
    """Help and doctor before anything is there, then a report by one command."""
    installed = packages_of(root)
    for words, expected in (("--help", "Usage: tlstax"), ("doctor", "not done yet")):
        done = root.run(who, ["./tlstax", words], log, WORDS_TIMEOUT_S)
        row.tried[words] = wrong(done, as_expected=expected in done.output)
        if packages_of(root) != installed:
            row.tried[words] = "it installed packages"
    done = root.run(who, ["./tlstax", "run", "--budget", "20s"], log, RUN_TIMEOUT_S)
    row.tried[f"report after {done.took_s:.0f} s"] = wrong(done, as_expected=has_report(root, done))
    again = root.run(who, ["./tlstax", "run", "--budget", "5s"], log, RUN_TIMEOUT_S)
    row.tried[f"again after {again.took_s:.0f} s"] = wrong(again, as_expected="done in" not in again.output)
    if who != "root" and packages_of(root) != installed:
        row.tried["the machine"] = "packages were installed for an ordinary user"


def _tests(root: Root, who: str, log: Path, row: Row) -> None:
    done = root.run(who, ["./test", "all"], log, TESTS_TIMEOUT_S)
    summary = [line for line in done.output.splitlines() if line][-1:] or ["nothing"]
    row.tried[f"./test all, {done.took_s:.0f} s"] = "" if done.status == 0 else summary[0]


def _print_table(rows: list[Row], kept: Path) -> None:
    for row in rows:
        tried = "; ".join(f"{what}: {wrong or 'ok'}" for what, wrong in row.tried.items())
        print(f"{RELEASES[row.release]:<11} {row.who:<6} {tried}")  # noqa: T201
    failed = sum(row.failed() for row in rows)
    print(f"{len(rows) - failed} passed, {failed} failed (logs in {kept})")  # noqa: T201


def say(text: str) -> None:
    """Print a line now."""
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
