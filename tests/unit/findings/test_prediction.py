"""A prediction is the sum of its parts, over the distance and at the rate asked for."""

from __future__ import annotations

import pytest

from fake_trials import fake_header
from planted_parts import cost_of
from tlstax.findings.core.series import BlockRow
from tlstax.findings.model.calibration import (
    CLIENT_CPU,
    CONNECT_ROUND_TRIPS,
    PATH_CPU,
    QUERY_ROUND_TRIPS,
    RATE,
    RECEIVED,
    SENT,
    SERVER_CPU,
    TIME,
    Calibrated,
    MeasuredMix,
    Origin,
    calibration_of,
    measured_mixes,
)
from tlstax.findings.model.parts import of_path, parts_of
from tlstax.findings.model.predict import AROUND_A_ROUND_TRIP, outside, prediction
from tlstax.findings.model.validate import validation_of
from tlstax.report.prediction.text import prediction_text
from tlstax.report.prediction.validation_text import validation_text
from tlstax.study import Level, load_study
from tlstax.study.case_levels import CaseLevels
from tlstax.study.mixes import Mix
from tlstax.support.errors import UserMistake

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
    of_case = {**levels, "connections": connections}
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


def test_cpu_time_is_that_of_a_busy_server_and_time_that_of_one_alone() -> None:
    found = prediction(model(), NEW).costs
    assert found.server_cpu_us.point == pytest.approx(cost(NEW))
    assert found.client_cpu_us.point == pytest.approx(cost(NEW) / 2)
    assert found.time_us.point == pytest.approx(cost(NEW) * 3)
    assert found.time_to_first_row_us.point == pytest.approx(cost(NEW.but(statements=1)) * 3)
    assert found.server_cpu_us.blocks == 3


def test_a_round_trip_takes_as_long_as_the_distance_says() -> None:
    here, away = prediction(model(), NEW).costs, prediction(model(), NEW, rtt_ms=45).costs
    assert here.round_trips == pytest.approx(15)
    assert away.time_us.point - here.time_us.point == pytest.approx(15 * 45_000)
    assert away.time_to_first_row_us.point - here.time_to_first_row_us.point == pytest.approx(6 * 45_000)
    assert away.server_cpu_us == here.server_cpu_us
    assert away.time_us.low is not None
    assert here.time_us.low is not None
    assert away.time_us.low - here.time_us.low == pytest.approx(15 * 45_000 * (1 - AROUND_A_ROUND_TRIP))


def test_at_a_rate_it_is_so_many_processors() -> None:
    assert prediction(model(), NEW).server_cores is None
    cores = prediction(model(), NEW, connects_per_s=200).server_cores
    assert cores is not None
    assert cores.point == pytest.approx(cost(NEW) * 200 / 1e6)


def test_parts_add_up_to_the_whole() -> None:
    found = prediction(model(), NEW)
    assert {part.name for part in found.parts} == set(parts_of(NEW))
    assert sum(part.server_cpu_us.point for part in found.parts) == pytest.approx(cost(NEW))
    assert found.in_the_clear.server_cpu_us.point == pytest.approx(300 + 8 * 40 + 2 * 35 + 1.5 * 20)


def test_what_saves_most_comes_first_and_what_costs_more_last() -> None:
    found = prediction(model(), NEW, rtt_ms=10).what_if
    saved = {one.remedy: one.saved_cpu_us.point for one in found}
    assert saved == pytest.approx(
        {"pool": 3390, "certificate": 2750, "resumption": 2815, "group": 90, "version": 50}
    )
    assert [one.saved_cpu_us.point for one in found] == sorted(saved.values(), reverse=True)
    times = {one.remedy: one.saved_time_us.point for one in found}
    assert times["group"] == pytest.approx(270 + 10_000)
    trips = {one.remedy: one.saved_round_trips for one in found}
    assert trips == pytest.approx(
        {"pool": 5, "certificate": 0, "resumption": 0, "group": 1, "version": -1}, abs=1e-9
    )
    (pool,) = [one for one in found if one.remedy == "pool"]
    assert pool.saved_share.point == pytest.approx(3390 / cost(NEW))


def test_only_changes_that_can_be_are_computed() -> None:
    for certificate in ("ec-p384", "mldsa65"):
        found = prediction(model(), NEW.but(certificate=certificate, group="P-256"))
        assert "version" not in [one.remedy for one in found.what_if], f"{certificate} is not for TLS 1.2"
    older = prediction(model(), NEW.but(tls="1.2", group="P-384"))
    assert [one.remedy for one in older.what_if if one.remedy == "certificate"] == []


def test_in_the_clear_only_a_pool_is_left() -> None:
    found = prediction(model(), Mix(tls="off", statements=1, answer_bytes=120))
    assert [one.remedy for one in found.what_if] == ["pool"]


THROUGH = Mix(tls="off", path="stunnel", statements=10, answer_bytes=2048)


def test_through_a_path_its_own_programs_are_predicted_too() -> None:
    found = prediction(model(), THROUGH, connects_per_s=100)
    assert found.costs.path_cpu_us is not None
    assert found.costs.path_cpu_us.point == pytest.approx(2 * (150 + 8 * 25 + 2 * 20 + 20 * 2.5))
    assert found.costs.server_cpu_us.point == pytest.approx(cost(THROUGH))
    assert found.in_the_clear.path_cpu_us is None
    assert found.in_the_clear.server_cpu_us.point == pytest.approx(300 + 8 * 40 + 2 * 35 + 1.5 * 20)
    assert [one.remedy for one in found.what_if] == ["pool"]
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
    measured = measured_mixes(
        [BlockRow("treatment", {**THROUGH.levels(), "connections": 4}, 1, "", values_of(THROUGH, 4), {})],
        STUDY.baseline,
    )
    costs = validation_of(found, measured, run="r", status="complete").costs
    assert SERVER_CPU not in {cost.outcome for cost in costs}
    assert SERVER_CPU in {
        cost.outcome for cost in validation_of(model(), measured, run="r", status="complete").costs
    }


def test_another_login_is_a_part_of_a_connection() -> None:
    other = NEW.but(auth="mysql_native_password")
    saved = prediction(model(), NEW).costs.server_cpu_us.point
    assert prediction(model(), other).costs.server_cpu_us.point == pytest.approx(saved - 20)
    assert "mysql_native_password" in prediction_text(prediction(model(), other), width=90, colour=False)


def test_how_far_a_path_reaches_was_not_measured() -> None:
    with pytest.raises(UserMistake, match="waits for its other end"):
        prediction(model(), THROUGH, rtt_ms=1)
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
    assert found.costs.server_cpu_us.point == pytest.approx(cost(mix))
    text = " ".join(prediction_text(found, width=120, colour=False).split())
    assert "TLS 1.3, ML-DSA-65, a chain of 3, a client certificate, the client's first group" in text
    assert "2 × further certificate of an authority with ML-DSA-65" in text
    assert "a client certificate with ML-DSA-65" in text
    assert "480 × KiB of answers beyond the first 16 of each" in text


def test_without_compression_it_would_be_cheaper_and_with_the_other_one() -> None:
    mix = NEW.but(compression="zlib", answer_bytes=40 << 10)
    found = prediction(model(), mix)
    assert found.costs.server_cpu_us.point == pytest.approx(cost(mix))
    saved = {one.words: one.saved_cpu_us.point for one in found.what_if if one.remedy == "compression"}
    assert saved == pytest.approx(
        {
            "no compression": cost(mix) - cost(mix.but(compression="off")),
            "zstd in place of zlib": cost(mix) - cost(mix.but(compression="zstd")),
        }
    )
    text = " ".join(prediction_text(found, width=120, colour=False).split())
    assert "10 statements of 40,960 bytes under zlib" in text
    assert "zlib, agreed on and made ready" in text
    assert "80 × KiB 8 to 16 of each, under zlib" in text
    other = prediction(model(), mix.but(compression="zstd")).what_if
    assert [one.words for one in other if one.remedy == "compression"] == ["no compression"]
    assert prediction(model(), mix).in_the_clear.server_cpu_us.point == pytest.approx(
        cost(Mix(tls="off", compression="zlib", statements=10, answer_bytes=40 << 10))
    )


def test_an_answer_that_fills_more_than_a_first_flight_has_no_time_at_a_distance() -> None:
    with pytest.raises(UserMistake, match="16,385 bytes"):
        prediction(model(), NEW.but(answer_bytes=(16 << 10) + 1), rtt_ms=10)
    prediction(model(), NEW.but(answer_bytes=16 << 10), rtt_ms=10)


def test_what_was_not_measured_is_refused_with_what_was() -> None:
    with pytest.raises(UserMistake, match="key mldsa87") as caught:
        prediction(model(), NEW.but(certificate="mldsa87"))
    assert "key rsa-4096" in str(caught.value.remedy)
    with pytest.raises(UserMistake, match="no connections"):
        calibration_of(ORIGIN, [])


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


def test_of_several_servers_one_is_chosen() -> None:
    named = [
        BlockRow(own.role, {**own.levels, "server": server}, own.block, "", own.values, {})
        for server in ("mysql-9.7", "mariadb-11.8")
        for own in rows()
    ]
    assert len(measured_mixes(named, STUDY.baseline)) == 2 * len(
        measured_mixes(named, STUDY.baseline, "mysql-9.7")
    )
    assert measured_mixes(named, STUDY.baseline, "mysql-8.0.33") == ()


def test_predictions_are_set_beside_what_was_measured() -> None:
    new = {**NEW.levels(), "connections": 4}
    off = dict(values_of(NEW, 4))
    off[SERVER_CPU] *= 1.2
    busy = BlockRow("treatment", new, 1, "", off, {})
    alone = BlockRow("treatment", {**new, "connections": 1}, 1, "", values_of(NEW, 1), {})
    found = validation_of(model(), measured_mixes([busy, alone], STUDY.baseline), run="r", status="complete")
    errors = {one.outcome: one.median_error for one in found.outcomes}
    assert errors == pytest.approx({SERVER_CPU: 0.2, CLIENT_CPU: 0, TIME: 0, SENT: 0, RECEIVED: 0}, abs=1e-6)
    within = {one.outcome: one.within_share for one in found.outcomes if one.has_interval}
    assert within[SERVER_CPU] == 0
    text = validation_text(found, width=100, colour=False)
    assert "20 %" in text


def test_on_a_terminal_each_topic_is_there() -> None:
    found = prediction(model(), NEW.but(statements=50), rtt_ms=45, connects_per_s=200)
    for width in (60, 100):
        text = prediction_text(found, width=width, colour=False)
        assert max(map(len, text.splitlines())) <= width
        plain = " ".join(text.split())
        assert "EC P-256 in place of RSA 4096" in plain
        assert "processors at 200/s" in plain
        assert "Outside of what was measured" in plain


def test_a_mix_with_a_part_that_its_path_was_not_measured_with_is_left_out_of_a_validation() -> None:
    """Paths are measured with the usual login alone, so that nothing is known of another one by them."""
    known = Mix(tls="off", path="stunnel", statements=5, answer_bytes=700)
    unknown = known.but(auth="mysql_native_password")
    measured = [MeasuredMix(mix, 4, 0.0, values_of(mix, 4), blocks=3) for mix in (known, unknown)]
    found = validation_of(model(), measured, run="made up", status="complete")
    assert {cost.mix for cost in found.costs} == {known}
