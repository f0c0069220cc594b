"""From a baseline to a case in steps: what the waterfalls on the terminal and on the page show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tlstax.findings.core.wording import microseconds, signed
from tlstax.findings.explain.words import ends
from tlstax.results.explanation import ComponentCost, Explanation

MOST_STEPS = 10
LEAST_PART = 0.02
"""A component gets a step of its own from this part of everything that changed."""

REST = "everything else"


@dataclass(frozen=True)
class Step:
    """One bar: from where to where it reaches in µs per operation, what it is, and its figure in words."""

    kind: Literal["baseline", "component", "rest", "case"]
    label: str
    start_us: float
    end_us: float
    text: str
    interval: str = ""

    @property
    def change_us(self) -> float:
        """What this step adds."""
        return self.end_us - self.start_us


def steps(found: Explanation) -> tuple[Step, ...]:
    """The baseline's bar, a floating one for each component by size, what is left, the case's bar."""
    shown = shown_components(found)
    at = found.baseline_us_per_op
    bars = [Step("baseline", found.labels[1], 0.0, at, microseconds(at))]
    for part in shown:
        extra = part.extra_us_per_op
        bars.append(
            Step("component", place(part), at, at + extra.point, f"{signed(extra.point)} µs", ends(extra))
        )
        at += extra.point
    rest = found.case_us_per_op - at
    bars.append(Step("rest", REST, at, found.case_us_per_op, f"{signed(rest)} µs"))
    bars.append(Step("case", found.labels[0], 0.0, found.case_us_per_op, microseconds(found.case_us_per_op)))
    return tuple(bars)


def shown_components(found: Explanation) -> tuple[ComponentCost, ...]:
    """The components that changed most, in order of size."""
    changed = sum(abs(part.extra_us_per_op.point) for part in found.components)
    large = [part for part in found.components if abs(part.extra_us_per_op.point) >= LEAST_PART * changed]
    return tuple(large[:MOST_STEPS])


def place(part: ComponentCost) -> str:
    """A component and its side: "kernel network, server"."""
    return f"{part.name}, {part.side}"
