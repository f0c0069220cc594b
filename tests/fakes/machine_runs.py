"""Runs whose blocks were measured on several machines, each with a ratio of its own."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp
from random import Random

from fake_trials import Truth, fake_header, fake_record, tax_truth
from report_runs import one_workload_one_level
from tlstax.plan.order import cases
from tlstax.records.trial import HEAD, StoredRun, Trial
from tlstax.study import Case, Study

A_KIND, OTHER_KIND = "Fake CPU @ 3.00GHz", "Other CPU @ 2.00GHz"


def machine_study() -> Study:
    """Plaintext, its control and TLS 1.3 on kept connections."""
    return one_workload_one_level(blocks=1).header.study


def machine_run(
    slower: Mapping[str, float],
    *,
    blocks: int = 12,
    noise: float = 0.01,
    kinds: Mapping[str, str] | None = None,
    study: Study | None = None,
) -> StoredRun:
    """A run whose blocks the machines take in turns.

    `slower` has, for each machine by its name (empty for the head), how many times as slow TLS is as it is in
    the fake world; `kinds` the processors of those that are not as the head.
    """
    header = fake_header(study or machine_study())
    machines = {
        name or HEAD: header.machine.model_copy(update={"cpu_model": (kinds or {}).get(name, A_KIND)})
        for name in slower
    }
    random, names, trials = Random(3), list(slower), []  # noqa: S311 (noise, not a secret)
    for block in range(blocks):
        name = names[block % len(names)]
        for position, case in enumerate(cases(header.study)):
            truth = _truth(case, slower[name] * exp(noise * random.gauss(0, 1)))
            record = fake_record(Trial(block=block, position=position, case=case), truth)
            trials.append(record.model_copy(update={"machine": name}))
    known = header.model_copy(update={"machines": machines})
    return StoredRun(header=known, status="complete", stopped_because="", trials=tuple(trials))


def _truth(case: Case, slower: float) -> Truth:
    own = tax_truth(case)
    return own if case.role == "baseline" else own.times(1 / slower if case.role == "treatment" else 1.0)
