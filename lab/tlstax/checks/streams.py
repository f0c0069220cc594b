"""Proof that a program copied all of a server: as much as the server said before that there was.

One copy was looked through, before the window; those of the window must have been as long.
"""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.checks.complete import Complete, Doubt
from tlstax.study.client_kinds import kind_of
from tlstax.support.text import counted, was

MOST_APART = {"base backup": 0.01}
"""By how much copies may differ in length, in parts of it: a running server's files are what they are, and
rows and a log that nobody writes are always the same."""

BESIDE_BYTES = 1024
"""What a program writes beside its copy, some bytes more or less each time: what it tells a server over TLS
counts as written where its TLS library writes it."""


def whole(trial: Complete) -> Iterator[Doubt]:
    """The copy that was looked through held what the server had, and all others were as long."""
    copied, streamed, job = kind_of(trial.case.client).copies, trial.done.streamed, trial.evidence.job
    if copied is None:
        return
    if job is None or job.stream is None or streamed is None:
        yield Doubt("unknown", f"{trial.ready.client} does not tell what it copied")
        return
    for what, has in job.stream.holds.items():
        came = streamed.holds.get(what, 0)
        if came != has:
            yield Doubt("invalid", f"the server has {has:,} {_words(what)}, and {came:,} came")
    first, *others = streamed.written
    if len(others) != trial.done.operations:
        yield Doubt(
            "invalid",
            f"the length of {counted(len(others), 'copy')} is known, and {trial.done.operations} "
            f"{was(trial.done.operations)} made",
        )
    apart = MOST_APART.get(copied, 0.0) * first + BESIDE_BYTES
    for length in others:
        if abs(length - first) > apart:
            yield Doubt(
                "invalid",
                f"a copy of the window was {length:,} bytes long, where the one that was looked through was "
                f"{first:,}",
            )


def _words(what: str) -> str:
    return what if what in {"rows", "bytes"} else f"bytes in {what}"
