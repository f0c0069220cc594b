"""Ratios of trials that took turns, and absolute figures of their median slice, by hand."""

from dataclasses import replace
from math import exp, log

import pytest

from fake_slices import CLIENT_US, LATENCY_S, SERVER_US, SLICE_S, Done, in_turns, slices_of
from fake_trials import fake_header, untrue
from tlstax.plan.order import cases
from tlstax.records.trial import PathObservation, StoredRun, Trial, TrialRecord
from tlstax.records.window import Slices
from tlstax.stats.estimates import Estimate, compare, estimates
from tlstax.stats.outcomes import log_ratio_between, outcome, outcomes
from tlstax.stats.series import series, valid_values
from tlstax.stats.slices import alone, log_ratio, log_ratio_of_totals, together, turns
from tlstax.stats.stopping import decide
from tlstax.study import Case, Contrast, Published, Statement, Study
from tlstax.study.factors import CaseLevels
from tlstax.topics.answer.caveats import Busy, of_finding
from tlstax.topics.answer.document import document
from tlstax.topics.answer.export import exported

BURSTS: Done = [(100, 1.0), (102, 1.0), (98, 1.0), (100, 5.0), (101, 1.0)]
STUDY = Study(name="s", title="", question="", factors={"tls": ("off", "1.3")}, baseline={"tls": "off"})


def record(slices: Slices | None, *, block: int = 0, position: int = 0, **levels: str) -> TrialRecord:
    case = Case(levels={"workload": "point-select", "tls": "off", **levels}, role="treatment")
    return in_turns(Trial(block=block, position=position, case=case), slices)


def ratio(own: Slices | None, other: Slices | None, name: str = "ops_per_s") -> float:
    found = log_ratio_between(record(own), record(other), name)
    assert found is not None
    return exp(found)


def test_absolute_figures_are_those_of_the_median_slice() -> None:
    """By hand: of the rates of five slices 100 operations in 5 ms are in the middle; one costs five fold."""
    found = outcomes(record(slices_of(BURSTS)))
    assert found["ops_per_s"] == pytest.approx(100 / SLICE_S)
    assert found["server_cpu_us_per_op"] == pytest.approx(SERVER_US)
    assert found["client_cpu_us_per_op"] == pytest.approx(CLIENT_US)
    assert found["latency_mean_us"] == pytest.approx(LATENCY_S * 1e6)
    assert found["server_cpu_share"] == pytest.approx(100 * SERVER_US / (SLICE_S * 1e6), rel=1e-9)
    assert "path_cpu_us_per_op" not in found
    own = turns(record(slices_of(BURSTS)))
    assert own is not None
    assert own.value("client_cpu_share") == pytest.approx(100 * CLIENT_US / (SLICE_S * 1e6), rel=1e-9)


def test_what_slices_do_not_have_is_that_of_the_whole_trial() -> None:
    alone, sliced = record(None), record(slices_of(BURSTS, server=False))
    for name in ("bytes_per_op", "client_cpu_user_us_per_op", "server_cpu_us_per_op", "latency_p50_us"):
        assert outcome(sliced, name) == outcome(alone, name)
    assert "latency_mean_us" not in outcomes(alone)
    assert turns(alone) is None


def test_the_whole_is_added_up_slice_by_slice_where_paths_are_compared() -> None:
    found = outcomes(record(slices_of(BURSTS), path="none"))
    assert found["all_cpu_us_per_op"] == pytest.approx(SERVER_US + CLIENT_US)
    assert "path_cpu_us_per_op" not in found


def test_a_path_has_its_column() -> None:
    between = PathObservation(
        name="ssh",
        specimen="openssh",
        version="9.2",
        parts=(),
        protection=None,
        said_by="",
        connections=None,
        entry_port=1,
        server_port=2,
    )
    beside = record(slices_of(BURSTS, path=True), path="ssh").model_copy(update={"path": between})
    assert outcome(beside, "path_cpu_us_per_op") == pytest.approx(1.0)
    assert outcome(beside, "all_cpu_us_per_op") == pytest.approx(SERVER_US + CLIENT_US + 1.0)
    unseen = beside.model_copy(update={"slices": slices_of(BURSTS), "window": None})
    assert "all_cpu_us_per_op" not in outcomes(unseen)
    out_of_reach = beside.model_copy(update={"slices": slices_of(BURSTS, path=True, server=False)})
    found = turns(out_of_reach)
    assert found is not None
    assert found.value("path_cpu_us_per_op") == pytest.approx(1.0)
    assert found.value("all_cpu_us_per_op") is None
    assert found.value("bytes_per_op") is None
    not_compared = turns(record(slices_of(BURSTS, path=True)))
    assert not_compared is not None
    assert not_compared.value("all_cpu_us_per_op") is None


def test_a_ratio_is_the_median_of_neighbours() -> None:
    """By hand: neighbours differ by 1.10, 1.20, 1.30; the middle slices of each alone by 110 / 200."""
    own, other = (
        slices_of([(110, 1.0), (240, 1.0), (52, 1.0)] * 2),
        slices_of([(100, 1.0), (200, 1.0), (40, 1.0)] * 2),
    )
    assert ratio(own, other) == pytest.approx(1.2)
    assert ratio(own, other, "server_cpu_us_per_op") == pytest.approx(1.0)


def test_bursts_that_hit_one_of_the_two_leave_no_trace() -> None:
    quiet: Done = [(50, 1.0)] * 5
    for name in ("ops_per_s", "server_cpu_us_per_op", "client_cpu_us_per_op", "latency_mean_us"):
        wanted = 2.0 if name == "ops_per_s" else 1.0
        assert ratio(slices_of(BURSTS), slices_of(quiet), name) == pytest.approx(wanted)
    totals = log_ratio_of_totals(
        "ops_per_s", (turns(record(slices_of(BURSTS))), turns(record(slices_of(quiet))))
    )
    assert totals is not None
    assert exp(totals) == pytest.approx(501 / 9 / 50)


def test_only_slices_of_the_same_round_are_neighbours() -> None:
    own = slices_of([(100, 1.0)] * 6, rounds=[0, 2, 3, 5, 6, 8])
    other = slices_of(
        [(1, 1.0), (50, 1.0), (50, 1.0), (50, 1.0), (50, 1.0), (50, 1.0)], rounds=[1, 2, 3, 5, 6, 8]
    )
    assert ratio(own, other) == pytest.approx(2.0)


@pytest.mark.parametrize("other", [None, slices_of([(50, 1.0)] * 5, sitting=1), slices_of([(50, 1.0)] * 4)])
def test_who_did_not_take_turns_is_compared_by_values(other: Slices | None) -> None:
    """Alone, in another sitting, or in too few rounds."""
    value, against = record(slices_of(BURSTS)), record(other)
    values = outcome(value, "ops_per_s"), outcome(against, "ops_per_s")
    assert values[0]
    assert values[1]
    assert ratio(value.slices, other) == pytest.approx(values[0] / values[1])
    elsewhere = record(slices_of([(50, 1.0)] * 5), block=1)
    assert log_ratio_of_totals("ops_per_s", (turns(value), turns(elsewhere))) is None


@pytest.mark.filterwarnings("error")
def test_a_slice_without_an_operation_has_no_neighbour() -> None:
    """By hand: of 5, 10, 15 to 5 the middle ratio is 2; with two pairs of five left all are added up."""
    even, gaps = slices_of([(5, 1.0)] * 5), slices_of([(0, 1.0), (0, 1.0), (5, 1.0), (10, 1.0), (15, 1.0)])
    assert ratio(gaps, even) == pytest.approx(2)
    assert ratio(even, gaps) == pytest.approx(1 / 2)
    assert ratio(gaps, gaps) == pytest.approx(1)
    assert outcome(record(gaps), "ops_per_s") == pytest.approx(10 / SLICE_S)
    elsewhere = slices_of([(5, 1.0), (10, 1.0), (15, 1.0), (0, 1.0), (0, 1.0)])
    wider = slices_of([(5, 1.0), (0, 1.0), (20, 1.0), (0, 1.0), (20, 1.0)])
    assert ratio(elsewhere, wider) == pytest.approx(30 / 45)
    half = slices_of([(10, 1.0), (10, 1.0), (20, 1.0), (0, 1.0), (0, 1.0), (0, 1.0)])
    assert ratio(half, slices_of([(20, 1.0)] * 6)) == pytest.approx(1 / 2), "three of six are enough"


def test_of_a_storm_only_the_time_until_all_were_open_is_in_its_rates() -> None:
    """By hand: rounds of 20 connections that took 10 ms and were closed for as long as they liked."""
    closing: Done = [(20, 4.0), (20, 9.0), (20, 1.0), (20, 7.0), (20, 2.0)]
    slow, fast = (
        slices_of(closing).model_copy(update={"rounds_s": times_s})
        for times_s in ((0.02, 0.03, 0.02, 0.02, 0.01), (0.01, 0.01, 0.01, 0.01, 0.01))
    )
    for name, factor in (("connections_per_s", 0.5), ("ops_per_s", 0.5), ("round_s", 2.0)):
        assert ratio(slow, fast, name) == pytest.approx(factor)
    found = turns(record(slow))
    assert found is not None
    assert found.value("connections_per_s") == found.value("ops_per_s") == pytest.approx(1000)
    assert found.value("round_s") == pytest.approx(0.02)
    assert found.value("server_cpu_us_per_op") == pytest.approx(4 * SERVER_US)
    no_storm = turns(record(slices_of(closing)))
    assert no_storm is not None
    assert no_storm.value("connections_per_s") is no_storm.value("round_s") is None


@pytest.mark.filterwarnings("error")
def test_a_round_in_which_nobody_came_up_has_no_neighbour() -> None:
    rounds_s = (0.01, 0.01, 0.0, 0.01, 0.01)
    gap = slices_of([(20, 1.0), (20, 1.0), (0, 1.0), (20, 1.0), (20, 1.0)])
    gap = gap.model_copy(update={"rounds_s": rounds_s})
    whole = slices_of([(20, 1.0)] * 5).model_copy(update={"rounds_s": (0.02,) * 5})
    assert ratio(gap, whole, "connections_per_s") == pytest.approx(2.0)
    assert ratio(gap, whole, "round_s") == pytest.approx(0.5)


@pytest.mark.filterwarnings("error")
def test_nothing_has_no_ratio() -> None:
    nowhere = (None, None)
    assert log_ratio("total_s", 0.5, 0.25, nowhere) == pytest.approx(log(2))
    assert log_ratio("total_s", 0.25, 0.5, nowhere) == pytest.approx(-log(2))
    for own, other in ((0.0, 1.0), (1.0, 0.0), (None, 1.0), (1.0, None)):
        assert log_ratio("total_s", own, other, nowhere) is None
    whole, nothing = turns(record(slices_of(BURSTS))), turns(record(slices_of([(0, 1.0)] * 5)))
    out_of_reach = turns(record(slices_of(BURSTS, server=False)))
    for one, two in ((whole, None), (None, whole), (whole, out_of_reach), (out_of_reach, whole)):
        assert log_ratio("server_cpu_us_per_op", 3.0, 1.0, (one, two)) == pytest.approx(log(3))
        assert log_ratio_of_totals("server_cpu_us_per_op", (one, two)) is None
    assert log_ratio_of_totals("ops_per_s", (whole, nothing)) is None
    assert log_ratio_of_totals("ops_per_s", (nothing, whole)) is None
    tiny = turns(record(Slices(**{**dict(slices_of([(1, 1.0)] * 5)), "server_cpu_us": (0.1,) * 5})))
    assert tiny is not None
    assert tiny.value("server_cpu_us_per_op") == pytest.approx(0.1)


def test_slices_of_a_few_operations_are_taken_together() -> None:
    """By hand: 12 to 10 in all, where the middle pair would say 1.5."""
    few, more = slices_of([(3, 1.0), (3, 1.0), (3, 1.0), (2, 1.0), (1, 1.0)]), slices_of([(2, 1.0)] * 5)
    assert ratio(few, more) == pytest.approx(1.2)
    assert outcome(record(few), "ops_per_s") == pytest.approx(12 / 5 / SLICE_S)
    enough = slices_of([(6, 1.0)] * 3 + [(1, 1.0)] * 2)
    assert ratio(enough, more) == pytest.approx(2.0), "of one case alone: its rate is as uncertain"
    assert ratio(enough, slices_of([(4, 1.0)] * 5)) == pytest.approx(1.5)
    nothing = slices_of([(0, 1.0)] * 5)
    assert outcome(record(nothing), "ops_per_s") == outcome(record(None), "ops_per_s")


def sitting(block: int) -> list[TrialRecord]:
    """A block: everything is twice as dear to the treatment and one slice of five is disturbed; the values of
    whole trials would be alike."""
    found = []
    for position, case in enumerate(cases(STUDY)):
        done: Done = [(50 if case.role == "treatment" else 100, factor) for _, factor in BURSTS]
        if case.role != "treatment":
            done = [(count, 1.0) for count, _ in done]
        found.append(in_turns(Trial(block=block, position=position, case=case), slices_of(done)))
    return found


def test_a_control_belongs_to_the_baseline_of_its_own_sitting() -> None:
    here, there, control = (turns(record(slices_of(BURSTS, sitting=sitting))) for sitting in (0, 1, 1))
    assert here is not None
    assert there is not None
    assert control is not None
    baseline = replace(here, elsewhere=(there,))
    both = together(baseline, control)
    assert both.again is None
    assert [each.again for each in both.elsewhere] == [control]
    assert together(here, there).again is None
    assert together(there, control).again is control
    assert alone(both) == baseline


def test_all_ways_to_a_ratio_take_the_neighbours() -> None:
    records = [record for block in range(5) for record in sitting(block)]
    estimate = next(
        e
        for e in estimates(STUDY, records)
        if e.outcome == "ops_per_s" and e.comparison.case.role == "treatment"
    )
    assert estimate.ratio is not None
    assert estimate.ratio.point == pytest.approx(0.5)
    assert estimate.ratio_of_totals == pytest.approx(0.5 * 5 / 9)
    known = decide(STUDY, records, 1.0).progress.known
    assert [ratio.now.point for ratio in known if not ratio.is_control] == pytest.approx([0.5])
    measured = series(STUDY, records, valid_values(STUDY, records))
    treatment = next(case for case in measured.cases.values() if case.role == "treatment")
    logs = measured.log_ratios(treatment.levels, measured.own_baseline(treatment.levels), "ops_per_s")
    assert logs == pytest.approx(dict.fromkeys(range(5), log(0.5)))
    assert measured.control_logs(measured.own_baseline(treatment.levels), "ops_per_s") == pytest.approx(
        dict.fromkeys(range(5), 0.0)
    )


def test_a_case_is_compared_with_the_baseline_and_its_control() -> None:
    """By hand: 100 operations against 100 and against 400 are ratios of 1 and 1/4, in the mean 1/2.

    In the last block the control is of another sitting, and the ratio is that to the baseline.
    """
    records = []
    for block in range(2):
        for position, case in enumerate(cases(STUDY)):
            done: Done = [(400 if case.role == "control" else 100, 1.0)] * 5
            apart = case.role == "control" and block == 1
            slices = slices_of(done, sitting=7 if apart else 0)
            records.append(in_turns(Trial(block=block, position=position, case=case), slices))
    of_first = [record for record in records if record.trial.block == 0]
    logs = {"control": log(4), "treatment": log(0.5)}
    for e in estimates(STUDY, of_first):
        if e.outcome == "ops_per_s" and e.comparison.case.role != "baseline":
            assert e.ratio is not None
            assert log(e.ratio.point) == pytest.approx(logs[e.comparison.case.role])
            assert e.ratio_of_totals == pytest.approx(e.ratio.point)
    for known in decide(STUDY, of_first, 1.0).progress.known:
        role = "control" if known.is_control else "treatment"
        assert log(known.now.point) == pytest.approx(logs[role])
    measured = series(STUDY, records, valid_values(STUDY, records))
    off, tls = CaseLevels.of({"tls": "off"}), CaseLevels.of({"tls": "1.3"})
    assert measured.log_ratios(tls, off, "ops_per_s") == pytest.approx({0: log(0.5), 1: 0.0})
    assert measured.log_ratios(off, tls, "ops_per_s") == pytest.approx({0: log(2), 1: 0.0})
    assert measured.log_ratios(off, off, "ops_per_s") == pytest.approx({0: 0.0, 1: 0.0})
    assert measured.control_logs(off, "ops_per_s") == pytest.approx({0: log(4), 1: log(4)})


def test_a_control_is_set_against_its_baseline_by_neighbours() -> None:
    """By hand as above: neighbours differ by 1.2, the middle slices of each alone by 110 to 100."""
    done: dict[str, Done] = {
        "baseline": [(100, 1.0), (200, 1.0), (40, 1.0)] * 2,
        "control": [(110, 1.0), (240, 1.0), (52, 1.0)] * 2,
    }
    records = [
        in_turns(Trial(block=0, position=position, case=case), slices_of(done[case.role]))
        for position, case in enumerate(cases(STUDY))
        if case.role in done
    ]
    measured = series(STUDY, records, valid_values(STUDY, records))
    assert measured.control_logs(CaseLevels.of({"tls": "off"}), "ops_per_s") == pytest.approx({0: log(1.2)})


def test_a_control_that_is_not_valid_is_no_reference() -> None:
    records = [record for block in range(3) for record in sitting(block)]
    lost = [untrue(record, "lost") if record.trial.case.role == "control" else record for record in records]
    (treatment,) = (c for c in compare(STUDY, lost) if c.case.role == "treatment")
    assert [pair.control for pair in treatment.pairs] == [None] * 3
    (treatment,) = (c for c in compare(STUDY, records) if c.case.role == "treatment")
    assert all(pair.control is not None for pair in treatment.pairs)


def disturbed_run(bursts_in: int) -> StoredRun:
    """Five blocks of a case that is disturbed in as many of them, and otherwise as good as its baseline."""
    quiet: Done = [(100, 1.0)] * 5
    records = []
    for block in range(5):
        for position, case in enumerate(cases(STUDY)):
            hit = case.role == "treatment" and block < bursts_in
            done = [(count, factor * (1 + 0.001 * block)) for count, factor in (BURSTS if hit else quiet)]
            records.append(in_turns(Trial(block=block, position=position, case=case), slices_of(done)))
    return StoredRun(header=fake_header(STUDY), status="complete", trials=tuple(records))


def rates(bursts_in: int) -> list[Estimate]:
    return [e for e in estimates(STUDY, disturbed_run(bursts_in).trials) if e.outcome == "ops_per_s"]


def test_a_case_that_is_disturbed_in_every_block_is_said_to_be() -> None:
    disturbed = {e.comparison.case.role: e for e in rates(bursts_in=5)}
    treatment, control = disturbed["treatment"], disturbed["control"]
    idle: Busy = {e.comparison.case.key(): () for e in disturbed.values()}
    assert treatment.is_disturbed
    assert not control.is_disturbed
    assert treatment.ratio is not None
    (text,) = (
        text for text in of_finding(STUDY, treatment, treatment.ratio, idle) if "over all slices" in text
    )
    assert text.startswith("over all slices together it is \N{MINUS SIGN}44 %, outside the interval")
    assert not any("over all slices" in text for text in of_finding(STUDY, control, treatment.ratio, idle))
    said = [caveat for caveat in document(disturbed_run(bursts_in=5)).caveats if text in caveat]
    assert said == [f"TLS 1.3: {text}"]


def test_a_burst_in_one_block_is_chance() -> None:
    assert not any(estimate.is_disturbed for estimate in rates(bursts_in=1))
    assert not any(estimate.is_disturbed for estimate in rates(bursts_in=0))
    assert not any("over all slices" in text for text in document(disturbed_run(bursts_in=1)).caveats)


def test_every_topic_takes_the_neighbours() -> None:
    """By hand: neighbours differ by 1.2 as above; the cases' own middle slices by 110 to 100."""
    study = STUDY.model_copy(
        update={
            "contrasts": (Contrast(factor="tls", baseline="off"),),
            "statements": (
                Statement(says="dearer", source="us", factor="tls", better=("1.3",), than=("off",)),
            ),
            "published": (
                Published(
                    label="there",
                    outcome="ops_per_s",
                    unit="1/s",
                    value=2.0,
                    source="us",
                    beside={"tls": "1.3"},
                    against="plain",
                ),
                Published(
                    label="plain",
                    outcome="ops_per_s",
                    unit="1/s",
                    value=1.0,
                    source="us",
                    beside={"tls": "off"},
                ),
            ),
        }
    )
    done: dict[str, Done] = {
        "off": [(100, 1.0), (200, 1.0), (40, 1.0)] * 2,
        "1.3": [(110, 1.0), (240, 1.0), (52, 1.0)] * 2,
    }
    records = tuple(
        in_turns(Trial(block=block, position=position, case=case), slices_of(done[str(case.levels["tls"])]))
        for block in range(3)
        for position, case in enumerate(cases(study))
    )
    shown = document(StoredRun(header=fake_header(study), status="complete", trials=records))
    assert [c.ratio.point for c in shown.rows_of("contrasts", "ops_per_s", role="contrast")] == pytest.approx(
        [1.2]
    )
    assert [p.ratio.point for p in shown.rows_of("contrasts", "ops_per_s", role="pooled")] == pytest.approx(
        [1.2, 1.2]
    )
    judged = shown.rows_of("statements", role="statement case")
    assert [case.ratio.point for case in judged] == pytest.approx([1.2])
    assert [
        row.known.point for row in shown.topics["published"].rows if row.of == "ratio" and row.interval
    ] == pytest.approx([1.2])
    finding = next(f for f in shown.findings if f.outcome == "ops_per_s" and f.role == "treatment")
    assert finding.ratio.point == pytest.approx(1.2)
    assert finding.ratio_of_totals == pytest.approx(402 / 340)
    assert finding.value == pytest.approx(1.2 * 100 / SLICE_S), "the baseline's times the ratio"
    (trial, *_) = exported(StoredRun(header=fake_header(study), status="complete", trials=records)).trials
    assert trial.slices == records[0].slices
