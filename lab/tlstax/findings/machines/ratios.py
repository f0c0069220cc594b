"""Each machine's own ratios beside the pooled ones, and which of them differ beyond chance. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tlstax.findings.core import stats
from tlstax.findings.core.estimates import Estimate
from tlstax.findings.core.outcomes import UNITS
from tlstax.findings.core.pooling import machines_of
from tlstax.findings.machines.words import differing, reading
from tlstax.records.trial import StoredRun
from tlstax.results.machines import MachineRatios, Machines, MeasuringMachine, OwnRatio
from tlstax.study import Study
from tlstax.study.labels import finding_levels, full_label

BESIDE = ("ops_per_s", "server_cpu_us_per_op")
"""The outcomes that are told of each machine, beside the one that decides when the study ends."""


def machines(stored: StoredRun, found: Iterable[Estimate]) -> Machines | None:
    """All that a run shows of its machines; None where its trials ran on one."""
    of_block = machines_of(stored.measured)
    if not of_block:
        return None
    study = stored.header.study
    measuring = tuple(_measuring(stored, of_block))
    ratios = _marked(tuple(_ratios(study, found)), study.confidence)
    known = [one for one in measuring if one.blocks]
    kinds = len({(one.machine.cpu_model, one.machine.cores) for one in known if one.machine is not None})
    return Machines(
        machines=measuring,
        kinds=kinds,
        scope="these two machines" if len(known) == 2 else "machines of their kinds",
        ratios=ratios,
        reading=reading(len(known), kinds),
        sentences=tuple(differing(one) for one in ratios if one.differ),
    )


def beyond_chance(chances: Sequence[float | None], confidence: float) -> list[bool]:
    """Which of several comparisons differ beyond chance, so that one in any run does by chance is rare.

    Holm (1979), Scandinavian Journal of Statistics 6, 65-70, at the error rate that intervals are made with
    (`stats.ALPHA_SHARE`), as a run may have been looked at before. What is None is not tested.
    """
    tested = sorted((chance, place) for place, chance in enumerate(chances) if chance is not None)
    rate, found = (1 - confidence) * stats.ALPHA_SHARE, [False] * len(chances)
    for before, (chance, place) in enumerate(tested):
        if chance > rate / (len(tested) - before):
            break
        found[place] = True
    return found


def _measuring(stored: StoredRun, of_block: Mapping[int, str]) -> Iterator[MeasuringMachine]:
    """Every machine that was described or measured, in the run's order."""
    described, counts = stored.header.all_machines, list(of_block.values())
    for name in dict.fromkeys((*described, *sorted(counts))):
        yield MeasuringMachine(name=name, blocks=counts.count(name), machine=described.get(name))


def _ratios(study: Study, found: Iterable[Estimate]) -> Iterator[MachineRatios]:
    told = dict.fromkeys((study.deciding_outcome, *BESIDE))
    estimates = [e for e in found if e.comparison.case.role == "treatment" and e.outcome in told]
    for outcome in told:
        for estimate in estimates:
            if estimate.outcome == outcome and estimate.ratio is not None:
                case, by_machine = estimate.comparison.case, estimate.pooling.by_machine(estimate.logs)
                yield MachineRatios(
                    outcome=outcome,
                    unit=UNITS[outcome],
                    case=finding_levels(case),
                    baseline=dict(estimate.comparison.baseline.levels),
                    label=full_label(case, study),
                    ratio=estimate.ratio,
                    own=tuple(
                        OwnRatio(machine=name, ratio=stats.interval(logs, study.confidence))
                        for name, logs in by_machine.items()
                    ),
                    by_chance=estimate.pooling.difference_by_chance(estimate.logs),
                    differ=False,
                )


def _marked(ratios: tuple[MachineRatios, ...], confidence: float) -> tuple[MachineRatios, ...]:
    differ = beyond_chance([one.by_chance for one in ratios], confidence)
    return tuple(one.model_copy(update={"differ": apart}) for one, apart in zip(ratios, differ, strict=True))
