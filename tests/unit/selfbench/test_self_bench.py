"""The self-bench finds a cost that was planted, and none where there is none; what fails is left out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from fake_contestants import (
    RECONNECT_RESUMED,
    RECONNECT_TLS,
    SELECT,
    SELECT_TLS,
    Nobody,
    World,
    header,
)
from tlstax.records.trial import Specimen
from tlstax.results.interval import Interval
from tlstax.selfbench import contestants, plan
from tlstax.selfbench.document import (
    SelfBenchDocument,
)
from tlstax.selfbench.estimate import document
from tlstax.selfbench.plan import CONTESTANTS, Contestant, Sitting, Trial, blocks, cells, contestants_of
from tlstax.selfbench.records import Absence, Observation, Run
from tlstax.selfbench.rounds import Measure, left_s, run_blocks
from tlstax.selfbench.table import READING, WIDTH, markdown, terminal
from tlstax.selfbench.words import answer
from tlstax.support.errors import Interrupted, MachineFault, UserMistake

COSTS = {"engine": 15.0, "sysbench": 10.0, "floor": 15.0}


def measured(world: World, *chosen: plan.Cell, budget_s: float = 60.0) -> Run:
    wanted = header(*(chosen or (SELECT, RECONNECT_TLS)), budget_s=budget_s)
    return run_blocks(wanted, list(world.cpu_us_per_op), world.measure, Nobody(), now_s=world.clock)


def test_a_planted_cost_comes_out_within_its_interval_and_a_planted_nothing_does_not_come_out() -> None:
    found = document(measured(World(COSTS)))
    assert found.blocks == 10
    for cell in found.cells:
        planted, nothing = cell.client_cpu_to_sysbench, cell.client_cpu_to_floor
        assert planted is not None
        assert nothing is not None
        assert planted.low is not None
        assert planted.high is not None
        assert planted.low < 1.5 < planted.high
        assert planted.high / planted.low < 1.15
        assert nothing.low is not None
        assert nothing.high is not None
        assert nothing.low < 1 < nothing.high
        # The rates are the same for all of them.
        for rates in (cell.ops_to_sysbench, cell.ops_to_floor):
            assert rates is not None
            assert rates.point == pytest.approx(1, abs=1e-9)


def ratios(world: World, cell: plan.Cell) -> tuple[float, float]:
    """The engine's client CPU to sysbench's and to the floor's in one block."""
    (found,) = document(measured(world, cell, budget_s=1)).cells
    assert found.client_cpu_to_sysbench is not None
    assert found.client_cpu_to_floor is not None
    return found.client_cpu_to_sysbench.point, found.client_cpu_to_floor.point


def test_a_burst_is_left_out_between_slices() -> None:
    def hits(contestant: Contestant, number: int) -> float:
        return 10.0 if contestant == "engine" and 0 <= number < 4 else 1.0

    # Four of sixteen slices are ten times as dear; those beside sysbench's window are not.
    assert ratios(World(COSTS, scatter=1e-9, burst=hits), SELECT) == pytest.approx((1.5, 1.0))


def test_a_window_is_compared_with_the_slices_on_both_sides_of_it_and_their_bursts() -> None:
    def hits(contestant: Contestant, number: int) -> float:
        return {("engine", -1): 2.0, ("sysbench", -1): 5.0}.get((contestant, number), 1.0)

    assert ratios(World(COSTS, scatter=1e-9, burst=hits), SELECT) == pytest.approx((1.5 * 1.5 / 5, 1.0))


def test_of_two_slices_there_is_no_median_and_their_totals_are_compared() -> None:
    def hits(contestant: Contestant, number: int) -> float:
        return 3.0 if contestant == "engine" and number == 0 else 1.0

    assert ratios(World(COSTS, scatter=1e-9, burst=hits), RECONNECT_TLS) == pytest.approx((1.5, 2.0))
    many = RECONNECT_TLS.model_copy(update={"connections": 64})
    # Slices as long as the window are compared with it themselves.
    assert ratios(World(COSTS, scatter=1e-9, burst=hits), many) == pytest.approx((1.5 * 2, 2.0))


@pytest.mark.parametrize("seed", range(20))
def test_drift_from_block_to_block_is_no_difference(seed: int) -> None:
    found = document(measured(World({"engine": 10.0, "sysbench": 10.0}, scatter=0.001, seed=seed)))
    for cell in found.cells:
        ratio = cell.client_cpu_to_sysbench
        assert ratio is not None
        assert ratio.point == pytest.approx(1, abs=0.002)
        assert cell.engine is not None
        assert cell.engine.client_cpu_us_per_op is not None
        # The machine became nearly twice as slow meanwhile: that is in the value's interval.
        high, low = cell.engine.client_cpu_us_per_op.high, cell.engine.client_cpu_us_per_op.low
        assert high is not None
        assert low is not None
        assert high / low > 1.1


def test_each_outcome_of_a_trial_is_what_was_observed() -> None:
    (cell,) = document(measured(World(COSTS, scatter=1e-9), SELECT, budget_s=1)).cells
    assert cell.engine is not None
    values = {
        name: round(figure.point, 6)
        for name in type(cell.engine).model_fields
        if isinstance(figure := getattr(cell.engine, name), Interval)
    }
    assert values == {
        "ops_per_s": 10_000,
        "client_cpu_us_per_op": 15.0,
        "client_cpu_user_us_per_op": 3.75,
        "client_cpu_system_us_per_op": 11.25,
        "client_instructions_user_per_op": 30_000,
        "server_cpu_us_per_op": 20.0,
        "client_cpu_share": 0.15,
        "server_cpu_share": 0.2,
    }


def test_one_block_gives_ratios_without_intervals_and_says_so() -> None:
    found = document(measured(World(COSTS), budget_s=1))
    assert found.blocks == 1
    ratio = found.cells[0].client_cpu_to_sysbench
    assert ratio is not None
    assert (ratio.low, ratio.high, ratio.blocks) == (None, None, 1)
    assert any(caveat.startswith("one block only") for caveat in found.caveats)
    assert "1.5" in terminal(found)


def test_without_sysbench_its_columns_are_empty_and_the_reason_is_given() -> None:
    run = measured(World({"engine": 15.0, "floor": 10.0}))
    absent = (Absence(contestant="sysbench", why="it could not be fetched"),)
    found = document(run.model_copy(update={"header": run.header.model_copy(update={"absent": absent})}))
    for cell in found.cells:
        assert cell.sysbench is None
        assert cell.client_cpu_to_sysbench is None
        assert cell.client_cpu_to_floor is not None
    assert "there is no sysbench to compare with: it could not be fetched" in found.caveats
    assert "floor" in answer(found)
    assert "sysbench" not in answer(found)
    assert "sysbench: it could not be fetched" not in terminal(found).splitlines()[-2]


def broken(trial: Trial) -> Observation:
    return Observation(trial=trial, failure="the load client ended with status 1")


def measuring(world: World, fails: Callable[[Trial], bool]) -> Measure:
    """The world's measurements, but for the trials that fail."""

    def measure(sitting: Sitting) -> tuple[Observation, ...]:
        return tuple(broken(seen.trial) if fails(seen.trial) else seen for seen in world.measure(sitting))

    return measure


def test_invalid_trials_are_left_out_and_counted_with_their_reason() -> None:
    world = World(COSTS)
    measure = measuring(world, lambda trial: trial.contestant == "sysbench" and trial.block < 2)
    run = run_blocks(header(SELECT, SELECT_TLS), CONTESTANTS, measure, Nobody(), now_s=world.clock)
    found = document(run)
    assert (found.blocks, found.trials.valid, found.trials.invalid) == (10, 56, 4)
    assert {(r.contestant, r.reason, r.trials) for r in found.trials.rejected} == {
        ("sysbench", "the load client ended with status 1", 2)
    }
    for cell in found.cells:
        assert cell.client_cpu_to_sysbench is not None
        assert cell.client_cpu_to_sysbench.blocks == 8
        assert cell.client_cpu_to_floor is not None
        assert cell.client_cpu_to_floor.blocks == 10
    assert any(caveat.startswith("4 of 60 trials not valid") for caveat in found.caveats)


def test_nothing_valid_is_said_and_not_a_crash() -> None:
    world = World(COSTS)
    measure = measuring(world, lambda _: True)
    run = run_blocks(header(SELECT, budget_s=1), CONTESTANTS, measure, Nobody(), now_s=world.clock)
    found = document(run)
    assert (found.trials.valid, found.trials.invalid) == (0, 3)
    assert found.cells[0].engine is None
    assert answer(found) == "There is nothing to compare the engine with."
    for text in (terminal(found), markdown(found)):
        assert "3 of 3 trials not valid" in text
        assert "the load client ended with status 1" in text


def test_ctrl_c_keeps_the_complete_blocks() -> None:
    world, watcher = World(COSTS), Nobody()

    def measure(sitting: Sitting) -> tuple[Observation, ...]:
        if (sitting.block, sitting.number) == (3, 1):
            raise Interrupted
        return world.measure(sitting)

    run = run_blocks(
        header(SELECT, RECONNECT_TLS, budget_s=1000), CONTESTANTS, measure, watcher, now_s=world.clock
    )
    found = document(run)
    assert (found.status, found.blocks, found.trials.valid) == ("interrupted", 3, 18)
    assert found.caveats[0] == "the run was interrupted: 3 complete blocks kept"
    assert watcher.closed


def test_a_server_that_dies_for_good_ends_it_and_keeps_what_was_complete() -> None:
    world = World(COSTS)

    def measure(sitting: Sitting) -> tuple[Observation, ...]:
        if sitting.block == 2:
            raise MachineFault("mysql-9.7 died 4 times")
        return world.measure(sitting)

    found = document(run_blocks(header(SELECT), CONTESTANTS, measure, Nobody(), now_s=world.clock))
    assert (found.status, found.blocks) == ("failed", 2)
    assert "mysql-9.7 died 4 times" in found.caveats[0]

    def dies_at_once(_: Sitting) -> tuple[Observation, ...]:
        raise MachineFault("mysql-9.7 died 4 times")

    with pytest.raises(MachineFault, match="died"):
        run_blocks(header(SELECT), CONTESTANTS, dies_at_once, Nobody())


def test_the_budget_ends_it_and_one_block_is_always_complete() -> None:
    assert document(measured(World(COSTS), budget_s=6.0)).blocks == 1
    assert document(measured(World(COSTS), budget_s=11.9)).blocks == 1
    assert document(measured(World(COSTS), budget_s=12.0)).blocks == 2
    assert document(measured(World(COSTS), budget_s=0.1)).blocks == 1
    assert left_s(elapsed_s=3, done=0, in_block=6, budget_s=60) is None
    assert left_s(elapsed_s=3, done=3, in_block=6, budget_s=60) == 57
    assert left_s(elapsed_s=3, done=3, in_block=6, budget_s=1) == 3


def test_the_order_is_random_repeatable_and_complete() -> None:
    chosen = cells()
    first, second = islice(blocks(chosen, CONTESTANTS, seed=3), 2)
    assert [first, second] == list(islice(blocks(chosen, CONTESTANTS, seed=3), 2))
    assert [sitting.cell for sitting in first] != [sitting.cell for sitting in second]
    expected = {(cell, name) for cell in chosen for name in contestants_of(cell, CONTESTANTS)}
    for block in (first, second):
        assert [sitting.number for sitting in block] == list(range(len(chosen)))
        trials = [trial for sitting in block for trial in sitting.trials]
        assert {(t.cell, t.contestant) for t in trials} == expected
        assert [trial.position for trial in trials] == list(range(52))
        assert len(expected) == 52
    firsts = Counter(
        sitting.trials[0].contestant for (sitting,) in islice(blocks([SELECT], CONTESTANTS, 1), 300)
    )
    assert set(firsts) == {"engine", "floor"}
    assert min(firsts.values()) > 120


def test_who_can_stop_takes_turns_in_random_order_and_sysbench_comes_last() -> None:
    rounds = []
    for (sitting,) in islice(blocks([SELECT], CONTESTANTS, seed=1), 50):
        assert sitting.trials[-1].contestant == "sysbench"
        assert len(sitting.rounds) == sitting.lengths.rounds == 16
        rounds += sitting.rounds
    assert set(rounds) == {("engine", "floor"), ("floor", "engine")}
    assert 320 < Counter(rounds)["engine", "floor"] < 480
    (alone,) = next(blocks([SELECT], ("engine", "sysbench"), seed=1))
    assert set(alone.rounds) == {("engine",)}
    (resuming,) = next(blocks([RECONNECT_RESUMED], CONTESTANTS, seed=1))
    assert [trial.contestant for trial in resuming.trials] == ["engine"]


@pytest.mark.parametrize(
    ("workload", "connections", "slice_s", "rounds", "window_s"),
    [
        ("point-select", 1, 0.02, 16, 0.5),
        ("point-select", 512, 0.2048, 2, 0.5),
        ("reconnect", 1, 0.025, 12, 0.5),
        ("reconnect", 8, 0.2, 2, 0.5),
        ("reconnect", 512, 0.5, 2, 0.5),
    ],
)
def test_slices_are_as_long_as_the_work_needs_and_no_longer_than_the_window(
    workload: plan.Workload, connections: int, slice_s: float, rounds: int, window_s: float
) -> None:
    found = plan.lengths(plan.Cell(workload=workload, tls="off", connections=connections))
    assert (found.slice_s, found.rounds, found.window_s) == (pytest.approx(slice_s), rounds, window_s)


def test_only_the_engine_resumes_and_only_new_connections() -> None:
    resumed = [cell for cell in cells() if cell.tls == "1.3-resumed"]
    assert {cell.workload for cell in resumed} == {"reconnect"}
    assert contestants_of(resumed[0], CONTESTANTS) == ("engine",)
    assert resumed[0].levels() == {
        "workload": "reconnect",
        "tls": "1.3",
        "resumption": "on",
        "connections": 1,
    }


@pytest.mark.parametrize(
    ("workloads", "tls", "said"),
    [
        (("point-selects",), ("off",), "did you mean 'point-select'?"),
        (("point-select",), ("1.2",), "--tls: the self-bench has no '1.2'"),
        (("point-select",), ("1.3-resumed",), "--workload reconnect"),
    ],
)
def test_a_level_that_does_not_exist_is_a_mistake(
    workloads: tuple[str, ...], tls: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UserMistake) as mistake:
        cells(workloads, tls, (1,))
    assert said in mistake.value.sentence()


def test_who_is_missing_is_said_once_and_the_others_compete(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine = tmp_path / "tlstax-engine"
    engine.write_text("an engine")
    monkeypatch.setenv("TLSTAX_ENGINE", str(engine))
    specimen = Specimen(name="sysbench", kind="client", version="1.0.20", origin="here")
    said: list[str] = []

    def missing(_: object) -> list[str]:
        raise MachineFault("tlstax-tools has not been built", remedy="build it")

    found = contestants.find(
        said.append,
        {"sysbench": (lambda _: ["sysbench"], lambda _: specimen), "floor": (missing, lambda _: specimen)},
    )
    assert found.commands == {"engine": [str(engine)], "sysbench": ["sysbench"]}
    assert [specimen.name for specimen in found.specimens] == ["tlstax-engine", "sysbench"]
    assert said == ["no floor to compare with: tlstax-tools has not been built; build it"]
    assert [absence.contestant for absence in found.absent] == ["floor"]


def test_the_document_is_read_again_as_it_was_written() -> None:
    found = document(measured(World(COSTS)))
    text = found.model_dump_json(indent=2)
    assert SelfBenchDocument.model_validate_json(text) == found
    first = json.loads(text)["cells"][0]
    assert (first["workload"], first["tls"], first["connections"]) == ("point-select", "off", 8)
    assert set(first["client_cpu_to_sysbench"]) == {"point", "low", "high", "confidence", "blocks"}
    assert json.loads(text)["schema"] == 2


@pytest.mark.parametrize(
    "costs",
    [
        {"engine": 123_456.0, "sysbench": 1.5, "floor": 9_876.5},
        {"engine": 12_345.0, "sysbench": 23_456.0, "floor": 11_111.0},
        {"engine": 1_000.0, "sysbench": 90.0, "floor": 80.0},
    ],
)
@pytest.mark.parametrize("scatter", [0.0001, 0.3])
def test_the_table_fits_100_columns_whatever_the_figures(
    costs: dict[plan.Contestant, float], scatter: float
) -> None:
    found = document(measured(World(costs, scatter=scatter), *cells(), budget_s=180))
    assert found.blocks > 2
    lines = terminal(found).splitlines()
    assert max(len(line) for line in lines) <= WIDTH
    table = lines[: lines.index(f"\N{BULLET} {READING}")]
    # Nothing is cut off, which rich would mark so.
    assert "…" not in "".join(table)
    rows = [line.split() for line in table if line.startswith(("select", "reconnect"))]
    names = {"point-select": "select", "reconnect": "reconnect"}
    assert [row[:3] for row in rows] == [
        [names[c.workload], c.tls.replace("1.3-", ""), str(c.connections)] for c in cells()
    ]


def test_the_answer_names_ratio_rival_and_cell() -> None:
    found = document(measured(World(COSTS, scatter=1e-9), SELECT, SELECT_TLS))
    assert answer(found) == (
        "At 8 connections the engine spends 1.50 [1.50, 1.50] of sysbench's CPU on a point select in "
        "plaintext and 1.50 [1.50, 1.50] under TLS 1.3. At 8 connections the engine spends "
        "1.00 [1.00, 1.00] of the bare floor's CPU on a point select in plaintext and 1.00 [1.00, 1.00] "
        "under TLS 1.3."
    )


def test_markdown_has_a_row_for_each_cell() -> None:
    found = document(measured(World(COSTS), *cells()))
    rows = [line for line in markdown(found).splitlines() if line.startswith("| ")]
    assert len(rows) == 2 + len(cells())
    assert len({row.count("|") for row in rows}) == 1
