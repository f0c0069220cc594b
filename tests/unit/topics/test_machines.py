"""What a run on several machines shows of each: planted ratios, and what of them differs beyond chance."""

from __future__ import annotations

from functools import cache

import pytest

import golden
from fake_trials import fake_run
from machine_runs import OTHER_KIND, machine_run, machine_study
from report_runs import with_document
from tlstax.records.trial import HEAD, StoredRun
from tlstax.report.formats.render import render
from tlstax.results.rows import Row, Told
from tlstax.stats import stats
from tlstax.stats.estimates import estimates
from tlstax.topics.answer.document import document
from tlstax.topics.core.topic import Run
from tlstax.topics.machines import (
    ALIKE,
    BY_CHANCE,
    DIFFER,
    INCONCLUSIVE,
    KINDS,
    MACHINE,
    MEASURING,
    OWN,
    TOGETHER,
    TOPIC,
    beyond_chance,
    reading,
)

FOUR = {"node-b": 1.0, "node-a": 1.0, "node-c": 1.0, "node-d": 1.2}


def apart() -> StoredRun:
    return machine_run({"": 1.0, "node-b": 1.2}, noise=0.01)


def alike() -> StoredRun:
    return machine_run({"": 1.0, "node-b": 1.0})


def few() -> StoredRun:
    return machine_run({"": 1.0, "node-b": 1.2}, blocks=4)


def told(run: StoredRun) -> Told:
    return TOPIC.told(Run(run))


@cache
def two() -> tuple[StoredRun, Told]:
    run = apart()
    return run, told(run)


def kinds(found: Told) -> float | None:
    (row,) = found.of(role=KINDS)
    return row.value


def blocks(found: Told) -> list[tuple[str, float | None]]:
    return [(row.word(MACHINE), row.value) for row in found.of(role=MEASURING)]


def one(found: Told, outcome: str, role: str) -> Row:
    (row,) = found.of(outcome, role=role)
    return row


def test_a_run_on_one_machine_has_none() -> None:
    for run in (fake_run(machine_study(), number_of_blocks=3), machine_run({"node-a": 1.0}, blocks=3)):
        assert told(run).rows == ()
        assert '"machines"' not in document(run).model_dump_json()


def test_each_machine_has_its_own_ratio_over_its_own_blocks() -> None:
    run, found = two()
    together = one(found, "ops_per_s", TOGETHER)
    own = found.of("ops_per_s", role=OWN)
    assert [row.more[MACHINE] for row in own] == [HEAD, "node-b"]
    assert [row.blocks for row in (*own, together)] == [6, 6, 12]
    head, other, pooled = (row.interval for row in (*own, together))
    assert head is not None
    assert other is not None
    assert pooled is not None
    assert head.point / other.point == pytest.approx(1.2, abs=0.03)
    (estimate,) = (
        e
        for e in estimates(run.header.study, run.measured)
        if (e.comparison.case.role, e.outcome) == ("treatment", "ops_per_s")
    )
    assert head == stats.interval([estimate.logs[block] for block in range(0, 12, 2)], 0.95)
    assert pooled == estimate.ratio
    assert (pooled.low, pooled.high) == (pytest.approx(other.low), pytest.approx(head.high))


def test_it_says_of_what_the_ratios_are() -> None:
    _, found = two()
    assert [row.outcome for row in found.of(role=TOGETHER)] == ["ops_per_s", "server_cpu_us_per_op"]
    row = one(found, "server_cpu_us_per_op", TOGETHER)
    assert (row.unit, row.of, row.case["tls"], row.baseline["tls"]) == ("us", "ratio", "1.3", "off")
    assert row.label == "TLS 1.3, point selects on kept connections, 1 connection"
    deciding = machine_study().model_copy(update={"deciding_outcome": "latency_p50_us"})
    found = told(machine_run({"": 1.0, "node-b": 1.2}, study=deciding))
    assert [row.outcome for row in found.of(role=TOGETHER)] == [
        "latency_p50_us",
        "ops_per_s",
        "server_cpu_us_per_op",
    ]


def test_a_case_is_called_what_its_study_calls_it() -> None:
    """The only server of a study goes without saying."""
    factors = {**machine_study().factors, "server": ("mysql-9.7",)}
    study = machine_study().model_copy(update={"factors": factors})
    (first, *_) = told(machine_run({"": 1.0, "node-b": 1.2}, study=study)).of(role=TOGETHER)
    assert first.case["server"] == "mysql-9.7"
    assert "mysql" not in first.label


def test_the_control_and_the_baseline_are_not_told() -> None:
    ratios = [row for row in two()[1].rows if row.role in {TOGETHER, OWN}]
    assert {row.case["tls"] for row in ratios} == {"1.3"}


def test_machines_that_differ_are_said_to() -> None:
    _, found = two()
    for row in (*found.of(role=TOGETHER), *found.of(role=OWN)):
        chance = row.number(BY_CHANCE)
        assert row.more[DIFFER]
        assert chance is not None
        assert chance < 0.001
    first, second = found.sentences
    assert first.startswith("machines differ beyond chance in operations a second of TLS 1.3, point selects")
    assert ": head −" in first
    assert ", node-b −" in first
    assert first.endswith("; the interval includes that")
    assert "server CPU per operation" in second


def test_machines_that_are_alike_are_not() -> None:
    found = told(alike())
    assert found.sentences == ()
    assert not any(row.more[DIFFER] for row in found.of(role=TOGETHER))
    assert all((row.number(BY_CHANCE) or 0) > 0.01 for row in found.of(role=TOGETHER))


def test_too_few_blocks_tell_of_no_difference() -> None:
    found = told(few())
    assert [(row.more[BY_CHANCE], row.more[DIFFER]) for row in found.of(role=TOGETHER)] == [(None, False)] * 2
    assert found.sentences == ()


def test_what_intervals_are_of_is_said_in_the_caveats_too() -> None:
    run, found = two()
    assert kinds(found) == 1
    assert "these two machines" in reading(found.rows)
    assert reading(found.rows) in document(run).caveats
    four = told(machine_run(FOUR, blocks=16))
    assert kinds(four) == 1
    assert "machines like these 4" in reading(four.rows)
    assert "kinds" not in reading(four.rows)
    unlike = told(machine_run(FOUR, blocks=16, kinds={"node-d": OTHER_KIND}))
    assert kinds(unlike) == 2
    assert "they are of 2 kinds" in reading(unlike.rows)


def test_as_many_cores_make_a_kind_too() -> None:
    run = alike()
    more = run.header.machines["node-b"].model_copy(update={"cores": 64})
    header = run.header.model_copy(update={"machines": {**run.header.machines, "node-b": more}})
    assert kinds(told(run.model_copy(update={"header": header}))) == 2


def test_every_machine_is_named_with_its_blocks() -> None:
    run = machine_run(FOUR, blocks=10)
    assert blocks(told(run)) == [("node-b", 3), ("node-a", 3), ("node-c", 2), ("node-d", 2)]
    assert document(run).machines == run.header.machines
    bare = run.model_copy(update={"header": run.header.model_copy(update={"machines": {}})})
    assert blocks(told(bare)) == [(HEAD, 0), ("node-a", 3), ("node-b", 3), ("node-c", 2), ("node-d", 2)]
    assert document(bare).machines == {HEAD: run.header.machine}
    assert kinds(told(bare)) == 0


def test_a_head_that_measures_nothing_is_no_third_machine() -> None:
    found = told(machine_run({"node-a": 1.0, "node-b": 1.0}))
    assert blocks(found) == [("node-a", 6), ("node-b", 6)]
    assert "these two machines" in reading(found.rows)


def test_of_many_machines_the_two_farthest_apart_are_named() -> None:
    slower = {f"m{number}": 1 + 0.05 * number for number in range(7)}
    (first, *_) = told(machine_run(slower, blocks=28)).sentences
    assert "m0 −" in first
    assert "m6 −" in first
    assert "m3" not in first
    assert "the two of 7 that are farthest apart" in first


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


@pytest.mark.parametrize("form", ["terminal", "md", "html"])
def test_every_format_has_each_machines_own_ratio(form: str) -> None:
    stored, found = with_document(apart)
    text = " ".join(render(stored, found, form, verbose=form == "terminal").split())
    assert TOPIC.title in text
    assert "Machines differ beyond chance in operations a second of TLS 1.3" in text
    assert text.count("node-b") >= 3
    assert "Machine head" in text
    assert "Machine node-b" in text
    assert "intervals are of these two machines" in text


def test_a_terminal_has_them_below_all_together() -> None:
    lines = render(*with_document(apart), "terminal").splitlines()
    place = next(place for place, line in enumerate(lines) if line.strip().startswith("head "))
    assert lines[place + 1].split()[0] == "node-b"
    assert any("* \N{MINUS SIGN}" in line for line in lines[place - 4 : place])
    assert lines[place].split()[-1].endswith("]")


def test_it_says_where_machines_do_not_differ_or_where_that_is_not_known() -> None:
    for run, said in ((alike, ALIKE), (few, INCONCLUSIVE)):
        assert said in " ".join(render(*with_document(run), "md").split())


def test_what_a_run_on_two_machines_shows() -> None:
    golden.check("machines", apart(), TOPIC)


def test_one_machine_is_told_as_ever() -> None:
    stored, found = with_document(lambda: fake_run(machine_study(), number_of_blocks=3, invalid=False))
    text = render(stored, found, "terminal")
    assert TOPIC.title not in text
    assert "\nMachine  " in text


def test_one_block_on_each_of_two_machines_has_no_interval() -> None:
    stored, found = with_document(lambda: machine_run({"": 1.0, "node-b": 1.2}, blocks=2))
    text = " ".join(render(stored, found, "terminal").split())
    assert "in one block on each machine alone" in text
    (tls,) = (f for f in found.findings if (f.role, f.outcome) == ("treatment", "ops_per_s"))
    assert (tls.judgement, tls.ratio.blocks, tls.ratio.low) == ("inconclusive", 2, None)
    assert tls.caveats[0] == "one block on each machine only: there is no interval"
