"""Whether clients agree, from numbers by hand: costs, what TLS adds, and how well either must be known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from fake_slices import in_turns, slices_of
from fake_trials import fake_record, kept
from tlstax.findings.agreement.verdicts import agreements
from tlstax.findings.core.series import Series, frozen
from tlstax.findings.core.slices import turns
from tlstax.plan.order import cases
from tlstax.records.trial import Trial, TrialRecord
from tlstax.records.window import Window
from tlstax.results.document import Agreement, ClientAgreement
from tlstax.study import Case, Levels, Study

SHARED = {"workload": "point-select", "connections": 1, "protocol": "text", "queries": 10_000}
CPU, OUTSIDE = "server_cpu_us_per_op", "outside_client_us_per_op"


def study_of(*clients: str, **changes: Any) -> Study:
    """Point selects by these clients, in plaintext and over TLS 1.3, against the first one's plaintext."""
    factors = {
        **{name: (level,) for name, level in SHARED.items()},
        "client": clients,
        "tls": ("off", "1.3"),
        **changes,
    }
    baseline = {"client": clients[0], "tls": "off"}
    return Study(name="s", title="t", question="q", factors=factors, baseline=baseline)


STUDY = study_of("engine", "sysbench", "mysqlslap-9.7")


def measured(
    values: Mapping[tuple[str, str], Sequence[float | None]],
    *,
    study: Study = STUDY,
    outcome: str = CPU,
    control: Sequence[float] = (),
) -> Series:
    """What was measured by client and TLS, a value a block; of None the block was not valid.

    `control` is what the control of the first client's plaintext measured.
    """

    def blocks(of: Sequence[float | None]) -> dict[int, dict[str, float]]:
        return {block: {outcome: value} for block, value in enumerate(of) if value is not None}

    planned = {frozen(case.levels): case for case in cases(study) if case.role != "control"}
    of_case = {
        at: values.get((str(case.levels["client"]), str(case.levels["tls"]))) for at, case in planned.items()
    }
    controls = {frozen(case.levels): blocks(control) for case in cases(study)[1:2] if control}
    return Series(study, planned, {at: blocks(of) for at, of in of_case.items() if of}, controls)


def plain(
    *reference: float, **others: Sequence[float | None]
) -> dict[tuple[str, str], Sequence[float | None]]:
    """Values in plaintext: of the engine, and of other clients by name."""
    return {("engine", "off"): reference, **{(name, "off"): of for name, of in others.items()}}


def one(series: Series) -> Agreement:
    (found,) = agreements(series, ())
    return found


def client_of(series: Series) -> ClientAgreement:
    (found,) = one(series).clients
    return found


def test_a_client_is_set_beside_the_engine_block_by_block() -> None:
    """In the blocks that both have: means of 4 and 9 by 8 and 18: 6 and 12, a half each time."""
    found = one(measured(plain(8.0, 18.0, 999.0, sysbench=[4.0, 9.0, None, 999.0])))
    assert (found.kind, found.outcome, found.unit, found.reference) == ("cost", CPU, "us", "engine")
    assert found.case == {**SHARED, "tls": "off"}
    assert found.noise_floor is None
    (sysbench,) = found.clients
    assert (sysbench.client, sysbench.verdict) == ("sysbench", "differs")
    assert (sysbench.value, sysbench.reference_value) == pytest.approx((6.0, 12.0))
    assert (sysbench.ratio.point, sysbench.ratio.blocks) == (pytest.approx(0.5), 2)
    assert found.sentence.startswith("point selects on kept connections, 1 connection, plaintext: sysbench")


def test_every_client_is_set_beside_the_engine_wherever_it_stands() -> None:
    study = study_of("sysbench", "engine", "mysqlslap-9.7")
    values = plain(8.0, 8.0, sysbench=[4.0, 4.0], **{"mysqlslap-9.7": [8.0, 8.0]})
    found = one(measured(values, study=study))
    assert found.reference == "engine"
    assert [(each.client, each.verdict) for each in found.clients] == [
        ("sysbench", "differs"),
        ("mysqlslap-9.7", "agrees"),
    ]
    without = study_of("sysbench", "mysqlslap-9.7")
    found = one(measured(values, study=without))
    assert (found.reference, [each.client for each in found.clients]) == ("sysbench", ["mysqlslap-9.7"])


def test_what_tls_adds_is_each_clients_own_ratio_to_its_plaintext() -> None:
    """The engine goes from 10 to 12 and from 20 to 24, sysbench by half: 1.2 and 1.5."""
    values = {
        ("engine", "off"): [10.0, 20.0],
        ("engine", "1.3"): [12.0, 24.0],
        ("sysbench", "off"): [30.0, 40.0],
        ("sysbench", "1.3"): [45.0, 60.0],
    }
    found = agreements(measured(values), ())
    assert [(each.kind, each.case["tls"], each.unit) for each in found] == [
        ("cost", "off", "us"),
        ("cost", "1.3", "us"),
        ("tax", "1.3", "×"),
    ]
    assert (found[2].outcome, found[2].reference) == (CPU, "engine")
    (tax,) = found[2].clients
    assert (tax.value, tax.reference_value, tax.ratio.point) == pytest.approx((1.5, 1.2, 1.25))
    assert (tax.verdict, tax.clues) == ("differs", ())


def test_plaintext_of_a_study_with_resumption_is_without_it() -> None:
    """Each client resumes over TLS; what that adds is set against its plaintext, which resumes nothing."""
    values, planned = {}, {}
    for client, plaintext, resumed in (("engine", 10.0, 12.0), ("sysbench", 20.0, 24.0)):
        for tls, resumption, cost in (("off", "off", plaintext), ("1.3", "on", resumed)):
            levels = {**SHARED, "client": client, "tls": tls, "resumption": resumption}
            planned[frozen(levels)] = Case(levels=levels, role="treatment")
            values[frozen(levels)] = {0: {CPU: cost}, 1: {CPU: cost}}
    tax = agreements(Series(STUDY, planned, values, {}), ())[-1]
    assert (tax.kind, tax.case["resumption"]) == ("tax", "on")
    (sysbench,) = tax.clients
    assert (sysbench.value, sysbench.reference_value, sysbench.verdict) == (
        pytest.approx(1.2),
        pytest.approx(1.2),
        "agrees",
    )


def test_times_outside_the_client_are_compared_without_a_tax() -> None:
    values = {(client, tls): [8.0, 8.0] for client in ("engine", "sysbench") for tls in ("off", "1.3")}
    found = agreements(measured(values, outcome=OUTSIDE), ())
    assert [(each.kind, each.outcome) for each in found] == [("cost", OUTSIDE)] * 2


def test_nothing_else_is_compared() -> None:
    values = {(client, tls): [8.0, 8.0] for client in ("engine", "sysbench") for tls in ("off", "1.3")}
    assert agreements(measured(values, outcome="ops_per_s"), ()) == ()
    assert agreements(measured(plain(8.0, 8.0, sysbench=[None, None])), ()) == ()
    assert agreements(measured(plain(8.0, 8.0, sysbench=[None, None, 8.0])), ()) == ()
    alone = study_of("engine")
    assert agreements(measured(plain(8.0, 8.0), study=alone), ()) == ()


def strayed(by: float, *, control: float | None = None) -> tuple[str, float | None]:
    """The verdict where sysbench's cost is off by a factor in both blocks, and the control by another."""
    control_values = (8.0 * control, 8.0 * control) if control else ()
    series = measured(plain(8.0, 8.0, sysbench=[8.0 * by, 8.0 * by]), control=control_values)
    found = one(series)
    return found.clients[0].verdict, found.noise_floor


def test_a_difference_is_seen_above_the_noise_floor() -> None:
    assert strayed(1.05) == ("differs", None)
    assert strayed(1.05, control=1.04) == ("differs", pytest.approx(0.04))
    assert strayed(1.05, control=1.06) == ("agrees", pytest.approx(0.06))
    assert strayed(1.05, control=1.09) == ("agrees", pytest.approx(0.09))
    assert strayed(1.05, control=1.11) == ("inconclusive", pytest.approx(0.11))
    assert strayed(1.2, control=1.11) == ("differs", pytest.approx(0.11))


def test_agreement_needs_an_interval_that_would_have_shown_a_difference() -> None:
    scattered = [8.0, 8.0, 8.0, 8.0]
    near = client_of(measured(plain(*scattered, sysbench=[8.16, 7.84, 8.16, 7.84])))
    assert near.verdict == "agrees"
    wide = client_of(measured(plain(*scattered, sysbench=[12.0, 6.0, 12.0, 6.0])))
    assert wide.verdict == "inconclusive"
    once = client_of(measured(plain(8.0, sysbench=[8.0])))
    assert (once.verdict, once.ratio.low) == ("inconclusive", None)
    assert client_of(measured(plain(8.0, sysbench=[80.0]))).verdict == "inconclusive"


def test_the_noise_floor_is_the_nearest_controls_that_ran() -> None:
    """The control of one connection holds for TLS and for 8 connections as well."""
    study = study_of("engine", "sysbench", connections=(1, 8))
    values = {(client, tls): [8.0, 8.0] for client in ("engine", "sysbench") for tls in ("off", "1.3")}
    found = agreements(measured(values, study=study, control=(8.2, 8.2)), ())
    assert len(found) == 6
    assert {each.kind for each in found} == {"cost", "tax"}
    assert [each.noise_floor for each in found] == [pytest.approx(0.025)] * 6


def test_a_client_whose_server_decides_on_tls_is_one_of_its_own() -> None:
    """The engine, and mysqlslap twice: by its own option, and with TLS switched at the server."""
    study = study_of("engine", "mysqlslap-9.7", tls_switch=("client", "server"))
    values = {(client, "off"): [8.0, 8.0] for client in ("engine", "mysqlslap-9.7")}
    found = one(measured(values, study=study))
    assert "tls_switch" not in found.case
    assert found.reference == "engine"
    assert [each.client for each in found.clients] == [
        "mysqlslap-9.7",
        "engine (TLS switched at the server)",
        "mysqlslap-9.7 (TLS switched at the server)",
    ]


@pytest.mark.parametrize("tls", ["unset", "required"])
def test_drivers_left_to_themselves_are_not_expected_to_agree(tls: str) -> None:
    planned = [
        Case(
            levels={"workload": "point-select", "connections": 1, "client": client, "tls": tls},
            role="treatment",
        )
        for client in ("engine", "sysbench")
    ]
    values = {frozen(case.levels): {0: {CPU: 8.0}} for case in planned}
    series = Series(STUDY, {frozen(case.levels): case for case in planned}, values, {})
    assert agreements(series, ()) == ()


def test_cases_without_a_client_are_in_no_comparison() -> None:
    series = measured(plain(8.0, 8.0, sysbench=[8.0, 8.0]))
    bare = Case(levels={**SHARED, "tls": "off"}, role="treatment")
    assert (
        len(one(Series(STUDY, {frozen(bare.levels): bare, **series.cases}, series.values, {})).clients) == 1
    )


def counted(levels: Levels, statements: int) -> TrialRecord:
    """A trial of 100 operations for which the server counted so many statements."""
    case = Case(levels=dict(levels), role="treatment")
    record = fake_record(
        Trial(block=0, position=0, case=case), kept(10_000, 1, 1, record_bytes=0), duration_s=0.01
    )
    return record.model_copy(update={"window": Window(took_s=1.0, status_delta={"Com_select": statements})})


@pytest.mark.parametrize(("costs", "words"), [([12.0, 12.0], 1), ([8.0, 8.0], 0), ([4.0, 4.0], 0)])
def test_a_dearer_client_that_sends_more_is_told_to(costs: list[float], words: int) -> None:
    """Clues are for what differs, and go its way: more statements make nothing cheaper."""
    series = measured(plain(8.0, 8.0, sysbench=costs))
    engine, _, sysbench, *_ = (case.levels for case in series.cases.values())
    (found,) = agreements(series, [counted(engine, 100), counted(sysbench, 300)])
    assert [clue.words for clue in found.clients[0].clues] == [
        "the server runs 3.000 statements an operation, and 1.000 with the engine"
    ] * words


def test_a_client_that_agrees_needs_no_clue() -> None:
    """It is dearer by 5 %, and sends more, but the control strayed by 6 %."""
    series = measured(plain(8.0, 8.0, sysbench=[8.4, 8.4]), control=(8.48, 8.48))
    engine, _, sysbench, *_ = (case.levels for case in series.cases.values())
    (found,) = agreements(series, [counted(engine, 100), counted(sysbench, 300)])
    assert (found.clients[0].verdict, found.clients[0].clues) == ("agrees", ())


def test_clients_that_took_turns_are_compared_slice_by_slice() -> None:
    """In its slices sysbench is twice as dear, though the trials as a whole cost the same."""
    series = measured(plain(8.0, 8.0, sysbench=[8.0, 8.0]))
    taken = {}
    for at, factor in zip(series.values, (1.0, 2.0), strict=True):
        trial = Trial(block=0, position=0, case=series.cases[at])
        own = turns(in_turns(trial, slices_of([(100, factor)] * 6)))
        assert own is not None
        taken[at] = {0: own, 1: own}
    assert client_of(replace(series, turns=taken)).ratio.point == pytest.approx(2.0)


def test_nothing_that_tells_of_a_cost_tells_of_a_tax() -> None:
    values = {
        ("engine", "off"): [10.0, 20.0],
        ("engine", "1.3"): [12.0, 24.0],
        ("sysbench", "off"): [10.0, 20.0],
        ("sysbench", "1.3"): [15.0, 30.0],
    }
    series = measured(values)
    records = [
        counted(case.levels, 300 if case.levels["client"] == "sysbench" else 100)
        for case in series.cases.values()
    ]
    _, cost, tax = agreements(series, records)
    assert len(cost.clients[0].clues) == 1
    assert (tax.clients[0].verdict, tax.clients[0].clues) == ("differs", ())
