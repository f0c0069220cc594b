"""Published statements put to the test on planted speeds: which cases bear on them, and what each shows."""

from __future__ import annotations

from math import exp, expm1

import pytest

from tlstax.results.rows import Row
from tlstax.stats.series import Series
from tlstax.study import Case, Contrast, Level, Statement, load_study
from tlstax.study.factors import CaseLevels
from tlstax.topics.statements import (
    CASE,
    PLAINTEXT,
    STATEMENT,
    best_without_hindsight,
    counts_of,
    family,
    statement_rows,
)

STUDY = load_study("openssl-versions").model_copy(
    update={
        "baseline": {"tls": "off"},
        "contrasts": (Contrast(factor="instance", baseline=1),),
    }
)
WIGGLE = (-0.01, 0.0, 0.01)
HALF = 6.20535 * 0.0057735
"""Half an interval of three blocks that wiggle so: t(2) at 97.5 % times their standard error."""

BETTER = Statement(
    says="new is better", source="somebody", factor="tls_library", better=("new",), than=("old",)
)


def levels_of(library: str, **more: Level) -> dict[str, Level]:
    plain: dict[str, Level] = {
        "server": "mysql-9.7",
        "workload": "w",
        "tls": "1.3",
        "instance": 1,
        "connections": 1,
    }
    return {**plain, "tls_library": library, **more}


Speeds = list[tuple[dict[str, Level], float]]


def series_of(
    speeds: Speeds, statement: Statement = BETTER, outcome: str = "ops_per_s", *, blocks: int = 3
) -> Series:
    """Cases with the logarithm of their speed; those of the new library wiggle."""
    values = {}
    for levels, log_speed in speeds:
        wiggle = WIGGLE if levels["tls_library"] == "new" else (0.0,) * 3
        values[CaseLevels.of(levels)] = {b: {outcome: exp(log_speed + wiggle[b])} for b in range(blocks)}
    return Series(
        study=STUDY.model_copy(update={"statements": (statement,)}),
        cases={
            CaseLevels.of(levels): Case(
                levels=levels, role="baseline" if levels["tls"] == "off" else "treatment"
            )
            for levels, _ in speeds
        },
        values=values,
        controls={},
    )


def found(
    speeds: Speeds, statement: Statement = BETTER, outcome: str = "ops_per_s", *, blocks: int = 3
) -> tuple[Row, ...]:
    return of(CASE, series_of(speeds, statement, outcome, blocks=blocks))


def of(role: str, series: Series) -> tuple[Row, ...]:
    """The rows of the study's only statement that have this role."""
    return tuple(row for row in statement_rows(series, *series.study.statements) if row.role == role)


def counts(case: Row) -> tuple[float | None, ...]:
    """How often a statement held, the opposite did, both were alike, and nothing could be told."""
    return tuple(map(case.number, ("held", "opposite", "alike", "inconclusive")))


def only(
    speeds: Speeds, statement: Statement = BETTER, outcome: str = "ops_per_s", *, blocks: int = 3
) -> Row:
    (one,) = found(speeds, statement, outcome, blocks=blocks)
    return one


LADDER: Speeds = [
    (levels_of("old"), 0.0),
    (levels_of("new"), 0.2),
    (levels_of("old", connections=8), 1.0),
    (levels_of("new", connections=8), 1.4),
]
"""The new library is faster by 0.2 on one connection and 0.4 on eight: 0.3 together."""


def test_a_case_is_pooled_over_its_ladder_and_has_its_cells() -> None:
    case = only(LADDER)
    assert case.case == {"workload": "w", "tls": "1.3"}
    assert (case.word("servers"), case.more["across_servers"]) == ("mysql-9.7", False)
    assert case.more["pooled_connections"] == (1, 8)
    assert case.ratio.point == pytest.approx(exp(0.3))
    assert (case.ratio.low, case.ratio.high) == pytest.approx((exp(0.3 - HALF), exp(0.3 + HALF)), rel=1e-5)
    assert (case.ratio.blocks, case.ratio.confidence) == (3, 0.95)
    assert (case.noise_floor, case.word("noise_from"), case.more["chosen"]) == (None, "", False)
    assert (case.judgement, counts(case)) == ("held", (2, 0, 0, 0))


def test_the_opposite_is_told_and_what_cannot_be_told_is() -> None:
    slower = [(levels, -log if levels["tls_library"] == "new" else log) for levels, log in LADDER[:2]]
    assert only(slower).judgement == "opposite"
    even = [(levels, 0.0) for levels, _ in LADDER[:2]]
    stricter = Statement(**{**dict(BETTER), "alike_within": exp(0.9 * HALF)})
    assert (only(even, stricter).judgement, counts(only(even, stricter))) == ("inconclusive", (0, 0, 0, 1))
    assert only(LADDER, blocks=1).judgement == "inconclusive", "one block has no interval"


@pytest.mark.parametrize("log_speed", [0.0, 0.01, -0.01])
def test_what_is_known_to_differ_by_less_than_counts_is_alike(log_speed: float) -> None:
    """The interval reaches a third of a half-width beyond 0.01; a factor of e to the 0.05 counts."""
    near = [(levels_of("old"), 0.0), (levels_of("new"), log_speed)]
    assert only(near, Statement(**{**dict(BETTER), "alike_within": exp(0.05)})).judgement == "alike"
    assert only(near, Statement(**{**dict(BETTER), "by": 1.0001})).judgement != "alike", "a size is claimed"
    assert only(near, blocks=1).judgement == "inconclusive"


def test_a_clear_difference_is_told_though_it_is_small() -> None:
    small = [(levels_of("old"), 0.0), (levels_of("new"), 0.04)]
    assert only(small, Statement(**{**dict(BETTER), "alike_within": 1.2})).judgement == "held"


@pytest.mark.parametrize(("strays", "outcome"), [(0.02, "alike"), (0.03, "inconclusive")])
def test_twins_that_differ_by_what_counts_may_hide_it(strays: float, outcome: str) -> None:
    """The floor is what twins may differ by: twice what one of them strays."""
    alike = [(levels_of("old"), 0.0), (levels_of("new"), 0.0), (levels_of("old", instance=2), strays)]
    assert only(alike).judgement == outcome


@pytest.mark.parametrize(
    ("log_speed", "within", "outcome"),
    [
        (0.2, 1.05, "held"),
        (0.0, 1.05, "held"),
        (0.01, 1.03, "held"),
        (-0.01, 1.03, "inconclusive"),
        (-0.1, 1.05, "opposite"),
    ],
)
def test_no_worse_holds_where_worse_by_what_counts_is_ruled_out(
    log_speed: float, within: float, outcome: str
) -> None:
    claim = {**dict(BETTER), "kind": "no worse", "alike_within": within}
    speeds = [(levels_of("old"), 0.0), (levels_of("new"), log_speed)]
    assert only(speeds, Statement(**claim)).judgement == outcome
    cost = Statement(**{**claim, "outcome": "server_cpu_us_per_op"})
    assert only([(levels, -log) for levels, log in speeds], cost, "server_cpu_us_per_op").judgement == outcome
    assert only(speeds, Statement(**claim), blocks=1).judgement == "inconclusive"
    twin = [*speeds, (levels_of("old", instance=2), 0.3)]
    assert only(twin, Statement(**claim)).judgement == "inconclusive"


def test_of_what_is_better_lower_less_is_more() -> None:
    cheap = Statement(**{**dict(BETTER), "outcome": "server_cpu_us_per_op"})
    assert only(LADDER, cheap, "server_cpu_us_per_op").judgement == "opposite"
    fewer = [(levels, -log) for levels, log in LADDER]
    assert only(fewer, cheap, "server_cpu_us_per_op").judgement == "held"


@pytest.mark.parametrize(("by", "outcome"), [(1.2, "held"), (1.35, "inconclusive"), (1.6, "opposite")])
def test_a_statement_may_say_by_how_much(by: float, outcome: str) -> None:
    """The new library is 1.35 times as fast."""
    assert only(LADDER, Statement(**{**dict(BETTER), "by": by})).judgement == outcome


@pytest.mark.parametrize(("by", "outcome"), [(1.2, "held"), (1.35, "inconclusive"), (1.6, "opposite")])
def test_by_how_much_less_counts_where_lower_is_better(by: float, outcome: str) -> None:
    cheap = Statement(**{**dict(BETTER), "outcome": "server_cpu_us_per_op", "by": by})
    assert (
        only([(levels, -log) for levels, log in LADDER], cheap, "server_cpu_us_per_op").judgement == outcome
    )


@pytest.mark.parametrize(
    ("log_speed", "outcome"),
    [
        (0.0, "held"),
        (0.05, "held"),
        (-0.05, "held"),
        (0.095, "inconclusive"),
        (-0.095, "inconclusive"),
        (0.2, "opposite"),
        (-0.2, "opposite"),
    ],
)
def test_alike_is_within_a_factor_and_unlike_beyond_it(log_speed: float, outcome: str) -> None:
    """A tenth is 0.0953; an interval is 0.0358 wide to each side."""
    alike = Statement(**{**dict(BETTER), "kind": "alike", "by": 1.1})
    assert only([(levels_of("old"), 0.0), (levels_of("new"), log_speed)], alike).judgement == outcome
    single = only([(levels_of("old"), 0.0), (levels_of("new"), log_speed)], alike, blocks=1)
    assert single.judgement == "inconclusive"


def test_only_steps_that_both_sides_have_are_compared() -> None:
    assert only([*LADDER, (levels_of("new", connections=64), 9.0)]).more["pooled_connections"] == (1, 8)
    assert found([LADDER[0], LADDER[3]]) == (), "no step in common"
    assert found(LADDER[:1]) == found([]) == (), "one side alone"


def test_the_twins_are_the_floor_and_no_case() -> None:
    twin = [(levels_of("new", instance=2), 0.35), (levels_of("new", instance=2, connections=8), 1.55)]
    case = only([*LADDER, *twin])
    assert (case.noise_floor, case.word("noise_from")) == (
        pytest.approx(expm1(2 * 0.15)),
        "the twins of mysql-9.7",
    )
    assert case.judgement == "inconclusive", "0.3 is not more than twice what a twin strays"
    assert case.ratio.point == pytest.approx(exp(0.3)), "the twin itself is not counted"


def test_only_cases_that_it_is_said_of_bear_on_a_statement() -> None:
    other = [(levels_of("old", workload="v"), 0.0), (levels_of("new", workload="v"), -0.5)]
    said = Statement(**{**dict(BETTER), "within": {"workload": "v"}})
    assert [case.judgement for case in found([*LADDER, *other])] == ["held", "opposite"]
    assert [case.case["workload"] for case in found([*LADDER, *other], said)] == ["v"]
    nameless = {name: level for name, level in levels_of("old").items() if name != "tls_library"}
    bare = series_of(LADDER)
    cases = {**bare.cases, CaseLevels.of(nameless): Case(levels=nameless, role="treatment")}
    series = Series(study=bare.study, cases=cases, values=bare.values, controls={})
    assert len(of(CASE, series)) == 1, "a case without the factor has no side"


def test_of_a_library_plaintext_is_told_apart() -> None:
    plain = [(levels_of("old", tls="off"), 0.0), (levels_of("new", tls="off"), -0.5)]
    series = series_of([*LADDER, *plain])
    assert [(case.case["tls"], case.judgement) for case in of(CASE, series)] == [("1.3", "held")]
    assert [(case.case["tls"], case.judgement) for case in of(PLAINTEXT, series)] == [("off", "opposite")]
    assert counts(*of(STATEMENT, series)) == (1, 0, 0, 0)


def test_what_processes_differ_by_in_plaintext_too_is_not_the_librarys() -> None:
    """The new library's process is faster by 0.5 with TLS and by 0.3 without: 0.2 are TLS."""
    plain = [(levels_of("old", tls="off"), 1.0), (levels_of("new", tls="off"), 1.3)]
    result, case, _ = statement_rows(
        series_of([(levels_of("old"), 0.0), (levels_of("new"), 0.5), *plain]), BETTER
    )
    assert (case.more["to_own_baseline"], case.more["across_servers"]) == (True, False)
    assert case.ratio.point == pytest.approx(exp(0.2))
    assert any("ratio to its own plaintext" in caveat for caveat in result.caveats)
    alone = only([(levels_of("old"), 0.0), (levels_of("new"), 0.5)])
    assert alone.ratio.point == pytest.approx(exp(0.5)), "without plaintext the values are compared"
    assert not alone.more["to_own_baseline"]


def test_of_anything_else_plaintext_is_a_case_like_others() -> None:
    by_tls = Statement(says="so", source="s", factor="tls", better=("off",), than=("1.3",))
    case = only([(levels_of("old", tls="off"), 0.5), (levels_of("old"), 0.0)], by_tls)
    assert (case.case, case.judgement) == ({"workload": "w", "tls_library": "old"}, "held")


def test_servers_may_be_the_sides_themselves() -> None:
    by_server = Statement(says="so", source="s", factor="server", better=("a",), than=("b",))
    case = only([(levels_of("old", server="a"), 0.5), (levels_of("old", server="b"), 0.0)], by_server)
    assert (case.word("servers"), case.judgement, case.noise_floor) == ("", "held", None)


ACROSS: Speeds = [
    (levels_of("old", server="mysql-8.0"), -0.5),
    (levels_of("old", server="mysql-8.0", tls="off"), 0.0),
    (levels_of("new", server="mysql-9.7"), 0.8),
    (levels_of("new", server="mysql-9.7", tls="off"), 1.0),
    (levels_of("new", server="mariadb-11.8"), 9.0),
    (levels_of("new", server="mariadb-11.8", tls="off"), 1.0),
]
"""No server ran both: the new library costs 0.2 on its own server, the old one 0.5 on its own."""


def test_across_servers_of_a_family_ratios_to_their_own_baselines_are_compared() -> None:
    result, case = statement_rows(series_of(ACROSS), BETTER)
    assert (case.word("servers"), case.more["across_servers"]) == ("mysql-9.7 against mysql-8.0", True)
    assert case.ratio.point == pytest.approx(exp(0.3))
    assert case.judgement == "held"
    assert result.more["across_servers"]


def test_across_servers_the_larger_floor_of_both_holds() -> None:
    def twin(server: str, library: str, log_speed: float, plain: float) -> Speeds:
        return [
            (levels_of(library, server=server, instance=2), log_speed),
            (levels_of(library, server=server, instance=2, tls="off"), plain),
        ]

    # Against their own baselines, the twins are 0.1 and 0.02 off.
    case = only([*ACROSS, *twin("mysql-9.7", "new", 0.9, 1.0), *twin("mysql-8.0", "old", -0.48, 0.0)])
    assert (case.noise_floor, case.word("noise_from")) == (
        pytest.approx(expm1(0.2)),
        "the twins of mysql-9.7",
    )


def test_a_family_is_what_stands_before_the_version() -> None:
    assert [family(name) for name in ("mysql-8.0.33", "mariadb-11.4-wolfssl", "mine")] == [
        "mysql",
        "mariadb",
        "mine",
    ]


def at(name: str) -> tuple[tuple[str, str], ...]:
    return (("library", name),)


def test_the_best_of_several_is_chosen_by_the_other_blocks() -> None:
    """By hand: a has 5, 1, 1 and b 2, 2, 2. For block 0 the others say b, for 1 and 2 they say a."""
    a, b = at("a"), at("b")
    both = {a: {0: 5.0, 1: 1.0, 2: 1.0}, b: {0: 2.0, 1: 2.0, 2: 2.0}}
    assert best_without_hindsight(both, lower_is_better=False) == {0: b, 1: a, 2: a}
    assert best_without_hindsight(both, lower_is_better=True) == {0: a, 1: b, 2: b}


def test_only_blocks_that_all_candidates_have_are_chosen_from() -> None:
    a, b = {0: 1.0, 1: 1.0, 2: 1.0}, {2: 2.0, 1: 2.0, 9: 2.0}
    chosen = best_without_hindsight({at("a"): a, at("b"): b, at("c"): {}}, lower_is_better=False)
    assert list(chosen.items()) == [(1, at("b")), (2, at("b"))]
    assert best_without_hindsight({at("a"): {0: 1.0}, at("b"): {0: 2.0}}, lower_is_better=False) == {}
    assert best_without_hindsight({at("a"): a, at("c"): {}}, lower_is_better=False) == dict.fromkeys(
        a, at("a")
    )
    assert best_without_hindsight({at("c"): {}}, lower_is_better=False) == {}


def test_that_the_best_was_chosen_is_told() -> None:
    several = Statement(**{**dict(BETTER), "better": ("new", "newer")})
    case = only([*LADDER[:2], (levels_of("newer"), 0.5)], several)
    assert case.more["chosen"]
    assert case.ratio.point == pytest.approx(exp(0.5))
    assert not only(LADDER[:2], several).more["chosen"], "one of them was run"
    other_way = Statement(**{**dict(BETTER), "than": ("old", "older")})
    worse = only([*LADDER[:2], (levels_of("older"), 0.1)], other_way)
    assert worse.more["chosen"]
    assert worse.ratio.point == pytest.approx(exp(0.1))


def test_a_tally_counts_each_outcome() -> None:
    outcomes = ["held", "opposite", "held", "inconclusive", "held", "alike", "alike"]
    assert counts_of(outcomes) == {"held": 3, "opposite": 1, "alike": 2, "inconclusive": 1}


def test_a_study_of_one_number_of_connections_is_a_ladder_of_one_step() -> None:
    bare: Speeds = [
        ({name: level for name, level in levels.items() if name != "connections"}, log)
        for levels, log in LADDER[:2]
    ]
    assert only(bare).more["pooled_connections"] == (1,)


def bare(library: str) -> dict[str, Level]:
    """A case of a study that has no factors but those of the statement."""
    return {"tls_library": library, "tls": "1.3"}


def test_a_study_of_the_statements_factors_alone_has_one_case_of_no_server() -> None:
    both = Statement(
        says="so",
        source="s",
        better={"tls_library": "new", "tls": "1.3"},
        than={"tls_library": "old", "tls": "1.3"},
    )
    speeds: Speeds = [(bare("old"), 0.0), (bare("new"), 0.2)]
    case = only(speeds, both)
    assert (case.case, case.word("servers"), case.judgement) == ({}, "", "held")
    assert case.more["pooled_connections"] == (1,)
    without = series_of(speeds, both)
    study = without.study.model_copy(update={"contrasts": ()})
    series = Series(study=study, cases=without.cases, values=without.values, controls={})
    assert len(of(CASE, series)) == 1


def test_the_best_of_several_is_the_cheapest_where_lower_is_better() -> None:
    several = Statement(
        **{
            **dict(BETTER),
            "outcome": "server_cpu_us_per_op",
            "better": ("new", "newer"),
            "than": ("old", "older"),
        }
    )
    speeds: Speeds = [
        (levels_of("new"), 0.5),
        (levels_of("newer"), -0.5),
        (levels_of("old"), 0.3),
        (levels_of("older"), 0.4),
    ]
    case = only(speeds, several, "server_cpu_us_per_op")
    assert case.ratio.point == pytest.approx(exp(-0.5 - 0.3))
    assert (case.judgement, counts(case)) == ("held", (1, 0, 0, 0))


@pytest.mark.parametrize("lacking", ["new", "old"])
def test_blocks_that_one_side_lacks_are_passed_over(lacking: str) -> None:
    series = series_of(LADDER[:2], blocks=3)
    values = {
        levels: {
            block: own for block, own in blocks.items() if block or dict(levels)["tls_library"] != lacking
        }
        for levels, blocks in series.values.items()
    }
    (case,) = of(CASE, Series(study=series.study, cases=series.cases, values=values, controls={}))
    assert case.ratio.blocks == 2
    assert case.ratio.point == pytest.approx(exp(0.2 + 0.005))
