"""What a large study says: planted differences are found, planted nothing is not, verdicts follow."""

from __future__ import annotations

import re
from functools import cache
from math import exp, log
from random import Random

import pytest

from fake_openssl_study import GAIN, openssl_run, openssl_study, small_openssl_run
from fake_trials import crashed
from tlstax.records.trial import StoredRun
from tlstax.results.document import RunDocument
from tlstax.results.rows import Row
from tlstax.stats.series import pooled
from tlstax.study import Statement
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline
from tlstax.topics.statements import CASE, COUNTED, PLAINTEXT, STATEMENT, best_without_hindsight, verdict_of

BETTER = "OpenSSL 3.5 is better than 3.0"
PLANTED = ("reconnect", "1.3", "off")


def pooled_of(document: RunDocument) -> tuple[Row, ...]:
    """Ratios of the rate that are pooled over connections."""
    return document.rows_of("contrasts", "ops_per_s", role="pooled")


@cache
def shown() -> RunDocument:
    return document(small_openssl_run())


def mode(levels: dict[str, str | int]) -> tuple[str | int, ...]:
    return levels["workload"], levels["tls"], levels["resumption"]


def result_of(found: RunDocument, says: str) -> Row:
    return next(row for row in found.rows_of("statements", role=STATEMENT) if row.label.startswith(says))


def cases_of(found: RunDocument, statement: Row, role: str = CASE) -> list[Row]:
    rows = found.rows_of("statements", role=role)
    return [row for row in rows if row.word("statement") == statement.label]


def counts(row: Row) -> tuple[float | None, ...]:
    """How often a statement held, the opposite did, both were alike, and nothing could be told."""
    return tuple(map(row.number, COUNTED))


def narrowed(run: StoredRun, *, keep_connections: int) -> StoredRun:
    study = openssl_study(connections=(keep_connections,))
    kept = tuple(r for r in run.trials if r.trial.case.levels["connections"] == keep_connections)
    return run.model_copy(update={"header": run.header.model_copy(update={"study": study}), "trials": kept})


def test_a_planted_gain_is_found_where_it_is_and_nowhere_else() -> None:
    found = [f for f in pooled_of(shown()) if f.word("factor") == "tls_library"]
    higher = {
        (f.case["server"], f.case["tls_library"], *mode(f.case)) for f in found if f.judgement == "higher"
    }
    assert higher == {(server, "openssl-3.5.5", *PLANTED) for server in ("mysql-9.7", "mariadb-11.8")}
    assert not [f for f in found if f.judgement == "lower"]
    for f in found:
        if f.judgement == "higher":
            assert f.ratio.low is not None
            assert f.ratio.high is not None
            assert f.ratio.low < GAIN < f.ratio.high
            assert f.more["pooled_connections"] == (2, 8, 64)
            assert f.word("noise_from") == f"the twins of {f.case['server']}"


def test_the_same_is_found_in_single_cells_and_on_both_sides_of_cost() -> None:
    singles = [
        f for f in shown().rows_of("contrasts", role="contrast") if f.case["tls_library"] == "openssl-3.5.5"
    ]
    planted = [f for f in singles if mode(f.case) == PLANTED]
    assert {f.judgement for f in planted if f.outcome == "ops_per_s"} == {"higher"}
    assert {f.judgement for f in planted if f.outcome == "server_cpu_us_per_op"} == {"lower"}
    assert all({**f.case, "tls_library": "openssl-3.0"} == f.baseline for f in singles)


def test_a_difference_as_large_as_the_twins_is_none() -> None:
    """A gain of a hundredth that the twin shows too, without noise, so that every interval is narrow."""
    study = openssl_study(connections=(2, 8), tls_library=("openssl-3.0", "openssl-3.3", "own"))
    run = openssl_run(study, blocks=3, noise=0.0)
    faster = [
        record
        if record.trial.case.levels["tls_library"] != "openssl-3.3" or record.done is None
        else record.model_copy(
            update={"done": record.done.model_copy(update={"elapsed_s": record.done.elapsed_s / 1.01})}
        )
        for record in run.trials
    ]
    found = document(run.model_copy(update={"trials": tuple(faster)}))
    contrasts = [f for f in pooled_of(found) if f.word("factor") == "tls_library"]
    assert contrasts
    for f in contrasts:
        assert f.ratio.point == pytest.approx(1.01, rel=1e-3)
        assert f.noise_floor == pytest.approx(0.02, rel=0.1)
        assert f.judgement == "alike"


def test_a_statement_that_holds_in_some_cases_held_in_part() -> None:
    result = result_of(shown(), BETTER)
    (sentence,) = (said for said in shown().topics["statements"].sentences if BETTER in said)
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
    result = result_of(document(run.model_copy(update={"trials": tuple(faster)})), BETTER)
    assert any("in plaintext" in caveat and "prove nothing" in caveat for caveat in result.caveats)


def test_nothing_measured_is_a_verdict_too() -> None:
    run = openssl_run(openssl_study(connections=(2,)), blocks=1)
    nothing = run.model_copy(update={"trials": tuple(crashed(record.trial) for record in run.trials)})
    found = document(nothing)
    told = found.topics["statements"]
    assert {row.judgement for row in told.rows} == {"inconclusive"}
    assert all(said.endswith(": nothing that was measured bears on it") for said in told.sentences)


def test_one_block_tells_no_verdict() -> None:
    found = document(openssl_run(openssl_study(connections=(2,)), blocks=1))
    assert {row.judgement for row in found.rows_of("statements", role=STATEMENT)} == {"inconclusive"}


def test_the_answer_of_such_a_study_is_its_verdicts() -> None:
    said = headline(shown())
    assert len(said) == 3
    assert said[1].startswith("“OpenSSL 3.5 is better than 3.0, in some cases by much” (Kravtchuk, Oracle")
    assert "held in part" in said[1]


def test_groups_without_a_control_take_over_the_floor_of_the_nearest_that_has_one() -> None:
    run = small_openssl_run()
    only_at_8 = [
        r for r in run.trials if r.trial.case.role != "control" or r.trial.case.levels["connections"] == 8
    ]
    found = document(run.model_copy(update={"trials": tuple(only_at_8)}))
    floors = {
        (f.case["connections"], f.noise_floor)
        for f in found.findings
        if f.outcome == "ops_per_s"
        and f.case["server"] == "mysql-9.7"
        and f.case["tls_library"] == "openssl-3.6"
        and f.case["workload"] == "reconnect"
    }
    assert len({floor for _, floor in floors}) == 1
    assert {connections for connections, _ in floors} == {2, 8, 64}
    assert None not in {floor for _, floor in floors}


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


def test_a_missing_step_does_not_tilt_its_block() -> None:
    whole = {1: {0: 0.0, 1: 0.2, 2: 0.1}, 2: {0: 1.0, 1: 1.2, 2: 1.1}}
    assert pooled(whole) == pytest.approx({0: 0.5, 1: 0.7, 2: 0.6})
    missing = {1: {0: 0.0, 1: 0.2, 2: 0.1}, 2: {0: 1.0, 1: 1.2}}
    assert pooled(missing)[2] == pytest.approx(0.6)
    assert exp(pooled(missing)[0]) == pytest.approx(exp(0.55), abs=0.1)


def test_one_number_of_connections_needs_no_ladder() -> None:
    found = document(narrowed(small_openssl_run(), keep_connections=8))
    assert result_of(found, BETTER).judgement == "held in part"


def test_the_floor_of_a_ladder_comes_from_all_controls_of_its_workload() -> None:
    own = [f for f in pooled_of(shown()) if not f.word("factor")]
    assert {f.word("noise_from") for f in own} == {"the controls"}
    floors = {(f.case["workload"], f.noise_floor) for f in own}
    assert {workload for workload, _ in floors} == {"point-select", "reconnect"}
    assert len(floors) == 2
    assert all(floor is not None and floor < 0.02 for _, floor in floors)
