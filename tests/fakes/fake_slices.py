"""Fake trials that took turns: what each slice did, said by hand."""

from __future__ import annotations

from collections.abc import Sequence

from fake_trials import TAX_TRUTHS, fake_record
from tlstax.records.trial import Trial, TrialRecord
from tlstax.records.window import Slices

Done = Sequence[tuple[int, float]]
"""The operations of each slice, and what became of all costs in it (1: as ever, 2: twice as dear)."""

SLICE_S, SERVER_US, CLIENT_US, LATENCY_S = 0.005, 20.0, 8.0, 0.000_25


def slices_of(
    done: Done, *, sitting: int = 0, rounds: Sequence[int] = (), server: bool = True, path: bool = False
) -> Slices:
    """Slices that take as many times as long, and cost as many times as much, as is said of each."""
    operations = [count for count, _ in done]
    costs = [count * factor for count, factor in done]
    return Slices(
        sitting=sitting,
        length_s=SLICE_S,
        took_s=10.0,
        rounds=tuple(rounds or range(len(done))),
        operations=tuple(operations),
        elapsed_s=tuple(SLICE_S * factor for _, factor in done),
        latency_sum_s=tuple(LATENCY_S * cost for cost in costs),
        client_cpu_us=tuple(CLIENT_US * cost for cost in costs),
        server_cpu_us=tuple(SERVER_US * cost for cost in costs) if server else (),
        path_cpu_us=tuple(cost for cost in costs) if path else (),
        finished=tuple(operations),
    )


def in_turns(trial: Trial, slices: Slices | None) -> TrialRecord:
    """The record of a trial that did these slices; its totals are of another kind of work altogether."""
    record = fake_record(trial, TAX_TRUTHS["point-select", "off", "off"])
    return record.model_copy(update={"slices": slices})
