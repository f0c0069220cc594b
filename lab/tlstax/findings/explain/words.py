"""What an explanation says in words, the culprit first, and what to bear in mind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from tlstax.findings.core.wording import microseconds, number, percent, signed
from tlstax.profiles.components import UNATTRIBUTED
from tlstax.profiles.stacks import CUT_OFF, KERNEL, SIDES, UNKNOWN, Profile, Side, frames
from tlstax.records.trial import StoredRun
from tlstax.results.explanation import (
    ComponentCost,
    Culprit,
    Explanation,
)
from tlstax.results.interval import Interval
from tlstax.study import Case
from tlstax.support.text import counted, enumerated

MOST_COMPONENTS = 3
ALL = 0.97
FEW_SAMPLES = 500
"""With so few, a component of 5 % is known to a fifth of itself at best (Poisson)."""

OFTEN_CUT = 0.05
FEW_BLOCKS = 5
MUCH_UNATTRIBUTED = 0.1


def sentences(
    explanation: Explanation, noisy: Collection[tuple[Side, str]], blocks_that_tell: int | None = None
) -> tuple[str, ...]:
    """The answer, the most important first.

    `noisy` are components whose difference noise could explain, `blocks_that_tell` how many blocks would tell
    whether two cases are alike, None where none would.
    """
    if explanation.verdict == "alike":
        return (_nothing(explanation),)
    if explanation.verdict == "inconclusive":
        return (_inconclusive(explanation, blocks_that_tell),)
    clear = [
        part
        for part in explanation.components
        if (part.side, part.name) not in noisy and part.name != UNATTRIBUTED
    ]
    if explanation.culprit is not None:
        return (
            _named(explanation, explanation.culprit),
            *_parts_of(explanation, clear),
            *_removal(explanation),
        )
    return (_spread(explanation, clear),)


def ends(amount: Interval) -> str:
    """The ends of an interval, or nothing where there is none: "[+1.2 … +3.4]"."""
    if amount.low is None or amount.high is None:
        return ""
    return f"[{signed(amount.low)} … {signed(amount.high)}]"


def operations(operation: str) -> str:
    """What an operation is called where there are several."""
    return {"query": "queries"}.get(operation, f"{operation}s")


def function_words(name: str, library: str) -> str:
    """A function and its file: "RAND_bytes (libcrypto.so.3)"."""
    return f"{name} ({library})"


def programs_differ(case: Case, baseline: Case) -> bool:
    """Whether the two run different servers or libraries, whose functions have other names."""
    return any(case.levels.get(name) != baseline.levels.get(name) for name in ("server", "tls_library"))


def caveats(stored: StoredRun, explanation: Explanation, case: Case, baseline: Case) -> tuple[str, ...]:
    """What bears on the explanation, from how it was sampled."""
    profiles = [
        record.profile
        for record in stored.profiled
        if record.trial.case in (case, baseline)
        and record.profile is not None
        and record.verdict.value == "valid"
    ]
    return tuple(_caveats(explanation, profiles, case, baseline))


def _nothing(explanation: Explanation) -> str:
    case, baseline = explanation.labels
    return (
        f"nothing to explain: {case} costs as much CPU per {explanation.operation} as {baseline}, within "
        f"{percent(explanation.alike_within - 1)} ({_evidence(explanation)})"
    )


def _inconclusive(explanation: Explanation, blocks_that_tell: int | None) -> str:
    """What is not known, from what, and what would tell."""
    case, baseline = explanation.labels
    blocks = counted(explanation.extra_cpu_us_per_op.blocks, "block")
    remedy = (
        "no number of blocks that anybody would wait for would tell: a quieter machine would"
        if blocks_that_tell is None
        else f"about {blocks_that_tell} blocks would tell: a larger --budget"
    )
    return (
        f"inconclusive: whether {case} costs as much CPU per {explanation.operation} as {baseline} is not "
        f"known from {blocks} ({_evidence(explanation)}); {remedy}"
    )


def _evidence(explanation: Explanation) -> str:
    amount, noise = explanation.extra_cpu_us_per_op, explanation.noise_us_per_op
    beside = f"; two equal cases differ by up to {microseconds(noise)}" if noise is not None else ""
    base = microseconds(explanation.baseline_us_per_op)
    return f"{signed(amount.point)} µs {ends(amount)} on top of {base}{beside}"


def _named(explanation: Explanation, culprit: Culprit) -> str:
    if not explanation.whole_is_told:
        return _named_alone(explanation, culprit)
    extra, own = explanation.extra_cpu_us_per_op.point, culprit.extra_us_per_op.point
    how_much = (
        f"practically all of the {number(extra)} µs of extra CPU per {explanation.operation} goes"
        if culprit.share >= ALL
        else f"{number(own)} of the {number(extra)} µs of extra CPU per {explanation.operation} "
        f"({percent(culprit.share)}) go"
    )
    beneath = f", with {enumerated(culprit.beneath)} beneath it" if culprit.beneath else ""
    return (
        f"{how_much} into {function_words(culprit.function, culprit.library)} on the {culprit.side}: "
        f"{culprit.component}{beneath}"
    )


def _named_alone(explanation: Explanation, culprit: Culprit) -> str:
    """A culprit that is clear although the whole is not."""
    beneath = f", with {enumerated(culprit.beneath)} beneath it" if culprit.beneath else ""
    return (
        f"{function_words(culprit.function, culprit.library)} on the {culprit.side} costs "
        f"{signed(culprit.extra_us_per_op.point)} µs {ends(culprit.extra_us_per_op)} of CPU per "
        f"{explanation.operation}: {culprit.component}{beneath}; the rest is inconclusive"
    )


def _parts_of(explanation: Explanation, clear: list[ComponentCost]) -> Iterator[str]:
    case, baseline = explanation.labels
    amount = explanation.extra_cpu_us_per_op
    yield (
        f"{case} costs {microseconds(explanation.case_us_per_op)} of CPU per {explanation.operation}, client "
        f"and server together, {baseline} {microseconds(explanation.baseline_us_per_op)}: "
        f"{signed(amount.point)} µs {ends(amount)}"
    )
    yield from _largest_of(clear)


def _spread(explanation: Explanation, clear: list[ComponentCost]) -> str:
    case, baseline = explanation.labels
    amount = explanation.extra_cpu_us_per_op
    how = "more" if amount.point > 0 else "less"
    why = (
        "; no one function is the cause of half of it" if amount.point > 0 and clear
        else "" if clear
        else "; into which component is inconclusive"
    )  # fmt: skip
    largest = "".join(f"; {words}" for words in _largest_of(clear))
    return (
        f"{case} costs {microseconds(abs(amount.point))} {how} CPU per {explanation.operation} than "
        f"{baseline} ({signed(amount.point)} {ends(amount)} on top of "
        f"{microseconds(explanation.baseline_us_per_op)}){why}{largest}"
    )


def _largest_of(clear: list[ComponentCost]) -> Iterator[str]:
    if clear:
        listed = [
            f"{part.name} on the {part.side} {signed(part.extra_us_per_op.point)} µs"
            for part in clear[:MOST_COMPONENTS]
        ]
        yield f"most of the difference: {enumerated(listed)}"


def _removal(explanation: Explanation) -> Iterator[str]:
    removal, rate = (
        explanation.removal,
        next((s for s in explanation.shifts if s.outcome == "ops_per_s"), None),
    )
    if removal is None or rate is None or explanation.culprit is None:
        return
    plural = operations(explanation.operation)
    if removal.predicted is not None:
        yield (
            f"the server's processors were busy all the time: without {explanation.culprit.function} it "
            f"could do {rate.value * removal.predicted:,.0f} {plural} a second instead of {rate.value:,.0f} "
            f"({removal.predicted:.2f} times as many)"
        )
    if removal.measured is not None:
        yield (
            f"measured without it: {rate.baseline_value:,.0f} {plural} a second "
            f"({removal.measured:.2f} times as many)"
        )


def _caveats(explanation: Explanation, profiles: list[Profile], case: Case, baseline: Case) -> Iterator[str]:
    blocks = explanation.extra_cpu_us_per_op.blocks
    if blocks < FEW_BLOCKS:
        yield f"{counted(blocks, 'block')} only: the intervals rest on hardly any evidence"
    if programs_differ(case, baseline):
        yield (
            "the two run different programs: what one calls by another name counts as more in one function "
            "and as less in another"
        )
    if explanation.is_control and explanation.verdict == "explained":
        yield "two equal cases differ here: the machine drifted, and smaller differences tell nothing"
    if explanation.noise_us_per_op is None and not explanation.is_control:
        yield "no control was sampled, so that the noise is not known"
    yield from _of_sides(explanation)
    yield from _sampling(profiles)


def _of_sides(explanation: Explanation) -> Iterator[str]:
    for side, samples in explanation.samples.items():
        if samples < FEW_SAMPLES:
            yield f"{samples} samples of the {side} only: small components are not known"
    for side in SIDES:
        if side not in explanation.samples:
            yield f"the {side} was not sampled, so that its part is missing"
    for side, share in explanation.unattributed.items():
        if share > MUCH_UNATTRIBUTED:
            yield f"{percent(share)} of the {side}'s samples have no component"


def _sampling(profiles: list[Profile]) -> Iterator[str]:
    if any(profile.event == "cpu-clock" for profile in profiles):
        yield (
            "sampled by the clock, as this machine has no hardware counters: what the kernel does with "
            "interrupts off shows in the function that switches them on again"
        )
    if any(not profile.kernel for profile in profiles):
        yield "the kernel could not be sampled: components are parts of the time in user mode alone"
    if lost := sum(profile.lost for profile in profiles):
        yield f"perf dropped {counted(lost, 'sample')}"
    cut, nameless = Counter[bool](), Counter[bool]()
    for profile in profiles:
        for side in (profile.server, profile.client):
            for stack, count in side.stacks.items() if side is not None else ():
                cut[stack.startswith(CUT_OFF)] += count
                of_kernel = [frame for frame in frames(stack) if frame.library == KERNEL]
                if of_kernel:
                    nameless[all(frame.function == UNKNOWN for frame in of_kernel)] += count
    if cut[True] > OFTEN_CUT * cut.total():
        yield f"{percent(cut[True] / cut.total())} of the stacks are cut off near their root"
    if nameless[True] > nameless[False]:
        yield (
            "the kernel's functions have no names here (kernel.kptr_restrict): what the kernel did is "
            "counted for whoever called it"
        )
