"""Published figures beside ours: ratios to one reference, what may be compared, whether the fix comes out."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from functools import cache

import pytest

from fake_trials import Truth, fake_run, reconnecting
from tlstax.records.trial import StoredRun
from tlstax.report.formats.render import FORMATS, render
from tlstax.results.document import RunDocument
from tlstax.results.rows import Row
from tlstax.study import Case, Study, load_study, parse_study, study_toml
from tlstax.support.errors import UserMistake
from tlstax.support.grouping import grouped
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline

STUDY = load_study("auth-rng")
TEXT = study_toml(STUDY)
FIXED, FAULTY, OLD = "MySQL 5.6.6, patched", "MySQL 5.6.6", "MySQL 5.5.27"
SPEEDS = {"mysql-9.7": 3000.0, "mysql-8.0.33": 3200.0, "mysql-5.6.14": 4500.0, "mysql-5.5.34": 4500.0}


def world(*, planted: float) -> Callable[[Case], Truth]:
    """A world in which the plant leaves a server this share of its throughput."""

    def truth(case: Case) -> Truth:
        levels = case.levels
        speed = SPEEDS[str(levels["server"])] * (0.2 if levels["tls"] != "off" else 1.0)
        share = planted if levels["fault"] != "none" else 1.0
        handshake = 0.0 if levels["tls"] == "off" else 0.5
        return reconnecting(speed * share, 250.0 / share, 80.0, handshake=handshake)

    return truth


def run(*, planted: float, study: Study = STUDY) -> StoredRun:
    return fake_run(study, number_of_blocks=8, truth=world(planted=planted), invalid=False)


@cache
def shown(planted: float = 0.25) -> RunDocument:
    return document(run(planted=planted))


def figure(found: RunDocument, label: str, role: str = "published") -> Row:
    return next(row for row in found.topics["published"].of(role=role) if row.label == label)


def test_figures_stand_beside_what_stands_in_for_them() -> None:
    found = shown()
    figures = found.topics["published"].of(role="published")
    assert [row.label for row in figures] == [one.label for one in STUDY.published]
    faulty, fixed = figure(found, FAULTY), figure(found, FIXED)
    assert (faulty.value, fixed.value) == (8_000, 35_500)
    assert figure(found, FAULTY, "published here").value == pytest.approx(3000 * 0.25, rel=0.05)
    here = figure(found, FIXED, "published here").known
    assert here.point == pytest.approx(3000, rel=0.05)
    assert here.low is not None
    assert here.low < 3000 * 1.05
    (caveat,) = fixed.caveats
    assert "24 logical processors" in caveat
    assert "here the server has 1 of 2 processors" in caveat


def test_both_are_set_in_ratio_to_the_same_reference() -> None:
    found = shown()
    fixed, old = figure(found, FIXED), figure(found, OLD)
    assert fixed.number("published") == pytest.approx(35.5 / 8)
    assert fixed.known.low is not None
    assert fixed.known.high is not None
    assert fixed.known.low < 4 < fixed.known.high
    assert old.known.point == pytest.approx(4500 / 750, rel=0.05)
    assert figure(found, FAULTY).number("published") is figure(found, FAULTY).interval is None


def test_what_has_no_stand_in_is_told_and_not_measured() -> None:
    lost = figure(shown(), "MySQL 5.1.65")
    assert lost.interval is None
    assert lost.number("published") == pytest.approx(21 / 8)
    assert lost.caveats == ("nothing stands in for it here: 5.1 cannot be had",)
    measured = shown().topics["published"].of(role="published here")
    assert lost.label not in {row.label for row in measured}


def test_taking_the_fault_out_comes_out_as_the_fix() -> None:
    (verdict,) = shown().topics["published"].sentences
    assert verdict.startswith("taking rand-per-byte out comes out as the fix, as it did there: ")
    assert "published: 4.4×" in verdict
    (fix,) = shown().topics["published"].of(role="published fix")
    assert (fix.label, fix.judgement, fix.baseline["fault"]) == (FIXED, "higher", "rand-per-byte")


@pytest.mark.parametrize(("planted", "words"), [(1.0, "inconclusive"), (1.6, "made it worse here")])
def test_where_the_plant_costs_nothing_no_fix_is_seen(planted: float, words: str) -> None:
    (verdict,) = shown(planted).topics["published"].sentences
    assert words in verdict


def test_the_words_of_the_report_are_put_to_the_test() -> None:
    taken, kernel, released = shown().rows_of("statements", role="statement")
    assert (taken.judgement, kernel.judgement) == ("held", "held")
    by_statement = grouped(shown().rows_of("statements"), lambda row: row.word("statement"))
    assert [row.case["tls"] for row in by_statement[taken.label] if row is not taken] == ["off", "1.3"]
    assert {row.role for row in shown().rows_of("statements")} == {"statement", "statement case"}
    assert not taken.more["across_servers"]
    assert released.judgement == "held", "the two are equal in this world, and as many or more are claimed"
    assert len(by_statement[released.label]) == 1 + 2
    assert [word for word in headline(shown()) if "Matsunobu" in word]
    assert document(run(planted=1.6)).rows_of("statements")[0].judgement == "did not hold"


def test_a_study_without_the_stand_in_says_so() -> None:
    kept = tuple(t for t in STUDY.treatments if t["fault"] == "none")
    found = document(run(planted=0.25, study=STUDY.model_copy(update={"treatments": kept})))
    assert figure(found, FAULTY).caveats == ("what stands in for it was not measured in this run",)
    assert figure(found, FIXED).interval is None
    assert found.topics["published"].sentences == ()


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_shows_them(form: str) -> None:
    stored = run(planted=0.25)
    text = " ".join(render(stored, document(stored), form, verbose=True).split())
    verdict = "published fix" if form == "csv" else "comes out as the fix"
    for words in ("MySQL 5.6.6, patched", verdict, "24 logical processors"):
        assert words in text, words


def test_spreadsheets_and_programs_get_every_figure() -> None:
    stored = run(planted=0.25)
    rows = list(csv.DictReader(io.StringIO(render(stored, document(stored), "csv"))))
    published = [row for row in rows if row["role"] == "published"]
    assert [float(row["value"]) for row in published] == [one.value for one in STUDY.published]
    assert published[2]["case_fault"] == "rand-per-byte"
    assert float(published[3]["ratio_low"]) < 4 < float(published[3]["ratio_high"])
    told = json.loads(render(stored, document(stored), "json"))["topics"]["published"]["rows"]
    labels = [row["label"] for row in told if row["role"] == "published"]
    assert labels == [one.label for one in STUDY.published]


SOUND = 'fault = "none"\ninstance = 1\ntls = "off"\n\n[[published]]'


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('against = "MySQL 5.6.6"', 'against = "MySQL 5.7"'), ["MySQL 5.1.65", "not another figure"]),
        (('label = "MySQL 5.5.27"', 'label = "MySQL 5.1.65"'), ["'MySQL 5.1.65' appears twice"]),
        (('outcome = "ops_per_s"\nagainst', 'outcome = "ops"\nagainst'), ["published.outcome", "ops_per_s"]),
        ((SOUND, SOUND.replace('fault = "none"\n', "")), ["stands beside 2 cases"]),
        ((SOUND, SOUND.replace("none", "nothing")), ["published", "not a level of fault"]),
        (("value = 21000.0", "value = 0"), ["published.0.value", "greater than 0"]),
        (("value = 21000.0", "valeu = 21000.0"), ["no field published.0.valeu", "did you mean 'value'?"]),
    ],
)
def test_a_mistake_in_a_published_figure_is_told(change: tuple[str, str], says: list[str]) -> None:
    assert change[0] in TEXT
    with pytest.raises(UserMistake) as caught:
        parse_study(TEXT.replace(*change, 1), where="mine.toml")
    sentence = caught.value.sentence()
    assert [word for word in ("mine.toml", *says) if word not in sentence] == [], sentence
