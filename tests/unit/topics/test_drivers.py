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
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun
from tlstax.report.formats.markdown import markdown
from tlstax.report.formats.terminal import terminal
from tlstax.report.page.html import html
from tlstax.report.run_tables import csv_table
from tlstax.results.document import RunDocument
from tlstax.results.rows import Row, Told
from tlstax.study import Levels, load_study, override, parse_study
from tlstax.study.labels import driver_label, full_label
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline
from tlstax.topics.core.topic import Run
from tlstax.topics.drivers import defaults, splits
from tlstax.topics.drivers.splits import ASKING, ENCRYPTION, VERSION, Split, splits_of
from tlstax.topics.drivers.topic import SLICE, TOPIC, WARM_UP

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
    batches = "| Connector/J 8.0.16, in batches of 100 |"
    assert f"{batches} TLSv1.3 TLS\\_AES\\_256\\_GCM\\_SHA384 | 1 | 0.01 |" in markdown(*shown())


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


def test_the_warm_up_is_seen() -> None:
    found = next(row for row in drivers().of(role=WARM_UP) if row.label == "Connector/J 8.0.16")
    assert found.number("cold_times_slower") == pytest.approx(20.0)
    assert (found.value, found.baseline_value) == (600.0, 30.0)
    assert found.number("steady_after_s") == pytest.approx(1.2)
    assert found.more["steady_trials"] == found.more["trials"]
    slices = [row.value for row in drivers().of(role=SLICE) if row.case == found.case]
    assert slices[:3] == [600.0, 300.0, 120.0]


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
    rows = list(csv.DictReader(StringIO(csv_table(told))))
    assert {row["role"] for row in rows if row["topic"] == "drivers"} == {
        "driver default",
        "driver command",
        "driver split",
        "driver split share",
        "warm-up",
        "warm-up slice",
    }


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
