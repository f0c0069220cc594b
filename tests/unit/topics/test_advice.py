"""Each thing that was planted is advised against, of a clean server nothing; what saves most comes first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inspected_servers import certificate, inspected, program, use, view
from tlstax.results.inspection import InspectedServer
from tlstax.results.interval import Interval
from tlstax.topics.advice.advise import (
    ASSUMED_BYTES,
    ASSUMED_STATEMENTS,
    Advised,
    Evidence,
    Saving,
    advised,
    level_of,
    now_of,
    use_of,
)
from tlstax.topics.advice.measured import Measured


def ratio(point: float, half: float = 0.01) -> Interval:
    return Interval(point=point, low=point - half, high=point + half, confidence=0.95, blocks=5)


LIKE_IT = Measured(
    now=1000.0,
    statement=50.0,
    luck=0.03,
    ratios={
        "pool": ratio(0.05),
        "certificate": ratio(0.6),
        "resumption": ratio(0.55),
        "group": ratio(0.9),
        "version": ratio(1.05),
    },
)
THERE = Measured(now=2000.0, statement=100.0, luck=0.0, ratios={"group": ratio(0.8)})
NOTHING = Evidence(None, None)


def ranked(found: InspectedServer, evidence: Evidence | None = None) -> tuple[Advised, ...]:
    now = now_of(found)
    assert now is not None
    return advised(found, now, use_of(found, None, None, None), evidence or Evidence(LIKE_IT, THERE))


def advice(
    found: InspectedServer, evidence: Evidence | None = None
) -> tuple[tuple[Advised, ...], tuple[Advised, ...]]:
    """What is advised, and what is not."""
    all_of = ranked(found, evidence)
    return tuple(own for own in all_of if not own.why_not), tuple(own for own in all_of if own.why_not)


def changes(found: InspectedServer, evidence: Evidence | None = None) -> list[str]:
    return [own.change for own in advice(found, evidence)[0]]


BUSY = use(100.0, 2.0)
POOLED = use(1.0, 900.0)


def test_of_a_clean_server_nothing_is_advised() -> None:
    for found in (inspected(), inspected(watched=use(30.0, 900.0)), inspected(since_start=POOLED)):
        worth, little = advice(found)
        assert worth == ()
        assert {own.change for own in little} == {"pool", "certificate", "resumption", "version"}


def test_what_was_planted_is_advised_whether_it_was_measured_or_not() -> None:
    planted = {
        "certificate": inspected(chain=(certificate("RSA 4096"),)),
        "resumption": inspected(resumes=("1.2",)),
        "group": inspected(default=view("1.3", hello_retry=True)),
        "version": inspected(default=view("1.2"), versions=("1.2",)),
        "chain": inspected(chain=(certificate(), certificate(), certificate(is_self_signed=True))),
        "compression": inspected(programs=(program(3, compression=True),)),
    }
    for change, found in planted.items():
        for evidence in (Evidence(LIKE_IT, THERE), NOTHING):
            assert changes(found, evidence) == [change]
            (own,) = advice(found, evidence)[0]
            assert own.seen
            assert own.steps


def test_who_connects_for_each_statement_is_told_to_keep_connections() -> None:
    first, *_ = advice(inspected(watched=BUSY))[0]
    assert first.change == "pool"
    assert first.seen == "100 connections a second are made for 2 statements each"
    assert "pool" not in changes(inspected(watched=use(100.0, 20.0)), NOTHING)
    assert "pool" in changes(inspected(watched=use(100.0, 19.0)), NOTHING)


def test_where_connections_are_made_often_what_saves_enough_is_advised_too() -> None:
    assert changes(inspected(watched=BUSY)) == ["pool", "resumption", "certificate"]
    assert changes(inspected(watched=BUSY), NOTHING) == ["pool"]


def test_a_saving_is_of_the_connection_with_all_its_statements() -> None:
    worth, _ = advice(inspected(chain=(certificate("RSA 4096"),), watched=BUSY))
    own = {one.change: one.saving for one in worth}
    key = own["certificate"]
    assert key.server_cpu_us is not None
    assert key.server_cpu_us.point == pytest.approx(400)
    assert key.server_share is not None
    assert key.server_share.point == pytest.approx(400 / 1050)
    assert own["pool"].round_trips == 4
    assert own["pool"].time_us is None


def test_times_are_those_that_were_measured_there() -> None:
    (own,) = advice(inspected(default=view("1.3", hello_retry=True)))[0]
    assert own.saving.time_us is not None
    assert own.saving.time_us.point == pytest.approx(400)
    assert own.saving.round_trips == 1
    assert own.saving.bytes == 0


def test_what_saves_the_most_comes_first() -> None:
    found = inspected(
        default=view("1.3", hello_retry=True), resumes=("1.2",), chain=(certificate("RSA 4096"),)
    )
    assert changes(found) == ["resumption", "certificate", "group"]


def test_a_chain_with_its_root_saves_the_root() -> None:
    chain = (certificate(), certificate(size_bytes=800), certificate(is_self_signed=True, size_bytes=700))
    (own,) = advice(inspected(chain=chain))[0]
    assert own.saving.bytes == 700
    assert (
        own.seen
        == "the server sends 3 certificates with the root among them, 2,400 bytes in each full handshake"
    )
    longer = (certificate(), certificate(), certificate())
    (other,) = advice(inspected(chain=longer))[0]
    assert "root" not in other.seen
    assert changes(inspected(chain=chain[:2])) == []


def test_the_cheapest_key_is_not_replaced() -> None:
    worth, little = advice(inspected(chain=(certificate("EC P-256"),), watched=BUSY))
    assert "certificate" not in {own.change for own in (*worth, *little)}
    unknown, others = advice(inspected(chain=()))
    assert "certificate" not in {own.change for own in (*unknown, *others)}


def test_tls_1_2_by_choice_of_the_client_is_no_mistake_of_the_server() -> None:
    worth, little = advice(inspected(default=view("1.2")))
    assert worth == ()
    assert [own.what for own in little if own.change == "version"] == ["TLS 1.3 in place of 1.2"]


def test_steps_are_for_the_product_at_hand() -> None:
    for version, line in (("9.7.4", "ALTER INSTANCE RELOAD TLS;"), ("11.8.9-MariaDB", "FLUSH SSL;")):
        (own,) = advice(inspected(chain=(certificate("RSA 4096"),), version=version))[0]
        assert any(line in step.lines for step in own.steps)


def test_there_is_one_ranking_and_what_is_only_possible_says_why() -> None:
    found = ranked(inspected(watched=use(0.0, None)))
    assert [(own.change, own.why_not) for own in found] == [
        ("pool", "no client was seen reconnecting"),
        ("resumption", "no client was seen reconnecting"),
        ("certificate", "no client was seen reconnecting"),
        ("version", "it costs more"),
    ]
    unseen = ranked(inspected())
    assert unseen[0].why_not == "whether clients reconnect could not be seen"
    assert {own.why_not for own in ranked(inspected(), NOTHING)} == {
        "what it saves of the server's CPU was not measured"
    }
    pooled = {own.change: own.why_not for own in ranked(inspected(watched=use(30.0, 900.0)))}
    assert pooled["pool"] == "it saves less than 5 %"


def test_a_change_between_little_and_enough_may_save_less() -> None:
    wide = replace(LIKE_IT, statement=0.0, ratios={"resumption": ratio(0.93, 0.05)})
    (own,) = [
        one for one in ranked(inspected(watched=BUSY), Evidence(wide, None)) if one.change == "resumption"
    ]
    assert own.why_not == "it may save less than 5 %"


def test_what_was_measured_and_told_nothing_is_named_and_has_no_figure() -> None:
    found = inspected(default=view("1.3", hello_retry=True), watched=BUSY)
    ratios = {name: own for name, own in LIKE_IT.ratios.items() if name != "resumption"}
    blurred = replace(LIKE_IT, ratios=ratios, inconclusive=frozenset({"resumption"}))
    there = Measured(2000.0, 100.0, 0.0, {}, frozenset({"group"}))
    own = {one.change: one for one in ranked(found, Evidence(blurred, there))}
    assert own["resumption"].saving.inconclusive == ("the server's CPU",)
    assert own["resumption"].why_not == "what it saves of the server's CPU is inconclusive"
    assert own["group"].saving.inconclusive == ("the time of a connection",)
    assert own["group"].why_not == ""
    assert own["group"].saving.time_us is None


def test_of_what_was_not_measured_what_is_advised_comes_first() -> None:
    found = ranked(inspected(default=view("1.3", hello_retry=True)), NOTHING)
    assert [own.change for own in found if not own.why_not] == ["group"]
    assert found[0].change == "group"


def test_what_was_computed_of_compression_is_its_saving() -> None:
    compressed = inspected(programs=(program(3, compression=True),), watched=BUSY)
    computed = Saving(
        server_cpu_us=ratio(900.0, 90.0),
        server_share=ratio(0.5, 0.05),
        measured_on="mysql-9.7",
        is_computed=True,
    )
    found = ranked(compressed, Evidence(LIKE_IT, None, without_compression=computed))
    assert [own.change for own in found][:2] == ["pool", "compression"]
    saving = found[1].saving
    assert (saving.server_share, saving.is_computed) == (computed.server_share, True)
    assert found[1].why_not == ""
    assert saving.measured_on == "mysql-9.7"
    without = {one.change: one.saving for one in ranked(compressed)}
    assert without["compression"].server_share is None


def seen(found: InspectedServer) -> tuple[float | None, int, int, str]:
    own = use_of(found, None, None, None)
    return own.connects_per_s, own.statements, own.answer_bytes, own.source


def test_what_was_watched_comes_before_what_is_long_ago() -> None:
    found = inspected(
        watched=use(4.0, 3.4, sent_bytes_per_s=4 * 3.4 * 700), since_start=use(9.0, 50.0, over_s=600.0)
    )
    assert seen(found) == (4.0, 3, 700, "watched")
    few = inspected(watched=use(3.9, 3.4), since_start=use(9.0, 50.0, over_s=600.0))
    assert seen(few) == (9.0, 50, ASSUMED_BYTES, "since its start")


def test_a_server_that_nobody_uses_says_nothing_of_its_use() -> None:
    assumed = (None, ASSUMED_STATEMENTS, ASSUMED_BYTES, "assumed")
    assert seen(inspected()) == assumed
    assert seen(inspected(watched=use(0.0, None), since_start=use(0.99, 2.0, over_s=600.0))) == assumed
    assert seen(inspected(since_start=use(1.0, 2.0, over_s=600.0)))[3] == "since its start"
    assert seen(inspected(since_start=use(1.0, 2.0, over_s=599.0)))[3] == "assumed", "it has only just begun"


def test_what_is_given_comes_before_all() -> None:
    found = inspected(watched=use(100.0, 3.0))
    given = use_of(found, None, 40, 2048)
    assert (given.connects_per_s, given.statements, given.answer_bytes) == (100.0, 40, 2048)
    assert given.source == "given"
    rate = use_of(inspected(), 20.0, None, None)
    assert (rate.connects_per_s, rate.statements, rate.source) == (20.0, ASSUMED_STATEMENTS, "given")
    size = use_of(found, None, None, 64)
    assert (size.answer_bytes, size.source) == (64, "watched")


def test_numbers_stay_within_what_can_be_measured() -> None:
    own = use_of(inspected(watched=use(100.0, 5e6, sent_bytes_per_s=1e18)), None, None, None)
    assert (own.statements, own.answer_bytes) == (1000, 1 << 20)
    assert use_of(inspected(watched=use(100.0, 0.2)), None, None, None).statements == 1
    assert use_of(inspected(watched=use(100.0, 0.0)), None, None, None).statements == ASSUMED_STATEMENTS


def test_what_clients_get_is_read_from_what_was_asked() -> None:
    now = now_of(inspected(default=view("1.3", hello_retry=True), chain=(certificate("RSA 4096"),)))
    assert now is not None
    assert (now.tls, now.certificate, now.key, now.hello_retry) == ("1.3", "rsa-4096", "RSA 4096", True)
    assert (now.resumes, now.other_version) == (True, "1.2")
    old = now_of(inspected(default=view("1.2"), versions=("1.2",), resumes=("1.3",), chain=()))
    assert old is not None
    assert (old.tls, old.certificate, old.key, old.hello_retry) == ("1.2", "", "", False)
    assert (old.resumes, old.other_version) == (False, None)


def test_without_tls_there_is_nothing_to_ask() -> None:
    found = inspected()
    none = found.asked[0].model_copy(update={"agreed": None})
    assert now_of(found.model_copy(update={"asked": (none, *found.asked[1:])})) is None
    unasked = now_of(found.model_copy(update={"asked": found.asked[:3]}))
    assert unasked is not None
    assert unasked.resumes is None


@pytest.mark.parametrize(
    ("key", "level"),
    [
        ("RSA 2048", "rsa-2048"),
        ("RSA 3072", "rsa-3072"),
        ("EC P-256", "ec-p256"),
        ("EC P-384", "ec-p384"),
        ("Ed25519", "ed25519"),
        ("RSA 8192", ""),
        ("DSA 1024", ""),
        ("", ""),
    ],
)
def test_a_key_is_a_level_where_a_private_server_can_have_it(key: str, level: str) -> None:
    assert level_of(key) == level
