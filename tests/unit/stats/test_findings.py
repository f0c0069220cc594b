"""A document says what the trials say: right ratios, nothing invalid among them, every doubt in words."""

import json
from math import exp, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fake_trials import Truth, crashed, fake_header, fake_record, fake_run, tax_truth, untrue, whole_tax
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun, Trial, TrialRecord, Verdict
from tlstax.results.document import Finding, RunDocument
from tlstax.stats.outcomes import OUTCOMES, UNITS, outcomes
from tlstax.stats.stats import geometric_mean
from tlstax.study import Case, override
from tlstax.topics.answer.document import document

STUDY = whole_tax()
EXACT = fake_run(noise=0.0, invalid=False, number_of_blocks=4)
NOISY = fake_run(seed=3)


def _finding(found: RunDocument, outcome: str, workload: str, tls: str, resumption: str = "off") -> Finding:
    wanted = {"workload": workload, "tls": tls, "resumption": resumption, "connections": 8}
    return next(f for f in found.findings if f.outcome == outcome and f.case == wanted)


def _stored(records: list[TrialRecord], **changes: object) -> StoredRun:
    return StoredRun(
        header=fake_header(), status="complete", stopped_because="", trials=tuple(records)
    ).model_copy(update=changes)


def _changed(stored: StoredRun, **changes: object) -> StoredRun:
    return stored.model_copy(update=changes)


def _with_verdict(record: TrialRecord, verdict: Verdict) -> TrialRecord:
    return record.model_copy(update={"verdict": verdict})


def test_ratios_are_exact_where_there_is_no_noise() -> None:
    found = document(EXACT)
    for workload, tls, resumption in [("point-select", "1.3", "off"), ("reconnect", "1.3", "on")]:
        levels = {"workload": workload, "tls": tls, "resumption": resumption, "connections": 8}
        truth = tax_truth(Case(levels=levels, role="treatment"))
        plain = tax_truth(Case(levels={**levels, "tls": "off", "resumption": "off"}, role="baseline"))
        finding = _finding(found, "ops_per_s", workload, tls, resumption)
        assert finding.ratio.point == pytest.approx(truth.ops_per_s / plain.ops_per_s)
        assert (finding.value, finding.baseline_value) == pytest.approx((truth.ops_per_s, plain.ops_per_s))
        assert finding.unit == "1/s"
        assert finding.judgement == "lower"
        cpu = _finding(found, "server_cpu_us_per_op", workload, tls, resumption)
        assert cpu.ratio.point == pytest.approx(truth.server_cpu_us_per_op / plain.server_cpu_us_per_op)
        assert cpu.judgement == "higher"


def test_every_case_has_a_finding_for_every_outcome_that_it_shares_with_its_baseline() -> None:
    found = document(EXACT)
    for case in cases(STUDY):
        of_case = [f.outcome for f in found.findings if f.role == case.role and _same(f, case)]
        baseline = next(r for r in EXACT.trials if r.trial.case == _baseline(case))
        own = next(r for r in EXACT.trials if r.trial.case == case)
        shared = outcomes(own).keys() & outcomes(baseline).keys()
        assert of_case == [name for name in OUTCOMES if name in shared]


def _same(finding: Finding, case: Case) -> bool:
    return {k: v for k, v in finding.case.items() if k != "control"} == case.levels


def _baseline(case: Case) -> Case:
    return Case(levels={**case.levels, "tls": "off", "resumption": "off"}, role="baseline")


def test_the_baseline_is_one_exactly_and_the_control_is_told_from_it() -> None:
    found = document(NOISY)
    baselines = [f for f in found.findings if f.role == "baseline"]
    assert {(f.ratio.point, f.ratio.low, f.ratio.high, f.judgement) for f in baselines} == {
        (1, 1, 1, "baseline")
    }
    assert {f.ratio.blocks for f in baselines} == {8}
    controls = [f for f in found.findings if f.role == "control"]
    assert len(controls) == len(baselines) > 0
    assert {f.case.get("control") for f in controls} == {"yes"}
    assert {f.case.get("control") for f in found.findings if f.role != "control"} == {None}
    assert {f.judgement for f in controls} == {"alike"}


def test_what_plaintext_cannot_have_is_told_without_a_ratio() -> None:
    found = document(EXACT)
    assert {u.outcome for u in found.rows_of("unpaired")} == {"tls_handshake_p50_us", "tls_handshake_p99_us"}
    handshake = next(
        u for u in found.rows_of("unpaired") if u.outcome == "tls_handshake_p50_us" and u.case["tls"] == "1.2"
    )
    truth = tax_truth(Case(levels=handshake.case, role="treatment"))
    assert handshake.value == pytest.approx(truth.phase_us["tls_handshake"], rel=5e-3)
    assert handshake.interval is not None
    assert handshake.interval.low is not None
    assert handshake.interval.high is not None
    assert handshake.interval.low <= handshake.interval.point <= handshake.interval.high
    assert not any(f.outcome.startswith("tls_handshake") for f in found.findings)


def test_what_was_negotiated_is_said_of_each_case() -> None:
    found = document(EXACT)
    said = {
        (f.case["workload"], f.case["tls"], f.case["resumption"]): f.negotiated
        for f in found.findings
        if f.outcome == "ops_per_s"
    }
    assert said["point-select", "off", "off"] == "plaintext"
    assert said["point-select", "1.3", "off"] == "TLSv1.3 TLS_AES_128_GCM_SHA256 secp256r1"
    assert (
        said["reconnect", "1.3", "on"]
        == "TLSv1.3 TLS_AES_128_GCM_SHA256 secp256r1, resumed, after a HelloRetryRequest"
    )
    assert said["reconnect", "1.2", "off"] == "TLSv1.2 ECDHE-RSA-AES128-GCM-SHA256 secp256r1"


def test_only_blocks_in_which_both_trials_are_valid_count() -> None:
    """The invalid ones have absurd numbers here: if one were counted, the ratio would show it."""
    records = []
    for record in EXACT.trials:
        absurd = fake_record(record.trial, Truth(1.0, {}, 1e6, 1e6))
        levels, block = record.trial.case.levels, record.trial.block
        spoiled = levels["workload"] == "reconnect" and (
            (block == 0 and record.trial.case.role == "baseline") or (block == 1 and levels["tls"] == "1.2")
        )
        unknown = Verdict(value="unknown", reasons=("no row was kept",))
        records.append(_with_verdict(absurd, unknown) if spoiled else record)
    found = document(_stored(records))
    truth = document(EXACT)
    for tls, blocks in (("1.3", 3), ("1.2", 2)):
        finding = _finding(found, "ops_per_s", "reconnect", tls)
        assert finding.ratio.blocks == blocks
        assert finding.ratio.point == pytest.approx(
            _finding(truth, "ops_per_s", "reconnect", tls).ratio.point
        )
        left_out = f"{4 - blocks} of 4 blocks left out, because a trial was not valid (no row was kept)"
        assert left_out in finding.caveats
    untouched = _finding(found, "ops_per_s", "point-select", "1.2")
    assert untouched.ratio.blocks == 4
    assert not any("left out" in caveat for caveat in untouched.caveats)
    assert found.trials.model_dump() == {"valid": 38, "invalid": 0, "unknown": 2}
    assert found.caveats[0].startswith("2 of 40 trials not valid and left out; the first was ")


def test_a_case_that_never_worked_is_said_to_have_no_ratio() -> None:
    records = [
        crashed(r.trial, "the server refused TLS 1.2") if r.trial.case.levels["tls"] == "1.2" else r
        for r in EXACT.trials
    ]
    found = document(_stored(records))
    assert not any(f.case["tls"] == "1.2" for f in found.findings)
    assert any(c.startswith("TLS 1.2, reconnecting") and "nothing to compare" in c for c in found.caveats)
    assert any("the server refused TLS 1.2" in c for c in found.caveats)


def test_a_run_without_a_valid_trial_is_a_document_too() -> None:
    found = document(_stored([crashed(record.trial) for record in EXACT.trials]))
    assert [*found.findings, *found.rows_of("unpaired")] == []
    assert found.trials.invalid == 40
    assert document(_stored([])).findings == ()


def test_the_noise_floor_is_the_controls() -> None:
    found = document(NOISY)
    controls = [f for f in found.findings if f.role == "control"]
    assert controls
    for result in controls:
        same = [f for f in found.findings if f.outcome == result.outcome and _shares(f, result.case)]
        assert {f.noise_floor for f in same} == {result.noise_floor}
        assert result.noise_floor is not None
        assert result.noise_floor >= abs(log(result.ratio.point))


def _shares(finding: Finding, levels: dict[str, str | int]) -> bool:
    return finding.case["workload"] == levels["workload"]


def test_a_difference_below_the_noise_floor_is_no_difference() -> None:
    """Resumption changes nothing on kept connections but the noise of the control hides small effects."""
    noisy = fake_run(noise=0.05, seed=2, invalid=False)
    finding = _finding(document(noisy), "ops_per_s", "point-select", "1.2")
    assert finding.judgement == "inconclusive"


def _one_block() -> RunDocument:
    return document(fake_run(number_of_blocks=1, invalid=False))


def test_one_block_gives_points_without_intervals() -> None:
    finding = _finding(_one_block(), "ops_per_s", "reconnect", "1.3")
    assert (finding.ratio.low, finding.ratio.high, finding.ratio.blocks) == (None, None, 1)
    assert finding.judgement == "inconclusive"
    assert finding.noise_floor is None
    assert "one block only: there is no interval" in finding.caveats
    two = _finding(document(fake_run(number_of_blocks=2, invalid=False)), "ops_per_s", "reconnect", "1.3")
    assert "2 blocks only: the interval rests on hardly any evidence" in two.caveats


def test_a_busy_client_is_a_caveat_on_what_it_limits() -> None:
    def truth(case: Case) -> Truth:
        whole = tax_truth(case)
        if case.levels["tls"] == "1.2" and case.levels["workload"] == "point-select":
            return Truth(whole.ops_per_s, whole.phase_us, 28.0, 0.95e6 / whole.ops_per_s)
        return whole

    found = document(fake_run(noise=0.0, invalid=False, number_of_blocks=3, truth=truth))
    case = "TLS 1.2, point selects on kept connections, 8 connections"
    words = f"client-bound: in {case} the client's busiest thread used 95 % of a core"
    for outcome, bound in (("ops_per_s", True), ("latency_p99_us", True), ("server_cpu_us_per_op", False)):
        caveats = _finding(found, outcome, "point-select", "1.2").caveats
        assert any(caveat.startswith(words) for caveat in caveats) == bound
        assert not any("client-bound" in c for c in _finding(found, outcome, "point-select", "1.3").caveats)
    assert [c for c in found.caveats if c.startswith("client-bound")] != []


def test_one_busy_thread_among_idle_ones_is_a_client_that_limits() -> None:
    run = fake_run(noise=0.0, invalid=False, number_of_blocks=3)

    def with_threads(record: TrialRecord, *shares: float) -> TrialRecord:
        assert record.done is not None
        used = tuple(share * record.done.elapsed_s * 1e6 for share in shares)
        return record.model_copy(update={"done": record.done.model_copy(update={"threads_cpu_us": used})})

    for shares, bound in (((0.95, 0.05), True), ((0.5, 0.5), False)):
        trials = tuple(with_threads(record, *shares) for record in run.trials)
        caveats = document(run.model_copy(update={"trials": trials})).caveats
        assert any("busiest thread used 95 % of a core" in caveat for caveat in caveats) == bound


def test_a_client_that_is_busy_in_the_baseline_is_named_too() -> None:
    def truth(case: Case) -> Truth:
        whole = tax_truth(case)
        if case.levels["tls"] == "off":
            return Truth(whole.ops_per_s, whole.phase_us, 28.0, 0.95e6 / whole.ops_per_s)
        return whole

    finding = _finding(
        document(fake_run(noise=0.0, invalid=False, number_of_blocks=3, truth=truth)),
        "ops_per_s",
        "point-select",
        "1.2",
    )
    assert [c for c in finding.caveats if c.startswith("client-bound: in plaintext, point selects")] != []


def test_a_rate_that_shows_the_work_of_both_sides_says_so() -> None:
    def truth(case: Case) -> Truth:
        whole = tax_truth(case)
        if case.levels["tls"] == "1.3" and case.levels["workload"] == "reconnect":
            return Truth(1000.0, whole.phase_us, 900.0, 850.0)
        return Truth(whole.ops_per_s, whole.phase_us, 0.99e6 / whole.ops_per_s, 0.8e6 / whole.ops_per_s)

    found = document(fake_run(noise=0.0, invalid=False, number_of_blocks=3, truth=truth))
    both = "the client's busiest thread used 85 % of a core and the server 90 %"
    assert any(both in caveat for caveat in _finding(found, "ops_per_s", "reconnect", "1.3").caveats)
    # A server that is busy all the time is what was measured, however busy its client.
    assert not any("the work of both" in c for c in _finding(found, "ops_per_s", "reconnect", "1.2").caveats)


def test_a_control_that_differs_warns_of_every_ratio_beside_it() -> None:
    def truth(case: Case) -> Truth:
        slower = case.role == "control" and case.levels["workload"] == "reconnect"
        return tax_truth(case).times(0.95 if slower else 1.0)

    found = document(fake_run(noise=0.001, invalid=False, truth=truth))
    words = "the control differs from the baseline by 5.3 %: the machine drifted or is too noisy"
    assert words in _finding(found, "ops_per_s", "reconnect", "1.3").caveats
    assert words not in _finding(found, "ops_per_s", "point-select", "1.3").caveats
    assert f"reconnecting for every point select, 8 connections: {words}" in found.caveats


def test_a_precision_that_was_not_reached_is_said_where_it_was_wanted() -> None:
    noisy = document(fake_run(noise=0.05, seed=2, invalid=False))
    finding = _finding(noisy, "ops_per_s", "point-select", "1.3")
    assert any(
        c.startswith("known to ±") and c.endswith("not to the ±2 % that were wanted") for c in finding.caveats
    )
    other = _finding(noisy, "server_cpu_us_per_op", "point-select", "1.3")
    assert not any("were wanted" in caveat for caveat in other.caveats)
    assert any(c.startswith("the precision of ±2 % was not reached: the widest") for c in noisy.caveats)
    assert not any("precision" in caveat for caveat in document(EXACT).caveats)


def test_hello_retry_requests_are_noted_where_connecting_is_measured() -> None:
    found = document(EXACT)

    def noted(outcome: str, workload: str, tls: str) -> bool:
        return any("HelloRetryRequest" in c for c in _finding(found, outcome, workload, tls).caveats)

    assert noted("ops_per_s", "reconnect", "1.3")
    assert not noted("ops_per_s", "reconnect", "1.2")
    assert not noted("ops_per_s", "point-select", "1.3")


def test_notes_of_valid_trials_come_along() -> None:
    note = Verdict(value="valid", notes=("others used the server during the trial",))
    records = [
        _with_verdict(r, note)
        if r.trial.case.levels["tls"] == "1.2"
        and (r.trial.case.levels["workload"] == "reconnect" or not r.trial.block)
        else r
        for r in EXACT.trials
    ]
    found = document(_stored(records))
    assert note.notes[0] in _finding(found, "ops_per_s", "reconnect", "1.2").caveats
    some = f"{note.notes[0]} (in 1 of 4 trials)"
    assert some in _finding(found, "ops_per_s", "point-select", "1.2").caveats


@pytest.mark.parametrize(
    ("status", "why", "says"),
    [
        ("interrupted", "Ctrl-C", "the run was interrupted (Ctrl-C): 4 blocks were kept"),
        ("failed", "", "the run failed: 4 blocks were kept"),
        ("running", "", "the run is still going on: 4 blocks so far"),
    ],
)
def test_how_a_run_ended_is_the_first_caveat(status: str, why: str, says: str) -> None:
    assert document(_changed(EXACT, status=status, stopped_because=why)).caveats[0] == says
    assert document(EXACT).caveats == ()


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=6), st.floats(0.2, 5))
def test_values_are_geometric_means_and_their_quotient_is_the_ratio(
    drifts: list[float], factor: float
) -> None:
    study = override(override(STUDY, "tls", ["1.3"]), "workload", ["point-select"])
    records = []
    for block, drift in enumerate(drifts):
        for position, case in enumerate(cases(study)):
            speed = 1000 * exp(drift) * (factor if case.role == "treatment" else 1)
            records.append(
                fake_record(Trial(block=block, position=position, case=case), Truth(speed, {}, 1, 1))
            )
    stored = _stored(records, header=fake_header(study))
    finding = _finding(document(stored), "ops_per_s", "point-select", "1.3")
    assert finding.value == pytest.approx(geometric_mean([1000 * exp(d) * factor for d in drifts]), rel=1e-6)
    assert finding.ratio.point == pytest.approx(finding.value / finding.baseline_value)
    assert finding.ratio.point == pytest.approx(factor, rel=1e-6)


def test_the_document_survives_json_and_names_its_schema() -> None:
    found = document(NOISY)
    raw = json.loads(found.model_dump_json())
    assert raw["schema"] == 3
    assert raw["findings"][0].keys() >= {"outcome", "unit", "case", "baseline", "value", "ratio", "caveats"}
    assert RunDocument.model_validate(raw) == found
    assert {f.unit for f in found.findings} <= set(UNITS.values())


def test_an_invalid_trial_is_told_with_its_first_reason() -> None:
    records = [untrue(r, "the client says TLSv1.2") if r.trial.block == 3 else r for r in EXACT.trials]
    caveat = document(_stored(records)).caveats[0]
    assert caveat.startswith("10 of 40 trials not valid and left out; the first was ")
    assert caveat.endswith(": the client says TLSv1.2")
