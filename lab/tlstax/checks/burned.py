"""Proof of what was burned: in every turn, each call of the planted library found the amount of the case.

The library counts by itself: its calls, what each of them found that it was to burn, and what it burned by
its own clock. So a page that was set too late, for another case or not at all is found out, and so is a
server that never calls it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.checks.complete import Complete, Doubt
from tlstax.study.level_names import BURN


def burned(trial: Complete) -> Iterator[Doubt]:
    """Every call was asked to burn what the case says, and burned no less; and there were calls."""
    if trial.case.fault != BURN:
        return
    seen, wanted_ns = trial.evidence.burned, trial.case.burn_ns
    if seen is None:
        yield Doubt("unknown", f"it is not known what the fault {BURN} burned")
        return
    turns = seen.turns()
    others = [(calls, asked_ns) for calls, asked_ns, _ in turns if asked_ns != calls * wanted_ns]
    if others:
        calls, asked_ns = others[0]
        yield Doubt(
            "invalid",
            f"in {len(others)} of {len(turns)} turns another amount was burned than {wanted_ns} ns a call: "
            f"{asked_ns} ns in {calls} calls",
        )
    if any(burned_ns < asked_ns for _, asked_ns, burned_ns in turns):
        yield Doubt("invalid", f"the fault {BURN} burned less than it was asked for")
    if wanted_ns and not sum(seen.calls):
        yield Doubt("invalid", f"nothing of the server called the fault {BURN}")
