"""What is advised and what not, what each change saves, how it is printed, and what of it may be shared."""

from __future__ import annotations

import re
from dataclasses import replace
from math import exp

import pytest

from inspected_servers import certificate, inspected, program, use, view
from made_advice import GROUP, KEY, LITTLE
from made_advice import advice as made_advice
from planted_series import planted_series, wobble
from tlstax.plan.advice_studies import changes_like_it, changes_there, study_like_it
from tlstax.report.page.html import advice_html
from tlstax.results.inspection import Asked, Certificate, Concern, InspectedServer, ServerWord, Step
from tlstax.results.interval import Interval
from tlstax.stats.contrasts import PROCESSES
from tlstax.stats.programs import all_programs
from tlstax.study import Levels, Study
from tlstax.study.factors import CaseLevels
from tlstax.topics.advice.advise import (
    ASSUMED_BYTES,
    ASSUMED_STATEMENTS,
    Advice,
    Advised,
    Evidence,
    Saving,
    SeenUse,
    advised,
    level_of,
    now_of,
    steps_for,
    use_of,
)
from tlstax.topics.advice.measured import SERVER_CPU, SPEED, Measured, measured
from tlstax.topics.advice.redact import PUBLIC, redacted
from tlstax.topics.advice.sections import advice_text


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
WIDE = replace(LIKE_IT, statement=0.0, ratios={"resumption": ratio(0.93, 0.05)})
BLURRED = replace(LIKE_IT, ratios={}, inconclusive=frozenset({"resumption"}))
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
    assert "pool" in changes(inspected(since_start=use(1.0, 2.0, over_s=600.0)), NOTHING), "one a second"


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
    (own,) = [
        one for one in ranked(inspected(watched=BUSY), Evidence(WIDE, None)) if one.change == "resumption"
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
    at_first = now_of(found.model_copy(update={"asked": found.asked[:1]}))
    assert at_first is not None
    assert at_first.other_version is None


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


CHANGES = changes_like_it(
    changes_there("1.3", "1.2", answer_bytes=120, resumes=True, retried=True), "rsa-4096"
)
STUDY = study_like_it(CHANGES, "mysql-9.7", 60)
LUCK = {"rsa-4096": 1.04, "ec-p256": 0.97}
"""What the same costs on the process with that key."""


def planted(levels: Levels, block: int) -> dict[str, float]:
    """4,000 µs with RSA 4096; 800 with P-256; 500 resumed; 100 less with P-256 first; 50 a statement."""
    case = CaseLevels.of(levels)
    if not case.reconnects:
        cost = 50.0
    elif not case.is_encrypted:
        cost = 300.0
    else:
        cost = 4000.0 if case.certificate == "rsa-4096" else 800.0
        cost = 500.0 if case.resumes else cost
        cost -= 100.0 if case.group == "P-256-first" else 0.0
        cost -= 200.0 if case.tls == "1.2" else 0.0
    return {SERVER_CPU: cost * LUCK[case.certificate] * wobble(block)}


def found(study: Study = STUDY) -> Measured:
    own = measured(planted_series(study, planted), CHANGES, SERVER_CPU, luck=PROCESSES)
    assert own is not None
    return own


@pytest.mark.parametrize(
    ("change", "saved"), [("resumption", 3500), ("group", 100), ("version", 200), ("pool", 3950)]
)
def test_what_was_planted_is_saved(change: str, saved: float) -> None:
    own = found().saved(change)
    assert own is not None
    assert own.point == pytest.approx(saved * LUCK["rsa-4096"], rel=1e-3)
    assert own.low is not None
    assert own.high is not None
    assert own.low < own.point < own.high


def test_the_luck_of_the_process_with_the_other_key_is_taken_out() -> None:
    own = found().saved("certificate")
    assert own is not None
    assert own.point == pytest.approx(3200 * LUCK["rsa-4096"], rel=1e-3)


def test_an_interval_has_room_for_another_process() -> None:
    exact = Interval(point=0.5, low=0.5, high=0.5, confidence=0.95, blocks=9)
    measured_now = Measured(now=1000, statement=10, luck=PROCESSES, ratios={"group": exact})
    share = measured_now.saved_share("group")
    assert share is not None
    wide = (1 - 0.5 * exp(PROCESSES), 1 - 0.5 * exp(-PROCESSES))
    assert (share.point, share.low, share.high) == pytest.approx((0.5, *wide))
    own = measured_now.saved("group")
    assert own is not None
    assert (own.point, own.low, own.high) == pytest.approx(
        (500, 1000 * wide[0] * exp(-SPEED), 1000 * wide[1] * exp(SPEED))
    )
    session = measured_now.saved_of_session("group", 101)
    assert session is not None
    assert session.point == pytest.approx(0.25)
    one = Interval(point=0.5, low=None, high=None, confidence=0.95, blocks=1)
    alone = Measured(now=1000, statement=10, luck=0, ratios={"group": one}).saved("group")
    assert alone is not None
    assert (alone.point, alone.low, alone.high) == (500, None, None)


def test_a_session_is_a_connection_and_its_further_statements() -> None:
    half = Interval(point=0.5, low=0.5, high=0.5, confidence=0.95, blocks=9)
    own = Measured(now=1000, statement=10, luck=0, ratios={"group": half})
    for statements, whole in ((1, 1000), (11, 1100)):
        share = own.saved_of_session("group", statements)
        assert share is not None
        assert share.point == pytest.approx(500 / whole)
    assert own.saved("certificate") is None
    assert own.saved_share("certificate") is None
    assert own.saved_of_session("certificate", 3) is None


def test_a_change_that_costs_more_has_its_ends_in_order() -> None:
    ratio = Interval(point=1.2, low=1.1, high=1.3, confidence=0.95, blocks=9)
    own = Measured(now=1000, statement=10, luck=0, ratios={"version": ratio}).saved("version")
    assert own is not None
    assert (own.low, own.point, own.high) == pytest.approx((-300 * exp(SPEED), -200, -100 * exp(-SPEED)))


def test_a_ratio_that_tells_nothing_is_inconclusive_and_has_no_saving() -> None:
    """Resumed connections cost half or twice as much, block by block."""

    def unquiet(levels: Levels, block: int) -> dict[str, float]:
        cost = planted(levels, block)[SERVER_CPU]
        scatter = (8.0 if block % 2 else 0.125) if CaseLevels.of(levels).resumes else 1.0
        return {SERVER_CPU: cost * scatter * (8.0 if CaseLevels.of(levels).resumes else 1.0)}

    own = measured(planted_series(STUDY, unquiet), CHANGES, SERVER_CPU)
    assert own is not None
    assert own.inconclusive == {"resumption"}
    assert own.saved("resumption") is None
    assert own.saved("group") is not None
    assert own.without("resumption").inconclusive == frozenset()


def test_a_ratio_tells_that_is_far_from_none_or_near_enough_to_bound_one() -> None:
    """Resumed connections cost an eighth, give or take half of it; TLS 1.2 a twentieth less or more."""

    def scattered(levels: Levels, block: int) -> dict[str, float]:
        case = CaseLevels.of(levels)
        scatter = 2.0 if case.resumes else 1.1 if case.tls == "1.2" else 1.0
        return {SERVER_CPU: planted(levels, block)[SERVER_CPU] * scatter ** (1 if block % 2 else -1)}

    own = measured(planted_series(STUDY, scattered), CHANGES, SERVER_CPU)
    assert own is not None
    assert own.inconclusive == frozenset()
    far, near = own.ratios["resumption"].ends, own.ratios["version"].ends
    assert far[0] * 3 < far[1] < 1
    assert near[0] < 1 < near[1] < near[0] * 1.5


def test_one_block_alone_tells_nothing() -> None:
    own = measured(planted_series(STUDY, planted, blocks=1), CHANGES, SERVER_CPU)
    assert own is not None
    assert own.ratios == {}
    assert own.inconclusive == set(CHANGES.changed)


def test_a_change_with_no_valid_block_is_inconclusive() -> None:
    def lost(levels: Levels, block: int) -> dict[str, float]:
        return {} if CaseLevels.of(levels).resumes else planted(levels, block)

    own = measured(planted_series(STUDY, lost), CHANGES, SERVER_CPU)
    assert own is not None
    assert own.inconclusive == {"resumption"}
    assert own.saved("resumption") is None


def test_what_a_connection_and_a_statement_cost_now_is_known_beside_the_ratios() -> None:
    own = found()
    assert (own.now, own.statement) == pytest.approx((4000 * 1.04, 50 * 1.04), rel=1e-3)
    assert own.luck == PROCESSES
    assert own.without("group").ratios == {name: it for name, it in own.ratios.items() if name != "group"}


def test_without_a_valid_block_of_what_is_now_nothing_is_known() -> None:
    run = planted_series(STUDY, lambda *_: {})
    assert measured(run, CHANGES, SERVER_CPU) is None


@pytest.mark.parametrize("width", [50, 80, 120])
def test_each_thing_is_printed_in_its_order(width: int) -> None:
    text = advice_text(made_advice(), width=width, colour=False)
    assert max(map(len, text.splitlines())) <= width
    plain = " ".join(text.split())
    wanted = (
        "Watched: 200 connections/s, 2 statements a connection, 120 bytes each",
        "Unsafe: mend first",
        "TLS 1.1 is <b>accepted</b>",
        "plaintext is accepted",
        "1 EC P-256 in place of RSA 4096",
        "−61 % [−64 … −58] of the server's CPU (−2.90 ms [−3.00 … −2.80] a connection), "
        "measured on mysql-9.7",
        "−3.10 ms [−3.30 … −2.90] of a connection's time, measured here",
        "openssl genpkey …",
        "2 P-256 first in the clients' groups",
        "−1 round trip a connection, counted",
        "of the time of a connection inconclusive: too few blocks, or too unquiet",
        "seen: clients are asked for a second ClientHello",
        "3 TLS 1.2 in place of 1.3",
        "+2 % [−1 … +5] of the server's CPU",
        "not advised: it saves less than 5 %",
        "Not measured: x: y.",
        "1,234 connections to the server in all.",
    )
    places = [plain.find(words) for words in wanted]
    assert -1 not in places, wanted[places.index(-1)]
    assert places == sorted(places)
    assert "nothing to paste" not in text
    assert "Nothing to change" not in text


def test_where_nothing_is_worth_it_it_says_so() -> None:
    text = advice_text(made_advice(changes=()), width=80, colour=False)
    assert "Nothing to change" in text


def test_where_nothing_is_advised_the_ranking_says_why() -> None:
    kept = KEY.model_copy(update={"seen": "", "why_not": "no client was seen reconnecting"})
    text = " ".join(advice_text(made_advice(changes=(kept, LITTLE)), width=80, colour=False).split())
    assert "Nothing to change" not in text
    assert "No change is advised; what could be changed says why not." in text
    assert "1 EC P-256 in place of RSA 4096 −61 %" in text
    assert "not advised: no client was seen reconnecting 2 TLS 1.2" in text
    page = advice_html(made_advice(changes=(kept, LITTLE)))
    assert "no client was seen reconnecting" in page


def test_where_clients_get_no_tls_it_says_that_nothing_was_measured() -> None:
    seen = inspected()
    refused = seen.model_copy(
        update={"asked": (seen.asked[0].model_copy(update={"agreed": None}), *seen.asked[1:])}
    )
    text = advice_text(made_advice(changes=(), inspected=refused), width=80, colour=False)
    assert "Nothing to change" not in text
    assert "Nothing was measured, since clients left to themselves get no TLS there" in text


def test_lines_to_paste_are_never_broken() -> None:
    line = "ssl_cipher = " + ":".join(["ECDHE-ECDSA-AES128-GCM-SHA256"] * 9)
    long = KEY.model_copy(update={"steps": (Step(where="my.cnf", lines=("[mysqld]", line)),)})
    text = advice_text(made_advice(changes=(long,)), width=40, colour=False)
    assert f"\n       [mysqld]\n       {line}\n" in text


def test_a_use_that_nobody_knows_is_called_assumed() -> None:
    use = SeenUse(connects_per_s=None, statements=10, answer_bytes=120, source="assumed")
    assert "is not known; assumed are 10 statements" in " ".join(
        advice_text(made_advice(use=use), width=80, colour=False).split()
    )


def test_the_page_stands_alone_and_draws_what_is_left() -> None:
    page = advice_html(made_advice())
    assert "<script" not in page
    assert not re.search(r'(?:src|href)="(?!data:)', page)
    assert "&lt;b&gt;accepted" in page
    assert page.count("<svg") >= 2
    assert "EC P-256 in place of RSA 4096: −61\N{NO-BREAK SPACE}%" in page.replace(
        " %", "\N{NO-BREAK SPACE}%"
    )
    assert page.index("mend first") < page.index("What could be changed, what saves most first")


def test_a_page_without_measurements_has_no_picture() -> None:
    page = advice_html(made_advice(changes=(GROUP,)))
    assert "<svg" not in page
    assert "−1 round trip" in page


SECRETS = ("db7.corp.example", "Corp Root 5", "orders-app", "10.1.2.3", "b" * 64, "jd", "12:34:56")


def secret_advice(server: str = "db7.corp.example:3307") -> Advice:
    own = Certificate.model_validate(
        {
            **certificate().model_dump(),
            "subject": "CN=db7.corp.example,O=jd",
            "issuer": "CN=Corp Root 5",
            "names": ("db7.corp.example", "10.1.2.3"),
            "sha256": "b" * 64,
            "not_after": "2028-01-01T12:34:56+00:00",
        }
    )
    concern = Concern(
        danger="unsafe",
        what="the certificate of CN=db7.corp.example,O=jd ended; orders-app verifies nobody",
        why="so clients of db7.corp.example:3307 refuse it",
        remedy="renew it",
    )
    refused = Asked(topic="version", name="TLS 1.0", why_not="jd has no TLS 1.0 at db7.corp.example")
    found = inspected(
        chain=(own,),
        programs=(program(3).model_copy(update={"program": "orders-app", "client": "libmysql of jd"}),),
    )
    word = ServerWord(
        version="9.7.4-jd",
        tls_library="OpenSSL 3.5.5 jd",
        account_plugin="jd",
        requires_tls=None,
        account_is_encrypted=True,
    )
    found = found.model_copy(
        update={"asked": (refused,), "server": server, "concerns": (concern,), "word": word}
    )
    return made_advice(
        inspected=found,
        not_measured=("times at the server itself: db7.corp.example:3307 has no free connection",),
    )


def test_every_field_is_classified() -> None:
    assert PUBLIC.unclassified(Advice) == []


@pytest.mark.parametrize("server", ["db7.corp.example:3307", "jd:3306", "unsafe:3306", "complete:1"])
def test_no_name_is_left_anywhere(server: str) -> None:
    found = redacted(secret_advice(server))
    text = found.model_dump_json()
    for secret in SECRETS:
        assert secret in secret_advice().model_dump_json()
        assert secret not in text
    assert found.inspected.server == "the server"
    assert found.status == "complete"


def test_what_we_say_of_it_stays() -> None:
    before, after = secret_advice(), redacted(secret_advice())
    assert after.stand_in == before.stand_in == "mysql-9.7"
    assert after.runs == before.runs
    assert after.use == before.use
    assert [own.saving for own in after.advised] == [own.saving for own in before.advised]
    assert [own.why_not for own in after.changes] == [own.why_not for own in before.changes]
    assert "" in {own.why_not for own in after.changes}
    assert after.inspected.chain[0].key == "RSA 2048"
    assert after.inspected.chain[0].not_after[:10] == "2028-01-01"
    assert after.inspected.word.version == "9.7.4"
    assert after.inspected.inside.programs[0].client == "libmysql"


@pytest.mark.parametrize(
    ("seen", "evidence", "said"),
    [
        (inspected(watched=BUSY), NOTHING, "100 connections a second are made for 2 statements each"),
        (inspected(watched=use(30.0, 900.0)), Evidence(LIKE_IT, None), "it saves less than 5 %"),
        (inspected(watched=BUSY), Evidence(WIDE, None), "it may save less than 5 %"),
        (inspected(watched=BUSY), Evidence(LIKE_IT, None), "it costs more"),
        (inspected(), Evidence(BLURRED, None), "what it saves of the server's CPU is inconclusive"),
        (inspected(), NOTHING, "what it saves of the server's CPU was not measured"),
        (inspected(), Evidence(LIKE_IT, None), "whether clients reconnect could not be seen"),
        (
            inspected(chain=(certificate("RSA 4096"),), programs=(program(3, compression=True),)),
            Evidence(LIKE_IT, None),
            "3 connections compress what they send",
        ),
    ],
)
def test_what_is_said_of_changes_is_public(seen: InspectedServer, evidence: Evidence, said: str) -> None:
    own = ranked(seen, evidence)
    assert said in {text for one in own for text in (one.seen, one.why_not)}
    assert redacted(made_advice(changes=own)).changes == own


@pytest.mark.parametrize("why", ["is like it", "can have a key of RSA 1024"])
def test_why_nothing_was_measured_is_public(why: str) -> None:
    said = (f"the server's CPU time: no private server {why}",)
    assert redacted(made_advice(not_measured=said)).not_measured == said


def test_a_program_that_is_no_known_driver_is_left_out() -> None:
    own = PUBLIC.of(program(3).model_copy(update={"client": "orders of jd"}))
    assert (own.client, own.program) == ("(left out)", "(left out)")
    assert (own.transport, own.tls, own.connections) == ("SSL/TLS", "TLSv1.3", 3)


@pytest.mark.parametrize(
    ("ends", "public"),
    [
        ("2028-01-01T12:34:56+00:00", "2028-01-01T00:00:00+00:00"),
        ("when jd says", "1970-01-01T00:00:00+00:00"),
        ("", ""),
    ],
)
def test_of_a_certificate_s_end_the_day_stays(ends: str, public: str) -> None:
    assert PUBLIC.of(certificate().model_copy(update={"not_after": ends})).not_after == public


@pytest.mark.parametrize(
    ("name", "stays"),
    [("TLS 1.0", True), ("x448", True), ("AES128-SHA", True), ("ECDHE with AES-GCM", True), ("jd", False)],
)
def test_what_the_server_was_asked_for_stays_by_its_public_name(name: str, stays: bool) -> None:
    (asked,) = PUBLIC.of(
        secret_advice().inspected.model_copy(update={"asked": (Asked(topic="suite", name=name),)})
    ).asked
    assert asked.name == (name if stays else "(left out)")


def test_the_lines_to_paste_stay() -> None:
    for change in ("certificate", "resumption", "group", "pool", "version", "chain", "compression"):
        for version in ("9.7.4", "11.8.3-MariaDB"):
            steps = steps_for(change, version, all_programs())  # type: ignore[arg-type]
            for step in steps:
                assert PUBLIC.of(step) == step
