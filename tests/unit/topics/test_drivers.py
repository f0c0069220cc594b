"""What drivers do by default and how they warm up: by hand, and the study in a world of planted costs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import exp
from random import Random

import pytest

import golden
from fake_driver_runs import Planted, encrypts, fake_driver_run, fake_study_run, takes_us
from fake_trials import fake_run
from planted_series import planted_series
from sampled_trials import INVALID, measured
from tlstax.contract import WarmupSlice
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.document import RunDocument
from tlstax.results.rows import Row, Told
from tlstax.study import Case, Levels, load_study, override, parse_study
from tlstax.study.labels import driver_label, full_label
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline
from tlstax.topics.core.topic import Run
from tlstax.topics.drivers import defaults, splits
from tlstax.topics.drivers.splits import ASKING, ENCRYPTION, VERSION, Split, splits_of
from tlstax.topics.drivers.topic import SLICE, TOPIC, WARM_UP, restless, warmups

PLANTED = Planted()
STUDY = load_study("driver-defaults")


@cache
def shown(planted: Planted = PLANTED) -> tuple[StoredRun, RunDocument]:
    stored = fake_driver_run(planted)
    return stored, document(stored)


def drivers() -> Told:
    return shown()[1].topics["drivers"]


def split_of(driver: str) -> Split:
    return next(split for split in splits_of(drivers().rows) if split.operation.label == driver)


def parts_of(split: Split) -> dict[str, Row]:
    return {part.outcome: part for part in split.parts}


def said_of(driver: str, told: Told | None = None) -> str:
    """The sentence of the driver's upgrade."""
    start = f"from Connector/J 5.1.6 to {driver} "
    return next(said for said in (told or drivers()).sentences if said.startswith(start))


def test_planted_parts_are_found_and_add_up() -> None:
    split = split_of("Connector/J 8.0.16")
    found = parts_of(split)
    for name, planted_us in ((ENCRYPTION, 45.0), (ASKING, 5.0), (VERSION, 15.0)):
        extra = found[name].known
        assert extra.low is not None
        assert extra.high is not None
        assert extra.low <= planted_us <= extra.high, name
        assert split.shares[name].known.point == pytest.approx(planted_us / 65.0, abs=0.04), name
    assert split.together is not None
    total = sum(part.known.point for part in split.parts)
    assert total == pytest.approx(split.together.known.point)
    assert split.operation.known.point == pytest.approx(125 / 60, rel=0.01)


def test_what_turned_tls_off_is_found_and_not_looked_up() -> None:
    old = parts_of(split_of("Connector/J 8.0.16"))[ENCRYPTION]
    assert (old.case["option.useSSL"], old.baseline["option.useSSL"]) == ("unset", "false")
    new = parts_of(split_of("Connector/J 8.0.33"))[ENCRYPTION]
    assert (new.case["option.sslMode"], new.baseline["option.sslMode"]) == ("unset", "DISABLED")


@pytest.mark.parametrize(
    ("name", "nothing"),
    [
        (ENCRYPTION, replace(PLANTED, encryption_us=0.0)),
        (ASKING, replace(PLANTED, asking_us=0.0)),
        (VERSION, replace(PLANTED, version_us=0.0)),
    ],
)
def test_a_cost_that_is_not_there_is_not_found(name: str, nothing: Planted) -> None:
    """Of a hundred runs no more seem to have it than chance gives; each scatters by 2 %."""
    told = sum(seems_to_cost(name, nothing, seed) for seed in range(100))
    assert told <= 8
    assert sum(seems_to_cost(name, PLANTED, seed) for seed in range(100)) >= 95


def seems_to_cost(name: str, planted: Planted, seed: int) -> bool:
    generator = Random(seed)  # noqa: S311 (noise, not a secret)

    def values(levels: Levels, block: int) -> dict[str, float]:  # noqa: ARG001 (the noise is all there is)
        return {"ops_per_s": 1e6 / takes_us(levels, planted) * exp(generator.gauss(0.0, 0.02))}

    measured = planted_series(STUDY, values)
    observations = {
        at: defaults.Observed("always" if encrypts(case.levels) else "never", (), trials=8)
        for at, case in measured.cases.items()
    }
    found = splits_of(list(splits.rows(measured, observations)))
    (split,) = (split for split in found if split.operation.label == "Connector/J 8.0.16")
    return parts_of(split)[name].known.excludes_zero


def test_without_an_upgrade_that_costs_anything_there_are_no_shares() -> None:
    nothing = Planted(version_us=0.0, asking_us=0.0, encryption_us=0.0)
    told = TOPIC.told(Run(fake_driver_run(nothing)))
    said = said_of("Connector/J 8.0.16", told)
    assert " no difference in the time of an operation is seen (" in said
    assert " more" not in said
    split = next(s for s in splits_of(told.rows) if s.operation.label == "Connector/J 8.0.16")
    assert all(share.interval is None for share in split.shares.values())


def test_where_the_older_driver_cannot_log_in_its_own_parts_are_told() -> None:
    (split,) = [s for s in splits_of(drivers().rows) if s.operation.case["server"] == "mysql-9.7"]
    assert (split.operation.case["client"], split.together) == ("connector-j-9.7", None)
    (part,) = split.parts
    assert (part.outcome, split.shares) == (ENCRYPTION, {})
    assert part.baseline["option.sslMode"] == "DISABLED"
    assert any(
        said.startswith(
            "Connector/J 9.7.0, mysql-9.7, by caching_sha2_password: of what an operation takes, "
            "encryption is 4"
        )
        for said in drivers().sentences
    )


def test_the_published_split_stands_beside() -> None:
    split = split_of("Connector/J 8.0.16")
    assert split.operation.number("published") == pytest.approx(46000 / 18607)
    assert split.published_encryption == pytest.approx((46000 - 22541) / (46000 - 18607))
    published = "published: 2.47 times as long, of that encryption 86 % and all the rest 14 %"
    assert published in said_of("Connector/J 8.0.16")
    assert split_of("Connector/J 8.0.33").operation.number("published") is None


def test_defaults_are_what_the_server_told() -> None:
    told = {row.label: row for row in drivers().of(role=defaults.DEFAULT)}
    assert told["Connector/J 5.1.6"].word("encrypts") == "never"
    assert told["Connector/J 8.0.16"].word("encrypts") == "always"
    assert told["Connector/J 8.0.16"].negotiated == "TLSv1.3 TLS_AES_256_GCM_SHA384"
    assert told["Connector/J 8.0.16 with useSSL=false"].word("encrypts") == "never"
    assert told["Connector/J 8.0.16"].value == pytest.approx(1.0)
    assert "Connector/J 5.1.6 with useSSL=true" not in told


def test_statements_that_a_driver_sends_by_itself_are_told_by_kind() -> None:
    def commands(driver: str) -> dict[str, float | None]:
        own = (row for row in drivers().of(role=defaults.COMMAND) if row.label == driver)
        return {row.word("command"): row.value for row in own}

    told = {row.label: row for row in drivers().of(role=defaults.DEFAULT)}
    assert told["Connector/J 8.0.16, in batches of 100"].value == pytest.approx(1.01)
    assert commands("Connector/J 8.0.16, in batches of 100") == {"insert": 1.0, "select": 0.01}
    lean = "Connector/J 8.0.16 with useLocalSessionState=true, in batches of 100"
    assert commands(lean) == {"insert": 1.0}


def test_the_answer_says_what_each_driver_does_and_why_one_could_not() -> None:
    said = headline(shown()[1])
    assert "Connector/J 5.1.6 does not encrypt by default" in said
    newer = "Connector/J 8.0.16, Connector/J 8.0.33 and Connector/J 9.7.0"
    assert f"{newer} encrypt by default (TLSv1.3 TLS_AES_256_GCM_SHA384)" in said
    assert "Connector/J 5.1.49 encrypts by default (TLSv1.2 ECDHE-RSA-AES128-SHA256)" in said
    lost = [sentence for sentence in said if "nothing can be told" in sentence]
    assert len(lost) == 2
    assert any("Unable to load authentication plugin" in sentence for sentence in lost)
    (upgrade,) = [s for s in said if s.startswith("from Connector/J 5.1.6 to Connector/J 8.0.16 ")]
    (by_execute,) = [s for s in said if s.startswith("from Connector/J 5.1.6 to Connector/J 8.0.16, ")]
    assert by_execute.startswith("from Connector/J 5.1.6 to Connector/J 8.0.16, words-execute an operation")
    assert "times as long" in upgrade
    assert "of that encryption is" in upgrade


def test_a_driver_that_was_not_steady_is_told_of() -> None:
    caveats = [text for text in shown()[1].caveats if "steady" in text]
    (one,) = caveats
    assert one.startswith("Connector/J 5.1.49, ")
    assert "in 1 of 7 trials" in one


def test_what_the_study_shows() -> None:
    few = override(override(STUDY, "connections", ["1"]), "workload", ["words-insert"])
    study = few.model_copy(update={"treatments": STUDY.treatments[:4]})
    shown = golden.check("driver-defaults", fake_study_run(study, PLANTED, blocks=3), TOPIC)
    assert "CPU per operation before measuring" in shown.page


def test_the_published_times_stand_beside_the_total_time() -> None:
    published = shown()[1].topics["published"]
    figures = {row.label: row for row in published.of(role="published")}
    assert figures["8.0.16"].number("published") == pytest.approx(2.472, abs=1e-3)
    assert figures["8.0.16"].known.point == pytest.approx(125 / 60, rel=0.01)
    here = {row.label: row for row in published.of(role="published here")}
    assert here["5.1.6"].value == pytest.approx(10_000 * 60e-6, rel=0.02), (
        "in seconds, of as many operations each"
    )


def test_any_study_of_drivers_has_the_section() -> None:
    text = """
    name = "two"
    title = "Two drivers"
    question = "Do they encrypt?"
    baseline = { client = "connector-j-5.1.6" }
    [factors]
    client = ["connector-j-5.1.6", "connector-j-8.0.33"]
    workload = ["words-insert"]
    connections = [2]
    tls = ["unset"]
    """
    told = document(fake_study_run(parse_study(text, where="two"), PLANTED, blocks=3))
    found = told.topics["drivers"]
    assert [(row.case["client"], row.word("encrypts")) for row in found.of(role=defaults.DEFAULT)] == [
        ("connector-j-5.1.6", "never"),
        ("connector-j-8.0.33", "always"),
    ]
    assert "Connector/J 5.1.6 does not encrypt by default" in headline(told)
    assert not splits_of(found.rows), "what turns TLS off was not measured"


def test_an_option_that_all_cases_have_is_no_part_of_a_split_and_no_default() -> None:
    study = override(STUDY, "option.enabledTLSProtocols", ["TLSv1.2"])
    told = document(fake_study_run(study, PLANTED, blocks=3))
    assert any(split.together and len(split.parts) == 3 for split in splits_of(told.topics["drivers"].rows))
    assert any(
        said.startswith("Connector/J 8.0.16") and " encrypt with enabledTLSProtocols given (" in said
        for said in headline(told)
    )


def test_a_study_of_the_engine_has_none() -> None:
    assert "drivers" not in document(fake_run(number_of_blocks=3)).topics


def test_options_can_be_given_that_the_study_does_not_have() -> None:
    changed = override(STUDY, "option.enabledTLSProtocols", ["TLSv1.2"])
    assert len(cases(changed)) == len(cases(STUDY))
    assert "enabledTLSProtocols=TLSv1.2" in full_label(cases(changed)[0], changed)
    several = override(STUDY, "option.cacheServerConfiguration", ["unset", "true"])
    assert len(cases(several)) == 2 * len(cases(STUDY))
    assert {figure.beside["option.cacheServerConfiguration"] for figure in several.published} == {"unset"}


def test_a_study_can_be_narrowed_to_a_driver_or_a_server() -> None:
    one = override(STUDY, "client", ["connector-j-8.0.16"])
    assert {case.levels["client"] for case in cases(one)} == {"connector-j-5.1.6", "connector-j-8.0.16"}
    assert len(cases(override(STUDY, "server", ["mysql-9.7"]))) == len(cases(STUDY))


def test_cases_are_called_by_product_and_options() -> None:
    labels = [driver_label(case, STUDY) for case in cases(STUDY)]
    assert labels[:3] == ["Connector/J 5.1.6", "Connector/J 5.1.6 again (control)", "Connector/J 5.1.49"]
    assert "Connector/J 8.0.16 with useSSL=false" in labels
    assert "Connector/J 9.7.0, mysql-9.7, by caching_sha2_password" in labels
    assert "Connector/J 8.0.16 with rewriteBatchedStatements=true, in batches of 100" in labels
    assert len(set(labels)) == len(labels)


BASE, CONTROL, NEWER, NEWEST = cases(STUDY)[:4]


def trial(case: Case, block: int, *us: float, steady: bool = True, every_s: float = 1.0) -> TrialRecord:
    """A trial whose warm-up took so long an operation in each slice of ten; a 0 is a slice without any."""
    slices = tuple(
        WarmupSlice(elapsed_s=every_s * place, operations=10 if each else 0, cpu_us=10 * each)
        for place, each in enumerate(us, start=1)
    )
    record = measured(case, block)
    assert record.ready is not None
    return record.model_copy(
        update={"ready": record.ready.model_copy(update={"warmup": slices, "steady": steady})}
    )


def warmups_of(records: Sequence[TrialRecord]) -> list[Row]:
    """The rows of warm-ups; their slices apart."""
    return [row for row in warmups(STUDY, records) if row.role == WARM_UP]


def only(records: Sequence[TrialRecord]) -> Row:
    (row,) = warmups_of(records)
    return row


def slices(records: Sequence[TrialRecord]) -> list[tuple[object, float | None, object]]:
    own = [row for row in warmups(STUDY, records) if row.role == SLICE]
    assert {(row.case == BASE.levels, row.outcome, row.unit) for row in own} == {
        (True, "client_cpu_us_per_op", "us")
    }
    return [(row.more["elapsed_s"], row.value, row.more["trials"]) for row in own]


def test_each_case_that_reported_its_warm_up_is_told_in_the_plans_order() -> None:
    records = [
        trial(CONTROL, 0, 9.0),
        trial(NEWEST, 0, 8.0),
        trial(NEWER, 0, 7.0),
        trial(BASE, 0),
        trial(BASE, 1, 6.0).model_copy(update={"verdict": INVALID}),
        trial(BASE, 2, 6.0).model_copy(update={"ready": None}),
        trial(BASE, 3, 0.0),
        trial(NEWEST, 1, 4.0),
    ]
    assert [(row.label, row.more["trials"], row.value) for row in warmups_of(records)] == [
        ("Connector/J 5.1.49", 1, 7.0),
        ("Connector/J 8.0.16", 2, 6.0),
    ]
    assert [row.case for row in warmups_of(records)] == [NEWER.levels, NEWEST.levels]


def test_drivers_that_stand_beside_other_clients_are_named() -> None:
    study = override(load_study("tax"), "client", ["engine", "pymysql-1.1", "connector-j-9.7"])
    by_driver = {(case.levels["client"], case.levels["tls"]): case for case in cases(study)}
    records = [trial(by_driver[client, "1.3"], 0, 6.0) for client in ("pymysql-1.1", "connector-j-9.7")]
    told = [row.label for row in warmups(study, records) if row.role == WARM_UP]
    assert [re.match(r"(\S+) [\d.]+, TLS 1.3, ", label)[1] for label in told] == ["PyMySQL", "Connector/J"]  # type: ignore[index]


def test_cold_is_the_first_slice_and_warm_the_middle_of_the_last_five() -> None:
    found = only([trial(BASE, 0, 99, 50, 4, 1, 2, 5, 3)])
    assert (found.outcome, found.unit) == ("cold_us_per_op", "us")
    assert (found.value, found.baseline_value, found.more["cold_times_slower"]) == (99, 3, 33)
    assert only([trial(BASE, 0, 9, 90, 80, 3, 1, 2)]).baseline_value == 3, "of 90, 80, 3, 1 and 2"


def test_of_several_trials_the_medians_are_told() -> None:
    found = only(
        [
            trial(BASE, 0, 100, 10, 10),
            trial(BASE, 1, 30, 5, 5, every_s=2.0),
            trial(BASE, 2, 40, 1, 1, 1, steady=False, every_s=9.0),
            trial(BASE, 3, 60, 20, 20, every_s=3.0),
        ]
    )
    assert (found.value, found.baseline_value) == (50.0, 7.5)
    assert found.more == {
        "trials": 4,
        "steady_trials": 3,
        "steady_after_s": 6.0,
        "cold_times_slower": 8.0,  # the middle of 10, 6, 40 and 3
    }


def test_none_that_was_steady_has_no_time() -> None:
    found = only([trial(BASE, 0, 5, 4, steady=False)])
    assert (found.more["steady_trials"], found.more["steady_after_s"]) == (0, None)


def test_slices_go_on_as_long_as_half_of_the_trials() -> None:
    found = slices(
        [
            trial(BASE, 0, 9, 5, 3, 1),
            trial(BASE, 1, 7, 0, 1, every_s=2.0),
            trial(BASE, 2, 8, every_s=4.0),
            trial(BASE, 3, 6, 4, 5, every_s=3.0),
        ]
    )
    assert found == [(2.5, 7.5, 4), (6.0, 4.0, 3), (6.0, 4.0, 2)]
    assert [trials for *_, trials in slices([trial(BASE, 0, 2, 1), trial(BASE, 1, 2, 1, 1, 1)])] == [
        2,
        2,
        1,
        1,
    ]


def test_what_less_than_half_of_the_trials_go_on_with_is_not_told() -> None:
    found = slices([trial(BASE, 0, 2, 1), trial(BASE, 1, 2, 1), trial(BASE, 2, 2, 1, 1)])
    assert [trials for *_, trials in found] == [3, 3]


@pytest.mark.parametrize(("operations", "cpu_us"), [(0, 5.0), (5, 0.0)])
def test_a_slice_that_tells_nothing_is_left_out(operations: int, cpu_us: float) -> None:
    record = trial(BASE, 0, 9, 7)
    assert record.ready is not None
    empty = WarmupSlice(elapsed_s=0.5, operations=operations, cpu_us=cpu_us)
    every = (empty, *record.ready.warmup, WarmupSlice(elapsed_s=3.0, operations=1, cpu_us=0.5))
    warmed = record.model_copy(update={"ready": record.ready.model_copy(update={"warmup": every})})
    assert [us for _, us, _ in slices([warmed])] == [9, 7, 0.5]
    assert only([warmed]).more["steady_after_s"] == 3.0


def test_a_driver_that_was_not_steady_is_named() -> None:
    rows = warmups(
        STUDY,
        [
            trial(BASE, 0, 2, 1),
            trial(NEWER, 0, 2, 1, steady=False),
            trial(NEWER, 1, 2, 1),
            trial(NEWEST, 0, 2, 1, steady=False),
        ],
    )
    setting = (
        "TLS as the driver has it, inserts of a word in one transaction, 1 connection, "
        "characterEncoding=UTF-8"
    )
    after = (
        "the driver was measured before it was steady: its CPU per operation was still falling when the time "
        "for warming up was over"
    )
    assert list(restless(STUDY, rows)) == [
        f"Connector/J 5.1.49, {setting}: in 1 of 2 trials {after}",
        f"Connector/J 8.0.16, {setting}: in 1 of 1 trial {after}",
    ]
