"""Block after block of the self-bench until the budget is spent; what measures is handed in."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Protocol

from tlstax.selfbench.outcomes import judged
from tlstax.selfbench.plan import Contestant, Sitting, blocks
from tlstax.selfbench.records import Header, Observation, Result, Run, Status
from tlstax.support.errors import Interrupted, MachineFault

Measure = Callable[[Sitting], tuple[Observation, ...]]


class Watcher(Protocol):
    """Who is kept informed of the blocks."""

    def sitting(self, sitting: Sitting, left_s: float | None) -> None:
        """A sitting begins; `left_s` is how long the rest may take, None while that is not known."""
        ...

    def close(self) -> None:
        """The sittings have ended."""
        ...


def run_blocks(
    header: Header,
    present: Collection[Contestant],
    measure: Measure,
    watcher: Watcher,
    *,
    now_s: Callable[[], float] = time.monotonic,
) -> Run:
    """Measure complete blocks as long as one more is likely to fit the budget, and at least one.

    Ctrl-C ends it in order, and so does a machine or server that fails for good: the blocks that were
    complete are in the run. MachineFault where none was.
    """
    complete: list[Result] = []
    started_s, done = now_s(), 0
    status: Status = "complete"
    why = ""
    try:
        for block in blocks(header.cells, present, header.seed, header.window_s):
            results: list[Result] = []
            for sitting in block:
                elapsed_s = now_s() - started_s
                watcher.sitting(sitting, left_s(elapsed_s, done, len(block), header.budget_s))
                results += [judged(seen, header) for seen in measure(sitting)]
                done += 1
            complete += results
            elapsed_s = now_s() - started_s
            if elapsed_s + elapsed_s / (block[0].block + 1) > header.budget_s:
                break
    except Interrupted:
        status = "interrupted"
    except MachineFault as fault:
        if not complete:
            raise
        status, why = "failed", fault.message
    finally:
        watcher.close()
    return Run(header=header, results=tuple(complete), status=status, why=why)


def left_s(elapsed_s: float, done: int, in_block: int, budget_s: float) -> float | None:
    """How long the sittings that are still to come may take; None before there is anything to judge by.

    As many whole blocks are run as fit the budget at the speed so far, and at least one.
    """
    if done == 0 or elapsed_s <= 0:
        return None
    block_s = elapsed_s / done * in_block
    return max(1, int(budget_s / block_s)) * block_s - elapsed_s
