"""Runs that are under way, as they note themselves: early, in the middle, hostile, at their end."""

from __future__ import annotations

from fake_trials import fake_run
from tlstax.results.live import LiveRun, LiveTrials
from tlstax.stats.live import ended

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e"


def preparing() -> LiveRun:
    """Servers are made ready."""
    return LiveRun(doing="starting mysql-9.7")


def begun(blocks: int, *, noise: float = 0.03) -> LiveRun:
    """N blocks have been measured, and the next is about to begin."""
    found = ended(fake_run(number_of_blocks=max(1, blocks), noise=noise), "2026-11-26T12:00:00+00:00")
    changes: dict[str, object] = {
        "status": "running",
        "stopped_because": "",
        "doing": f"block {blocks + 1}: 5 cases take turns, reconnecting for every point select",
        "share": 0.4,
        "left_s": 42.0,
    }
    if not blocks:
        changes |= {"blocks": 0, "ratios": (), "trials": LiveTrials()}
    return found.model_copy(update=changes)


def hostile() -> LiveRun:
    """Every text that is not ours would do harm, and is long."""
    live = begun(3)
    ratios = tuple(ratio.model_copy(update={"label": f"{HOSTILE} {'x' * 80}"}) for ratio in live.ratios)
    texts = dict.fromkeys(("title", "question", "doing", "outcome", "baseline"), f"{HOSTILE} {'y' * 120}")
    trials = LiveTrials(valid=1, invalid=2, reasons=((f"{HOSTILE} {'z' * 200}", 2),), more_reasons=3)
    return live.model_copy(update={**texts, "ratios": ratios, "trials": trials, "warnings": (HOSTILE,)})


def over(status: str = "complete") -> LiveRun:
    """The run has ended."""
    found = ended(fake_run(number_of_blocks=6, noise=0.03), "2026-11-26T12:00:00+00:00")
    return found.model_copy(update={"status": status, "stopped_because": "every ratio is known to ±2 %"})
