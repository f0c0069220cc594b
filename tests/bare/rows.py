"""What came of what was tried in bare roots, and how a run in one is judged."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from roots import Done, Root

RUN_TIMEOUT_S = 1800


@dataclass
class Row:
    """What came of one user on one release: what was tried, each with what went wrong (empty: nothing)."""

    release: str
    who: str
    tried: dict[str, str] = field(default_factory=dict)

    def failed(self) -> bool:
        """Whether anything went wrong."""
        return any(self.tried.values())


@dataclass(frozen=True)
class Attempt:
    """What is tried: the packages that a root has for it, who tries, what is brought there, and the steps.

    The steps get the root, who tries, the log that commands are appended to, and the row to fill.
    """

    name: str
    packages: tuple[str, ...]
    users: tuple[str, ...]
    bring: Callable[[Path], None]
    steps: Callable[[Root, str, Path, Row], None]


def wrong(done: Done, *, as_expected: bool) -> str:
    """What is wrong with how a command ended; empty for nothing."""
    if done.status == 0 and as_expected:
        return ""
    if done.status is None:
        return "it took too long"
    return f"status {done.status}" if done.status else "not as expected"


def has_report(root: Root, done: Done) -> bool:
    """Whether a run printed that all its trials were valid, and wrote its page."""
    report = re.search(r"^Report: (/\S+)$", done.output, re.MULTILINE)
    written = report is not None and (root.folder / report[1][1:]).stat().st_size > 10_000
    return all_valid(done.output) and written


def all_valid(output: str) -> bool:
    """Whether a run printed that all its trials were valid."""
    return re.search(r"^Proof\s+([\d,]+) of \1 trials valid", output, re.MULTILINE) is not None


def packages_of(root: Root) -> str:
    """What dpkg has noted as installed."""
    return (root.folder / "var/lib/dpkg/status").read_text("utf-8")
