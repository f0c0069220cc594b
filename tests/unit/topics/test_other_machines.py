"""Parts of another machine, scaled by a few mixes measured here: planted speeds are found, intervals hold."""

from __future__ import annotations

import csv
from dataclasses import replace
from importlib import resources
from math import exp, log, sqrt
from pathlib import Path
from random import Random

import numpy as np
import pytest
from scipy.special import stdtrit

from fake_trials import fake_header
from planted_parts import cost_of
from tlstax.plan.prediction_studies import CELLS, calibration_mixes, calibration_study
from tlstax.records.beforehand import Scaling
from tlstax.results.interval import Interval
from tlstax.stats.contrasts import PROCESSES
from tlstax.stats.series import BlockRow
from tlstax.study import Level, load_study
from tlstax.study.factors import CaseLevels
from tlstax.study.mixes import Mix
from tlstax.topics.prediction import model as calibration
from tlstax.topics.prediction.model import (
    CLIENT_CPU,
    PATH_CPU,
    RECEIVED,
    ROUND_TRIPS,
    SENT,
    SERVER_CPU,
    TIME,
    Calibrated,
    MeasuredMix,
    Origin,
    calibration_of,
    measured_mixes,
)
from tlstax.topics.prediction.other_machines import (
    ANOTHER_MACHINE,
    LATER,
    ONE_BLOCK,
    SHARES,
    SHIPPED,
    file_of,
    scaled,
    shipped_parts,
    stand_in,
    unscaled,
)
from tlstax.topics.prediction.parts import parts_of
from tlstax.topics.prediction.prediction import prediction, prediction_text

STUDY = load_study("components")
THERE = Origin("there", "2026-11-27T00:00:00+00:00", "mysql-9.7", "A processor", STUDY, "in the quiet")
HERE = Origin("here", "2026-11-28T00:00:00+00:00", "mysql-9.7", "B processor", STUDY)
NEW = Mix(certificate="rsa-3072", group="P-384", statements=11, answer_bytes=777)
RECORDED = Path(__file__).resolve().parents[3] / "docs" / "data"


def known_mixes() -> list[Mix]:
    found = (Mix.of(CaseLevels.of(levels)) for levels in STUDY.treatments)
    return list(dict.fromkeys(mix for mix in found if mix is not None))


def values_of(mix: Mix, times: float = 1.0, handshakes: float = 1.0) -> dict[str, float]:
    """Its costs where all takes N times as long, and what comes before the first statement as well."""
    parts = parts_of(mix)
    begins = {name: amount for name, amount in parts.items() if name.startswith(("TLS", "key", "group"))}
    cost = times * (cost_of(parts) + (handshakes - 1) * cost_of(begins))
    carried = {name: amount for name, amount in parts.items() if "through" in name}
    return {
        SERVER_CPU: cost,
        CLIENT_CPU: cost / 2,
        TIME: 3 * cost,
        SENT: 100.0 + 10 * mix.statements,
        RECEIVED: 200.0 + (90 + mix.answer_bytes) * mix.statements,
        ROUND_TRIPS: 3.0 + mix.statements,
        **({PATH_CPU: times * cost_of(carried)} if carried else {}),
    }


SCALED = (SERVER_CPU, CLIENT_CPU, TIME)


def measured(
    mixes: list[Mix], times: float = 1.0, handshakes: float = 1.0, scatter: float = 0.01
) -> list[MeasuredMix]:
    return [
        MeasuredMix(
            mix=mix,
            connections=connections,
            blocks=3,
            values=values_of(mix, times, handshakes),
            scatter=dict.fromkeys(SCALED, scatter),
        )
        for mix in mixes
        for connections in (1, 4)
    ]


def there() -> Calibrated:
    return calibration_of(THERE, measured(known_mixes()))


def costs_of(model: Calibrated, mix: Mix) -> dict[str, float]:
    return {name: own.value or 0.0 for name, own in prediction(model, mix).of("connection").items()}


def half_of(found: Interval) -> float:
    assert found.low is not None
    assert found.high is not None
    return log(found.high / found.point)


def test_a_machine_that_is_slower_at_everything_is_so_much_slower() -> None:
    found = scaled(there(), measured(list(CELLS), times=1.7), HERE)
    costs = costs_of(found, NEW)
    assert costs[SERVER_CPU] == pytest.approx(1.7 * cost_of(parts_of(NEW)))
    assert costs[CLIENT_CPU] == pytest.approx(1.7 * cost_of(parts_of(NEW)) / 2)
    assert costs[TIME] == pytest.approx(1.7 * cost_of(parts_of(NEW)) * 3)
    assert (costs[SENT], costs[ROUND_TRIPS]) == pytest.approx((210, 14), rel=1e-6)
    scaling = found.scaling
    assert scaling is not None
    assert scaling.speed == pytest.approx(1.7)
    assert scaling.left_out_error == pytest.approx(0, abs=1e-9)
    assert (scaling.run, scaling.mixes, scaling.processor) == ("here", len(CELLS), "B processor")
    assert (scaling.at, scaling.server) == (HERE.at, HERE.server)


def test_what_was_measured_here_is_known_better_than_what_was_not() -> None:
    found = scaled(there(), measured(list(CELLS)), HERE).busy[SERVER_CPU]
    known, unknown = (half_of(found.predicted(parts_of(mix))) for mix in (CELLS[3], NEW))
    least = float(stdtrit(len(CELLS), 0.975)) * sqrt(2 * PROCESSES**2 + LATER**2)
    assert least < known < unknown
    alone = half_of(found.predicted({"login mysql_native_password": -1.0, "connection": 1.0}))
    assert alone > known


def test_an_unquiet_machine_will_be_so_later_and_one_block_does_not_tell() -> None:
    reach = float(stdtrit(len(CELLS), 0.975))
    quiet, unquiet = (
        scaled(there(), measured(list(CELLS), scatter=scatter), HERE).busy[SERVER_CPU]
        for scatter in (LATER / 2, 0.2)
    )
    one = scaled(there(), [own.model_copy(update={"scatter": {}}) for own in measured(list(CELLS))], HERE)
    widths = [half_of(fit.predicted(parts_of(NEW))) for fit in (quiet, unquiet, one.busy[SERVER_CPU])]
    assert widths[1] ** 2 - widths[0] ** 2 == pytest.approx((0.2**2 - LATER**2) * reach**2)
    assert widths[2] ** 2 - widths[0] ** 2 == pytest.approx((ONE_BLOCK**2 - LATER**2) * reach**2)
    assert one.scaling is not None
    assert one.scaling.unquiet == ONE_BLOCK


def test_a_machine_that_is_slower_at_handshakes_alone_widens_the_intervals() -> None:
    even = scaled(there(), measured(list(CELLS)), HERE)
    odd = scaled(there(), measured(list(CELLS), handshakes=2.5), HERE)
    found, truth = odd.busy[SERVER_CPU].predicted(parts_of(NEW)), values_of(NEW, handshakes=2.5)[SERVER_CPU]
    assert found.low is not None
    assert found.high is not None
    assert found.low <= truth <= found.high
    assert found.point == pytest.approx(truth, rel=0.1)
    compressed = parts_of(Mix(tls="off", compression="zlib", statements=4, answer_bytes=32 << 10))
    widths = [half_of(own.busy[SERVER_CPU].predicted(compressed)) for own in (even, odd)]
    assert widths[1] > widths[0], "what no cell tells of may be as far off as the cells were"
    assert odd.scaling is not None
    assert odd.scaling.left_out_error > 0.03
    in_the_clear = Mix(tls="off", statements=20, answer_bytes=120)
    clear = odd.busy[SERVER_CPU].predicted(parts_of(in_the_clear))
    assert clear.point == pytest.approx(values_of(in_the_clear)[SERVER_CPU], rel=0.1)


def test_what_was_not_scaled_has_room_for_another_machine_and_shares_have_not() -> None:
    found = unscaled(there())
    reach = float(stdtrit(there().busy[SERVER_CPU].spare, 0.975))
    for part, kind in (
        ("connection", "clear"),
        ("KiB", "clear"),
        ("TLS 1.3", "handshake"),
        ("key rsa-4096", "handshake"),
        ("statement under TLS", "encryption"),
        ("statement under zlib", "compression"),
    ):
        own = SHARES[kind] * sqrt(2)
        wide = reach * sqrt(own**2 + PROCESSES**2 + ANOTHER_MACHINE**2)
        assert half_of(found.busy[SERVER_CPU].predicted({part: 1.0})) == pytest.approx(wide, rel=1e-6), part
    assert costs_of(found, NEW)[SENT] == pytest.approx(210)
    share = prediction(found, NEW).of("ratio", "connections that are kept")[SERVER_CPU].interval
    assert share is not None
    assert share.low is not None
    assert share.high is not None
    assert 0 < share.high - share.low < 0.4
    assert found.scaling == Scaling(
        run=None,
        at="",
        server="mysql-9.7",
        processor="",
        mixes=0,
        speed=1.0,
        left_out_error=0.0,
        unquiet=0.0,
    )


def test_counts_are_no_faster_on_another_machine() -> None:
    """Measured here or not, they are as well known as there, but for the number of mixes that tell."""
    model = there()
    here, spare = scaled(model, measured(list(CELLS)), HERE), model.alone[SENT].spare
    reach = float(stdtrit(len(CELLS), 0.975) / stdtrit(spare, 0.975))
    assert half_of(here.busy[SENT].predicted(parts_of(CELLS[1]))) == pytest.approx(
        reach * half_of(model.busy[SENT].predicted(parts_of(CELLS[1]))), rel=1e-3
    )
    busy_alone = scaled(model, [own for own in measured(list(CELLS)) if own.connections == 4], HERE)
    assert busy_alone.alone[SENT] is model.alone[SENT]


def test_the_speed_is_that_of_the_busy_machine() -> None:
    mixes = measured(list(CELLS)), measured(list(CELLS), times=3.0)
    own = [busy if busy.connections == 4 else alone for alone, busy in zip(*mixes, strict=True)]
    scaling = scaled(there(), own, HERE).scaling
    assert scaling is not None
    assert scaling.speed == pytest.approx(3)


def test_the_farther_cells_are_off_the_wider_are_the_intervals() -> None:
    odd = [scaled(there(), measured(list(CELLS), handshakes=times), HERE) for times in (4, 8, 20)]
    widths = [half_of(model.busy[SERVER_CPU].predicted(parts_of(NEW))) for model in odd]
    assert widths == sorted(widths)


def roughly_there() -> Calibrated:
    """Parts of a machine whose mixes scatter by a twentieth."""
    chance = Random(5)  # noqa: S311 (noise, not a secret)
    return calibration_of(
        THERE,
        [
            own.model_copy(
                update={
                    "values": {
                        name: value * chance.gauss(1, 0.05) if name in SCALED else value
                        for name, value in own.values.items()
                    }
                }
            )
            for own in measured(known_mixes())
        ],
    )


def test_what_was_known_roughly_there_is_so_here_at_any_speed() -> None:
    rough = roughly_there()
    alike, slower = (
        scaled(rough, measured(list(CELLS), times=times), HERE).busy[SERVER_CPU] for times in (1.0, 4.0)
    )
    assert half_of(alike.predicted(parts_of(NEW))) == pytest.approx(half_of(slower.predicted(parts_of(NEW))))
    explained = {
        connections: {name: replace(fit, unexplained=0.0) for name, fit in fits.items()}
        for connections, fits in rough.fits.items()
    }
    sharp = scaled(replace(rough, fits=explained), measured(list(CELLS)), HERE).busy[SERVER_CPU]
    assert np.trace(sharp.covariance) < np.trace(alike.covariance), "a cell is off as mixes there were"


def test_a_path_is_scaled_by_what_the_server_is() -> None:
    found = scaled(there(), measured(list(CELLS), times=2.0), HERE)
    mix = Mix(tls="off", path="stunnel", statements=4, answer_bytes=1000)
    costs = costs_of(found, mix)
    truth = values_of(mix, 2.0)
    assert costs[PATH_CPU] == pytest.approx(truth[PATH_CPU])
    assert costs[SERVER_CPU] == pytest.approx(truth[SERVER_CPU])


def test_a_server_that_lacks_most_of_the_cells_is_scaled_by_the_rest() -> None:
    found = scaled(there(), measured([mix for mix in CELLS if mix.tls == "off"], times=3.0), HERE)
    assert costs_of(found, NEW)[SERVER_CPU] == pytest.approx(3 * cost_of(parts_of(NEW)))
    busy_alone = [own for own in measured(list(CELLS), times=3.0) if own.connections == 4]
    partly = scaled(there(), busy_alone, HERE)
    assert half_of(partly.alone[TIME].predicted(parts_of(NEW))) > 2 * half_of(
        partly.busy[SERVER_CPU].predicted(parts_of(NEW))
    )


def test_what_a_prediction_is_from_stands_before_and_after_its_figures() -> None:
    own = scaled(there(), measured(list(CELLS), times=1.7), replace(HERE, server="mysql-8.0.33"))
    text = " ".join(prediction_text(prediction(own, NEW), width=90, colour=False).split())
    assert "An estimate, from parts measured on another machine and scaled to this one" in text
    assert "measured on A processor in run there (in the quiet)" in text
    assert "scaled by 11 mixes of mysql-8.0.33 measured here in run here (B processor)" in text
    assert "the server's CPU time is 1.70 times as long" in text
    assert "in 22 minutes: tlstax study run components --set server=mysql-8.0.33" in text
    plain = " ".join(prediction_text(prediction(unscaled(there()), NEW), width=90, colour=False).split())
    assert "not scaled to this one" in plain
    assert "2.7 times as fast or slow" in plain
    assert "An estimate" not in prediction_text(prediction(there(), NEW), width=90, colour=False)


def test_cells_are_among_the_mixes_of_the_study() -> None:
    assert set(CELLS) <= set(known_mixes())
    study = calibration_study("mariadb-11.8")
    assert study.levels_of()["server"] == ("mariadb-11.8",)
    assert {Mix.of(CaseLevels.of(levels)) for levels in study.treatments} == set(CELLS)


@pytest.mark.parametrize("server", SHIPPED)
def test_what_comes_with_tlstax_says_where_it_is_from_and_knows_every_part(server: str) -> None:
    found = shipped_parts(server)
    assert found.server == server
    assert found.processor
    assert found.mixes
    model = found.calibrated()
    assert model.origin.study.levels_of()["server"] == (server,)
    assert (model.origin.processor, model.origin.remark) == (found.processor, found.remark)
    assert set(model.fits) == {1, 4}
    for mix in calibration_mixes(server):
        assert model.knows(parts_of(mix))
    file = resources.files(calibration.__package__ or "") / file_of(server)
    assert found.text() == file.read_text(encoding="utf-8"), "a new run would write the same file"


@pytest.mark.parametrize(
    ("server", "stands_in"),
    [
        ("mysql-9.7", "mysql-9.7"),
        ("mysql-8.0.33", "mysql-9.7"),
        ("mariadb-10.5", "mariadb-11.8"),
        ("my-build", "mysql-9.7"),
        ("postgresql-15", "postgresql-18"),
    ],
)
def test_a_server_without_measurements_has_those_of_its_product(server: str, stands_in: str) -> None:
    assert stand_in(server) == stands_in


def recorded(name: str) -> list[MeasuredMix]:
    """What a run on another machine measured (docs/predicting.md): of most, the server's CPU time alone."""
    usual = {**STUDY.baseline}
    rows = []
    with (RECORDED / f"{name}.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            levels: dict[str, Level] = {
                **usual,
                **{name: row[name] for name in row if name in {*usual, "connections", "rtt_ms"}},
            }
            levels |= {name: int(levels[name]) for name in ("chain", "connections")}
            if float(levels.pop("rtt_ms", 0)) or row["role"] == "control":
                continue
            values = {SERVER_CPU: float(row[SERVER_CPU])}
            ratios = {SERVER_CPU: float(row[f"{SERVER_CPU}_ratio"])}
            rows.append(BlockRow(row["role"], CaseLevels.of(levels), int(row["block"]), "", values, ratios))
    return list(measured_mixes(rows, STUDY.baseline))


TARGETS = (
    ("components-compressed", "components-compressed"),
    ("components-compressed", "components-validation-compressed"),
    ("components-compressed", "components-validation-far"),
    ("components-compressed-mariadb", "components-compressed-mariadb"),
    ("components-compressed-mariadb", "components-validation-compressed-mariadb"),
    ("components-80", "components-80"),
    ("components-80", "components-validation-80"),
)
"""Runs on an Intel processor: whose cells scale the parts, and whose other mixes are predicted."""


def compared(server: str, targets: tuple[tuple[str, str], ...] = TARGETS) -> list[tuple[bool, float]]:
    """Of each mix of these that is no cell: whether the interval holds it, and by what share it is off.

    How much faster the machine was when a validation was measured, half an hour after its calibration, shows
    in the mixes that both have; it is taken out.
    """
    found = []
    for cells_of, name in targets:
        cells = {(own.mix, own.connections): own for own in recorded(cells_of)}
        model = scaled(
            shipped_parts(server).calibrated(), [own for own in cells.values() if own.mix in CELLS], HERE
        )
        own_rows = [own for own in recorded(name) if own.connections == 4]
        again = [own for own in own_rows if (own.mix, 4) in cells]
        speed = exp(
            np.mean([log(own.values[SERVER_CPU] / cells[own.mix, 4].values[SERVER_CPU]) for own in again])
        )
        fit = model.busy[SERVER_CPU]
        for own in own_rows:
            parts = parts_of(own.mix)
            if own.mix in CELLS or own.mix.path != "direct" or not fit.knows(parts):
                continue
            predicted, value = fit.predicted(parts), own.values[SERVER_CPU] / speed
            held = (predicted.low or 0.0) <= value <= (predicted.high or 0.0)
            found.append((held, abs(value / predicted.point - 1)))
    return found


def test_nine_in_ten_intervals_hold_what_was_recorded_on_another_processor_and_of_other_servers() -> None:
    found = compared("mysql-9.7")
    assert len(found) > 150
    own = compared("mariadb-11.8", tuple(pair for pair in TARGETS if "mariadb" in pair[0]))
    assert np.mean([held for held, _ in own]) >= 0.9
    assert np.mean([held for held, _ in found]) >= 0.9
    assert np.median([off for _, off in found]) < 0.15


def test_long_answers_through_a_path_cost_what_was_recorded() -> None:
    """27 answers of 14 KiB through HAProxy were predicted 26 % too high while all statements were alike."""
    model = calibration_of(Origin.of(fake_header(STUDY)), recorded("components-compressed"))
    (own,) = (
        own
        for own in recorded("components-validation-far")
        if own.mix.path == "haproxy-tls" and own.mix.statements == 27 and own.connections == 4
    )
    predicted = model.carrying(own.mix).busy[SERVER_CPU].predicted(parts_of(own.mix))
    assert own.values[SERVER_CPU] / predicted.point == pytest.approx(1, abs=0.15)


def test_a_ticket_that_is_sent_again_is_in_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    resumed = [
        own
        for own in shipped_parts("mysql-9.7").mixes
        if own.mix.resumption == "on" and own.mix.group == "default" and own.connections == 1
    ]
    assert len(resumed) == 2

    def furthest_off() -> float:
        fit = shipped_parts("mysql-9.7").calibrated().alone[SENT]
        return max(
            abs(own.values[SENT] / fit.cost(calibration.parts_of(own.mix)).point - 1) for own in resumed
        )

    assert furthest_off() < 0.01
    without = {"ticket again"}
    monkeypatch.setattr(
        calibration,
        "parts_of",
        lambda mix: {name: amount for name, amount in parts_of(mix).items() if name not in without},
    )
    assert furthest_off() > 0.05


@pytest.mark.parametrize("path", ["direct", "stunnel"])
def test_what_is_scaled_says_so_along_every_path(path: str) -> None:
    own = prediction(scaled(there(), measured(list(CELLS)), HERE), Mix(tls="off", path=path, **SMALL))
    assert own.calibration.scaling is not None
    assert own.calibration.scaling.run == HERE.run
    text = " ".join(prediction_text(own, width=100, colour=False).split())
    assert "An estimate, from parts measured on another machine and scaled to this one" in text


SMALL = {"statements": 1, "answer_bytes": 120}
