"""What a run on several machines shows of each: planted ratios, and what of them differs beyond chance."""

from __future__ import annotations

from functools import cache

import pytest

from fake_trials import fake_run
from machine_runs import OTHER_KIND, machine_run, machine_study
from tlstax.findings.core import stats
from tlstax.findings.core.estimates import estimates
from tlstax.findings.machines.ratios import beyond_chance, machines
from tlstax.records.trial import HEAD, StoredRun
from tlstax.results.machines import MachineRatios, Machines
from tlstax.topics.answer.document import document

FOUR = {"node-b": 1.0, "node-a": 1.0, "node-c": 1.0, "node-d": 1.2}


def shown(run: StoredRun) -> Machines:
    found = machines(run, estimates(run.header.study, run.measured))
    assert found is not None
    return found


@cache
def two() -> tuple[StoredRun, Machines]:
    run = machine_run({"": 1.0, "node-b": 1.2}, noise=0.01)
    return run, shown(run)


def of(found: Machines, outcome: str) -> MachineRatios:
    (one,) = (ratios for ratios in found.ratios if ratios.outcome == outcome)
    return one


def test_a_run_on_one_machine_has_none() -> None:
    assert document(fake_run(number_of_blocks=3)).machines is None
    assert document(machine_run({"node-a": 1.0}, blocks=3)).machines is None


def test_a_run_on_one_machine_prints_nothing_of_machines() -> None:
    assert '"machines"' not in document(fake_run(machine_study(), number_of_blocks=3)).model_dump_json()
    assert '"machines"' in document(two()[0]).model_dump_json()


def test_each_machine_has_its_own_ratio_over_its_own_blocks() -> None:
    run, found = two()
    ratios = of(found, "ops_per_s")
    assert [one.machine for one in ratios.own] == [HEAD, "node-b"]
    head, other = (one.ratio for one in ratios.own)
    assert (head.blocks, other.blocks, ratios.ratio.blocks) == (6, 6, 12)
    assert head.point / other.point == pytest.approx(1.2, abs=0.03)
    (estimate,) = (
        e
        for e in estimates(run.header.study, run.measured)
        if (e.comparison.case.role, e.outcome) == ("treatment", "ops_per_s")
    )
    logs = [estimate.logs[block] for block in range(0, 12, 2)]
    assert head == stats.interval(logs, 0.95)
    assert ratios.ratio == estimate.ratio
    assert (ratios.ratio.low, ratios.ratio.high) == (
        pytest.approx(other.low),
        pytest.approx(head.high),
    )


def test_it_says_of_what_the_ratios_are() -> None:
    _, found = two()
    assert [one.outcome for one in found.ratios] == ["ops_per_s", "server_cpu_us_per_op"]
    ratios = of(found, "server_cpu_us_per_op")
    assert (ratios.unit, ratios.case["tls"], ratios.baseline["tls"]) == ("us", "1.3", "off")
    assert ratios.label == "TLS 1.3, point selects on kept connections, 1 connection"
    deciding = machine_study().model_copy(update={"deciding_outcome": "latency_p50_us"})
    found = shown(machine_run({"": 1.0, "node-b": 1.2}, study=deciding))
    assert [one.outcome for one in found.ratios] == ["latency_p50_us", "ops_per_s", "server_cpu_us_per_op"]


def test_a_case_is_called_what_its_study_calls_it() -> None:
    """The only server of a study goes without saying."""
    factors = {**machine_study().factors, "server": ("mysql-9.7",)}
    study = machine_study().model_copy(update={"factors": factors})
    (first, *_) = shown(machine_run({"": 1.0, "node-b": 1.2}, study=study)).ratios
    assert first.case["server"] == "mysql-9.7"
    assert "mysql" not in first.label


def test_the_control_and_the_baseline_are_not_told() -> None:
    assert all(one.case["tls"] == "1.3" for one in two()[1].ratios)


def test_machines_that_differ_are_said_to() -> None:
    _, found = two()
    assert all(one.differ and one.by_chance is not None and one.by_chance < 0.001 for one in found.ratios)
    first, second = found.sentences
    assert first.startswith("machines differ beyond chance in operations a second of TLS 1.3, point selects")
    assert ": head −" in first
    assert ", node-b −" in first
    assert first.endswith("; the interval includes that")
    assert "server CPU per operation" in second


def test_machines_that_are_alike_are_not() -> None:
    found = shown(machine_run({"": 1.0, "node-b": 1.0}))
    assert found.sentences == ()
    assert not any(one.differ for one in found.ratios)
    assert all(one.by_chance is not None and one.by_chance > 0.01 for one in found.ratios)


def test_too_few_blocks_tell_of_no_difference() -> None:
    found = shown(machine_run({"": 1.0, "node-b": 1.2}, blocks=4))
    assert [(one.by_chance, one.differ) for one in found.ratios] == [(None, False)] * 2
    assert found.sentences == ()


def test_what_intervals_are_of_is_said_in_the_caveats_too() -> None:
    run, found = two()
    assert (found.scope, found.kinds) == ("these two machines", 1)
    assert "these two machines" in found.reading
    assert found.reading in document(run).caveats
    four = shown(machine_run(FOUR, blocks=16))
    assert (four.scope, four.kinds) == ("machines of their kinds", 1)
    assert "machines like these 4" in four.reading
    assert "kinds" not in four.reading
    kinds = shown(machine_run(FOUR, blocks=16, kinds={"node-d": OTHER_KIND}))
    assert kinds.kinds == 2
    assert "they are of 2 kinds" in kinds.reading


def test_as_many_cores_make_a_kind_too() -> None:
    run = machine_run({"": 1.0, "node-b": 1.0})
    more = run.header.machines["node-b"].model_copy(update={"cores": 64})
    header = run.header.model_copy(update={"machines": {**run.header.machines, "node-b": more}})
    assert shown(run.model_copy(update={"header": header})).kinds == 2


def test_every_machine_is_named_with_its_blocks() -> None:
    run = machine_run(FOUR, blocks=10)
    found = shown(run)
    assert [(one.name, one.blocks) for one in found.machines] == [
        ("node-b", 3),
        ("node-a", 3),
        ("node-c", 2),
        ("node-d", 2),
    ]
    assert found.machines[0].machine == run.header.machines["node-b"]
    bare = run.model_copy(update={"header": run.header.model_copy(update={"machines": {}})})
    names = [(one.name, one.machine is None) for one in shown(bare).machines]
    assert names == [(HEAD, False), *((f"node-{letter}", True) for letter in "abcd")]
    assert shown(bare).kinds == 0


def test_a_head_that_measures_nothing_is_no_third_machine() -> None:
    found = shown(machine_run({"node-a": 1.0, "node-b": 1.0}))
    assert [one.blocks for one in found.machines] == [6, 6]
    assert found.scope == "these two machines"


def test_of_many_machines_the_two_farthest_apart_are_named() -> None:
    slower = {f"m{number}": 1 + 0.05 * number for number in range(7)}
    found = shown(machine_run(slower, blocks=28))
    assert "m0 −" in found.sentences[0]
    assert "m6 −" in found.sentences[0]
    assert "m3" not in found.sentences[0]
    assert "the two of 7 that are farthest apart" in found.sentences[0]


@pytest.mark.parametrize(
    ("chances", "differ"),
    [
        ([0.025], [True]),
        ([0.026], [False]),
        ([0.012, 0.0126], [True, True]),
        ([0.013, 0.012], [True, True]),
        ([0.013, 0.013], [False, False]),
        ([0.026, 0.001, 0.012], [False, True, True]),
        ([None, 0.02, None], [False, True, False]),
        ([], []),
    ],
)
def test_the_more_is_tested_the_rarer_it_must_be(chances: list[float | None], differ: list[bool]) -> None:
    """Holm's procedure at half of 5 %: the rarest against a share for each, the next against one fewer."""
    assert beyond_chance(chances, 0.95) == differ
    assert beyond_chance([0.04], 0.9) == [True]
    assert beyond_chance([0.25], 0.5) == [True], "as rare as it must be is enough"
