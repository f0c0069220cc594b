"""HelloRetryRequests: who met them is counted, a planted cost is found exactly, and a planted nothing not."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from io import StringIO

import pytest

from fake_trials import Truth, fake_run, reconnecting
from tlstax.contract import PhaseWire
from tlstax.plan.order import cases, plan
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.report.formats.markdown import markdown
from tlstax.report.formats.terminal import terminal
from tlstax.report.page.html import html
from tlstax.report.run_tables import csv_table
from tlstax.results.document import RunDocument
from tlstax.results.rows import Row, Told
from tlstax.study import Case, Study, load_study, override
from tlstax.study.labels import full_label
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline
from tlstax.topics.hello_retry import AVOIDED, COST, KIND, RETRIED, command, remedy

STUDY = load_study("hello-retry")
NEAR = override(override(STUDY, "rtt_ms", ["45"]), "client_tls_library", ["openssl-3.5.5"])
CONNECT_US, ROUND_TRIPS, BYTES = 2_000.0, 1, 3_000
SERVER_US, CLIENT_US = 900.0, 300.0
RETRY_SERVER_US, RETRY_CLIENT_US, RETRY_BYTES = 60.0, 15.0, 450
"""What is so in the fake world: a connection without a retry, and what a retry adds beside a round trip."""


def is_retried(case: Case) -> bool:
    levels = case.levels
    return (levels["server"], levels["fault"], levels["group"]) == ("mysql-9.7", "none", "default")


def group_of(case: Case) -> str:
    levels = case.levels
    if levels["group"] in {"P-256", "P-256-first"} or is_retried(case):
        return "secp256r1"
    return "x25519" if levels["group"] == "X25519" else "X25519MLKEM768"


def costly(case: Case) -> Truth:
    return truth(case, RETRY_SERVER_US, RETRY_CLIENT_US)


def free(case: Case) -> Truth:
    """A world in which being asked again costs nothing at all."""
    return truth(case, 0.0, 0.0, round_trips=0)


def truth(case: Case, server_us: float, client_us: float, round_trips: int = 1) -> Truth:
    retried = is_retried(case)
    rtt_us = float(case.levels["rtt_ms"]) * 1000
    connect_us = CONNECT_US + (5 + round_trips * retried) * rtt_us
    base = reconnecting(
        4_000.0, SERVER_US + server_us * retried, CLIENT_US + client_us * retried, handshake=0.5
    )
    return replace(base, phase_us={**base.phase_us, "connect": connect_us}, hello_retry=retried)


def on_the_wire(record: TrialRecord, *, counted: bool = True) -> TrialRecord:
    """The same trial with its case's group and, where the client counts, with what a handshake sent."""
    done = record.done
    assert done is not None
    case = record.trial.case
    retried = is_retried(case)
    handshakes = tuple(
        h.model_copy(update={"group": group_of(case), "hello_retry": retried})
        for h in done.lifetime.handshakes
    )
    wire = PhaseWire(
        times=done.operations,
        round_trips=(ROUND_TRIPS + retried) * done.operations,
        bytes_sent=500 * done.operations,
        bytes_received=(BYTES - 500 + RETRY_BYTES * retried) * done.operations,
    )
    update = {
        "lifetime": done.lifetime.model_copy(update={"handshakes": handshakes}),
        "phase_wire": {"tls_handshake": wire} if counted else {},
    }
    return record.model_copy(update={"done": done.model_copy(update=update)})


def run_of(
    study: Study, *, noise: float = 0.0, blocks: int = 2, of: Callable[[Case], Truth] = costly
) -> StoredRun:
    made = fake_run(study, number_of_blocks=blocks, noise=noise, truth=of, invalid=False)
    return made.model_copy(update={"trials": tuple(map(on_the_wire, made.trials))})


@cache
def run() -> StoredRun:
    return run_of(STUDY)


@cache
def shown() -> RunDocument:
    return document(run())


def retries(found: RunDocument) -> Told:
    return found.topics["hello_retry"]


def avoided(found: Told, role: str = COST, *, rtt_ms: int, fault: str, group: str) -> dict[str, Row]:
    """What there is beside the retried case at that distance, of the case that avoids it so, by outcome."""
    wanted = {"fault": fault, "group": group}.items()
    first = next(row.case for row in found.of(role=RETRIED) if row.case["rtt_ms"] == rtt_ms)
    return {
        row.outcome: row
        for row in found.of(role=role)
        if row.case == first and wanted <= row.baseline.items()
    }


def extra(cost: Row) -> float:
    assert cost.interval is not None
    return cost.interval.point


def test_the_study_names_its_cases_apart_and_fits_ten_minutes() -> None:
    named = [full_label(case, STUDY) for case in cases(STUDY)]
    assert len(set(named)) == len(named)
    assert plan(STUDY).estimated_s < 13 * 60


def test_a_planted_cost_is_found_exactly() -> None:
    for rtt_ms in (0, 45, 170):
        found = avoided(retries(shown()), rtt_ms=rtt_ms, fault="none", group="P-256-first")
        server = found["server_cpu_us_per_connection"]
        assert (server.word("avoided_by"), server.word("agreed_group")) == ("client", "P-256")
        assert server.label == "P-256 first"
        assert extra(found["tls_handshake_round_trips"]) == pytest.approx(1.0)
        assert extra(found["tls_handshake_bytes"]) == pytest.approx(RETRY_BYTES)
        assert extra(server) == pytest.approx(RETRY_SERVER_US)
        assert (server.value, server.baseline_value) == (
            pytest.approx(SERVER_US + RETRY_SERVER_US),
            pytest.approx(SERVER_US),
        )
        assert extra(found["client_cpu_us_per_connection"]) == pytest.approx(RETRY_CLIENT_US)
        # The 3 digits of a histogram are all that blurs it.
        assert extra(found["connect_p50_us"]) == pytest.approx(rtt_ms * 1000, rel=0.01, abs=5)
        judged = {name: row.judgement for name, row in found.items()}
        assert judged.pop("connect_p50_us") == ("higher" if rtt_ms else "alike")
        assert set(judged.values()) == {"higher"}


def test_a_planted_cost_is_found_in_noise_with_the_truth_in_its_interval() -> None:
    noisy = retries(document(run_of(NEAR, noise=0.004, blocks=8)))
    found = avoided(noisy, rtt_ms=45, fault="none", group="P-256-first")["server_cpu_us_per_connection"]
    assert (found.judgement, found.blocks) == ("higher", 8)
    interval = found.interval
    assert interval is not None
    assert interval.low is not None
    assert interval.high is not None
    assert interval.low < RETRY_SERVER_US < interval.high


def test_a_planted_nothing_is_not_found() -> None:
    nothing = retries(document(run_of(NEAR, noise=0.01, blocks=8, of=free)))
    found = avoided(nothing, rtt_ms=45, fault="none", group="P-256-first")
    judged = {name: row.judgement for name, row in found.items() if row.unit == "us"}
    assert len(judged) == 3
    assert set(judged.values()) == {"alike"}, judged


def test_every_handshake_of_a_valid_trial_is_counted_by_its_kind() -> None:
    stored = run()
    kinds = retries(shown()).of(role=KIND)
    made = sum(h.count for r in stored.trials if r.done for h in r.done.lifetime.handshakes)
    assert sum(kind.baseline_value or 0 for kind in kinds) == made
    asked = [kind for kind in kinds if kind.value]
    names = ("server_words", "offered_group", "agreed_group")
    assert {tuple(map(kind.word, names)) for kind in asked} == {("mysql-9.7", "default", "P-256")}
    assert all(kind.value == kind.baseline_value for kind in asked)
    broken = stored.trials[0].model_copy(
        update={"verdict": stored.trials[0].verdict.model_copy(update={"value": "invalid"})}
    )
    fewer = document(stored.model_copy(update={"trials": (broken, *stored.trials[1:])}))
    assert sum(kind.baseline_value or 0 for kind in retries(fewer).of(role=KIND)) < made


def test_what_a_server_could_give_stands_beside_the_remedy() -> None:
    (found,) = avoided(retries(shown()), AVOIDED, rtt_ms=170, fault="groups-lifted", group="default").values()
    assert (found.word("avoided_by"), found.word("agreed_group")) == ("server", "X25519MLKEM768")
    assert found.label == "its TLS groups lifted (a variant of ours), groups as the client chooses"
    assert "fault" not in " ".join(retries(shown()).sentences)
    assert "planted" not in " ".join(retries(shown()).sentences)


def test_it_is_said_in_sentences() -> None:
    found = retries(shown())
    said = "\n".join(found.sentences)
    assert said.startswith("mysql-9.7 asked for a second ClientHello (HelloRetryRequest) in all ")
    assert "they agreed on P-256, for which the client had sent no key share" in said
    assert (
        "client over openssl-3.5.5, 170 ms away: with P-256 first, a connection costs 1 round trip, " in said
    )
    assert (
        "450 bytes, 169.9 ms of median connect time, 60 µs of server CPU and 15 µs of client CPU less" in said
    )
    assert said.index("on the same machine") < said.index("45 ms away") < said.index("170 ms away")
    assert "mariadb-11.8 needed no HelloRetryRequest in " in said
    assert any("`Groups = P-256:X25519:P-384:P-521`" in words for words in remedy(found.rows))
    assert not command(found.rows)


def test_a_study_of_groups_is_answered_with_it_and_says_it_once() -> None:
    found = shown()
    assert headline(found) == list(retries(found).sentences)
    for text in (terminal(run(), found), markdown(run(), found)):
        assert " ".join(text.split()).count("asked for a second ClientHello (HelloRetryRequest)") == 1


ALONE = override(override(STUDY, "group", ["default"]), "fault", ["none"])


def test_without_a_remedy_in_the_run_it_tells_how_to_measure_one() -> None:
    found = retries(document(run_of(ALONE)))
    assert found.of(role=AVOIDED) == ()
    assert command(found.rows) == "tlstax study run hello-retry"
    said = "\n".join(found.sentences)
    assert "such a handshake took 2 round trips, one of them for this (RFC 8446, section 4.1.4)" in said
    assert "45 ms or 170 ms of every connection here" in said
    assert "needed no" not in said, "only a study that asks is told of those who need nothing"


def test_a_client_that_counts_nothing_on_the_wire_is_no_hindrance() -> None:
    made = fake_run(ALONE, number_of_blocks=2, truth=costly, invalid=False)
    silent = tuple(on_the_wire(record, counted=False) for record in made.trials)
    found = retries(document(made.model_copy(update={"trials": silent})))
    assert "it costs a handshake a round trip, whatever the distance" in "\n".join(found.sentences)
    assert found.of(role=RETRIED)[0].number("handshake_round_trips") is None


def test_where_nobody_was_asked_nothing_is_said_unless_the_study_asks() -> None:
    alone = {"server": "mariadb-11.8", "fault": "none", "group": "default"}
    calm = NEAR.model_copy(update={"baseline": alone, "treatments": (alone,)})
    assert "hello_retry" not in document(run_of(calm)).topics
    asking = NEAR.model_copy(
        update={"baseline": alone, "treatments": (alone, {**alone, "group": "P-256-first"})}
    )
    found = retries(document(run_of(asking)))
    assert found.of(role=RETRIED) == ()
    assert (remedy(found.rows), command(found.rows)) == ((), "")
    assert len(found.sentences) == 1
    assert found.sentences[0].startswith("mariadb-11.8 needed no HelloRetryRequest in ")


def test_every_format_tells_of_it() -> None:
    stored = run_of(NEAR)
    found = document(stored)
    texts = {
        "terminal": terminal(stored, found),
        "page": html(stored, found),
        "markdown": markdown(stored, found),
    }
    for name, text in texts.items():
        flat = " ".join(text.split())
        assert "asked for a second ClientHello" in flat, name
        assert "P-256 first" in flat, name
        assert "OPENSSL_CONF" in flat.replace("\\", ""), name
    rows = list(csv.DictReader(StringIO(csv_table(found))))
    costs = [
        row for row in rows if row["role"] == "hello retry cost" and row["baseline_group"] == "P-256-first"
    ]
    assert {row["outcome"] for row in costs} >= {"tls_handshake_round_trips", "connect_p50_us"}
    trips = [row for row in costs if row["outcome"] == "tls_handshake_round_trips"]
    assert {float(row["difference"]) for row in trips} == {1.0}
    assert RunDocument.model_validate_json(found.model_dump_json(by_alias=True)) == found


def test_a_default_run_tells_it_in_a_short_paragraph() -> None:
    """MySQL 9.7 asks in every TLS 1.3 handshake of the built-in study `tax`, resumed ones among them."""
    stored = fake_run(invalid=False, number_of_blocks=2)
    text = terminal(stored, document(stored))
    start = text.index("HelloRetryRequest: when")
    paragraph = text[start : text.index("\n\nServer", start)]
    assert len(paragraph.split("\n")) < 24
    assert "resumed TLS 1.3 handshakes" in " ".join(paragraph.split())
