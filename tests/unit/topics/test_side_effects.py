"""What B changes beside A is the mean of two processes beside the mean of two, whatever their luck is."""

from __future__ import annotations

from dataclasses import replace
from math import exp
from random import Random

import pytest

import golden
from fake_trials import Truth, fake_run, kept
from planted_series import Planted, planted_series
from tlstax.records.trial import StoredRun
from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.stats.limits import Limit, Limits, verdict_of
from tlstax.stats.series import Series
from tlstax.study import Case, Levels, Study
from tlstax.study.two_sides import side_of, two_sided
from tlstax.support.errors import UserMistake
from tlstax.topics.core.section import Pairs, Words
from tlstax.topics.core.table import Table
from tlstax.topics.two_sides import CONTROL, SIDE, SIDES, TOPIC, TWIN, effects, gated_sides
from told_runs import run_of, shown

CPU = "server_cpu_us_per_op"


def study(a: str = "server=a", b: str = "server=b", workload: tuple[str, ...] = ("point-select",)) -> Study:
    return two_sided(side_of([a], "--a"), side_of([b], "--b"), {"workload": workload}, precision=0.01)


def sides_of(series: Series) -> list[Row]:
    """What B changes beside A of the server's CPU time, in each group."""
    return [row for row in effects(series, (CPU,)) if row.role == SIDES]


def with_luck(factor: float, luck: float) -> Planted:
    """B costs N times as much; each process of a block is off by its own luck."""

    def planted(levels: Levels, block: int) -> dict[str, float]:
        sign = 1 if (block + int(levels["instance"])) % 2 else -1
        of_b = factor if levels["server"] == "b" else 1.0
        return {CPU: 100 * of_b * exp(luck * sign * (1 + block % 3))}

    return planted


def test_the_luck_of_two_processes_cancels_in_their_mean() -> None:
    (effect,) = sides_of(planted_series(study(), with_luck(1.03, 0.02)))
    assert effect.interval is not None
    assert (effect.of, effect.unit, effect.judgement) == ("ratio", "us", "higher")
    assert effect.interval.point == pytest.approx(1.03)
    assert effect.baseline_value == pytest.approx(100, rel=0.05)
    assert effect.value == pytest.approx(effect.baseline_value * effect.interval.point)
    assert effect.interval.low is not None
    assert effect.interval.low > 1.0299


def test_luck_that_does_not_cancel_widens_the_interval() -> None:
    def unlucky(levels: Levels, block: int) -> dict[str, float]:
        luck = {1: 0.0, 2: 0.0, 3: 1.0, 4: 1.0}[int(levels["instance"])] * (1 if block % 2 else -1)
        return {CPU: 100 * exp(0.02 * luck)}

    series = planted_series(study().model_copy(update={"alike_within": 1.05}), unlucky)
    (effect,) = sides_of(series)
    assert effect.judgement == "alike"
    assert effect.interval is not None
    assert effect.interval.half_width == pytest.approx(0.0217, abs=0.0001)
    (sentence,) = TOPIC.told(run_of(series)).sentences
    assert sentence.endswith("alike within 5 %")


def test_twins_and_control_show_what_nothing_changes() -> None:
    def planted(levels: Levels, _: int) -> dict[str, float]:
        return {CPU: {1: 100.0, 2: 102.0, 3: 110.0, 4: 121.0}[int(levels["instance"])]}

    effect, *twins = effects(planted_series(study(), planted), (CPU,))
    assert [(row.role, row.more[SIDE], row.of) for row in twins] == [
        (TWIN, "A", "ratio"),
        (TWIN, "B", "ratio"),
    ]
    assert [row.interval and round(row.interval.point, 6) for row in twins] == [1.02, 1.1]
    assert effect.interval is not None
    assert effect.interval.point == pytest.approx((110 * 121 / (100 * 102)) ** 0.5)
    controls = {block: {CPU: 105.0} for block in range(4)}
    series = planted_series(study(), planted)
    (first,) = (key for key, case in series.cases.items() if case.role == "baseline")
    *_, control = effects(replace(series, controls={first: controls}), (CPU,))
    assert (control.role, control.of, control.blocks) == (CONTROL, "ratio", 4)
    assert control.interval is not None
    assert control.interval.point == pytest.approx(1.05)


def test_a_block_that_lacks_a_process_does_not_count() -> None:
    def planted(levels: Levels, block: int) -> dict[str, float]:
        return {} if (levels["instance"], block) == (4, 2) else {CPU: 100.0}

    (effect,) = sides_of(planted_series(study(), planted, blocks=5))
    assert effect.blocks == 4
    assert sides_of(planted_series(study(), lambda *_: {})) == []


def test_sides_on_one_server_are_compared_without_twins() -> None:
    def planted(levels: Levels, _: int) -> dict[str, float]:
        return {CPU: 120.0 if levels["tls"] == "1.3" else 100.0}

    both = study("tls=1.2", "tls=1.3", ("point-select", "reconnect"))
    found = list(effects(planted_series(both, planted), (CPU,)))
    assert [(row.role, row.interval and row.interval.point) for row in found] == [
        (SIDES, pytest.approx(1.2))
    ] * 2
    assert len({effect.label for effect in found}) == 2


def test_a_study_without_sides_has_no_effects_of_them() -> None:
    plain = study().model_copy(update={"sides": None})
    assert sides_of(planted_series(plain, with_luck(1, 0))) == []


def test_what_two_sides_show() -> None:
    series = planted_series(study(), lambda levels, _: {CPU: 100.0 if is_a(levels) else 120.0})
    golden.check_series("two-sides", series, TOPIC)


def test_a_table_has_both_sides_the_change_and_what_nothing_changes() -> None:
    both = study("tls=1.2", "tls=1.3", ("point-select", "reconnect"))
    for planned, lines in (
        (study(), ["A", "B", "B beside A", "A’s second process", "B’s second process", "A’s first process"]),
        (both, ["A", "B", "B beside A", "A’s first process"]),
    ):
        series = planted_series(planned, lambda levels, _: {CPU: 100.0 if is_a(levels) else 120.0})
        (section,) = shown(TOPIC, TOPIC.told(run_of(series)), series)
        names, table, *others = section.blocks
        assert isinstance(names, Pairs)
        assert [name for name, _ in names.rows] == ["A", "B"]
        assert isinstance(table, Table)
        assert table.heads == ("Server CPU per operation",)
        rows = table.lines(roomy=False)
        assert all(row[0].startswith(line) for row, line in zip(rows, lines, strict=True))
        assert [row[1] for row in rows[:3]] == ["100 µs", "120 µs", "+20.0 % [+20.0 … +20.0]"]
        assert rows[-1][1] == "–"
        assert isinstance(others[-1], Words)
        assert ("twin" in others[-1].text) == (planned is not both)


def is_a(levels: Levels) -> bool:
    """Whether the levels are those of A in either study."""
    return levels.get("server") == "a" or levels.get("tls") == "1.2"


NOTHING, ONE = (Limit(outcome=CPU, most=most) for most in (0.0, 0.01))
LUCK, NOISE = 0.015, 0.005
"""By how much processes of one server differ, and what a block scatters beside that (docs/comparing.md)."""


def simulated(chance: Random, factor: float, blocks: int = 20) -> Interval:
    """What a run shows in which B costs N times as much, each process with luck of its own."""

    def planted(levels: Levels, _: int) -> dict[str, float]:
        of_b = factor if levels["server"] == "b" else 1.0
        return {CPU: 100 * of_b * exp(chance.gauss(0, LUCK) + chance.gauss(0, NOISE))}

    (effect,) = sides_of(planted_series(study(), planted, blocks=blocks))
    assert effect.interval is not None
    return effect.interval


def test_of_things_that_are_alike_few_are_failed_and_of_a_planted_3_per_cent_nearly_all() -> None:
    chance = Random(1)  # noqa: S311 (luck, not a secret)
    alike = [simulated(chance, 1.0) for _ in range(120)]
    assert sum(verdict_of(change, NOTHING) == "FAIL" for change in alike) <= 6
    verdicts = [verdict_of(change, ONE) for change in alike]
    assert verdicts.count("FAIL") <= 1
    assert verdicts.count("PASS") >= 60
    planted = [verdict_of(simulated(chance, 1.03), ONE) for _ in range(60)]
    assert planted.count("FAIL") >= 57


def measured(factor: float, noise: float = 0.002) -> StoredRun:
    """A run in which B costs N times as much."""

    def truth(case: Case) -> Truth:
        return kept(20_000, 30.0 * (factor if case.levels["server"] == "b" else 1), 10.0, record_bytes=22)

    return fake_run(study=study(), seed=5, truth=truth, noise=noise, invalid=False)


@pytest.mark.parametrize(
    ("factor", "most", "verdict"), [(1.03, 0.01, "FAIL"), (1.0, 0.01, "PASS"), (1.01, 0.01, "INCONCLUSIVE")]
)
def test_a_change_within_one_run_keeps_to_a_limit_or_not(factor: float, most: float, verdict: str) -> None:
    found = gated_sides(measured(factor), Limits((Limit(outcome=CPU, most=most),)))
    assert (found.verdict, found.run) == (verdict, found.against)
    (case,) = found.changes
    assert case.baseline_value == pytest.approx(30, rel=0.01)
    assert case.value == pytest.approx(30 * factor, rel=0.01)


def test_intervals_of_several_limits_are_wider_so_that_all_hold_together() -> None:
    alone = gated_sides(measured(1.0), Limits((Limit(outcome=CPU, most=0.01),))).changes[0]
    limits = [Limit(outcome=name, most=0.01) for name in (CPU, "client_cpu_us_per_op", "latency_p50_us")]
    together = gated_sides(measured(1.0), Limits(tuple(limits)))
    assert [case.outcome for case in together.changes] == [limit.outcome for limit in limits]
    assert together.changes[0].interval is not None
    assert alone.interval is not None
    assert together.changes[0].interval.confidence == pytest.approx(1 - 0.05 / 3)
    assert alone.interval.confidence == pytest.approx(0.95)


def test_two_limits_of_one_outcome_are_two_cases() -> None:
    limits = [Limit(outcome=CPU, most=0.01), Limit(outcome=CPU, most=-0.01)]
    found = gated_sides(measured(1.0), Limits(tuple(limits)))
    assert [case.word("verdict") for case in found.changes] == ["PASS", "FAIL"]


def test_a_run_without_sides_or_without_the_outcome_cannot_be_checked_by_itself() -> None:
    with pytest.raises(UserMistake, match="has no two sides"):
        gated_sides(fake_run(seed=1), Limits((Limit(outcome=CPU, most=0.01),)))
    with pytest.raises(UserMistake, match=r"no block of run .* with both sides has path_cpu_us_per_op"):
        gated_sides(
            measured(1.0),
            Limits(tuple(Limit(outcome=name, most=0.01) for name in (CPU, "path_cpu_us_per_op"))),
        )
