"""A prediction is the sum of its parts, over the distance and at the rate asked for."""

from __future__ import annotations

import pytest

from fake_trials import Truth, fake_header, fake_record
from planted_parts import cost_of
from tlstax.plan.order import cases
from tlstax.plan.prediction_studies import DrawnMix
from tlstax.records.trial import StoredRun, Trial
from tlstax.results.interval import Interval
from tlstax.stats.series import BlockRow
from tlstax.study import Level, load_study
from tlstax.study.factors import CaseLevels
from tlstax.study.mixes import Mix
from tlstax.support.errors import UserMistake
from tlstax.topics.prediction.model import (
    CLIENT_CPU,
    CONNECT_ROUND_TRIPS,
    PATH_CPU,
    QUERY_ROUND_TRIPS,
    RATE,
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
    mixes_of,
)
from tlstax.topics.prediction.parts import of_path, parts_of
from tlstax.topics.prediction.prediction import (
    AROUND_A_ROUND_TRIP,
    CORES,
    FIRST_ROW,
    Prediction,
    outside,
    prediction,
    prediction_text,
)
from tlstax.topics.prediction.validation import predictions

STUDY = load_study("components")

ORIGIN = Origin.of(fake_header(STUDY))

AT_ONCE = {1: 2.0, 4: 1.0}
"""One connection at a time costs twice as much CPU time, in this world."""


def cost(mix: Mix) -> float:
    return cost_of(parts_of(mix))


def values_of(mix: Mix, connections: int) -> dict[str, float]:
    carried = of_path(parts_of(mix))
    round_trips = 3.0 + (mix.tls == "1.3") + 2 * (mix.tls == "1.2") + (mix.group == "default")
    return {
        SERVER_CPU: cost(mix) * AT_ONCE[connections],
        CLIENT_CPU: cost(mix) / 2,
        **({PATH_CPU: 2 * cost_of(carried)} if carried else {}),
        TIME: cost(mix) * 3,
        SENT: 500.0 + 60 * mix.statements + (0 if mix.tls == "off" else 700),
        RECEIVED: 300.0 + mix.statements * (80 + mix.answer_bytes),
        CONNECT_ROUND_TRIPS: round_trips,
        QUERY_ROUND_TRIPS: 1.0,
    }


def row(levels: dict[str, Level], connections: int, block: int) -> BlockRow:
    mix = Mix.of(CaseLevels.of(levels))
    assert mix is not None
    of_case = CaseLevels.of({**levels, "connections": connections})
    return BlockRow("treatment", of_case, block, "", values_of(mix, connections), {})


def rows() -> list[BlockRow]:
    return [
        row(dict(levels), connections, block)
        for levels in STUDY.treatments
        for connections in (1, 4)
        for block in (1, 2, 3)
    ]


def model() -> Calibrated:
    return calibration_of(ORIGIN, measured_mixes(rows(), STUDY.baseline))


NEW = Mix(certificate="rsa-4096", group="default", statements=10, answer_bytes=2048)


def value(found: Prediction, outcome: str, role: str = "connection", label: str = "") -> float:
    """What a row of the prediction has."""
    own = found.of(role, label)[outcome].value
    assert own is not None
    return own


def ends(found: Prediction, outcome: str) -> Interval:
    own = found.of("connection")[outcome].interval
    assert own is not None
    return own


def changes(found: Prediction, outcome: str, role: str = "difference") -> dict[str, float]:
    """By how much each change makes an outcome more, by its remedy, in the order of the prediction."""
    rows = [own for own in found.rows if (own.role, own.outcome) == (role, outcome)]
    return {own.word("remedy"): own.interval.point if own.interval else own.value or 0.0 for own in rows}


def test_cpu_time_is_that_of_a_busy_server_and_time_that_of_one_alone() -> None:
    found = prediction(model(), NEW)
    assert value(found, SERVER_CPU) == pytest.approx(cost(NEW))
    assert value(found, CLIENT_CPU) == pytest.approx(cost(NEW) / 2)
    assert value(found, TIME) == pytest.approx(cost(NEW) * 3)
    assert value(found, FIRST_ROW) == pytest.approx(cost(NEW.but(statements=1)) * 3)
    assert ends(found, SERVER_CPU).blocks == 3


def test_every_row_has_its_outcome_and_unit() -> None:
    found = prediction(model(), THROUGH, connects_per_s=200)
    assert {own.outcome for own in found.rows if own.role == "part"} == {SERVER_CPU}
    assert {own.unit for own in found.rows if own.role == "ratio"} == {"1"}
    assert {own.outcome: own.unit for own in found.of("connection").values()} == {
        **dict.fromkeys((SERVER_CPU, CLIENT_CPU, PATH_CPU, TIME, FIRST_ROW), "us"),
        **dict.fromkeys((SENT, RECEIVED), "bytes"),
        **dict.fromkeys((ROUND_TRIPS, CORES), "1"),
    }


def test_a_round_trip_takes_as_long_as_the_distance_says() -> None:
    here, away = prediction(model(), NEW), prediction(model(), NEW, rtt_ms=45)
    assert value(here, ROUND_TRIPS) == pytest.approx(15)
    assert value(away, TIME) - value(here, TIME) == pytest.approx(15 * 45_000)
    assert value(away, FIRST_ROW) - value(here, FIRST_ROW) == pytest.approx(6 * 45_000)
    assert ends(away, SERVER_CPU) == ends(here, SERVER_CPU)
    (low, high), (low_here, high_here) = (
        (ends(own, TIME).low or 0.0, ends(own, TIME).high or 0.0) for own in (away, here)
    )
    assert low - low_here == pytest.approx(15 * 45_000 * (1 - AROUND_A_ROUND_TRIP))
    assert high - high_here == pytest.approx(15 * 45_000 * (1 + AROUND_A_ROUND_TRIP))


def test_at_a_rate_it_is_so_many_processors() -> None:
    assert CORES not in prediction(model(), NEW).of("connection")
    cores = value(prediction(model(), NEW, connects_per_s=200), CORES)
    assert cores == pytest.approx(cost(NEW) * 200 / 1e6)


def test_parts_add_up_to_the_whole() -> None:
    found = prediction(model(), NEW)
    parts = [own for own in found.rows if own.role == "part"]
    assert {part.label: part.number("amount") for part in parts} == parts_of(NEW)
    assert sum(part.value or 0.0 for part in parts) == pytest.approx(cost(NEW))
    assert value(found, SERVER_CPU, "in the clear") == pytest.approx(300 + 8 * 40 + 2 * 35 + 1.5 * 20)


def test_what_saves_most_comes_first_and_what_costs_more_last() -> None:
    found = prediction(model(), NEW, rtt_ms=10)
    more = changes(found, SERVER_CPU)
    assert more == pytest.approx(
        {"pool": -3390, "certificate": -2750, "resumption": -2815, "group": -90, "version": -50}
    )
    assert list(more.values()) == sorted(more.values())
    assert changes(found, TIME)["group"] == pytest.approx(-270 - 10_000)
    assert changes(found, ROUND_TRIPS) == pytest.approx(
        {"pool": -5, "certificate": 0, "resumption": 0, "group": -1, "version": 1}, abs=1e-9
    )
    assert changes(found, SERVER_CPU, "ratio")["pool"] == pytest.approx(1 - 3390 / cost(NEW))
    assert changes(found, SERVER_CPU, "change") == pytest.approx(
        {remedy: cost(NEW) + by for remedy, by in more.items()}
    )


def test_only_changes_that_can_be_are_computed() -> None:
    for certificate in ("ec-p384", "mldsa65"):
        found = prediction(model(), NEW.but(certificate=certificate, group="P-256"))
        assert "version" not in changes(found, SERVER_CPU), f"{certificate} is not for TLS 1.2"
    older = prediction(model(), NEW.but(tls="1.2", group="P-384"))
    assert "certificate" not in changes(older, SERVER_CPU)


def test_in_the_clear_only_a_pool_is_left() -> None:
    found = prediction(model(), Mix(tls="off", statements=1, answer_bytes=120))
    assert list(changes(found, SERVER_CPU)) == ["pool"]


THROUGH = Mix(tls="off", path="stunnel", statements=10, answer_bytes=2048)


def test_through_a_path_its_own_programs_are_predicted_too() -> None:
    found = prediction(model(), THROUGH, connects_per_s=100)
    assert value(found, PATH_CPU) == pytest.approx(2 * (150 + 8 * 25 + 2 * 20 + 20 * 2.5))
    assert value(found, SERVER_CPU) == pytest.approx(cost(THROUGH))
    assert PATH_CPU not in found.of("in the clear")
    assert value(found, SERVER_CPU, "in the clear") == pytest.approx(300 + 8 * 40 + 2 * 35 + 1.5 * 20)
    assert list(changes(found, SERVER_CPU)) == ["pool"]
    text = " ".join(prediction_text(found, width=100, colour=False).split())
    assert "through stunnel, 10 statements of 2,048 bytes" in text
    assert "CPU of the path 880 µs" in text


def test_a_server_that_waited_all_along_a_path_is_not_taken_for_a_busy_one() -> None:
    """Ten connections a second through stunnel, for which the server uses a hundredth of a processor."""

    def rates(own: BlockRow) -> BlockRow:
        waits = own.levels["path"] == "stunnel"
        rate = 10.0 if waits else 1e6 / own.values[SERVER_CPU]
        return BlockRow(own.role, own.levels, own.block, "", {**own.values, RATE: rate}, {})

    found = calibration_of(ORIGIN, measured_mixes(map(rates, rows()), STUDY.baseline))
    assert not found.mostly_waits
    assert found.server_busy_share == pytest.approx(1)
    assert found.carrying(THROUGH).mostly_waits
    assert not found.carrying(THROUGH.but(path="haproxy-tls")).mostly_waits
    text = " ".join(prediction_text(prediction(found, THROUGH), width=100, colour=False).split())
    assert "Through stunnel the server used 1.2 % of a processor" in text
    waiting, busy = (predictions(own, [DrawnMix(THROUGH, 0.0)]).cases[1].outcomes for own in (found, model()))
    assert set(waiting) == set()
    assert set(busy) == {SERVER_CPU, CLIENT_CPU, PATH_CPU}


def test_another_login_is_a_part_of_a_connection() -> None:
    other = NEW.but(auth="mysql_native_password")
    saved = value(prediction(model(), NEW), SERVER_CPU)
    assert value(prediction(model(), other), SERVER_CPU) == pytest.approx(saved - 20)
    assert "mysql_native_password" in prediction_text(prediction(model(), other), width=90, colour=False)


def test_how_far_a_path_reaches_was_not_measured() -> None:
    with pytest.raises(UserMistake, match="waits for its other end") as caught:
        prediction(model(), THROUGH, rtt_ms=1)
    assert "tlstax study run tunnels" in str(caught.value.remedy)
    with pytest.raises(UserMistake, match="what ssh-aes256-ctr carries was not measured") as caught:
        prediction(model(), THROUGH.but(path="ssh-aes256-ctr"))
    assert "stunnel" in str(caught.value.remedy)
    with pytest.raises(UserMistake, match="login mysql_native_password"):
        prediction(model(), THROUGH.but(auth="mysql_native_password"))


def test_what_a_path_does_not_keep_to_says_nothing_of_connections_without_it() -> None:
    odd = [
        BlockRow(
            own.role, own.levels, own.block, "", {**own.values, SERVER_CPU: own.values[SERVER_CPU] * off}, {}
        )
        for own in rows()
        if (mix := Mix.of(CaseLevels.of(own.levels)))
        for off in (2.0 if mix.path == "stunnel" and mix.statements == 8 else 1.0,)
    ]
    found = calibration_of(ORIGIN, measured_mixes(odd, STUDY.baseline))
    assert found.busy[SERVER_CPU].unexplained == pytest.approx(0, abs=1e-9)
    assert found.through["haproxy-tls"].busy[SERVER_CPU].unexplained == pytest.approx(0, abs=1e-9)
    assert found.through["stunnel"].busy[SERVER_CPU].unexplained > 0.02


def test_chains_clients_and_large_answers_have_words_and_costs() -> None:
    mix = NEW.but(certificate="mldsa65", chain=3, client_certificate="on", answer_bytes=64 << 10)
    found = prediction(model(), mix)
    assert value(found, SERVER_CPU) == pytest.approx(cost(mix))
    text = " ".join(prediction_text(found, width=120, colour=False).split())
    assert "TLS 1.3, ML-DSA-65, a chain of 3, a client certificate, the client's first group" in text
    assert "2 × further certificate of an authority with ML-DSA-65" in text
    assert "a client certificate with ML-DSA-65" in text
    assert "480 × KiB of answers beyond the first 16 of each" in text


def test_without_compression_it_would_be_cheaper_and_with_the_other_one() -> None:
    mix = NEW.but(compression="zlib", answer_bytes=40 << 10)
    found = prediction(model(), mix)
    assert value(found, SERVER_CPU) == pytest.approx(cost(mix))
    for words, other in (("no compression", "off"), ("zstd in place of zlib", "zstd")):
        more = value(found, SERVER_CPU, "difference", words)
        assert more == pytest.approx(cost(mix.but(compression=other)) - cost(mix))
    text = " ".join(prediction_text(found, width=120, colour=False).split())
    assert "10 statements of 40,960 bytes under zlib" in text
    assert "zlib, agreed on and made ready" in text
    assert "80 × KiB 8 to 16 of each, under zlib" in text
    rows = prediction(model(), mix.but(compression="zstd")).rows
    words = {own.label for own in rows if own.word("remedy") == "compression"}
    assert words == {"no compression"}
    assert value(prediction(model(), mix), SERVER_CPU, "in the clear") == pytest.approx(
        cost(Mix(tls="off", compression="zlib", statements=10, answer_bytes=40 << 10))
    )


def test_an_answer_that_fills_more_than_a_first_flight_has_no_time_at_a_distance() -> None:
    with pytest.raises(UserMistake, match="16,385 bytes") as caught:
        prediction(model(), NEW.but(answer_bytes=(16 << 10) + 1), rtt_ms=10)
    assert "tlstax study run bytes --set rtt_ms=20" in str(caught.value.remedy)
    prediction(model(), NEW.but(answer_bytes=16 << 10), rtt_ms=10)


def test_what_was_not_measured_is_refused_with_what_was() -> None:
    with pytest.raises(UserMistake, match="key mldsa87") as caught:
        prediction(model(), NEW.but(certificate="mldsa87"))
    assert "key rsa-4096" in str(caught.value.remedy)
    with pytest.raises(UserMistake, match="no connections") as caught:
        calibration_of(ORIGIN, [])
    studies = "`tlstax study run components` or `tlstax study run postgres-components`"
    assert caught.value.remedy == f"name a run of {studies}"


def test_outside_of_the_range_it_says_so() -> None:
    assert list(outside(model(), NEW)) == []
    far = list(outside(model(), NEW.but(statements=33, answer_bytes=119)))
    assert far == [
        "33 statements a connection, where 1 to 32 were measured",
        "answers of 119 bytes, where 120 to 1,048,576 were measured",
    ]
    packed = list(outside(model(), NEW.but(compression="zlib", answer_bytes=1 << 20)))
    assert packed == ["answers of 1,048,576 bytes, where 120 to 131,072 were measured"]


def test_an_outcome_that_a_block_lacks_is_left_out_and_others_stay() -> None:
    some = rows()
    some[0] = BlockRow(some[0].role, some[0].levels, 1, "", {SERVER_CPU: 1.0}, {})
    (first, *_) = measured_mixes(some, STUDY.baseline)
    assert set(first.values) == {SERVER_CPU}
    assert first.blocks == 3


def test_a_machine_that_is_slower_for_some_of_the_mixes_changes_nothing() -> None:
    """In the second block it takes half as long again for what is measured while it lasts."""
    usual = {own.connections: own.values for own in measured_mixes(rows(), STUDY.baseline)[:2]}

    def disturbed(own: BlockRow) -> BlockRow:
        slow = 1.5 if own.block == 2 and len(str(own.levels["workload"])) % 2 else 1.0
        ratios = {
            name: value / usual[int(own.levels["connections"])][name]
            for name, value in own.values.items()
            if name != PATH_CPU
        }
        values = {name: value * slow for name, value in own.values.items()}
        values[PATH_CPU] = own.values.get(PATH_CPU, 0.0)
        role = "baseline" if STUDY.is_baseline(own.levels) else "treatment"
        return BlockRow(role, own.levels, own.block, "", values, ratios)

    found = calibration_of(ORIGIN, measured_mixes(map(disturbed, rows()), STUDY.baseline))
    assert found.busy[SERVER_CPU].unexplained == pytest.approx(0, abs=1e-9)
    control = BlockRow("control", rows()[0].levels, 1, "", {SERVER_CPU: 1e9}, {SERVER_CPU: 1e9})
    assert measured_mixes([*rows(), control], STUDY.baseline) == measured_mixes(rows(), STUDY.baseline)


def test_a_query_whose_round_trips_were_not_counted_takes_one() -> None:
    own = rows()[0]
    values = {SERVER_CPU: 1.0, CONNECT_ROUND_TRIPS: 4.0}
    (found,) = measured_mixes([BlockRow(own.role, own.levels, 1, "", values, {})], STUDY.baseline)
    assert found.values[ROUND_TRIPS] == 4.0 + found.mix.statements


PLAIN = Mix(tls="off", statements=1, answer_bytes=120)


def run_of_servers(*servers: str) -> StoredRun:
    """A run of one block in which the first server is measured with every mix, others with one alone."""
    study = STUDY.model_copy(update={"factors": {**STUDY.factors, "server": servers}})
    trials = []
    for case in cases(study):
        mix = Mix.of(case.levels)
        is_first = case.levels.server == servers[0]
        if mix is None or case.role == "control" or not (is_first or mix == PLAIN):
            continue
        us = cost(mix)
        truth = Truth(1e6 / us, {"connect": us, "query": us, "operation": us}, us, us / 2)
        trials.append(fake_record(Trial(block=0, position=len(trials), case=case), truth))
    return StoredRun(header=fake_header(study), status="complete", trials=tuple(trials))


def test_a_run_is_calibrated_by_what_it_measured_and_says_so() -> None:
    stored = run_of_servers("mysql-9.7")
    found = calibrated(stored)
    header = fake_header(STUDY)
    assert found.origin == Origin(
        header.run, header.started_at, "mysql-9.7", header.machine.cpu_model, found.origin.study
    )
    assert set(found.origin.study.levels_of()["server"]) == {"mysql-9.7"}
    assert len(found.measured) == len(stored.trials) > 200
    assert found.busy[SERVER_CPU].predicted(parts_of(NEW)).point == pytest.approx(cost(NEW), rel=1e-3)


def test_of_a_run_with_several_servers_one_is_calibrated() -> None:
    stored = run_of_servers("mysql-9.7", "mariadb-11.8")
    found = calibrated(stored, "mysql-9.7")
    assert (found.origin.server, len(found.measured)) == ("mysql-9.7", len(stored.trials) - 2)
    assert len(mixes_of(stored, "mariadb-11.8")) == 2
    assert len(mixes_of(stored)) == len(found.measured) + 2
    assert Origin.of(stored.header).server == "mysql-9.7 and mariadb-11.8"
    without = fake_header(STUDY.model_copy(update={"factors": {"connections": (1, 4)}}))
    assert Origin.of(without).server == "mysql-9.7", "the first specimen, where no server is a factor"


def test_of_several_servers_one_is_chosen() -> None:
    named = [
        BlockRow(own.role, own.levels | {"server": server}, own.block, "", own.values, {})
        for server in ("mysql-9.7", "mariadb-11.8")
        for own in rows()
    ]
    assert len(measured_mixes(named, STUDY.baseline)) == 2 * len(
        measured_mixes(named, STUDY.baseline, "mysql-9.7")
    )
    assert measured_mixes(named, STUDY.baseline, "mysql-8.0.33") == ()


def test_on_a_terminal_each_topic_is_there() -> None:
    found = prediction(model(), NEW.but(statements=50), rtt_ms=45, connects_per_s=200)
    for width in (60, 100):
        text = prediction_text(found, width=width, colour=False)
        assert max(map(len, text.splitlines())) <= width
        plain = " ".join(text.split())
        assert "EC P-256 in place of RSA 4096" in plain
        assert "processors at 200/s" in plain
        assert "Outside of what was measured" in plain


def test_of_a_mix_with_a_part_that_its_path_was_not_measured_with_nothing_is_predicted() -> None:
    """Paths are measured with the usual login alone, so that nothing is known of another one by them."""
    known = Mix(tls="off", path="stunnel", statements=5, answer_bytes=700)
    unknown = known.but(auth="mysql_native_password")
    cases = predictions(model(), [DrawnMix(known, 0.0), DrawnMix(unknown, 0.0)]).cases
    assert [(bool(own.outcomes), own.round_trips is None) for own in cases] == [(True, False)] * 2 + [
        (False, True)
    ] * 2


def test_what_version_2_of_the_model_predicts_is_as_it_was() -> None:
    """A run keeps the version: whoever changes these figures raises it."""
    found = predictions(model(), [DrawnMix(NEW, 0.0), DrawnMix(NEW, 20.0)])
    assert (found.model, found.run, found.server) == (2, ORIGIN.run, "mysql-9.7")
    counted = {SENT: (1800,), RECEIVED: (21580,)}
    cpu = {
        SERVER_CPU: (3866, 3638.19818825979, 4108.065373741708),
        CLIENT_CPU: (1933, 1819.0990941298928, 2054.0326868708516),
    }
    times = [(11598, 10914.594564779403, 12324.196121225163), (311598, 274914.594564779, 348324.196121225)]
    expected = [{TIME: times[0], **counted}, cpu, {TIME: times[1], **counted}, {}]
    for case, wanted in zip(found.cases, expected, strict=True):
        assert case.outcomes.keys() == wanted.keys()
        for name, figure in wanted.items():
            own = case.outcomes[name]
            ends = [end for end in (own.value, own.low, own.high) if end is not None]
            assert ends == pytest.approx(figure, rel=1e-9), name
    assert [own.round_trips for own in found.cases] == pytest.approx([15] * 4)
