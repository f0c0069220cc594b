"""Which function the extra cost goes into, found from the stacks alone, whatever its name. Pure.

Component by component the extra cost is known. Within the component that holds most of it, the culprit is
the function nearest to the leaf through which nearly all of that extra passes, and that belongs to a program
or a library of its own: the C library, the kernel and memory allocators work for whoever calls them. Its
share then counts all that passes through it, in whatever component. There is no culprit where no one function
causes half of the extra, or where that function is one through which everything passes anyhow.

A cost that is all in one place can be detected where the whole cannot: what every trial scatters by is spread
over all components, and hardly touches one that the baseline does not have. As there are many components to
look at, that takes an interval which is wider accordingly (Bonferroni).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from tlstax.records.profiles.components import UNATTRIBUTED, classifier
from tlstax.records.profiles.stacks import CUT_OFF, KERNEL, UNKNOWN, Frame, frames
from tlstax.results.rows import Row
from tlstax.stats.pooling import Pooling
from tlstax.stats.stack_costs import Stacks, mean_costs
from tlstax.study import Case
from tlstax.study.labels import finding_levels
from tlstax.support.grouping import grouped
from tlstax.topics.explain.costs import (
    Costs,
    Noise,
    Place,
    by_component,
    is_clear,
    summed,
)

PASSES_THROUGH = 0.8
"""The part of its component's extra that must pass through a function for it to be named."""

LEAST_SHARE = 0.5
"""The part of all the extra that a culprit must cause: half, or the extra has more than one origin."""

EVERYTHING = 0.25
"""A function with this share of the baseline's own cost does ordinary work, and is no origin of extra."""

BENEATH = 0.05
"""Another component is named beneath the culprit from this part of its cost on."""

MOST_FUNCTIONS = 5

_NOT_OWN = re.compile(
    r"(?:libc|libpthread|libm|libstdc\+\+|libgcc_s|librt|libdl)(?:\.so|-\d|\.a)|ld-(?:linux|musl)|ld[-.]\d"
    r"|lib(?:tcmalloc|jemalloc|mimalloc)|\[|vdso|kernel$"
)
_WRAPPERS = re.compile(
    r"CRYPTO_(?:\w*alloc|\w*free)|OPENSSL_(?:malloc|free)|my_(?:malloc|free|realloc)$|operator (?:new|delete)"
)

_ENTRY = re.compile(r"entry_|do_syscall_|x64_sys_call|invoke_syscall|el0|asm_|ret_from_fork")
"""How any call enters the kernel, which says nothing about what was asked for."""


def culprit(
    costs: Costs, pair: tuple[Case, Case], extra_us: float, noise: Noise | None, *, is_clear_as_a_whole: bool
) -> Row | None:
    """The culprit of an extra cost in µs per operation, or None where it has several origins.

    `pair` is the case and its baseline. Where the whole extra cost is within noise, a culprit is one that is
    clear by itself. The row has what all that passes through the function costs more, and as `share` what
    part of the extra that is; `beneath` names the other components in which it causes cost (the kernel's
    random numbers under a generator).
    """
    case, baseline = pair
    pooling = costs.pooling
    if not is_clear_as_a_whole:
        places = costs.component_differences(case, baseline)
        pooling = pooling.at(1 - (1 - costs.study.confidence) / max(1, len(places)))
    elif extra_us <= 0:
        return None
    leading = _leading(costs, case, baseline, noise, pooling)
    if leading is None:
        return None
    side, component = leading
    both = costs.stacks(case, baseline, side)
    own, other = zip(*both.values(), strict=True)
    extra = extra_stacks(own, other)
    frame = _deepest(extra, mean_costs(other), component)
    if frame is None:
        return None
    through = {block: _through(own, frame) - _through(other, frame) for block, (own, other) in both.items()}
    amount = pooling.difference(through)
    share = amount.point / max(extra_us, amount.point)
    if share < LEAST_SHARE or not is_clear(amount, noise.by_place.get(leading) if noise else None):
        return None
    return Row(
        outcome=f"{side}: {component}",
        unit="us",
        role="culprit",
        case=finding_levels(case),
        baseline=finding_levels(baseline),
        interval=costs.pooling.difference(through),
        of="difference",
        more={
            "side": side,
            "component": component,
            "function": frame.function,
            "library": frame.library,
            "share": share,
            "beneath": "; ".join(_beneath(extra, frame, component)),
        },
    )


def functions(extra: Mapping[str, float]) -> dict[str, list[tuple[Frame, float, str]]]:
    """By component, the functions that cost most of its extra, in µs per operation.

    Own functions are charged for their own code; what the C library and the kernel do is charged to the
    function of theirs that was called, whatever it calls in turn, and told with its caller, which is empty
    for own functions.
    """
    found = {}
    for component, stacks in grouped(extra, classifier().component).items():
        charged = [(*_charged_to(_frames(stack)), extra[stack]) for stack in stacks]
        costs = summed((function, us) for function, _, us in charged)
        callers = summed(((function, caller), abs(us)) for function, caller, us in charged)
        # The caller with most of it comes last, and stays.
        called = dict(sorted(callers, key=lambda pair: -callers[pair])[::-1])
        largest = sorted(costs.items(), key=lambda item: (-abs(item[1]), item[0]))
        found[component] = [(function, us, called[function]) for function, us in largest[:MOST_FUNCTIONS]]
    return found


def _charged_to(stack: Sequence[Frame]) -> tuple[Frame, str]:
    """The function that a stack's cost is charged to, and the own one that called it (empty: it is one)."""
    place = next((place for place in range(len(stack) - 1, -1, -1) if is_own(stack[place])), -1)
    if place == len(stack) - 1:
        return stack[-1], ""
    called = (frame for frame in stack[place + 1 :] if frame.function not in (UNKNOWN, CUT_OFF))
    function = next((frame for frame in called if _ENTRY.match(frame.function) is None), stack[-1])
    return function, stack[place].function if place >= 0 else ""


def extra_stacks(case: Sequence[Stacks], baseline: Sequence[Stacks]) -> dict[str, float]:
    """What each stack costs more in the case, in µs per operation, over the same blocks.

    In the order in which they were seen, so that equal callers are told in the same order every time.
    """
    own, other = mean_costs(case), mean_costs(baseline)
    return {stack: own.get(stack, 0.0) - other.get(stack, 0.0) for stack in {**own, **other}}


def is_own(frame: Frame) -> bool:
    """Whether a function belongs to a program or a library of its own, and has a name that says something."""
    return (
        frame.function not in (UNKNOWN, CUT_OFF)
        and frame.library not in (KERNEL, UNKNOWN)
        and _NOT_OWN.match(frame.library) is None
        and _WRAPPERS.match(frame.function) is None
    )


def _leading(costs: Costs, case: Case, baseline: Case, noise: Noise | None, pooling: Pooling) -> Place | None:
    """The component with the largest extra that is clear of zero and of the noise."""
    found: dict[Place, float] = {}
    for place, values in costs.component_differences(case, baseline).items():
        difference = pooling.difference(values)
        floor = noise.by_place.get(place) if noise else None
        if place[1] != UNATTRIBUTED and difference.point > 0 and is_clear(difference, floor):
            found[place] = difference.point
    return max(found, key=lambda place: (found[place], place), default=None)


def _deepest(extra: Mapping[str, float], base: Mapping[str, float], component: str) -> Frame | None:
    """The own function nearest to the leaf through which most of the component's extra passes."""
    within = {stack: us for stack, us in extra.items() if classifier().component(stack) == component}
    total = sum(within.values())
    ordinary = EVERYTHING * sum(base.values())
    in_base = _inclusive(base)
    candidates = {
        frame
        for frame, us in _inclusive(within).items()
        if us >= PASSES_THROUGH * total and in_base.get(frame, 0.0) < ordinary
    }
    nearest = summed(
        (next(frame for frame in reversed(_frames(stack)) if frame in candidates), us)
        for stack, us in within.items()
        if candidates & _own(stack)
    )
    return max(nearest, key=lambda frame: (nearest[frame], frame), default=None)


def _inclusive(stacks: Stacks) -> dict[Frame, float]:
    """What passes through each own function, whatever it calls."""
    return summed((frame, us) for stack, us in stacks.items() for frame in _own(stack))


def _through(stacks: Stacks, function: Frame) -> float:
    return sum(us for stack, us in stacks.items() if function in _own(stack))


def _beneath(extra: Mapping[str, float], function: Frame, component: str) -> tuple[str, ...]:
    """The other components in which the function causes cost, the largest first."""
    found = by_component({stack: us for stack, us in extra.items() if function in _own(stack)})
    least = BENEATH * sum(found.values())
    return tuple(
        name
        for name in sorted(found, key=lambda name: -found[name])
        if found[name] >= least and name not in (component, UNATTRIBUTED)
    )


@lru_cache(maxsize=200_000)
def _frames(stack: str) -> tuple[Frame, ...]:
    return frames(stack)


@lru_cache(maxsize=200_000)
def _own(stack: str) -> frozenset[Frame]:
    return frozenset(frame for frame in _frames(stack) if is_own(frame))
