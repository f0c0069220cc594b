"""A trial whose server was nearer or farther than its case has it is found out."""

from __future__ import annotations

from typing import Any

import pytest
from test_identity_checks import SERVER

from check_by_check import doubts as of_check
from fake_trials import fake_record, tax_truth
from shared_runs import shared_run
from tlstax.checks import judged
from tlstax.checks.complete import Complete, Doubt
from tlstax.checks.network import distance, longest_ms, shortest_ms
from tlstax.contract import TcpEndpoint, UnixEndpoint
from tlstax.plan.order import cases
from tlstax.records.trial import DistanceObservation, LaneUse, Lateness, LinkUse, RoundTripTime, Trial
from tlstax.study import Level, load_study
from tlstax.study.factors import Distance

CASE = cases(load_study("tax"))[0]


def measured(median_ms: float) -> RoundTripTime:
    return RoundTripTime(median_ms=median_ms, lowest_ms=median_ms, highest_ms=median_ms, samples=9)


def link(drops: int = 0, late_us: float = 80) -> LinkUse:
    way = LaneUse(packets=100, bytes=6000, drops=drops)
    return LinkUse(to_far=way, to_near=way, lateness_us=Lateness(p50=50, p99=late_us, max=late_us))


def seen(before: float = 45.2, after: float | None = 45.3, **more: Any) -> DistanceObservation:
    told: dict[str, Any] = {"rtt_ms": 45, "jitter_ms": 0, "rate_mbit": 0, "made_by": "tlstax-link"}
    return DistanceObservation(
        **{**told, **more}, before=measured(before), after=None if after is None else measured(after)
    )


def doubts(levels: dict[str, Level], observed: DistanceObservation | None, host: str = "") -> list[Doubt]:
    record = fake_record(Trial(block=0, position=0, case=CASE), tax_truth(CASE), duration_s=0.1)
    assert record.job is not None
    assert record.ready is not None
    assert record.done is not None
    assert record.server is not None
    job = record.job
    if host:
        job = job.model_copy(update={"endpoint": TcpEndpoint(host=host, port=1)})
    evidence = record.model_copy(update={"distance": observed, "claim": SERVER, "job": job})
    return list(distance(Complete(CASE.levels | levels, record.ready, record.done, record.server, evidence)))


FAR: dict[str, Level] = {"rtt_ms": 45}


def test_a_distance_that_was_measured_twice_is_proved() -> None:
    assert doubts(FAR, seen(link=link())) == []
    assert doubts(FAR, seen(made_by="netem")) == []


@pytest.mark.parametrize(
    ("observed", "word"),
    [
        (None, "nothing shows"),
        (seen(after=None), "nothing shows"),
        (seen(before=44.9), "before the trial a round trip took 44.90 ms"),
        (seen(after=48.26), "after the trial a round trip took 48.26 ms"),
        (seen(rtt_ms=170), "set to 170 ms, not to 45 ms"),
    ],
)
def test_a_distance_that_was_another_is_told(observed: DistanceObservation | None, word: str) -> None:
    (doubt,) = doubts(FAR, observed)
    assert doubt.weight == "invalid"
    assert word in doubt.reason


def test_the_tolerance_is_a_millisecond_and_a_twentieth() -> None:
    assert doubts(FAR, seen(before=48.25, after=48.25)) == []
    assert doubts({"rtt_ms": 1}, seen(rtt_ms=1, before=2.04, after=1.0)) == []
    assert len(doubts({"rtt_ms": 1}, seen(rtt_ms=1, before=2.06, after=0.9))) == 2


def test_jitter_and_a_rate_have_room_of_their_own() -> None:
    shaken: dict[str, Level] = {"rtt_ms": 45, "jitter_ms": 3}
    assert doubts(shaken, seen(jitter_ms=3, before=53, after=40)) == []
    assert len(doubts(shaken, seen(jitter_ms=3, before=55, after=38))) == 2
    slow: dict[str, Level] = {"rtt_ms": 1, "rate_mbit": 1}
    assert doubts(slow, seen(rtt_ms=1, rate_mbit=1, before=2.9, after=2.9)) == []


def test_a_case_without_a_distance_had_none() -> None:
    assert doubts({}, None, host="127.0.0.1") == doubts({"rtt_ms": 0}, None, host="127.0.0.1") == []
    (doubt,) = doubts({"rtt_ms": 0}, seen())
    assert "45 ms away, where there must be no distance" in doubt.reason
    (doubt,) = doubts({}, None, host="198.18.0.1")
    assert "not loopback" in doubt.reason


def test_what_the_link_was_late_with_or_lost_is_noted() -> None:
    lost, late = doubts(FAR, seen(link=link(drops=3, late_us=3_300)))
    assert lost.weight == late.weight == "note"
    assert "6 of 206 packets" in lost.reason
    assert "3.3 ms later" in late.reason


def test_the_verdict_asks_for_the_distance() -> None:
    record = fake_record(Trial(block=0, position=0, case=CASE), tax_truth(CASE), duration_s=0.1)
    away = record.model_copy(update={"distance": seen()})
    assert judged(record).verdict.value == "valid"
    assert judged(away).verdict.value == "invalid"


def test_the_longest_round_trip_has_room_for_what_a_slow_line_takes() -> None:
    """By hand: a SYN and its answer are 960 bits, which take 0.96 ms at a megabit a second."""
    assert longest_ms(Distance(rtt_ms=40)) == pytest.approx(40 * 1.05 + 1)
    assert longest_ms(Distance(rtt_ms=40, jitter_ms=3)) == pytest.approx(40 * 1.05 + 1 + 6)
    assert longest_ms(Distance(rtt_ms=40, rate_mbit=1)) == pytest.approx(43 + 0.96)
    assert longest_ms(Distance(rtt_ms=40, rate_mbit=0.1)) == pytest.approx(43 + 9.6)


def test_the_shortest_is_what_was_asked_less_twice_the_jitter_and_never_less_than_nothing() -> None:
    assert shortest_ms(Distance(rtt_ms=40)) == pytest.approx(39.99)
    assert shortest_ms(Distance(rtt_ms=40, jitter_ms=3)) == pytest.approx(33.99)
    assert shortest_ms(Distance(rtt_ms=4, jitter_ms=3)) == 0.0
    assert doubts({"rtt_ms": 4, "jitter_ms": 3}, seen(rtt_ms=4, jitter_ms=3, before=0.0, after=0.5)) == []


def test_the_sentence_on_a_round_trip_is_whole() -> None:
    assert doubts(FAR, seen(before=44.9)) == [
        Doubt(
            "invalid",
            "before the trial a round trip took 44.90 ms (the median of "
            "9), where it must take 45 to 48.25 ms",
        )
    ]


@pytest.mark.parametrize("host", ["128.0.0.1", "198.18.0.1", "27.0.0.1"])
def test_without_a_distance_the_client_is_sent_to_loopback(host: str) -> None:
    assert doubts({}, None, host=host) == [
        Doubt("invalid", f"the client was sent to {host}, which is not loopback")
    ]


def test_only_a_tcp_address_of_a_server_of_ours_must_be_loopback() -> None:
    record = fake_record(Trial(block=0, position=0, case=CASE), tax_truth(CASE), duration_s=0.1)
    assert record.job is not None
    away = record.job.model_copy(update={"endpoint": TcpEndpoint(host="198.18.0.1", port=1)})
    socket = record.job.model_copy(update={"endpoint": UnixEndpoint(path="/s")})
    assert of_check(distance, record.model_copy(update={"job": away, "claim": None})) == []
    assert of_check(distance, record.model_copy(update={"job": None, "claim": SERVER})) == []
    assert of_check(distance, record.model_copy(update={"job": socket, "claim": SERVER})) == []


def test_clients_on_other_machines_are_sent_to_where_those_reach_the_server() -> None:
    record = shared_run().trials[0].model_copy(update={"claim": SERVER})
    assert record.job is not None
    for host in ("10.0.0.1", "127.0.0.1"):
        job = record.job.model_copy(update={"endpoint": TcpEndpoint(host=host, port=1)})
        wrong = ("invalid", f"clients were sent to {host}, where the server is reached at 10.0.0.1")
        expected = [] if host == "10.0.0.1" else [wrong]
        assert of_check(distance, record.model_copy(update={"job": job})) == expected


@pytest.mark.parametrize(("late_us", "is_noted"), [(3250, False), (3251, True)])
def test_packets_may_be_as_late_as_a_round_trip_may_be_long(late_us: float, *, is_noted: bool) -> None:
    """A millisecond, and a twentieth of 45."""
    assert bool(doubts(FAR, seen(link=link(late_us=late_us)))) is is_noted


def test_the_sentences_on_the_link_are_whole() -> None:
    assert doubts(FAR, seen(link=link(drops=3, late_us=3_300))) == [
        Doubt("note", "the distance had no room for 6 of 206 packets"),
        Doubt("note", "one in a hundred packets arrived at least 3.3 ms later than the distance demands"),
    ]
