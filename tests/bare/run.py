"""Tries tlstax on bare machines, as a stranger would: `./test bare`, and with all tests `./test bare-tests`.

Takes releases as arguments (bookworm, trixie and sid where none is named).
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from roots import USER, NotMade, Root, pack, unpack

from tlstax.support.directories import cache_dir, ensure_directory

CHECKOUT = Path(__file__).resolve().parents[2]
RELEASES = {"bookworm": "Debian 12", "trixie": "Debian 13", "sid": "Debian sid"}
WORDS_TIMEOUT_S, RUN_TIMEOUT_S, TESTS_TIMEOUT_S = 60, 1800, 5400


@dataclass
class Row:
    """What came of one user on one release: what was tried, each with what went wrong (empty: nothing)."""

    release: str
    who: str
    tried: dict[str, str] = field(default_factory=dict)

    def failed(self) -> bool:
        """Whether anything went wrong."""
        return any(self.tried.values())


Say = Callable[[str], None]


def main() -> int:
    """Exit status: 0 where all went well, 1 where anything failed, 3 where this is not root."""
    arguments = argparse.ArgumentParser(prog="./test bare", description=__doc__)
    arguments.add_argument("releases", nargs="*", choices=[*RELEASES, []], help="such as trixie")
    arguments.add_argument("--tests", action="store_true", help="run ./test all in each root, as root")
    chosen = arguments.parse_args()
    if os.geteuid() != 0:
        sys.stderr.write("bare roots are made and entered by root alone\n")
        return 3
    kept = ensure_directory(cache_dir() / "bare")
    rows: list[Row] = []
    for release in chosen.releases or RELEASES:
        try:
            packed = pack(release, kept)
        except NotMade as reason:
            rows.append(Row(release, "", {"root made": str(reason)}))
            continue
        users = ("root",) if chosen.tests else ("root", USER)
        rows += [_try(release, packed, who, kept, tests=chosen.tests) for who in users]
    _print_table(rows, kept)
    return 1 if any(row.failed() for row in rows) else 0


def _try(release: str, packed: Path, who: str, kept: Path, *, tests: bool) -> Row:
    row = Row(release, who)
    log = kept / f"{release}-{who}{'-tests' if tests else ''}.log"
    log.unlink(missing_ok=True)
    _say(f"{RELEASES[release]}, {who}: everything goes to {log}")
    with tempfile.TemporaryDirectory(prefix="tlstax-bare-", dir=kept) as folder:
        root = unpack(packed, Path(folder) / "root", CHECKOUT)
        steps = _tests if tests else _first_steps
        steps(root, who, log, row)
    for what, wrong in row.tried.items():
        _say(f"  {what}: {wrong or 'ok'}")
    return row


def _first_steps(root: Root, who: str, log: Path, row: Row) -> None:
    """Help and doctor before anything is there, then a report by one command."""
    installed = _packages(root)
    for words, expected in (("--help", "Usage: tlstax"), ("doctor", "not done yet")):
        done = root.run(who, ["./tlstax", words], log, WORDS_TIMEOUT_S)
        wrong = "" if done.status == 0 and expected in done.output else f"status {done.status}"
        if _packages(root) != installed:
            wrong = "it installed packages"
        row.tried[words] = wrong
    done = root.run(who, ["./tlstax", "run", "--budget", "20s"], log, RUN_TIMEOUT_S)
    valid = re.search(r"^Trials\s+(\d+) valid, 0 invalid, 0 unknown", done.output, re.MULTILINE)
    report = re.search(r"^Report: (/\S+)$", done.output, re.MULTILINE)
    written = report is not None and (root.folder / report[1][1:]).stat().st_size > 10_000
    row.tried[f"report after {done.took_s:.0f} s"] = _wrong(done.status, bool(valid) and written)
    again = root.run(who, ["./tlstax", "run", "--budget", "5s"], log, RUN_TIMEOUT_S)
    row.tried[f"again after {again.took_s:.0f} s"] = _wrong(again.status, "done in" not in again.output)
    if who != "root" and _packages(root) != installed:
        row.tried["the machine"] = "packages were installed for an ordinary user"


def _wrong(status: int | None, as_expected: bool) -> str:
    if status == 0 and as_expected:
        return ""
    return "it took too long" if status is None else f"status {status}" if status else "without a report"


def _tests(root: Root, who: str, log: Path, row: Row) -> None:
    done = root.run(who, ["./test", "all"], log, TESTS_TIMEOUT_S)
    summary = [line for line in done.output.splitlines() if line][-1:] or ["nothing"]
    row.tried[f"./test all, {done.took_s:.0f} s"] = "" if done.status == 0 else summary[0]


def _packages(root: Root) -> str:
    return (root.folder / "var/lib/dpkg/status").read_text("utf-8")


def _print_table(rows: list[Row], kept: Path) -> None:
    for row in rows:
        tried = "; ".join(f"{what}: {wrong or 'ok'}" for what, wrong in row.tried.items())
        print(f"{RELEASES[row.release]:<11} {row.who:<6} {tried}")  # noqa: T201
    failed = sum(row.failed() for row in rows)
    print(f"{len(rows) - failed} passed, {failed} failed (logs in {kept})")  # noqa: T201


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
