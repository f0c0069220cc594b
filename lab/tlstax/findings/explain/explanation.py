"""From a baseline to a case: where the extra CPU time per operation went, and what caused it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, exp
from statistics import fmean
from typing import Literal

from tlstax.findings.core.judgements import judge, times_needed
from tlstax.findings.core.outcomes import log_ratio_between, outcome
from tlstax.findings.explain.component_costs import (
    Costs,
    Noise,
    by_component,
    common_blocks,
    is_clear,
    mean,
)
from tlstax.findings.explain.culprit import culprit, culprit_alone, extra_stacks, functions
from tlstax.findings.explain.stack_costs import in_kernel_percent
from tlstax.findings.explain.words import caveats, programs_differ, sentences
from tlstax.profiles.components import UNATTRIBUTED, component_order
from tlstax.profiles.stacks import SIDES, Side
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.explanation import ComponentCost, Culprit, Explanation, Removal, Shift
from tlstax.results.interval import DIFFERENCES
from tlstax.study import Case
from tlstax.study.labels import finding_levels, full_label, label
from tlstax.study.level_names import NO_FAULT, VARIANTS
from tlstax.support.errors import UserMistake

LEAST_BLOCKS = 2
"""One block alone shows no scatter, so nothing can be distinguished from noise."""

BUSY = 0.9
"""From this part of its processors' time on, the server is what limits the rate."""

SYSTEM_PERCENT = "server_cpu_system_percent"
SHIFTS: tuple[tuple[str, str], ...] = (
    ("ops_per_s", "1/s"),
    ("server_cpu_us_per_op", "us"),
    (SYSTEM_PERCENT, "%"),
    ("machine_system_percent", "%"),
    ("latency_p50_us", "us"),
)
"""The figures that are shown beside an explanation, where they were measured."""


def explain(stored: StoredRun, case: Case, baseline: Case | None = None) -> Explanation:
    """Where the extra cost of a case goes, against a baseline (see `Costs.baseline_of` for the usual one).

    Raises UserMistake where the run cannot tell: nothing was sampled, both are the same, too few blocks.
    """
    return Explainer(stored).explain(case, baseline)


def explanations(stored: StoredRun) -> tuple[Explanation, ...]:
    """Of every case that was sampled and can be explained, in the plan's order; empty without samples."""
    return Explainer(stored).all() if stored.profiled else ()


@dataclass(frozen=True)
class _Pair:
    """A case, its baseline, and their unsampled trials of the same blocks."""

    case: Case
    baseline: Case
    trials: tuple[tuple[TrialRecord, TrialRecord], ...]


class Explainer:
    """Explains cases of one run; what several explanations need is worked out once."""

    def __init__(self, stored: StoredRun) -> None:
        self._stored = stored
        self._costs = Costs(stored)

    def all(self) -> tuple[Explanation, ...]:
        """Of every case but the baselines that can be explained, in the plan's order."""
        return tuple(
            self.explain(case)
            for case in self._costs.cases
            if case.role != "baseline" and not self._hindrance(case, self._costs.baseline_of(case))
        )

    def explain(self, case: Case, baseline: Case | None = None) -> Explanation:
        """One case. Raises UserMistake as `explain` does."""
        baseline = baseline or self._costs.baseline_of(case)
        if why := self._hindrance(case, baseline):
            raise UserMistake(why[0], remedy=why[1])
        pair = self._pair(case, baseline)
        noise = self._costs.noise(case, baseline)
        floor = noise.floor if noise else None
        base_us = mean(base for _, base in self._costs.total_costs(case, baseline).values())
        ratio = self._costs.pooling.interval(self._costs.total_logs(case, baseline))
        total = ratio.each(lambda times: base_us * (times - 1))
        within = self._stored.header.study.alike_within
        judgement = judge(ratio, floor, within)
        is_told = judgement in DIFFERENCES
        seek = culprit if is_told else culprit_alone
        found = seek(self._costs, (case, baseline), total.point, noise)
        unattributed = self._unattributed(case)
        explanation = Explanation(
            run=self._stored.header.run,
            case=finding_levels(case),
            baseline=finding_levels(baseline),
            labels=self._labels(case, baseline),
            verdict="explained" if found or judgement in DIFFERENCES else judgement,
            whole_is_told=is_told,
            operation=_operation(case),
            is_control=case.role == "control",
            case_us_per_op=base_us * ratio.point,
            baseline_us_per_op=base_us,
            extra_cpu_us_per_op=total,
            noise_us_per_op=base_us * floor if floor is not None else None,
            alike_within=within,
            shifts=self._shifts(pair),
            components=self._components(case, baseline),
            culprit=found,
            removal=self._removal(pair, found) if found else None,
            unattributed_share=unattributed.get("server", 0.0),
            unattributed=unattributed,
            samples={side: samples for side in SIDES if (samples := self._samples(case, side))},
        )
        noisy = self._noisy(case, baseline, noise)
        explanation = explanation.model_copy(
            update={"caveats": caveats(self._stored, explanation, case, baseline)}
        )
        times = times_needed(ratio, floor, within)
        needed = ceil(times * ratio.blocks) if times is not None else None
        return explanation.model_copy(update={"sentences": sentences(explanation, noisy, needed)})

    def _hindrance(self, case: Case, baseline: Case) -> tuple[str, str] | None:
        """Why these two cannot be compared, and what to do; None where they can."""
        study, run = self._stored.header.study, self._stored.header.run
        again = "run it again with --profile"
        if not any(record.profile is not None for record in self._stored.profiled):
            return f"run {run} has no profile: nothing in it was sampled", again
        if case == baseline:
            return (
                f"{full_label(case, study)} is what the others are compared with",
                "name another case, or another --against",
            )
        own, other = self._costs.of(case), self._costs.of(baseline)
        blocks = max(len(common_blocks(own, other, side)) for side in SIDES)
        if blocks >= LEAST_BLOCKS:
            return None
        number = "one block" if blocks else "no block"
        return (
            f"{full_label(case, study)} and {full_label(baseline, study)} were both sampled, in valid "
            f"trials, in {number} alone; it takes {LEAST_BLOCKS} to tell a difference from scatter",
            "give the study a larger --budget",
        )

    def _pair(self, case: Case, baseline: Case) -> _Pair:
        own, other = (self._costs.of(one).measured for one in (case, baseline))
        return _Pair(
            case, baseline, tuple((own[block], other[block]) for block in sorted(own.keys() & other.keys()))
        )

    def _labels(self, case: Case, baseline: Case) -> tuple[str, str]:
        study = self._stored.header.study
        if study.group_of(case.levels) == study.group_of(baseline.levels):
            return label(case, study), label(baseline, study)
        return full_label(case, study), full_label(baseline, study)

    def _shifts(self, pair: _Pair) -> tuple[Shift, ...]:
        found = []
        for name, unit in SHIFTS:
            if name == SYSTEM_PERCENT:
                known = self._kernel_percents(pair.case, pair.baseline)
            else:
                both = [(outcome(own, name), outcome(base, name)) for own, base in pair.trials]
                known = [(own, base) for own, base in both if own is not None and base is not None]
            if known:
                value, baseline_value = (fmean(values) for values in zip(*known, strict=True))
                if unit != "%" and (ratio := _ratio(pair, name)):
                    value = baseline_value * ratio
                found.append(Shift(outcome=name, unit=unit, value=value, baseline_value=baseline_value))
        return tuple(found)

    def _kernel_percents(self, case: Case, baseline: Case) -> list[tuple[float, float]]:
        """The part of the server's samples in the kernel, in per cent: of case and baseline by block.

        Not of the time that the kernel accounts for as its own: it counts that by ticks, of which a window
        has few, so that it contradicts the components. Nothing where it could not be sampled.
        """
        profiles = (record.profile for record in self._stored.profiled)
        if any(profile is not None and not profile.kernel for profile in profiles):
            return []
        own, other = (self._costs.of(one).stacks["server"] for one in (case, baseline))
        return [
            (in_kernel_percent(own[block]), in_kernel_percent(other[block]))
            for block in sorted(own.keys() & other.keys())
            if sum(own[block].values()) and sum(other[block].values())
        ]

    def _components(self, case: Case, baseline: Case) -> tuple[ComponentCost, ...]:
        """Every component of each side, those with most extra first; what is unattributed among them."""
        differences = self._costs.component_differences(case, baseline)
        order = component_order()
        found = []
        for side in SIDES:
            own, other = self._costs.of(case), self._costs.of(baseline)
            blocks = common_blocks(own, other, side)
            cases = [own.stacks[side][block] for block in blocks]
            baselines = [other.stacks[side][block] for block in blocks]
            costs, bases = (
                [by_component(stacks) for stacks in cases],
                [by_component(stacks) for stacks in baselines],
            )
            known = functions(extra_stacks(cases, baselines))
            found += [
                ComponentCost(
                    name=name,
                    side=side,
                    us_per_op=fmean(cost.get(name, 0.0) for cost in costs),
                    baseline_us_per_op=fmean(base.get(name, 0.0) for base in bases),
                    extra_us_per_op=self._costs.pooling.difference(differences[side, name]),
                    functions=known[name],
                )
                for name in order
                if (side, name) in differences
            ]
        return tuple(sorted(found, key=lambda part: -abs(part.extra_us_per_op.point)))

    def _noisy(self, case: Case, baseline: Case, noise: Noise | None) -> frozenset[tuple[Side, str]]:
        """The components whose difference is within noise."""
        return frozenset(
            place
            for place, values in self._costs.component_differences(case, baseline).items()
            if not is_clear(
                self._costs.pooling.difference(values),
                noise.by_place.get(place) if noise else None,
            )
        )

    def _unattributed(self, case: Case) -> dict[Side, float]:
        """The part of a side's samples that no rule has a component for."""
        found: dict[Side, float] = {}
        for side in SIDES:
            blocks = [by_component(stacks) for stacks in self._costs.of(case).stacks[side].values()]
            total = sum(sum(block.values()) for block in blocks)
            if total > 0:
                found[side] = sum(block.get(UNATTRIBUTED, 0.0) for block in blocks) / total
        return found

    def _samples(self, case: Case, side: Side) -> int:
        return sum(
            samples.samples
            for record in self._stored.profiled
            if record.trial.case == case
            and record.verdict.value == "valid"
            and record.profile is not None
            and (samples := record.profile.side(side)) is not None
        )

    def _removal(self, pair: _Pair, found: Culprit) -> Removal | None:
        """What taking the culprit out of the server would give."""
        machine = self._stored.header.machine
        server_us = _mean(pair, 0, "server_cpu_us_per_op")
        cores = _mean(pair, 0, "server_cpu_share")
        has_own = machine.server_cpus and not set(machine.server_cpus) & set(machine.client_cpus)
        predicted = None
        one_program = not programs_differ(pair.case, pair.baseline)
        if (
            found.side == "server"
            and one_program
            and has_own
            and server_us
            and cores
            and cores >= BUSY * len(machine.server_cpus)
        ):
            left_us = server_us - found.extra_us_per_op.point
            predicted = server_us / left_us if left_us > 0 else None
        fault = pair.case.typed.fault
        measured = None
        if (
            fault not in {NO_FAULT, *VARIANTS}
            and {**pair.case.levels, "fault": NO_FAULT} == pair.baseline.levels
        ):
            ratio = _ratio(pair, "ops_per_s")
            measured = 1 / ratio if ratio else None
        return Removal(predicted=predicted, measured=measured) if predicted or measured else None


def _ratio(pair: _Pair, name: str) -> float | None:
    """The case to its baseline as everything is compared: block by block, between neighbouring slices."""
    ratios = [log_ratio_between(own, base, name) for own, base in pair.trials]
    known = [ratio for ratio in ratios if ratio is not None]
    return exp(fmean(known)) if known else None


def _mean(pair: _Pair, place: Literal[0, 1], name: str) -> float | None:
    known = [value for both in pair.trials if (value := outcome(both[place], name)) is not None]
    return fmean(known) if known else None


def _operation(case: Case) -> Literal["connection", "query", "operation"]:
    words: Mapping[str, Literal["connection", "query"]] = {
        "reconnect": "connection",
        "reconnect-ping": "connection",
        "ping": "query",
        "storm": "connection",
        "point-select": "query",
    }
    return words.get(case.typed.workload, "operation")
