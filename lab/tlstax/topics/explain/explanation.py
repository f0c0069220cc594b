"""From a baseline to a case: where the extra CPU time of an operation went, in rows and in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil, exp
from statistics import fmean

from tlstax.records.profiles.components import UNATTRIBUTED, component_order
from tlstax.records.profiles.stacks import CUT_OFF, KERNEL, SIDES, UNKNOWN, Frame, Profile, frames
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.explanation import Explanation
from tlstax.results.interval import DIFFERENCES
from tlstax.results.rows import Row
from tlstax.stats.contrasts import LIBRARIES, judge, judge_difference, times_needed
from tlstax.stats.outcomes import log_ratio_between, outcome
from tlstax.stats.stack_costs import in_kernel_percent
from tlstax.stats.wording import microseconds, number, percent, signed
from tlstax.study import Case, Study
from tlstax.study.labels import finding_levels, full_label, group_label, label, without_mark
from tlstax.study.level_names import NO_FAULT, VARIANTS
from tlstax.support.errors import UserMistake
from tlstax.support.grouping import grouped
from tlstax.support.text import counted, enumerated
from tlstax.topics.core import columns
from tlstax.topics.core.columns import SIDE, Column
from tlstax.topics.core.figures import ends
from tlstax.topics.core.topic import Run
from tlstax.topics.explain.costs import Costs, Noise, by_component, in_both, mean
from tlstax.topics.explain.culprit import culprit, extra_stacks, functions

LEAST_BLOCKS = 2
"""One block alone shows no scatter, so nothing can be distinguished from noise."""

BUSY = 0.9
"""From this part of its processors' time on, the server is what limits the rate."""

SYSTEM_PERCENT = "server_cpu_system_percent"
SHIFTS = {
    "ops_per_s": ("1/s", "{operations} a second"),
    "server_cpu_us_per_op": ("us", "server CPU per {operation}"),
    SYSTEM_PERCENT: ("%", "of the server's samples, in the kernel for any component"),
    "machine_system_percent": ("%", "of all processors' time, idle too, in the kernel"),
    "latency_p50_us": ("us", "median latency per {operation}"),
}
"""The figures that are shown beside an explanation, where they were measured: their units, and in words."""

OPERATIONS = {
    "reconnect": "connection",
    "reconnect-ping": "connection",
    "ping": "query",
    "storm": "connection",
    "point-select": "query",
}
"""What an operation of a workload is called, where it has a name."""

MOST_COMPONENTS = 3
ALL = 0.97
FEW_SAMPLES = 500
"""With so few, a component of 5 % is known to a fifth of itself at best (Poisson)."""

OFTEN_CUT = 0.05
FEW_BLOCKS = 5
MUCH_UNATTRIBUTED = 0.1

COLUMNS = (
    SIDE,
    Column("component", "TEXT", "what the samples of these functions are counted for"),
    columns.FUNCTION,
    columns.LIBRARY,
    Column("through", "TEXT", "the program's own function that called one of the C library or the kernel"),
    Column("share", "REAL", "what part of the extra goes through the culprit, whatever it calls", "1"),
    Column("beneath", "TEXT", "the other components in which the culprit causes cost"),
    Column(
        "unattributed_share", "REAL", "the part of a side's samples that no rule has a component for", "1"
    ),
    Column("compared_with", "TEXT", "what the case is compared with, in words"),
    Column("operation", "TEXT", "what an operation is called"),
    Column("blocks_needed", "INTEGER", "from about how many blocks an inconclusive difference would tell"),
)


def explain(stored: StoredRun, case: Case, baseline: Case | None = None) -> Explanation:
    """Where the extra cost of a case goes, against a baseline (see `Costs.baseline_of` for the usual one).

    Raises UserMistake where the run cannot tell: nothing was sampled, both are the same, too few blocks.
    """
    costs = Costs(stored)
    baseline = baseline or costs.baseline_of(case)
    if why := _hindrance(costs, case, baseline):
        raise UserMistake(why[0], remedy=why[1])
    return _explanation(_rows(costs, case, baseline), costs.study, stored.header.run)


def rows(run: Run) -> Iterator[Row]:
    """Of every case that was sampled and can be explained, in the plan's order."""
    costs = Costs(run.stored)
    for case in costs.cases if run.stored.profiled else ():
        baseline = costs.baseline_of(case)
        if not _hindrance(costs, case, baseline):
            yield from _rows(costs, case, baseline)


def explanations(found: Iterable[Row], study: Study, run: str) -> tuple[Explanation, ...]:
    """The rows of several cases, each case by itself and in words, in their order."""
    cases = grouped(found, lambda row: (row.case, row.baseline))
    return tuple(_explanation(own, study, run) for own in cases.values())


def by_rank(found: Iterable[Explanation]) -> tuple[Explanation, ...]:
    """Treatments before controls, and those with a culprit first; of several, the one that says most.

    Of those with a culprit, what is compared over the same libraries comes first. The fewer levels two cases
    differ in, the less else can be at work: what says most is a comparison in which one thing was changed.
    Then comes what is clear as a whole, then the culprit's larger share. Without a culprit it is the larger
    extra cost.
    """

    def rank(explanation: Explanation) -> tuple[float, ...]:
        whole, culprit = explanation.whole, explanation.culprit
        changed = {name for name, level in whole.case.items() if whole.baseline.get(name) != level}
        of_culprit = (False, 0, False, 0.0)
        if culprit is not None:
            share = culprit.number("share") or 0.0
            of_culprit = (changed.isdisjoint(LIBRARIES), -len(changed), explanation.whole_is_told, share)
        return (not explanation.is_control, culprit is not None, *of_culprit, whole.difference.point)

    return tuple(sorted(found, key=rank, reverse=True))


def _explanation(own: Iterable[Row], study: Study, run: str) -> Explanation:
    every = tuple(own)
    whole = every[0]
    group = group_label(without_mark(whole.case), study)
    title = f"{whole.label} against {whole.word('compared_with')}{f' ({group})' if group else ''}"
    found = Explanation(run=run, title=title, alike_within=study.alike_within, rows=every)
    return found.model_copy(update={"sentences": sentences(found)})


@dataclass(frozen=True)
class _Pair:
    """A case, its baseline, and their unsampled trials of the same blocks."""

    case: Case
    baseline: Case
    trials: tuple[tuple[TrialRecord, TrialRecord], ...]

    def row(self, **known: object) -> Row:
        """A row of these two."""
        levels = {"case": finding_levels(self.case), "baseline": finding_levels(self.baseline)}
        return Row.model_validate({**levels, **known})

    def ratio(self, name: str) -> float | None:
        """The case to its baseline as everything is compared: by block, between neighbouring slices."""
        ratios = [log_ratio_between(own, base, name) for own, base in self.trials]
        known = [ratio for ratio in ratios if ratio is not None]
        return exp(fmean(known)) if known else None

    def mean(self, name: str) -> float | None:
        """The case's own figure."""
        known = [value for own, _ in self.trials if (value := outcome(own, name)) is not None]
        return fmean(known) if known else None

    @property
    def programs_differ(self) -> bool:
        """Whether the two run different programs or libraries, whose functions have other names."""
        own, other = self.case.levels, self.baseline.levels
        return any(own.get(name) != other.get(name) for name in ("server", "client", *LIBRARIES))


def _hindrance(costs: Costs, case: Case, baseline: Case) -> tuple[str, str] | None:
    """Why these two cannot be compared, and what to do; None where they can."""
    study, run = costs.study, costs.stored.header.run
    again = "run it again with --profile"
    if not any(record.profile is not None for record in costs.stored.profiled):
        return f"run {run} has no profile: nothing in it was sampled", again
    if case == baseline:
        return (
            f"{full_label(case, study)} is what the others are compared with",
            "name another case, or another --against",
        )
    blocks = max(len(costs.stacks(case, baseline, side)) for side in SIDES)
    if blocks >= LEAST_BLOCKS:
        return None
    number = "one block" if blocks else "no block"
    return (
        f"{full_label(case, study)} and {full_label(baseline, study)} were both sampled, in valid "
        f"trials, in {number} alone; it takes {LEAST_BLOCKS} to tell a difference from scatter",
        "give the study a larger --budget",
    )


def _rows(costs: Costs, case: Case, baseline: Case) -> tuple[Row, ...]:
    """The whole first, then its components, functions in them, the culprit, what shifted, what was sampled.

    What an operation costs is a mean over blocks for the baseline, and that times the ratio of the two for
    the case; the extra is the difference of these, with the ratio's interval.
    """
    study, trials = costs.study, in_both(costs.of(case).measured, costs.of(baseline).measured)
    pair = _Pair(case, baseline, tuple(trials.values()))
    noise = costs.noise(case, baseline)
    floor = noise.floor if noise else None
    base_us = mean(base for _, base in costs.total_costs(case, baseline).values())
    ratio = costs.pooling.interval(costs.total_logs(case, baseline))
    total = ratio.each(lambda times: base_us * (times - 1))
    within = study.alike_within
    judgement = judge(ratio, floor, within)
    is_told = judgement in DIFFERENCES
    found = culprit(costs, (case, baseline), total.point, noise, is_clear_as_a_whole=is_told)
    times = times_needed(ratio, floor, within) if judgement == "inconclusive" else None
    in_words = label if study.group_of(case.levels) == study.group_of(baseline.levels) else full_label
    sampled = tuple(_sampled(costs, pair))
    whole = pair.row(
        outcome="cpu_us_per_op",
        unit="us",
        label=in_words(case, study),
        value=base_us * ratio.point,
        baseline_value=base_us,
        interval=total,
        of="difference",
        noise_floor=base_us * floor if floor is not None else None,
        judgement=judgement,
        more={
            "compared_with": in_words(baseline, study),
            "operation": OPERATIONS.get(case.levels.workload, "operation"),
            "blocks_needed": ceil(times * ratio.blocks) if times is not None else None,
        },
    )
    explained = found is not None or is_told
    caveats = tuple(_caveats(costs.stored, whole, pair, sampled, is_explained=explained))
    return (
        whole.model_copy(update={"caveats": caveats}),
        *_components(costs, pair, noise),
        *([found, *_removal(costs.stored, pair, found)] if found is not None else ()),
        *_shifts(costs, pair),
        *sampled,
    )


def _components(costs: Costs, pair: _Pair, noise: Noise | None) -> Iterator[Row]:
    """Every component of each side, those with most extra first, then the functions of each.

    What is unattributed is among them. One whose difference noise could explain is inconclusive.
    """
    differences = costs.component_differences(pair.case, pair.baseline)
    parts: list[tuple[Row, list[Row]]] = []
    for side in SIDES:
        both = costs.stacks(pair.case, pair.baseline, side).values()
        known = functions(extra_stacks([own for own, _ in both], [other for _, other in both]))
        each, base = ([by_component(stacks[place]) for stacks in both] for place in (0, 1))
        for name in component_order():
            if (side, name) not in differences:
                continue
            extra = costs.pooling.difference(differences[side, name])
            floor = noise.by_place.get((side, name)) if noise else None
            part = pair.row(
                outcome=f"{side}: {name}",
                unit="us",
                role="component",
                value=fmean(cost.get(name, 0.0) for cost in each),
                baseline_value=fmean(cost.get(name, 0.0) for cost in base),
                interval=extra,
                of="difference",
                noise_floor=floor,
                judgement=judge_difference(extra, floor, 0.0),
                more={"side": side, "component": name},
            )
            own_functions = [_function(pair, part, *function) for function in known[name]]
            parts.append((part, own_functions))
    parts.sort(key=lambda part: -abs(part[0].difference.point))
    yield from (part for part, _ in parts)
    yield from (function for _, own in parts for function in own)


def _function(pair: _Pair, part: Row, frame: Frame, us: float, through: str) -> Row:
    """What a function costs more than in the baseline, by its own code, or with all that it calls."""
    return pair.row(
        outcome=part.outcome,
        unit="us",
        role="function",
        interval=part.difference.model_copy(update={"point": us, "low": None, "high": None}),
        of="difference",
        more={**part.more, "function": frame.function, "library": frame.library, "through": through},
    )


def _shifts(costs: Costs, pair: _Pair) -> Iterator[Row]:
    """Figures of the case beside the baseline's: connections a second, %system, latency."""
    for name, (unit, _) in SHIFTS.items():
        if name == SYSTEM_PERCENT:
            known = _kernel_percents(costs, pair)
        else:
            both = [(outcome(own, name), outcome(base, name)) for own, base in pair.trials]
            known = [(own, base) for own, base in both if own is not None and base is not None]
        if known:
            value, baseline_value = (fmean(values) for values in zip(*known, strict=True))
            if unit != "%" and (ratio := pair.ratio(name)):
                value = baseline_value * ratio
            yield pair.row(outcome=name, unit=unit, role="shift", value=value, baseline_value=baseline_value)


def _kernel_percents(costs: Costs, pair: _Pair) -> list[tuple[float, float]]:
    """The part of the server's samples in the kernel, in per cent: of case and baseline by block.

    Not of the time that the kernel accounts for as its own: it counts that by ticks, of which a window
    has few, so that it contradicts the components. Nothing where it could not be sampled.
    """
    profiles = (record.profile for record in costs.stored.profiled)
    if any(profile is not None and not profile.kernel for profile in profiles):
        return []
    return [
        (in_kernel_percent(own), in_kernel_percent(other))
        for own, other in costs.stacks(pair.case, pair.baseline, "server").values()
        if sum(own.values()) and sum(other.values())
    ]


def _profiles(stored: StoredRun, *cases: Case) -> list[Profile]:
    """What was sampled of these cases in valid trials."""
    valid = (r for r in stored.profiled if r.trial.case in cases and r.verdict.value == "valid")
    return [record.profile for record in valid if record.profile is not None]


def _sampled(costs: Costs, pair: _Pair) -> Iterator[Row]:
    """How many samples each side of the case has, and how much of that no rule has a component for."""
    for side in SIDES:
        sides = (profile.side(side) for profile in _profiles(costs.stored, pair.case))
        samples = sum(own.samples for own in sides if own is not None)
        if samples:
            blocks = [by_component(stacks) for stacks in costs.of(pair.case).stacks[side].values()]
            total = sum(sum(block.values()) for block in blocks)
            unattributed = sum(block.get(UNATTRIBUTED, 0.0) for block in blocks)
            yield pair.row(
                outcome=f"{side}_samples",
                unit="1",
                role="sampled",
                value=samples,
                more={"side": side, "unattributed_share": unattributed / total if total > 0 else None},
            )


def _removal(stored: StoredRun, pair: _Pair, culprit: Row) -> Iterator[Row]:
    """What taking the culprit out of the server would give, as a ratio of operations a second.

    It is predicted where the server's processors are what limits the rate: the server's CPU time per
    operation with the culprit to that without. It is measured where the two differ in a planted fault alone.
    """

    def removed(role: str, times: float) -> Row:
        ratio = culprit.difference.model_copy(update={"point": times, "low": None, "high": None})
        return pair.row(outcome="ops_per_s", unit="1/s", role=role, interval=ratio, of="ratio")

    machine = stored.header.machine
    server_us, cores = pair.mean("server_cpu_us_per_op"), pair.mean("server_cpu_share")
    has_own = machine.server_cpus and not set(machine.server_cpus) & set(machine.client_cpus)
    is_servers = culprit.more["side"] == "server" and not pair.programs_differ
    if is_servers and has_own and server_us and cores and cores >= BUSY * len(machine.server_cpus):
        left_us = server_us - culprit.difference.point
        if left_us > 0:
            yield removed("removal predicted", server_us / left_us)
    is_fault = pair.case.levels.fault not in {NO_FAULT, *VARIANTS}
    is_alone = {**pair.case.levels, "fault": NO_FAULT} == pair.baseline.levels
    if is_fault and is_alone and (ratio := pair.ratio("ops_per_s")):
        yield removed("removal measured", 1 / ratio)


def _caveats(
    stored: StoredRun, whole: Row, pair: _Pair, sampled: Iterable[Row], *, is_explained: bool
) -> Iterator[str]:
    """What bears on the explanation, from how it was sampled."""
    is_control = pair.case.role == "control"
    blocks = whole.difference.blocks
    if blocks < FEW_BLOCKS:
        yield f"{counted(blocks, 'block')} only: the intervals rest on hardly any evidence"
    if pair.programs_differ:
        yield (
            "the two run different programs: what one calls by another name counts as more in one function "
            "and as less in another"
        )
    if is_control and is_explained:
        yield "two equal cases differ here: the machine drifted, and smaller differences tell nothing"
    if whole.noise_floor is None and not is_control:
        yield "no control was sampled, so that the noise is not known"
    by_side = {row.word("side"): row for row in sampled}
    for side, row in by_side.items():
        if (row.value or 0) < FEW_SAMPLES:
            samples = counted(row.value or 0, "sample", ".0f")
            yield f"{samples} of the {side} only: small components are not known"
    yield from (
        f"the {side} was not sampled, so that its part is missing" for side in SIDES if side not in by_side
    )
    for side, row in by_side.items():
        share = row.number("unattributed_share") or 0.0
        if share > MUCH_UNATTRIBUTED:
            yield f"{percent(share)} of the {side}'s samples have no component"
    yield from _sampling(_profiles(stored, pair.case, pair.baseline))


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
    sides = (profile.side(side) for profile in profiles for side in SIDES)
    cut, nameless = Counter[bool](), Counter[bool]()
    for stack, count in (pair for side in sides if side is not None for pair in side.stacks.items()):
        cut[stack.startswith(CUT_OFF)] += count
        of_kernel = {frame.function for frame in frames(stack) if frame.library == KERNEL}
        if of_kernel:
            nameless[of_kernel == {UNKNOWN}] += count
    if cut[True] > OFTEN_CUT * cut.total():
        yield f"{percent(cut[True] / cut.total())} of the stacks are cut off near their root"
    if nameless[True] > nameless[False]:
        yield (
            "the kernel's functions have no names here (kernel.kptr_restrict): what the kernel did is "
            "counted for whoever called it"
        )


def sentences(found: Explanation) -> tuple[str, ...]:
    """The answer, the most important first."""
    if not found.is_explained:
        return (_nothing(found),)
    clear = [
        part
        for part in found.components
        if part.judgement != "inconclusive" and part.more["component"] != UNATTRIBUTED
    ]
    case, baseline = found.labels
    listed = [
        f"{part.word('component')} on the {part.word('side')} {signed(part.difference.point)} µs"
        for part in clear[:MOST_COMPONENTS]
    ]
    largest = [f"most of the difference: {enumerated(listed)}"] if clear else []
    if found.culprit is not None:
        costs = (
            f"{case} costs {microseconds(found.case_us)} of CPU per {found.operation}, client and server "
            f"together, {baseline} {microseconds(found.baseline_us)}: {signed(found.extra.point)} µs "
            f"{ends(found.extra, signed)}"
        )
        return (_named(found, found.culprit), costs, *largest, *_removal_words(found))
    us = found.extra.point
    why = "no one function is the cause of half of it" if us > 0 and clear else ""
    why = why if clear else "into which component is inconclusive"
    whole = (
        f"{case} costs {microseconds(abs(us))} {'more' if us > 0 else 'less'} CPU per {found.operation} than "
        f"{baseline} ({signed(us)} {ends(found.extra, signed)} on top of {microseconds(found.baseline_us)})"
    )
    return ("; ".join(filter(None, (whole, why, *largest))),)


def operations(operation: str) -> str:
    """What an operation is called where there are several."""
    return {"query": "queries"}.get(operation, f"{operation}s")


def _nothing(found: Explanation) -> str:
    """That there is nothing to explain; or what is not known, from what, and what would tell."""
    case, baseline = found.labels
    costs = f"costs as much CPU per {found.operation} as {baseline}"
    if found.whole.judgement == "alike":
        within = percent(found.alike_within - 1)
        return f"nothing to explain: {case} {costs}, within {within} ({_evidence(found)})"
    needed = found.whole.word("blocks_needed")
    remedy = (
        f"about {needed} blocks would tell: a larger --budget"
        if needed
        else "no number of blocks that anybody would wait for would tell: a quieter machine would"
    )
    return (
        f"inconclusive: whether {case} {costs} is not known from "
        f"{counted(found.extra.blocks, 'block')} ({_evidence(found)}); {remedy}"
    )


def _evidence(found: Explanation) -> str:
    noise = found.whole.noise_floor
    beside = f"; two equal cases differ by up to {microseconds(noise)}" if noise is not None else ""
    base = microseconds(found.baseline_us)
    return f"{signed(found.extra.point)} µs {ends(found.extra, signed)} on top of {base}{beside}"


def _named(found: Explanation, row: Row) -> str:
    """The culprit; one that is clear although the whole is not is told by its own cost."""
    who = f"{row.word('function')} ({row.word('library')}) on the {row.word('side')}"
    beneath = row.word("beneath").split("; ")
    under = f", with {enumerated(beneath)} beneath it" if beneath != [""] else ""
    where = f"{row.word('component')}{under}"
    own, share = row.difference, row.number("share") or 0.0
    if not found.whole_is_told:
        return (
            f"{who} costs {signed(own.point)} µs {ends(own, signed)} of CPU per {found.operation}: {where}; "
            "the rest is inconclusive"
        )
    extra = f"of the {number(found.extra.point)} µs of extra CPU per {found.operation}"
    if share >= ALL:
        return f"practically all {extra} goes into {who}: {where}"
    return f"{number(own.point)} {extra} ({percent(share)}) go into {who}: {where}"


def _removal_words(found: Explanation) -> Iterator[str]:
    rate = next((row for row in found.of("shift") if row.outcome == "ops_per_s"), None)
    if rate is None or rate.value is None or rate.baseline_value is None or found.culprit is None:
        return
    plural = operations(found.operation)
    for row in (*found.of("removal predicted"), *found.of("removal measured")):
        times, many = row.ratio.point, f"({row.ratio.point:.2f} times as many)"
        if row.role == "removal predicted":
            yield (
                f"the server's processors were busy all the time: without {found.culprit.word('function')} "
                f"it could do {rate.value * times:,.0f} {plural} a second instead of {rate.value:,.0f} {many}"
            )
        else:
            yield f"measured without it: {rate.baseline_value:,.0f} {plural} a second {many}"
