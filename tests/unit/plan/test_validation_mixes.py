"""Mixes drawn for a validation: new, within what is known, the same for the same seed."""

from __future__ import annotations

from tlstax.plan.order import cases
from tlstax.plan.prediction_studies import (
    FARTHEST_MS,
    NEAREST_MS,
    VALIDATION,
    calibration_mixes,
    calibration_study,
    drawn,
    references,
    validation_study,
)
from tlstax.study import load_study, override
from tlstax.study.factors import CaseLevels
from tlstax.study.mixes import Mix
from tlstax.topics.prediction.parts import parts_of

COMPONENTS = override(load_study("components"), "server", ("mysql-8.0.33",))
"""Of a server that has every login and compression."""


def known() -> tuple[Mix, ...]:
    found = (Mix.of(CaseLevels.of(levels)) for levels in COMPONENTS.treatments)
    return tuple(mix for mix in found if mix is not None)


def test_what_is_drawn_is_new_and_within_what_is_known() -> None:
    found = drawn(known(), 200, 1, with_distance=True)
    mixes = [own.mix for own in found]
    assert len(set(mixes)) == 200
    assert not set(mixes) & set(known())
    for mix in mixes:
        assert 1 <= mix.statements <= 32
        assert 120 <= mix.answer_bytes <= 1 << 20
        assert mix.statements * mix.answer_bytes <= (128 << 10 if mix.compression != "off" else 4 << 20)
        assert mix.compression == "off" or mix.path == "direct"
        assert mix.chain == 1 or (mix.tls != "off" and mix.resumption == "off")
        assert mix.certificate in {own.certificate for own in known()}
        assert (mix.tls, mix.group) in {(own.tls, own.group) for own in known()}
    assert {mix.tls for mix in mixes} == {"off", "1.2", "1.3"}
    assert {mix.resumption for mix in mixes} == {"off", "on"}
    assert {mix.path for mix in mixes} == {"direct", "stunnel", "haproxy-tls", "ssh-aes128-gcm"}
    assert {mix.auth for mix in mixes} == {"default", "mysql_native_password"}
    assert {mix.compression for mix in mixes} == {"off", "zlib", "zstd"}
    assert {mix.chain for mix in mixes} == {1, 2, 3}
    assert {mix.client_certificate for mix in mixes} == {"off", "on"}
    assert any(mix.answer_bytes > 16 << 10 for mix in mixes)
    assert all(own.mix.path == "direct" for own in found if own.rtt_ms)
    assert all(own.mix.answer_bytes <= 15_000 for own in found if own.rtt_ms or own.mix.path != "direct")


def test_a_quarter_is_away_where_distances_can_be_made() -> None:
    found = drawn(known(), 30, 1, with_distance=True)
    away = [own.rtt_ms for own in found if own.rtt_ms]
    assert len(away) == 7
    assert all(NEAREST_MS <= rtt_ms <= FARTHEST_MS for rtt_ms in away)
    assert not any(own.rtt_ms for own in drawn(known(), 30, 1, with_distance=False))


def test_the_same_seed_draws_the_same() -> None:
    assert drawn(known(), 20, 7, with_distance=True) == drawn(known(), 20, 7, with_distance=True)
    assert drawn(known(), 20, 7, with_distance=True) != drawn(known(), 20, 8, with_distance=True)


def test_the_study_measures_each_of_them_at_each_number_of_connections() -> None:
    mixes = drawn(known(), 9, 3, with_distance=True)
    beside = references(known())
    study = validation_study(COMPONENTS, beside, mixes, 300)
    assert (study.name, study.budget_s) == (VALIDATION, 300)
    measured = [case.levels for case in cases(study) if case.role != "control"]
    wanted = [(own.mix, own.rtt_ms, at_once) for at_once in (1, 4) for own in (*beside, *mixes)]
    assert sorted(map(str, ((Mix.of(case), case.rtt_ms, case.connections) for case in measured))) == sorted(
        map(str, wanted)
    )


def test_what_was_not_compressed_is_drawn_uncompressed() -> None:
    plain = [own for own in known() if own.compression == "off"]
    assert {own.mix.compression for own in drawn(plain, 50, 1, with_distance=False)} == {"off"}


def test_known_mixes_stand_beside_them_one_of_each_version() -> None:
    found = references(known())
    assert [own.mix.tls for own in found] == ["off", "1.3", "1.2"]
    assert all(own.mix in known() and not own.rtt_ms for own in found)
    assert len({own.mix.certificate for own in found}) == 1
    assert {own.mix.resumption for own in found} == {"off"}
    assert {own.mix.compression for own in found} == {"off"}


def test_a_path_is_drawn_with_logins_that_it_was_measured_with() -> None:
    known = [
        Mix(tls="off", statements=1, answer_bytes=100),
        Mix(tls="off", statements=9, answer_bytes=900),
        Mix(tls="off", auth="mysql_native_password", statements=1, answer_bytes=100),
        Mix(tls="off", path="stunnel", statements=1, answer_bytes=100),
        Mix(tls="1.3", statements=1, answer_bytes=100),
    ]
    found = [own.mix for own in drawn(known, 60, 3, with_distance=False)]
    assert {mix.auth for mix in found if mix.path == "direct"} == {"default", "mysql_native_password"}
    assert {mix.auth for mix in found if mix.path == "stunnel"} == {"default"}


def known_at_postgresql() -> tuple[Mix, ...]:
    study = load_study("postgres-components")
    found = (Mix.of(CaseLevels.of(levels), "postgresql") for levels in study.treatments)
    return tuple(mix for mix in found if mix is not None)


def test_at_postgresql_each_mix_that_is_drawn_can_be_measured_and_has_known_parts() -> None:
    known = known_at_postgresql()
    parts = {name for own in known for name in parts_of(own)}
    found = drawn(known, 150, 1, with_distance=True)
    mixes = [own.mix for own in found]
    assert len(set(mixes)) == 150
    assert not set(mixes) & set(known)
    assert {mix.product for mix in mixes} == {"postgresql"}
    assert {name for mix in mixes for name in parts_of(mix)} <= parts
    assert {mix.tls for mix in mixes} == {"off", "1.2", "1.3", "1.3-direct"}
    assert {mix.auth for mix in mixes} == {own.auth for own in known}
    assert {mix.path for mix in mixes} == {"direct", "pgbouncer", "stunnel"}
    assert {mix.protocol for mix in mixes} == {"text", "prepared"}
    assert {mix.client_certificate for mix in mixes} == {"off", "on"}
    assert all(mix.client_certificate == "on" for mix in mixes if mix.auth == "cert")
    assert all(mix.answer_bytes <= 15_000 for mix in mixes if mix.path != "direct")
    study = validation_study(load_study("postgres-components"), references(known), found, 300)
    included = {(Mix.of(case, "postgresql"), case.rtt_ms) for case in study.included()}
    assert included >= set(found), "no case of them is left out"
    assert [own.mix.tls for own in references(known)] == ["off", "1.3", "1.2", "1.3-direct"]
    assert drawn(known, 20, 7, with_distance=True) == drawn(known, 20, 7, with_distance=True)


def test_a_calibration_at_postgresql_measures_what_its_study_does() -> None:
    study = calibration_study("postgresql-15")
    assert study.levels_of()["server"] == ("postgresql-15",)
    mixes = [Mix.of(case, "postgresql") for case in study.included()]
    assert len(mixes) == 2 * len(calibration_mixes("postgresql-15"))
    assert set(mixes) == set(calibration_mixes("postgresql-15"))
    assert set(mixes) <= set(known_at_postgresql())
    assert calibration_study("mariadb-11.8").treatments[0].keys() >= {"resumption", "compression"}
