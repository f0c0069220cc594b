"""What drivers do by default: planted costs are found again in the right part, planted nothings are not."""

from __future__ import annotations

import csv
from dataclasses import replace
from functools import cache
from io import StringIO
from math import exp
from random import Random

import pytest

from fake_driver_runs import Planted, encrypts, fake_driver_run, fake_study_run, takes_us
from fake_trials import fake_run
from planted_series import planted_series
from tlstax.findings.drivers.defaults import Observed
from tlstax.findings.drivers.split import driver_splits
from tlstax.findings.drivers.words import driver_sentences
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun
from tlstax.report.formats.csv_table import csv_table
from tlstax.report.formats.json_document import json_document
from tlstax.report.formats.markdown import markdown
from tlstax.report.formats.terminal import terminal
from tlstax.report.page.html import html
from tlstax.results.document import RunDocument
from tlstax.results.drivers import CostPart, Drivers, DriverSplit
from tlstax.study import Levels, load_study, override, parse_study
from tlstax.study.labels import driver_label, full_label
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline

PLANTED = Planted()
STUDY = load_study("driver-defaults")


@cache
def shown(planted: Planted = PLANTED) -> tuple[StoredRun, RunDocument]:
    stored = fake_driver_run(planted)
    return stored, document(stored)


def drivers(planted: Planted = PLANTED) -> Drivers:
    found = shown(planted)[1].drivers
    assert found is not None
    return found


def split_of(driver: str, planted: Planted = PLANTED) -> DriverSplit:
    return next(s for s in drivers(planted).splits if (s.driver, bool(s.against)) == (driver, True))


def parts_of(split: DriverSplit) -> dict[str, CostPart]:
    return {part.kind: part for part in split.parts}


def test_planted_parts_are_found_and_add_up() -> None:
    split = split_of("Connector/J 8.0.16")
    assert split.against == "Connector/J 5.1.6"
    found = parts_of(split)
    for kind, planted_us in (("encryption", 45.0), ("statements", 5.0), ("driver version", 15.0)):
        extra = found[kind].extra_us_per_op
        assert extra.low is not None
        assert extra.high is not None
        assert extra.low <= planted_us <= extra.high, kind
        share = found[kind].share
        assert share is not None
        assert share.point == pytest.approx(planted_us / 65.0, abs=0.04), kind
    assert split.extra_us_per_op is not None
    total = sum(part.extra_us_per_op.point for part in split.parts)
    assert total == pytest.approx(split.extra_us_per_op.point)
    assert split.time_ratio is not None
    assert split.time_ratio.point == pytest.approx(125 / 60, rel=0.01)


def test_what_turned_tls_off_is_found_and_not_looked_up() -> None:
    assert parts_of(split_of("Connector/J 8.0.16"))["encryption"].labels == (
        "Connector/J 8.0.16",
        "Connector/J 8.0.16 with useSSL=false",
    )
    assert parts_of(split_of("Connector/J 8.0.33"))["encryption"].labels[1].endswith("sslMode=DISABLED")


@pytest.mark.parametrize(
    ("kind", "nothing"),
    [
        ("encryption", replace(PLANTED, encryption_us=0.0)),
        ("statements", replace(PLANTED, asking_us=0.0)),
        ("driver version", replace(PLANTED, version_us=0.0)),
    ],
)
def test_a_cost_that_is_not_there_is_not_found(kind: str, nothing: Planted) -> None:
    """Of a hundred runs no more seem to have it than chance gives; each scatters by 2 %."""
    told = sum(seems_to_cost(kind, nothing, seed) for seed in range(100))
    assert told <= 8
    assert sum(seems_to_cost(kind, PLANTED, seed) for seed in range(100)) >= 95


def seems_to_cost(kind: str, planted: Planted, seed: int) -> bool:
    generator = Random(seed)  # noqa: S311 (noise, not a secret)

    def values(levels: Levels, block: int) -> dict[str, float]:  # noqa: ARG001 (the noise is all there is)
        return {"ops_per_s": 1e6 / takes_us(levels, planted) * exp(generator.gauss(0.0, 0.02))}

    series = planted_series(STUDY, values)
    observations = {
        at: Observed("always" if encrypts(case.levels) else "never", (), trials=8)
        for at, case in series.cases.items()
    }
    splits = {(s.driver, s.case["batch"]): s for s in driver_splits(series, observations)}
    extra = parts_of(splits["Connector/J 8.0.16", 1])[kind].extra_us_per_op
    assert extra.low is not None
    assert extra.high is not None
    return not extra.low <= 0 <= extra.high


def test_without_an_upgrade_that_costs_anything_there_are_no_shares() -> None:
    nothing = Planted(version_us=0.0, asking_us=0.0, encryption_us=0.0)
    split = split_of("Connector/J 8.0.16", nothing)
    assert " no difference in the time of an operation is seen (" in split.sentence
    assert " more" not in split.sentence
    assert all(part.share is None for part in split.parts)


def test_where_the_older_driver_cannot_log_in_its_own_parts_are_told() -> None:
    (split,) = [s for s in drivers().splits if s.case["server"] == "mysql-9.7"]
    assert (split.driver, split.against, split.extra_us_per_op) == ("Connector/J 9.7.0", "", None)
    (part,) = split.parts
    assert (part.kind, part.share) == ("encryption", None)
    assert part.labels[1].endswith("with allowPublicKeyRetrieval=true and sslMode=DISABLED")
    assert split.sentence.startswith(
        "Connector/J 9.7.0, mysql-9.7, by caching_sha2_password: of what an operation takes, encryption is 4"
    )


def test_the_published_split_stands_beside() -> None:
    split = split_of("Connector/J 8.0.16")
    assert split.published_ratio == pytest.approx(46000 / 18607)
    assert parts_of(split)["encryption"].published_share == pytest.approx((46000 - 22541) / (46000 - 18607))
    assert split.published_rest == pytest.approx((22541 - 18607) / (46000 - 18607))
    assert "published: 2.47 times as long, of that encryption 86 % and all the rest 14 %" in split.sentence
    assert split_of("Connector/J 8.0.33").published_ratio is None


def test_defaults_are_what_the_server_told() -> None:
    told = {found.label: found for found in drivers().defaults}
    assert told["Connector/J 5.1.6"].encrypts == "never"
    assert told["Connector/J 8.0.16"].encrypts == "always"
    assert told["Connector/J 8.0.16"].negotiated == ("TLSv1.3 TLS_AES_256_GCM_SHA384",)
    assert told["Connector/J 8.0.16 with useSSL=false"].encrypts == "never"
    assert told["Connector/J 8.0.16"].statements_per_op == pytest.approx(1.0)
    assert "Connector/J 5.1.6 with useSSL=true" not in told


def test_statements_that_a_driver_sends_by_itself_are_told_by_kind() -> None:
    told = {found.label: found for found in drivers().defaults}
    batch = told["Connector/J 8.0.16, in batches of 100"]
    assert batch.statements_per_op == pytest.approx(1.01)
    assert batch.commands_per_op == {"insert": 1.0, "select": 0.01}
    lean = told["Connector/J 8.0.16 with useLocalSessionState=true, in batches of 100"]
    assert lean.commands_per_op == {"insert": 1.0}
    assert "1.01 (insert 1, select 0.01)" in markdown(*shown())


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


def test_what_a_driver_does_elsewhere_is_told_with_the_server() -> None:
    (found,) = [one for one in drivers().defaults if one.label == "Connector/J 8.0.16"]
    elsewhere = found.model_copy(
        update={"case": {**found.case, "server": "mysql-9.7"}, "negotiated": ("TLSv1.2 OLD",)}
    )
    assert driver_sentences(Drivers(defaults=(found, elsewhere))) == [
        "Connector/J 8.0.16 encrypts by default "
        "(TLSv1.3 TLS_AES_256_GCM_SHA384 on mysql-8.0.33; TLSv1.2 OLD on mysql-9.7)"
    ]


def test_the_warm_up_is_seen() -> None:
    found = next(w for w in drivers().warmups if w.label == "Connector/J 8.0.16")
    assert found.times_slower == pytest.approx(20.0)
    assert (found.cold_us_per_op, found.warm_us_per_op) == (600.0, 30.0)
    assert found.steady_after_s == pytest.approx(1.2)
    assert [point.us_per_op for point in found.points[:3]] == [600.0, 300.0, 120.0]
    assert found.steady_trials == found.trials


def test_a_driver_that_was_not_steady_is_told_of() -> None:
    caveats = [text for text in shown()[1].caveats if "steady" in text]
    (one,) = caveats
    assert one.startswith("Connector/J 5.1.49, ")
    assert "in 1 of 7 trials" in one


def test_every_report_has_it() -> None:
    study = override(STUDY, "connections", ["1"]).model_copy(update={"treatments": STUDY.treatments[:4]})
    stored = fake_study_run(study, PLANTED, blocks=3)
    told = document(stored)
    for text in (terminal(stored, told, width=100), markdown(stored, told), html(stored, told)):
        for title in (
            "What drivers did when nothing was said of TLS",
            "What an operation takes longer, and which part of it is what",
            "How drivers warmed up",
        ):
            assert title in text
    assert "CPU per operation before measuring" in html(stored, told)
    assert '"times_slower"' in json_document(told)
    rows = list(csv.DictReader(StringIO(csv_table(told))))
    roles = {row["role"] for row in rows}
    assert {"driver default", "driver split", "driver split share", "warm-up"} <= roles


def test_the_published_times_stand_beside_the_total_time() -> None:
    figures = {figure.label: figure for figure in shown()[1].published}
    assert figures["8.0.16"].published_ratio == pytest.approx(2.472, abs=1e-3)
    ratio = figures["8.0.16"].ratio
    assert ratio is not None
    assert ratio.point == pytest.approx(125 / 60, rel=0.01)
    measured = figures["5.1.6"].measured
    assert measured == pytest.approx(10_000 * 60e-6, rel=0.02), "in seconds, of as many operations each"


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
    assert told.drivers is not None
    assert [(one.driver, one.encrypts) for one in told.drivers.defaults] == [
        ("Connector/J 5.1.6", "never"),
        ("Connector/J 8.0.33", "always"),
    ]
    assert "Connector/J 5.1.6 does not encrypt by default" in headline(told)
    assert not told.drivers.splits, "what turns TLS off was not measured"


def test_an_option_that_all_cases_have_is_no_part_of_a_split_and_no_default() -> None:
    study = override(STUDY, "option.enabledTLSProtocols", ["TLSv1.2"])
    told = document(fake_study_run(study, PLANTED, blocks=3))
    assert told.drivers is not None
    assert any(split.against and len(split.parts) == 3 for split in told.drivers.splits)
    assert any(
        said.startswith("Connector/J 8.0.16") and " encrypt with enabledTLSProtocols given (" in said
        for said in headline(told)
    )


def test_a_study_of_the_engine_has_none() -> None:
    assert document(fake_run(number_of_blocks=3)).drivers is None


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
