"""What connections to PostgreSQL cost is the sum of their own parts, and what is not there is refused."""

from __future__ import annotations

import pytest

from fake_trials import Truth, fake_header, fake_record, fake_run
from planted_parts import PLANTED_AT_POSTGRESQL, cost_of
from tlstax.plan.order import blocks
from tlstax.plan.prediction_studies import DrawnMix, calibration_mixes, validation_study
from tlstax.records.trial import StoredRun
from tlstax.results.rows import Row
from tlstax.stats.series import BlockRow
from tlstax.study import Case, Level, load_study, override
from tlstax.study.factors import CaseLevels
from tlstax.study.mixes import Mix
from tlstax.support.errors import UserMistake
from tlstax.topics.core.topic import Run
from tlstax.topics.prediction.model import (
    CLIENT_CPU,
    CONNECT_ROUND_TRIPS,
    PATH_CPU,
    QUERY_ROUND_TRIPS,
    RECEIVED,
    ROUND_TRIPS,
    SENT,
    SERVER_CPU,
    TIME,
    Calibrated,
    Origin,
    calibrated,
    calibration_of,
    measured_mixes,
    study_of,
)
from tlstax.topics.prediction.other_machines import SHARES, scaled, unscaled
from tlstax.topics.prediction.parts import of_path, part_words, parts_of, statements_alone
from tlstax.topics.prediction.prediction import (
    Prediction,
    in_the_clear,
    mix_words,
    prediction,
    prediction_text,
)
from tlstax.topics.prediction.validation import COST, TOPIC, predictions

STUDY = load_study("postgres-components")
ORIGIN = Origin.of(fake_header(STUDY))


def mix(**fields: object) -> Mix:
    return Mix.model_validate({"product": "postgresql", "statements": 1, "answer_bytes": 512, **fields})


def round_trips(own: Mix) -> float:
    """Of a connect: TCP, SCRAM's three with the start-up or one, SSLRequest, and the handshake's."""
    login = {"trust": 1, "cert": 1, "md5": 2, "password": 2}.get(own.auth, 3)
    handshake = {"off": 0, "1.2": 3, "1.3": 2, "1.3-direct": 1}[own.tls]
    return 1 + login + handshake


def row(levels: dict[str, Level], connections: int) -> BlockRow:
    of_case = CaseLevels.of({"server": "postgresql-18", **levels, "connections": connections})
    own = Mix.of(of_case, "postgresql")
    assert own is not None
    cost_us, carried = cost_of(parts_of(own)), of_path(parts_of(own))
    values = {
        SERVER_CPU: cost_us,
        CLIENT_CPU: cost_us / 2,
        **({PATH_CPU: 2 * cost_of(carried)} if carried else {}),
        TIME: 3 * cost_us,
        SENT: 300.0 + 60 * own.statements,
        RECEIVED: 300.0 + own.statements * (80 + own.answer_bytes),
        CONNECT_ROUND_TRIPS: round_trips(own),
        QUERY_ROUND_TRIPS: 1.0,
    }
    return BlockRow("treatment", of_case, 1, "", values, {})


def model() -> Calibrated:
    rows = [row(dict(levels), connections) for levels in STUDY.treatments for connections in (1, 4)]
    return calibration_of(ORIGIN, measured_mixes(rows, STUDY.baseline))


def value(found: Prediction, outcome: str, role: str = "connection", label: str = "") -> float:
    own = found.of(role, label)[outcome].value
    assert own is not None
    return own


def test_the_study_tells_all_parts_apart_and_finds_what_was_planted() -> None:
    found = model()
    seen = dict(zip(found.busy[SERVER_CPU].names, found.busy[SERVER_CPU].costs, strict=True))
    for path in ("pgbouncer", "stunnel"):
        fit = found.through[path].busy[SERVER_CPU]
        seen |= dict(zip(fit.names, fit.costs, strict=True))
    assert seen.keys() == PLANTED_AT_POSTGRESQL.keys()
    for name, cost_us in seen.items():
        assert cost_us == pytest.approx(PLANTED_AT_POSTGRESQL[name], rel=1e-6), name


def test_a_connection_is_a_process_a_proof_of_the_account_and_a_question_for_tls() -> None:
    own = mix(statements=2, answer_bytes=512)
    assert parts_of(own) == {
        "connection": 1,
        "statement": 2,
        "KiB": 1,
        "login scram-sha-256": 1,
        "login scram-sha-256-plus under TLS": 1,
        "SSLRequest": 1,
        "TLS 1.3": 1,
        "statement under TLS": 2,
        "KiB under TLS": 1,
    }
    assert parts_of(own).keys() - parts_of(own.but(tls="1.3-direct")).keys() == {"SSLRequest"}
    assert parts_of(own.but(tls="1.2")).keys() - parts_of(own).keys() == {"TLS 1.2"}
    assert parts_of(own.but(auth="scram-sha-256-plus")) == parts_of(own)
    unbound = parts_of(own.but(auth="scram-sha-256"))
    assert parts_of(own).keys() ^ unbound.keys() == {
        *("login scram-sha-256-plus under TLS", "login scram-sha-256 under TLS"),
    }
    assert not any(name.startswith("login") and "TLS" in name for name in parts_of(own.but(tls="off")))
    assert parts_of(own.but(tls="off", auth="trust")).keys() == {"connection", "statement", "KiB"}
    by_certificate = parts_of(own.but(auth="cert", client_certificate="on"))
    assert {"login cert", "client rsa-2048"} <= by_certificate.keys()
    assert [name for name in by_certificate if name.startswith("login")] == ["login cert"]


def test_preparing_and_values_beside_the_table_are_parts() -> None:
    prepared = parts_of(mix(tls="off", protocol="prepared", statements=5))
    assert (prepared["preparing"], prepared["statement prepared"]) == (1, 5)
    assert "preparing" not in statements_alone(mix(tls="off", protocol="prepared", statements=5))
    large = parts_of(mix(tls="off", statements=5, answer_bytes=2001))
    assert (large["large values"], large["statement of a large value"]) == (1, 5)
    assert "large values" not in parts_of(mix(tls="off", answer_bytes=2000))
    beyond = parts_of(mix(tls="off", statements=2, answer_bytes=20 << 10))
    assert beyond["KiB beyond 16"] == 8
    assert beyond["buffer KiB"] == 4, "the memory of an answer is new once"
    assert "buffer KiB" not in statements_alone(mix(tls="off", statements=2, answer_bytes=(256 << 10) - 1))


def test_memory_of_a_quarter_of_a_mebibyte_is_new_with_each_statement() -> None:
    own = mix(tls="off", statements=3, answer_bytes=256 << 10)
    assert parts_of(own)["buffer KiB"] == statements_alone(own)["buffer KiB"] == 3 * 240


def test_a_pool_has_nothing_of_the_servers_own_connection_and_a_tunnel_adds() -> None:
    pooled = parts_of(mix(tls="off", path="pgbouncer", statements=9, answer_bytes=4096))
    assert pooled == {
        "connection through pgbouncer": 1,
        "statement through pgbouncer": 8,
        "statement beyond 8 through pgbouncer": 1,
        "KiB through pgbouncer": 36,
        "statement of a large value": 9,
    }
    through = parts_of(mix(tls="off", path="stunnel"))
    assert {"connection", "connection through stunnel", "login scram-sha-256"} <= through.keys()
    found = prediction(model(), mix(tls="off", path="pgbouncer"))
    assert value(found, SERVER_CPU) == pytest.approx(60 + 28 + 0.55)
    assert value(found, PATH_CPU) == pytest.approx(2 * (60 + 28 + 0.55))
    assert value(found, SERVER_CPU, "in the clear") == pytest.approx(300 + 90 + 40 + 0.75)


def test_tls_that_begins_at_once_saves_a_round_trip_and_the_question() -> None:
    found = prediction(model(), mix(), rtt_ms=10)
    assert value(found, ROUND_TRIPS) == pytest.approx(7)
    words = "TLS begun at once (sslnegotiation=direct)"
    assert value(found, ROUND_TRIPS, "difference", words) == pytest.approx(-1)
    assert value(found, SERVER_CPU, "difference", words) == pytest.approx(-12)
    assert value(found, TIME, "difference", words) == pytest.approx(-10_000 - 36)
    remedies = {own.word("remedy") for own in found.rows if own.role == "change"}
    assert remedies == {"pool", "direct TLS", "certificate", "version"}
    assert value(prediction(model(), mix(protocol="prepared")), ROUND_TRIPS) == pytest.approx(8)
    many = prediction(model(), mix(tls="1.3-direct", statements=4, group="default"))
    assert {own.word("remedy") for own in many.rows if own.role == "change"} == {
        *("pool", "protocol", "certificate", "version", "group"),
    }


def test_what_proves_the_account_in_tls_alone_is_set_beside_scram_in_the_clear() -> None:
    assert in_the_clear(mix(auth="cert", client_certificate="on")) == mix(tls="off")
    assert in_the_clear(mix(auth="password")) == mix(tls="off")
    assert in_the_clear(mix(auth="md5", protocol="prepared")) == mix(
        tls="off", auth="md5", protocol="prepared"
    )


def test_the_text_names_them() -> None:
    own = mix(tls="1.3-direct", protocol="prepared", statements=3, answer_bytes=4096)
    assert mix_words(own) == "TLS 1.3 begun at once, RSA 2048, P-256, 3 prepared statements of 4,096 bytes"
    text = " ".join(prediction_text(prediction(model(), own), width=120, colour=False).split())
    for words in (
        "the account, proved by scram-sha-256 90.0 µs",
        "the account, proved by scram-sha-256-plus: more under TLS",
        "preparing the statement",
        "3 × statement that is prepared, in place of text",
        "the first look at values kept beside the table (TOAST)",
    ):
        assert words in text
    assert part_words("SSLRequest") == "the question for TLS, and its answer (SSLRequest)"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"resumption": "on"}, "PostgreSQL resumes no TLS session"),
        ({"compression": "zlib"}, "PostgreSQL's protocol has no compression"),
        ({"auth": "mysql_native_password"}, "mysql_native_password"),
        ({"auth": "cert"}, "client_certificate = on"),
        ({"auth": "password", "tls": "off"}, "anybody can read it"),
        ({"path": "router-encrypt", "tls": "off"}, "router-encrypt is not among"),
        ({"path": "pgbouncer", "tls": "off", "auth": "trust"}, "what SCRAM tells it"),
        ({"path": "pgbouncer"}, "what TLS costs through pgbouncer is not known"),
        ({"path": "stunnel", "tls": "off", "protocol": "prepared"}, "what preparing costs through stunnel"),
    ],
)
def test_what_there_is_not_at_postgresql_is_no_mix(fields: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        mix(**fields)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"tls": "1.3-direct"}, "begin in the clear"),
        ({"protocol": "prepared"}, "measured at PostgreSQL alone"),
        ({"auth": "scram-sha-256"}, "scram-sha-256 is not among"),
        ({"tls": "off", "path": "pgbouncer"}, "pgbouncer is not among"),
    ],
)
def test_what_postgresql_alone_has_is_no_mix_elsewhere(fields: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Mix.model_validate({"statements": 1, "answer_bytes": 1, **fields})


def test_a_mix_is_the_levels_of_its_case() -> None:
    own = mix(tls="1.3-direct", auth="md5", protocol="prepared", statements=4)
    case = CaseLevels.of({"server": "postgresql-18", **own.levels()})
    assert Mix.of(case, "postgresql") == own
    assert not {"resumption", "compression"} & own.levels().keys()
    assert Mix.of(case) is None, "TLS begins at once at PostgreSQL alone"
    elsewhere = Mix(statements=1, answer_bytes=1)
    assert "protocol" not in elsewhere.levels()
    assert Mix.of(CaseLevels.of({**elsewhere.levels(), "protocol": "prepared"})) is None
    assert "product" not in elsewhere.model_dump()


def test_what_was_not_measured_names_the_study_that_would() -> None:
    with pytest.raises(UserMistake, match="key mldsa65") as caught:
        prediction(model(), mix(certificate="mldsa65"))
    assert "key rsa-4096" in str(caught.value.remedy)
    few = measured_mixes([row(dict(levels), 1) for levels in STUDY.treatments[:2]], STUDY.baseline)
    with pytest.raises(UserMistake, match="2 mixes") as caught:
        calibration_of(ORIGIN, few)
    assert caught.value.remedy == "run `tlstax study run postgres-components` to its end"
    assert [study_of(own) for own in ("postgresql-15", "mariadb-11.8", None)] == [
        *("postgres-components", "components", "components"),
    ]


def test_parts_of_another_machine_are_scaled_by_its_own_mixes() -> None:
    there = model()
    rows = [row(own.levels(), at) for own in calibration_mixes("postgresql-17") for at in (1, 4)]
    slower = [
        BlockRow(own.role, own.levels, 1, "", {name: 2 * cost for name, cost in own.values.items()}, {})
        for own in rows
    ]
    here = measured_mixes(slower, calibration_mixes("postgresql-17")[0].levels())
    found = scaled(there, here, ORIGIN)
    assert found.scaling is not None
    assert (found.scaling.mixes, found.scaling.speed) == (
        len(calibration_mixes("postgresql-17")),
        pytest.approx(2),
    )
    own = mix(protocol="prepared", statements=8, answer_bytes=4096)
    cost_us = found.busy[SERVER_CPU].cost(parts_of(own)).point
    assert cost_us == pytest.approx(2 * cost_of(parts_of(own)), rel=0.01)
    off = unscaled(there).busy[SERVER_CPU].cost({"preparing": 1})
    low, high = off.ends
    assert high - low > 2 * SHARES["clear"] * 45, "it is one of those in the clear"
    text = prediction_text(prediction(found, own), width=200, colour=False)
    assert "tlstax study run postgres-components" in text


def told_costs(run: StoredRun) -> list[Row]:
    return TOPIC.told(Run(run)).of(role=COST)


def test_predictions_are_held_against_what_was_measured() -> None:
    known, new = calibration_mixes("postgresql-18")[0], mix(tls="1.3-direct", auth="md5", statements=5)
    mixes = (DrawnMix(known, 0.0), DrawnMix(new, 0.0))
    study = validation_study(STUDY, mixes[:1], mixes[1:], 60.0)
    header = fake_header(study).model_copy(update={"predictions": predictions(model(), mixes)})

    def truth(case: Case) -> Truth:
        own = Mix.of(case.levels, "postgresql")
        assert own is not None
        cost_us = cost_of(parts_of(own)) * (1.2 if own == new else 1.0)
        times = {"connect": 1.5 * cost_us, "query": 1.5 * cost_us, "operation": 3 * cost_us}
        return Truth(case.levels.connections * 1e6 / (3 * cost_us), times, cost_us, cost_us / 2)

    trials = [fake_record(trial, truth(trial.case)) for trial in next(iter(blocks(study, header.seed)))]
    found = told_costs(StoredRun(header=header, status="complete", trials=tuple(trials)))
    (server,) = (own for own in found if own.outcome == SERVER_CPU)
    assert server.ratio.point == pytest.approx(1.2, rel=1e-3)
    assert "TLS 1.3 begun at once" in server.label
    assert "md5" in server.label


def test_a_run_of_the_study_becomes_parts() -> None:
    def truth(case: Case) -> Truth:
        own = Mix.of(case.levels, "postgresql")
        assert own is not None
        cost_us = cost_of(parts_of(own))
        times = {"connect": cost_us / 2, "query": cost_us / 2, "operation": cost_us}
        return Truth(1e6 / cost_us, times, cost_us, cost_us / 2)

    direct = override(STUDY, "path", ["direct"])
    found = calibrated(fake_run(direct, number_of_blocks=2, noise=0.0, truth=truth, invalid=False))
    new = mix(tls="1.2", certificate="rsa-3072", auth="md5", statements=7, answer_bytes=3000)
    assert found.busy[SERVER_CPU].predicted(parts_of(new)).point == pytest.approx(
        cost_of(parts_of(new)), rel=1e-3
    )


def test_how_long_several_take_at_once_is_not_fitted_where_a_path_does_not_tell() -> None:
    rows = [row(dict(levels), connections) for levels in STUDY.treatments for connections in (1, 4)]
    waiting = [
        BlockRow(own.role, own.levels, 1, "", {name: v for name, v in own.values.items() if name != TIME}, {})
        if own.levels.connections == 4 and own.levels.path == "pgbouncer"
        else own
        for own in rows
    ]
    found = calibration_of(ORIGIN, measured_mixes(waiting, STUDY.baseline)).through["pgbouncer"]
    assert TIME not in found.busy
    assert TIME in found.alone
    assert SERVER_CPU in found.busy
    assert TIME in model().through["pgbouncer"].busy, "where each path tells, it is"


def test_what_some_mixes_lack_is_fitted_to_the_others() -> None:
    rows = [row(dict(levels), 4) for levels in STUDY.treatments]
    first, *others = measured_mixes(rows, STUDY.baseline)
    sent = {name: value for name, value in first.values.items() if name != SENT}
    found = calibration_of(ORIGIN, (first.model_copy(update={"values": sent}), *others))
    assert found.busy[SENT].cost({"statement": 1}).point == pytest.approx(
        model().busy[SENT].cost({"statement": 1}).point, rel=1e-3
    )
