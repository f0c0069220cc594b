"""A distance: what the kernel is told, how a place is entered, what is said where it cannot be had."""

from __future__ import annotations

import json
import subprocess
from contextlib import nullcontext
from typing import Any, Literal

import pytest

from tlstax.cli.measure_app import RunOptions
from tlstax.cli.run_command import study_of
from tlstax.clients.process import ClientFailure
from tlstax.contract import TcpEndpoint
from tlstax.network.distance import making
from tlstax.network.distance.opening import Places, _places
from tlstax.network.paths.design import Route
from tlstax.plan.addresses import FAR_ADDRESS, NEAR_ADDRESSES
from tlstax.plan.order import cases
from tlstax.plan.timing import (
    CYCLES_IN_WINDOW,
    ROUND_TRIPS_IN_WINDOW,
    counted_s,
    overhead_s,
    trial_duration_s,
    window_s,
)
from tlstax.records.trial import LinkUse, RoundTripTime
from tlstax.run.external import check_external
from tlstax.run.trial import LINK_DIED, Travelled, travelling
from tlstax.study import Level, load_study, override
from tlstax.study.factors import CaseLevels, Distance
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.tools.doctor import network

DONE: Any = subprocess.CompletedProcess([], 1, b"", b"Traceback\nOSError: out of luck\n")


def test_each_end_has_half_of_the_round_trip() -> None:
    parameters = making.netem_parameters(45, 0, 0)
    assert parameters == {"delay": 22_500, "limit": making.LIMIT_PACKETS}
    assert making.netem_parameters(0.5, 0, 0)["delay"] == 250


def test_a_rate_is_told_in_bytes_and_jitter_never_without_one() -> None:
    assert making.netem_parameters(1, 0, 8)["rate"] == 1_000_000
    shaken = making.netem_parameters(10, 2.5, 0)
    assert (shaken["delay"], shaken["jitter"]) == (5_000, 2_500)
    # Without a rate, netem lets packets overtake each other.
    assert shaken["rate"] == 2**32 - 1


def test_a_place_is_entered_with_its_user_namespace_only_where_there_is_one() -> None:
    own = Places(far=5, near=6, user=7, devices=(8, 9)).entering(5)
    ours = Places(far=5, near=6, user=None, devices=()).entering(6)
    assert "--preserve-credentials" in own
    assert [word.rpartition("/")[2] for word in own if word.startswith(("--user", "--net"))] == ["7", "5"]
    assert [word.rpartition("/")[2] for word in ours if word.startswith("--")] == ["6", "--"]


@pytest.mark.parametrize(
    ("lacking", "words"),
    [
        ("tun", ["/dev/net/tun", "out of it", "sch_netem"]),
        ("user namespaces", ["no rights and no user namespaces", "as root"]),
        ("network namespaces", ["may not be made", "seccomp"]),
    ],
)
def test_what_the_machine_lacks_is_named_with_a_remedy(lacking: str, words: list[str]) -> None:
    answer = json.dumps({"lacking": lacking, "why": "out of it"}).encode()
    with pytest.raises(MachineFault) as failure:
        _places(answer, [], DONE)
    for word in words:
        assert word in failure.value.sentence()


def test_a_child_that_dies_is_quoted() -> None:
    with pytest.raises(MachineFault, match=r"no place for a distance could be made \(OSError: out of luck\)"):
        _places(b"", [], DONE)


def test_run_takes_round_trip_times() -> None:
    study = study_of(RunOptions(rtt_ms="0,45,0.5", workload="reconnect"))
    assert study.factors["rtt_ms"] == (0, 45, 0.5)
    with pytest.raises(UserMistake, match=r"--rtt-ms: 'far' is not a level of rtt_ms"):
        study_of(RunOptions(rtt_ms="far"))


def test_a_guest_stays_where_it_is() -> None:
    study = study_of(RunOptions(rtt_ms="0,45"))
    with pytest.raises(UserMistake, match="keeps what it has: rtt_ms cannot be chosen there"):
        check_external(study)


class FakeSpan:
    """A distance that answers at once, and dies when told to."""

    made_by: Literal["netem", "tlstax-link"] = "tlstax-link"
    far_address, near_addresses = FAR_ADDRESS, NEAR_ADDRESSES

    def __init__(self) -> None:
        self.alive, self.distance = True, Distance()

    def enter_far(self) -> tuple[str, ...]:
        return ("far",)

    def enter_near(self) -> tuple[str, ...]:
        return ("near",)

    def set(self, distance: Distance) -> None:
        self.distance = distance

    def measure(self) -> RoundTripTime:
        rtt_ms = self.distance.rtt_ms
        return RoundTripTime(median_ms=rtt_ms, lowest_ms=rtt_ms, highest_ms=rtt_ms, samples=9)

    def used(self) -> LinkUse | None:
        return None

    def is_alive(self) -> bool:
        return self.alive


def route(span: FakeSpan) -> Route:
    return Route(TcpEndpoint(host=FAR_ADDRESS, port=1), (), span=span, distance=Distance(45))


def test_a_trial_is_measured_before_and_after() -> None:
    travelled, span = Travelled(), FakeSpan()
    with travelling(route(span), travelled):
        assert travelled.distance is not None
        assert travelled.distance.after is None
    assert travelled.distance.before.median_ms == 45
    assert travelled.distance.after == travelled.distance.before


@pytest.mark.parametrize("failure", [None, ClientFailure("the client fell silent")])
def test_a_link_that_dies_in_a_trial_is_the_reason(failure: Exception | None) -> None:
    travelled, span = Travelled(), FakeSpan()

    def trial() -> None:
        with travelling(route(span), travelled):
            span.alive = False
            if failure is not None:
                raise failure

    with pytest.raises(MachineFault, match=LINK_DIED):
        trial()
    assert travelled.distance is not None
    assert travelled.distance.after is None


def test_a_client_that_fails_for_itself_is_not_the_links_fault() -> None:
    with pytest.raises(ClientFailure, match="fell silent"), travelling(route(FakeSpan()), Travelled()):
        raise ClientFailure("the client fell silent")


def test_doctor_says_what_keeps_a_distance_from_being_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise MachineFault("there is no device", remedy="load the module")

    monkeypatch.setattr(network, "open_span", refused)
    check = network.distance()
    assert (check.status, check.found, check.remedy) == ("limited", "there is no device", "load the module")


@pytest.mark.parametrize(("late_ms", "status"), [(0.2, "ok"), (4.0, "limited")])
def test_doctor_tells_how_exact_a_distance_is(
    monkeypatch: pytest.MonkeyPatch, late_ms: float, status: str
) -> None:
    class Late(FakeSpan):
        def measure(self) -> RoundTripTime:
            on_time = super().measure()
            return on_time.model_copy(update={"median_ms": on_time.median_ms + late_ms})

    monkeypatch.setattr(network, "open_span", lambda *_, **__: nullcontext(Late()))
    check = network.distance()
    assert check.status == status
    assert f"10 ms were {10 + late_ms:.2f} ms" in check.found


NEAR = CaseLevels.of({"workload": "reconnect", "connections": 8, "tls": "1.3"})


def test_a_window_holds_several_operations_however_far_away_the_server_is() -> None:
    assert window_s(NEAR, 0.1) == window_s(NEAR | {"rtt_ms": 0}, 0.1) == 0.1
    far = {**NEAR, "rtt_ms": 170}
    # TCP, greeting, TLS, login and the query are at least five round trips.
    assert window_s(CaseLevels.of(far), 0.1) >= CYCLES_IN_WINDOW * 5 * 0.17
    assert window_s(CaseLevels.of({**far, "tls": "off"}), 0.1) == window_s(CaseLevels.of(far), 0.1)
    asked = {**far, "workload": "point-select"}
    assert window_s(CaseLevels.of(asked), 0.1) == pytest.approx(ROUND_TRIPS_IN_WINDOW * 0.17)
    assert window_s(CaseLevels.of({**far, "workload": "oltp-read-write"}), 0.1) > 5 * window_s(
        CaseLevels.of(asked), 0.1
    )


def test_cases_that_are_compared_measure_equally_long() -> None:
    tax = override(load_study("tax"), "rtt_ms", ["0", "45"])
    across = tax.model_copy(update={"baseline": {**tax.baseline, "rtt_ms": 0}})
    here, there = {**NEAR, "rtt_ms": 0}, {**NEAR, "rtt_ms": 45}
    assert window_s(CaseLevels.of(here), 0.1, tax) < window_s(CaseLevels.of(there), 0.1, tax)
    assert (
        window_s(CaseLevels.of(here), 0.1, across)
        == window_s(CaseLevels.of(there), 0.1, across)
        == window_s(CaseLevels.of(there), 0.1, tax)
    )


def test_a_budget_counts_the_way() -> None:
    tax = load_study("tax")
    far = {**NEAR, "rtt_ms": 45}
    assert overhead_s(CaseLevels.of(far), tax) > overhead_s(NEAR, tax) + 10 * 0.045
    counted: dict[str, Level] = {"workload": "point-select", "connections": 2, "queries": 100}
    gone = {**counted, "rtt_ms": 20}
    assert counted_s(CaseLevels.of(gone), tax) == pytest.approx(
        counted_s(CaseLevels.of(counted), tax) + 50 * 0.02
    )


def test_windows_that_must_be_long_leave_less_to_the_others() -> None:
    tax = override(load_study("tax"), "workload", ["reconnect"])
    apart = override(tax, "rtt_ms", ["0", "45"])
    long = {"budget_s": 2 * tax.budget_s}
    roomy, less = (
        trial_duration_s(study, cases(study))
        for study in (tax.model_copy(update=long), apart.model_copy(update=long))
    )
    assert less < roomy
