"""Published statements put to the test: cases that bear on them, verdicts, and what would tell the rest."""

from __future__ import annotations

import re
from functools import cache
from math import exp, expm1, inf, log
from random import Random

import pytest

from fake_openssl_study import openssl_run, openssl_study, small_openssl_run
from fake_trials import crashed
from planted_series import HALF_OF_WIGGLE, series_of, steady, wiggling
from tlstax.records.trial import StoredRun
from tlstax.results.interval import Interval
from tlstax.results.rows import Row, Told
from tlstax.stats.series import Series
from tlstax.study import Case, Contrast, Level, Statement, load_study
from tlstax.study.factors import CaseLevels
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline
from tlstax.topics.core.topic import Run
from tlstax.topics.statements import (
    CASE,
    COUNTED,
    PLAINTEXT,
    STATEMENT,
    TOPIC,
    best_without_hindsight,
    bound_words,
    counts_of,
    family,
    statement_rows,
    times_needed,
    verdict_of,
    what_would_tell,
)

STUDY = load_study("openssl-versions").model_copy(
    update={
        "baseline": {"tls": "off"},
        "contrasts": (Contrast(factor="instance", baseline=1),),
    }
)
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


def speeds_of(
    speeds: Speeds, statement: Statement = BETTER, outcome: str = "ops_per_s", *, blocks: int = 3
) -> Series:
    """Cases with the logarithm of their speed; those of the new library wiggle."""
    measured = (
        (levels, (wiggling if levels["tls_library"] == "new" else steady)(exp(log_speed), blocks))
        for levels, log_speed in speeds
    )
    return series_of(STUDY.model_copy(update={"statements": (statement,)}), measured, outcome)


def found(
    speeds: Speeds, statement: Statement = BETTER, outcome: str = "ops_per_s", *, blocks: int = 3
) -> tuple[Row, ...]:
    return of(CASE, speeds_of(speeds, statement, outcome, blocks=blocks))


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
    assert (case.ratio.low, case.ratio.high) == pytest.approx(
        (exp(0.3 - HALF_OF_WIGGLE), exp(0.3 + HALF_OF_WIGGLE)), rel=1e-5
    )
    assert (case.ratio.blocks, case.ratio.confidence) == (3, 0.95)
    assert (case.noise_floor, case.word("noise_from"), case.more["chosen"]) == (None, "", False)
    assert (case.judgement, counts(case)) == ("held", (2, 0, 0, 0))


def test_the_opposite_is_told_and_what_cannot_be_told_is() -> None:
    slower = [(levels, -log if levels["tls_library"] == "new" else log) for levels, log in LADDER[:2]]
    assert only(slower).judgement == "opposite"
    even = [(levels, 0.0) for levels, _ in LADDER[:2]]
    stricter = Statement(**{**dict(BETTER), "alike_within": exp(0.9 * HALF_OF_WIGGLE)})
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
    twin = [(levels_of("new", instance=2), 0.36), (levels_of("new", instance=2, connections=8), 1.56)]
    case = only([*LADDER, *twin])
    assert (case.noise_floor, case.word("noise_from")) == (
        pytest.approx(expm1(2 * 0.16)),
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
    bare = speeds_of(LADDER)
    cases = {**bare.cases, CaseLevels.of(nameless): Case(levels=nameless, role="treatment")}
    series = Series(study=bare.study, cases=cases, values=bare.values, controls={})
    assert len(of(CASE, series)) == 1, "a case without the factor has no side"


def test_of_a_library_plaintext_is_told_apart() -> None:
    plain = [(levels_of("old", tls="off"), 0.0), (levels_of("new", tls="off"), -0.5)]
    series = speeds_of([*LADDER, *plain])
    assert [(case.case["tls"], case.judgement) for case in of(CASE, series)] == [("1.3", "held")]
    assert [(case.case["tls"], case.judgement) for case in of(PLAINTEXT, series)] == [("off", "opposite")]
    assert counts(*of(STATEMENT, series)) == (1, 0, 0, 0)


def test_what_processes_differ_by_in_plaintext_too_is_not_the_librarys() -> None:
    """The new library's process is faster by 0.5 with TLS and by 0.3 without: 0.2 are TLS."""
    plain = [(levels_of("old", tls="off"), 1.0), (levels_of("new", tls="off"), 1.3)]
    result, case, _ = statement_rows(
        speeds_of([(levels_of("old"), 0.0), (levels_of("new"), 0.5), *plain]), BETTER
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
    result, case = statement_rows(speeds_of(ACROSS), BETTER)
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
    without = speeds_of(speeds, both)
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
    series = speeds_of(LADDER[:2], blocks=3)
    values = {
        levels: {
            block: own for block, own in blocks.items() if block or dict(levels)["tls_library"] != lacking
        }
        for levels, blocks in series.values.items()
    }
    (case,) = of(CASE, Series(study=series.study, cases=series.cases, values=values, controls={}))
    assert case.ratio.blocks == 2
    assert case.ratio.point == pytest.approx(exp(0.2 + 0.005))


OPENSSL_35 = "OpenSSL 3.5 is better than 3.0"
PLANTED = ("reconnect", "1.3", "off")


def told_of(run: StoredRun) -> Told:
    """What the topic alone says of a run: the document has all others besides."""
    return TOPIC.told(Run(run))


@cache
def shown() -> Told:
    return told_of(small_openssl_run())


def mode(levels: dict[str, str | int]) -> tuple[str | int, ...]:
    return levels["workload"], levels["tls"], levels["resumption"]


def result_of(told: Told, says: str) -> Row:
    return next(row for row in told.rows if row.role == STATEMENT and row.label.startswith(says))


def cases_of(told: Told, statement: Row, role: str = CASE) -> list[Row]:
    return [row for row in told.rows if row.role == role and row.word("statement") == statement.label]


def narrowed(run: StoredRun, *, keep_connections: int) -> StoredRun:
    study = openssl_study(connections=(keep_connections,))
    kept = tuple(r for r in run.trials if r.trial.case.levels["connections"] == keep_connections)
    return run.model_copy(update={"header": run.header.model_copy(update={"study": study}), "trials": kept})


def test_a_statement_that_holds_in_some_cases_held_in_part() -> None:
    result = result_of(shown(), OPENSSL_35)
    (sentence,) = (said for said in shown().sentences if OPENSSL_35 in said)
    assert result.judgement == "held in part"
    assert counts(result) == (2, 0, 10, 0)
    assert re.search(r"; 10 were alike within 5 % \(", sentence)
    cells = [counts(case) for case in cases_of(shown(), result)]
    assert sum(held or 0 for held, *_ in cells) >= 6
    assert {opposite for _, opposite, *_ in cells} == {0}
    assert not result.more["across_servers"]
    assert re.search(r"mysql-9\.7, reconnecting, TLS 1\.3: \+(9|10|11)\.\d", sentence)
    assert any("no difference was seen" in caveat for caveat in result.caveats)
    assert {case.judgement for case in cases_of(shown(), result, PLAINTEXT)} == {"alike"}


def test_a_statement_whose_opposite_is_seen_did_not_hold() -> None:
    assert result_of(shown(), "OpenSSL 3.6").judgement == "did not hold"


def test_across_servers_only_ratios_to_plaintext_are_compared_and_marked() -> None:
    result = result_of(shown(), "OpenSSL 1.1.1")
    assert result.more["across_servers"]
    assert any("compared across servers" in caveat for caveat in result.caveats)
    cases = cases_of(shown(), result)
    assert {case.word("servers") for case in cases} == {
        "mysql-8.0.33 against mysql-9.7",
        "mariadb-10.5 against mariadb-11.8",
    }
    alike = [case for case in cases if mode(case.case) != PLANTED]
    # The older servers are a fifth slower as a whole; that must not be taken for the library's.
    assert all(abs(log(case.ratio.point)) < 0.04 for case in alike)
    assert not cases_of(shown(), result, PLAINTEXT)


def test_a_library_that_seems_to_matter_in_plaintext_is_told() -> None:
    run = small_openssl_run()
    faster = []
    for record in run.trials:
        levels, done = record.trial.case.levels, record.done
        if done and levels["tls_library"] == "openssl-3.5.5" and levels["tls"] == "off":
            done = done.model_copy(update={"elapsed_s": done.elapsed_s / 1.2})
        faster.append(record.model_copy(update={"done": done}))
    result = result_of(told_of(run.model_copy(update={"trials": tuple(faster)})), OPENSSL_35)
    assert any("in plaintext" in caveat and "prove nothing" in caveat for caveat in result.caveats)


def test_nothing_measured_is_a_verdict_too() -> None:
    run = openssl_run(openssl_study(connections=(2,)), blocks=1)
    nothing = run.model_copy(update={"trials": tuple(crashed(record.trial) for record in run.trials)})
    told = told_of(nothing)
    assert {row.judgement for row in told.rows} == {"inconclusive"}
    assert all(said.endswith(": nothing that was measured bears on it") for said in told.sentences)


def test_one_block_tells_no_verdict() -> None:
    told = told_of(openssl_run(openssl_study(connections=(2,)), blocks=1))
    assert {row.judgement for row in told.rows if row.role == STATEMENT} == {"inconclusive"}


def test_the_answer_of_such_a_study_is_its_verdicts() -> None:
    said = headline(document(narrowed(small_openssl_run(), keep_connections=8)))
    assert len(said) == 3
    assert said[1].startswith("“OpenSSL 3.5 is better than 3.0, in some cases by much” (Kravtchuk, Oracle")
    assert "held in part" in said[1]


@pytest.mark.parametrize(
    ("kind", "tally", "verdict"),
    [
        ("better", (4, 0, 0, 0), "held"),
        ("better", (3, 0, 0, 1), "held in part"),
        ("better", (3, 0, 1, 0), "held in part"),
        ("better", (1, 2, 0, 0), "held in part"),
        ("better", (0, 1, 0, 3), "did not hold"),
        ("better", (0, 0, 3, 2), "did not hold"),
        ("better", (0, 0, 2, 2), "inconclusive"),
        ("better", (0, 0, 0, 4), "inconclusive"),
        ("best", (3, 1, 0, 0), "held"),
        ("best", (2, 1, 0, 1), "held in part"),
        ("best", (1, 2, 0, 1), "did not hold"),
        ("best", (1, 1, 1, 1), "did not hold"),
        ("best", (0, 1, 0, 3), "inconclusive"),
        ("best", (0, 0, 0, 0), "inconclusive"),
    ],
)
def test_verdicts(kind: str, tally: tuple[int, int, int, int], verdict: str) -> None:
    statement = Statement.model_validate(
        {"says": "x", "source": "y", "kind": kind, "factor": "tls_library", "better": ["a"], "than": ["b"]}
    )
    assert verdict_of(statement, dict(zip(COUNTED, tally, strict=True))) == verdict


def test_the_best_of_several_equals_is_not_better_than_one_of_them() -> None:
    """Choosing by hindsight would make the best of five noisy equals seem an eighth better."""
    generator = Random(3)  # noqa: S311 (noise, not a secret)
    honest, hindsight = [], []
    for _ in range(400):
        five = {level: {b: generator.gauss(0, 0.1) for b in range(5)} for level in "abcde"}
        chosen = best_without_hindsight(five, lower_is_better=False)
        honest.append(sum(five[level][b] for b, level in chosen.items()) / len(chosen))
        hindsight.append(max(sum(logs.values()) / 5 for logs in five.values()))
    assert abs(sum(honest) / 400) < 0.01
    assert sum(hindsight) / 400 > 0.04


def test_the_best_is_chosen_where_one_is_best() -> None:
    candidates = {"a": {0: 1.0, 1: 1.1, 2: 0.9}, "b": {0: 2.0, 1: 2.1, 2: 1.9}}
    assert best_without_hindsight(candidates, lower_is_better=False) == dict.fromkeys(range(3), "b")
    assert best_without_hindsight(candidates, lower_is_better=True) == dict.fromkeys(range(3), "a")


def test_one_number_of_connections_needs_no_ladder() -> None:
    told = told_of(narrowed(small_openssl_run(), keep_connections=8))
    assert result_of(told, OPENSSL_35).judgement == "held in part"


NEW_IS_BETTER = Statement(
    says="new is better",
    source="somebody",
    factor="tls_library",
    better=("new",),
    than=("old",),
    alike_within=exp(0.05),
)
ALIKE = Statement(**{**dict(NEW_IS_BETTER), "kind": "alike", "by": exp(0.1)})
TWICE = Statement(**{**dict(NEW_IS_BETTER), "by": 2.0})


def case(
    log_ratio: float, half: float | None, *, floor: float | None = None, outcome: str = "inconclusive"
) -> Row:
    ends = (None, None) if half is None else (exp(log_ratio - half), exp(log_ratio + half))
    ratio = Interval(
        point=exp(log_ratio), low=ends[0], high=ends[1], confidence=0.95, blocks=9 if half else 1
    )
    return Row(interval=ratio, of="ratio", noise_floor=floor, judgement=outcome)


@pytest.mark.parametrize(
    ("statement", "log_ratio", "half", "times"),
    [
        (NEW_IS_BETTER, 0.0, 0.1, 4.0),
        (NEW_IS_BETTER, 0.0, 0.11, 5.0),
        (NEW_IS_BETTER, 0.01, 0.12, 9.0),
        (NEW_IS_BETTER, 0.04, 0.12, 9.0),
        (NEW_IS_BETTER, -0.04, 0.12, 9.0),
        (NEW_IS_BETTER, 0.2, 0.21, 2.0),
        (ALIKE, 0.0, 0.2, 4.0),
        (ALIKE, 0.16, 0.18, 9.0),
        (TWICE, log(2.0) + 0.1, 0.3, 9.0),
        (TWICE, log(2.0) - 0.1, 0.3, 9.0),
        (TWICE, -log(2.0) + 0.1, 0.3, 9.0),
    ],
)
def test_an_interval_shrinks_with_the_root_of_the_blocks(
    statement: Statement, log_ratio: float, half: float, times: float
) -> None:
    assert times_needed(statement, case(log_ratio, half - 1e-9)) == times


def test_on_the_line_no_number_of_blocks_is_enough() -> None:
    assert times_needed(TWICE, case(log(2.0), 0.1)) == inf
    assert times_needed(NEW_IS_BETTER, case(0.0, None)) == inf


@pytest.mark.parametrize(
    ("statement", "log_ratio", "floor", "times"),
    [
        (NEW_IS_BETTER, 0.1, 0.06, 4.0),
        (NEW_IS_BETTER, 0.04, 0.045, 400.0),
        (NEW_IS_BETTER, 0.04, 0.2, None),
        (NEW_IS_BETTER, 0.0, 0.2, None),
        (TWICE, log(2.0) + 0.1, 0.2, None),
        (TWICE, log(2.0) + 0.1, 0.05, 4.0),
        (ALIKE, 0.0, 0.2, 4.0),
        (NEW_IS_BETTER, 0.1, expm1(log(exp(0.1))), None),
        (NEW_IS_BETTER, 0.0, exp(0.05) - 1, None),
        (TWICE, log(2.0) + 0.1, expm1(log(exp(log(2.0) + 0.1)) - log(2.0)), None),
    ],
)
def test_what_twins_hide_takes_an_unknown_number(
    statement: Statement, log_ratio: float, floor: float, times: float | None
) -> None:
    assert times_needed(statement, case(log_ratio, 0.2 - 1e-9, floor=floor)) == times


def words(statement: Statement, *cases: Row) -> list[str]:
    return list(what_would_tell(statement, cases))


def test_it_is_said_in_words() -> None:
    told = case(0.3, 0.1, outcome="held")
    four, hidden, far = case(0.0, 0.0999), case(0.0, 0.1, floor=0.2), case(0.025, 0.4)
    assert words(NEW_IS_BETTER, told) == []
    assert words(NEW_IS_BETTER, case(0.0, 0.4999)) == ["about 100 times as many blocks would tell them"]
    assert words(NEW_IS_BETTER, four, case(0.0, 0.1499))[0].startswith("about 9 times as many blocks")
    assert words(NEW_IS_BETTER, told, four) == ["about 4 times as many blocks would tell them"]
    assert words(NEW_IS_BETTER, four, far, hidden, case(0.0, None)) == [
        "one block shows no scatter, and more blocks would tell",
        "about 4 times as many blocks would tell 1 of them",
        "1 would take more than 100 times as many",
        "in 1 equal things differ by as much: more blocks show whether by chance",
    ]


def test_how_much_may_be_hidden_is_the_farthest_end_of_all_that_were_not_told() -> None:
    held, near, far = case(0.3, 0.9, outcome="held"), case(0.0, 0.05), case(-0.1, 0.1)
    assert bound_words([held, near, far]) == " (a difference above 22 % is ruled out there)"
    assert bound_words([near, case(0.0, 3.0)]) == "", "nothing is ruled out of one of them"
    assert bound_words([held]) == ""
    assert bound_words([case(0.0, None)]) == ""
    assert bound_words([case(0.0, log(10.5))]) == ""
    assert bound_words([case(0.0, 3.0)]) == "", "of a factor of ten and more nothing is ruled out"
