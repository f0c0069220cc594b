"""Published figures beside ours: by hand ratios and when a fix is a fix, and the study in a fake world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, sqrt

import pytest

import golden
from fake_trials import Truth, fake_header, fake_run, reconnecting
from tlstax.records.trial import StoredRun
from tlstax.results.rows import Row
from tlstax.stats.series import Series
from tlstax.study import Case, Contrast, Level, Published, Study, load_study, parse_study, study_toml
from tlstax.study.factors import CaseLevels
from tlstax.support.errors import UserMistake
from tlstax.support.grouping import grouped
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline
from tlstax.topics.published import FIGURE, FIX, HERE, TOPIC, rows, sentences
from told_runs import run_of

MACHINE = fake_header().machine
TAX = load_study("tax")

Values = tuple[float, ...]
Measured = tuple[dict[str, Level], Values]

QUANTILE = 6.20535
"""t(2) at 98.75 %, for an interval of three blocks."""


TWICE: Values = (2090.0, 2100.0, 2110.0)
"""What is 2.1 times a thousand, give or take."""


def case(fault: str, **more: Level) -> dict[str, Level]:
    return {"server": "mysql-9.7", "workload": "reconnect", "fault": fault, "instance": 1, **more}


SOUND, FAULTY = case("none"), case("rand-per-byte")


def figure(label: str, value: float, beside: dict[str, Level], **more: str) -> Published:
    return Published.model_validate(
        {
            "label": label,
            "value": value,
            "unit": "connections a second",
            "source": "somebody",
            "outcome": "ops_per_s" if beside else "",
            "beside": beside,
            **more,
        }
    )


@dataclass(frozen=True)
class Shown:
    """A figure, what was measured in its place, and the verdict on it as a fix."""

    figure: Row
    here: Row | None
    verdict: str


def figures(
    told: tuple[Published, ...],
    *measured: Measured,
    outcome: str = "ops_per_s",
    study: Study = TAX,
    **machine: object,
) -> list[Shown]:
    series = Series(
        study=study.model_copy(update={"published": told}),
        cases={CaseLevels.of(levels): Case(levels=levels, role="treatment") for levels, _ in measured},
        values={
            CaseLevels.of(levels): {block: {outcome: value} for block, value in enumerate(values)}
            for levels, values in measured
            if values
        },
        controls={},
    )
    run = run_of(series, machine=MACHINE.model_copy(update=machine))
    own = list(rows(run))
    here = {row.label: row for row in own if row.role == HERE}
    fixes = {row.label: next(iter(sentences(run, [row]))) for row in own if row.role == FIX}
    return [Shown(row, here.get(row.label), fixes.get(row.label, "")) for row in own if row.role == FIGURE]


def fix(
    sound: Values,
    faulty: Values = (1000.0, 1000.0, 1000.0),
    *,
    there: float = 4.0,
    levels: tuple[dict[str, Level], dict[str, Level]] = (SOUND, FAULTY),
    outcome: str = "ops_per_s",
) -> str:
    """The verdict where taking the fault out is published as a ratio of `there`."""
    told = (
        figure("faulty", 100.0, levels[1], outcome=outcome),
        figure("fixed", 100.0 * there, levels[0], outcome=outcome, against="faulty"),
    )
    first, second = figures(told, (levels[0], sound), (levels[1], faulty), outcome=outcome)
    assert first.verdict == ""
    return second.verdict


def test_a_figure_has_what_was_published_and_what_was_measured() -> None:
    told = (
        figure("old", 8.0, FAULTY),
        figure("new", 36.0, SOUND, against="old", note="patched", conditions="24 logical processors"),
    )
    old, new = figures(told, (SOUND, (200.0, 800.0, 400.0)), (FAULTY, (100.0, 100.0, 100.0)))
    assert (new.figure.label, new.figure.outcome) == ("new", "ops_per_s")
    assert (new.figure.value, new.figure.baseline_value, new.figure.unit) == (
        36.0,
        8.0,
        "connections a second",
    )
    assert (new.figure.case, new.figure.baseline) == (SOUND, FAULTY)
    assert new.figure.more == {
        "figure": "new",
        "published": 4.5,
        "against": "old",
        "source": "somebody",
    }
    reach = exp(QUANTILE * 0.693147 / sqrt(3))
    assert new.here is not None
    assert new.here.known.point == pytest.approx(400.0)
    assert new.here.known.low == pytest.approx(400.0 / reach, rel=1e-4)
    assert new.here.known.high == pytest.approx(400.0 * reach, rel=1e-4)
    assert (new.here.blocks, new.here.case, new.here.outcome) == (3, SOUND, "ops_per_s")
    assert new.figure.of == "ratio"
    assert new.figure.known.point == pytest.approx(4.0)
    assert (new.figure.known.blocks, new.figure.known.confidence) == (3, 0.95)
    assert old.here is not None
    assert new.here.more == {"figure": "new"}
    assert (old.here.label, old.here.value, old.here.blocks) == ("old", pytest.approx(100.0), 3)
    assert (old.figure.more["published"], old.figure.interval, old.verdict) == (None, None, "")
    assert (old.figure.baseline, old.figure.baseline_value) == ({}, None)


def test_a_ratio_is_taken_in_blocks_that_both_have() -> None:
    told = (figure("old", 8.0, FAULTY), figure("new", 36.0, SOUND, against="old"))
    _, new = figures(told, (SOUND, (300.0, 600.0, 999.0)), (FAULTY, (100.0, 200.0)))
    assert new.here is not None
    assert new.here.blocks == 3
    assert (new.figure.known.point, new.figure.blocks) == (pytest.approx(3.0), 2)


def test_what_was_not_measured_has_no_value_and_no_ratio() -> None:
    told = (figure("old", 8.0, FAULTY), figure("new", 36.0, SOUND, against="old"))
    for others in ([], [(SOUND, ())]):
        old, new = figures(told, (FAULTY, (100.0,)), *others)
        assert new.here is None
        assert (new.figure.more["published"], new.figure.interval, new.verdict) == (4.5, None, "")
        assert new.figure.caveats == ("what stands in for it was not measured in this run",)
        assert old.here is not None
    _, alone = figures(told, (SOUND, (100.0,)))
    assert alone.here is not None
    assert (alone.here.value, alone.figure.interval) == (pytest.approx(100.0), None)


def test_a_figure_that_nothing_stands_in_for_is_only_told() -> None:
    told = (
        figure("old", 8.0, FAULTY),
        figure("lost", 16.0, {}, outcome="ops_per_s", against="old"),
        figure("lost, too", 16.0, {}, note="it cannot be had"),
    )
    _, lost, noted = figures(told, (SOUND, (100.0,)), (FAULTY, (100.0,)))
    assert (lost.here, lost.figure.interval, lost.figure.more["published"]) == (None, None, 2.0)
    assert lost.figure.caveats == ("nothing stands in for it here",)
    assert noted.figure.caveats == ("nothing stands in for it here: it cannot be had",)


def test_a_figure_is_in_no_ratio_to_itself() -> None:
    (own,) = figures((figure("own", 8.0, SOUND, against="own"),), (SOUND, (100.0, 101.0)))
    assert own.figure.interval is None


def test_absolute_figures_are_of_other_machines() -> None:
    plain = figure("plain", 8.0, SOUND)
    (pinned,) = figures((plain,), (SOUND, (100.0,)), cores=4, server_cpus=(0, 1, 2))
    assert pinned.figure.caveats == (
        "here the server has 3 of 4 processors, so compare ratios rather than absolute figures",
    )
    full = figure("full", 8.0, SOUND, note="patched", conditions="24 logical processors")
    (shared,) = figures((full,), (SOUND, (100.0,)), cores=4, server_cpus=())
    assert shared.figure.caveats == (
        "there: 24 logical processors; here the server has 4 of 4 processors, so compare ratios rather than "
        "absolute figures; patched",
    )


def test_a_fix_comes_out_as_far_as_it_does() -> None:
    """ln 2.1 is 0.742, ln 1.5 is 0.405, and ln 4 is 1.386."""
    assert fix(TWICE) == (
        "taking rand-per-byte out comes out as the fix, as it did there: 2.10× (2.06 to 2.14×); published: 4×"
        " (54 % of the published effect, as logarithms)"
    )
    assert fix((1490.0, 1500.0, 1510.0)) == (
        "taking rand-per-byte out comes out as the fix, as it did there: +50 % (+46 to +54 %); "
        "published: 4× (29 % of the published effect, as logarithms)"
    )
    for much in (4100.0, 8000.0):
        assert fix((much,) * 3).endswith("; published: 4× (the whole of the published effect, as logarithms)")


def test_where_nothing_was_gained_there_no_share_of_it_is_seen() -> None:
    fixed = (
        "taking rand-per-byte out comes out as the fix, as it did there: 2.10× (2.06 to 2.14×); published: "
    )
    assert fix(TWICE, there=1.0) == f"{fixed}1×"
    assert fix(TWICE, there=0.5) == f"{fixed}0.5×"


def test_a_fix_that_makes_it_worse_is_none() -> None:
    worse = "taking rand-per-byte out made it worse here, and does not come out as the fix"
    assert fix((239.0, 240.0, 241.0)) == f"{worse} (0.24× (0.24 to 0.24×); published: 4×)"
    assert fix((799.0, 800.0, 801.0)).startswith(f"{worse} (\N{MINUS SIGN}20.0 % (")


def test_of_what_is_better_lower_less_is_the_fix() -> None:
    cheaper = fix((478.0, 480.0, 482.0), there=0.5, outcome="server_cpu_us_per_op")
    assert cheaper.startswith(
        "taking rand-per-byte out comes out as the fix, as it did there: 0.48× (0.47 to"
    )
    dearer = fix((2000.0,) * 3, there=0.5, outcome="server_cpu_us_per_op")
    assert dearer.startswith("taking rand-per-byte out made it worse here")


def test_what_cannot_be_told_is_no_fix() -> None:
    unsure = "whether taking rand-per-byte out is a fix is inconclusive here"
    assert fix((900.0, 1000.0, 1100.0)).startswith(f"{unsure} (")
    assert fix((4000.0,), (1000.0,)) == f"{unsure} (+300 % in one block alone; published: 4×)"
    assert fix((4000.0, 4000.0, 400_000.0)) == (
        f"{unsure} (known to no better than a factor of ten; published: 4×)"
    )


def test_what_twins_differ_by_is_no_fix() -> None:
    """A second process of the same server is half as fast again: so is what was fixed."""
    study = TAX.model_copy(update={"contrasts": (Contrast(factor="instance", baseline=1),)})
    told = (figure("faulty", 100.0, FAULTY), figure("fixed", 400.0, SOUND, against="faulty"))
    twin = case("none", instance=2)
    measured = ((SOUND, (1490.0, 1500.0, 1510.0)), (FAULTY, (1000.0,) * 3), (twin, (2250.0,) * 3))
    verdict = figures(told, *measured, study=study)[1].verdict
    assert verdict.startswith("whether taking rand-per-byte out is a fix is inconclusive here (+50 % (")
    assert "comes out as the fix" in figures(told, *measured[:2], study=study)[1].verdict


def test_only_taking_a_fault_out_is_a_fix() -> None:
    values = (2000.0,) * 3
    assert fix(values, levels=(case("aes-in-software"), FAULTY)) == "", "another fault"
    assert fix(values, levels=(FAULTY, SOUND)) == "", "putting it in"
    assert fix(values, levels=(case("none", server="mysql-5.6.14"), FAULTY)) == "", "another server"
    assert fix(values, levels=(case("none", server="mysql-5.6.14"), SOUND)) == "", "no fault in either"
    same = (figure("first", 8.0, SOUND), figure("again", 9.0, SOUND, against="first"))
    assert figures(same, (SOUND, (100.0, 100.0)))[1].verdict == "", "the very same"


def test_a_case_without_a_level_of_fault_has_none() -> None:
    bare = {name: level for name, level in SOUND.items() if name != "fault"}
    told = (figure("faulty", 100.0, FAULTY), figure("fixed", 400.0, bare, against="faulty"))
    fixed = figures(told, (bare, (2000.0,) * 3), (FAULTY, (1000.0,) * 3))[1]
    assert "comes out as the fix" in fixed.verdict


BUILT_IN = load_study("auth-rng")
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


def stored_of(*, planted: float, study: Study = BUILT_IN) -> StoredRun:
    return fake_run(study, number_of_blocks=8, truth=world(planted=planted), invalid=False)


def test_what_the_study_shows() -> None:
    """The plant leaves a server a quarter of its throughput."""
    shown = golden.check("auth-rng", stored_of(planted=0.25), TOPIC)
    assert [word for word in headline(shown.document) if "Matsunobu" in word]
    assert "24 logical processors" in shown.page


def test_the_words_of_the_report_are_put_to_the_test() -> None:
    shown = document(stored_of(planted=0.25))
    taken, kernel, released = shown.rows_of("statements", role="statement")
    assert (taken.judgement, kernel.judgement) == ("held", "held")
    by_statement = grouped(shown.rows_of("statements"), lambda row: row.word("statement"))
    assert [row.case["tls"] for row in by_statement[taken.label] if row is not taken] == ["off", "1.3"]
    assert {row.role for row in shown.rows_of("statements")} == {"statement", "statement case"}
    assert not taken.more["across_servers"]
    assert released.judgement == "held", "the two are equal in this world, and as many or more are claimed"
    assert len(by_statement[released.label]) == 1 + 2


@pytest.mark.parametrize(("planted", "words"), [(1.0, "inconclusive"), (1.6, "made it worse here")])
def test_where_the_plant_costs_nothing_no_fix_is_seen(planted: float, words: str) -> None:
    found = document(stored_of(planted=planted))
    (verdict,) = found.topics["published"].sentences
    assert words in verdict
    assert found.rows_of("statements")[0].judgement == "did not hold"


SOUND_TOML = 'fault = "none"\ninstance = 1\ntls = "off"\n\n[[published]]'


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('against = "MySQL 5.6.6"', 'against = "MySQL 5.7"'), ["MySQL 5.1.65", "not another figure"]),
        (('label = "MySQL 5.5.27"', 'label = "MySQL 5.1.65"'), ["'MySQL 5.1.65' appears twice"]),
        (('outcome = "ops_per_s"\nagainst', 'outcome = "ops"\nagainst'), ["published.outcome", "ops_per_s"]),
        ((SOUND_TOML, SOUND_TOML.replace('fault = "none"\n', "")), ["stands beside 2 cases"]),
        ((SOUND_TOML, SOUND_TOML.replace("none", "nothing")), ["published", "not a level of fault"]),
        (("value = 21000.0", "value = 0"), ["published.0.value", "greater than 0"]),
        (("value = 21000.0", "valeu = 21000.0"), ["no field published.0.valeu", "did you mean 'value'?"]),
    ],
)
def test_a_mistake_in_a_published_figure_is_told(change: tuple[str, str], says: list[str]) -> None:
    text = study_toml(BUILT_IN)
    assert change[0] in text
    with pytest.raises(UserMistake) as caught:
        parse_study(text.replace(*change, 1), where="mine.toml")
    sentence = caught.value.sentence()
    assert [word for word in ("mine.toml", *says) if word not in sentence] == [], sentence
