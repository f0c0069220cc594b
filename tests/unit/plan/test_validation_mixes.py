"""Mixes drawn for a validation: new, within what is known, the same for the same seed."""

from __future__ import annotations

from typing import Any

import pytest

from tlstax.plan.order import cases
from tlstax.plan.prediction_studies import (
    FARTHEST_MS,
    NEAREST_MS,
    VALIDATION,
    DrawnMix,
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


def test_where_only_a_few_are_left_each_is_drawn_once() -> None:
    """In the clear, by either version, resumed or not, one statement or two: ten, of which two are known."""
    known = [Mix(tls="off", statements=statements, answer_bytes=120) for statements in (1, 2)]
    found = [own.mix for own in drawn(known, 8, 1, with_distance=False)]
    assert len(set(found)) == 8
    assert not set(found) & set(known)


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
    assert (study.levels_of()["connections"], study.minimum_blocks) == ((1, 4), 2)
    assert len(mixes) == 2 * len(calibration_mixes("postgresql-15"))
    assert set(mixes) == set(calibration_mixes("postgresql-15"))
    assert set(mixes) <= set(known_at_postgresql())
    assert calibration_study("mariadb-11.8").treatments[0].keys() >= {"resumption", "compression"}


FEW, MANY = {"statements": 1, "answer_bytes": 120}, {"statements": 32, "answer_bytes": 200_000}


def mixes(product: str, *levels: dict[str, Any]) -> tuple[Mix, ...]:
    """Mixes of few statements, but for one of many."""
    many = {"product": product, "tls": "off", **MANY}
    return tuple(
        Mix.model_validate(own) for own in (many, *({"product": product, **FEW} | own for own in levels))
    )


AT_MYSQL = mixes(
    "mysql",
    {"tls": "off"},
    {"tls": "off", "path": "stunnel"},
    {"tls": "off", "compression": "zlib"},
    {"tls": "off", "auth": "mysql_native_password"},
    {"resumption": "on"},
    {"certificate": "ec-p256", "chain": 3},
    {"client_certificate": "on"},
    {"tls": "1.2"},
    {},
    {"group": "default"},
)
AT_POSTGRESQL = mixes(
    "postgresql",
    {"tls": "off"},
    {"tls": "off", "path": "pgbouncer"},
    {"tls": "off", "path": "stunnel"},
    {"tls": "off", "protocol": "prepared"},
    {"tls": "off", "auth": "trust"},
    {"tls": "1.2"},
    {},
    {"tls": "1.3-direct"},
    {"auth": "md5"},
    {"auth": "cert", "client_certificate": "on"},
    {"certificate": "ec-p256", "chain": 2},
    {"group": "default"},
)


def words(own: DrawnMix) -> str:
    """A mix with what is otherwise than usual in it."""
    said = {"tls", "product", "statements", "answer_bytes"}
    more = own.mix.model_dump(exclude_defaults=True, exclude=said)
    other = "".join(f", {name} {level}" for name, level in more.items()).replace(
        "mysql_native_password", "native"
    )
    away = f", {own.rtt_ms} ms" if own.rtt_ms else ""
    return f"{own.mix.tls}: {own.mix.statements} of {own.mix.answer_bytes}{other}{away}"


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (
            AT_MYSQL,
            (
                "1.2: 10 of 2115, certificate ec-p256, chain 3, auth native, compression zlib",
                "1.3: 2 of 4154, certificate ec-p256, resumption on, compression zlib",
                "1.2: 2 of 33784, resumption on, auth native, compression zlib",
                "1.3: 31 of 3756, certificate ec-p256, compression zlib, 1.1 ms",
                "1.3: 1 of 2719, certificate ec-p256, chain 3, group default, auth native, compression zlib",
                "off: 8 of 336, path stunnel",
                "off: 30 of 1720, path stunnel",
                "1.2: 5 of 2033, certificate ec-p256, resumption on, auth native, compression zlib, 10.6 ms",
                "1.3: 3 of 8301, group default, resumption on, auth native",
                "1.3: 20 of 594",
                "1.3: 14 of 123, group default",
                "1.3: 1 of 4395, resumption on, auth native, 6.4 ms",
                "off: 6 of 2665, compression zlib",
                "1.3: 6 of 7949",
                "1.2: 16 of 135603, certificate ec-p256, resumption on, auth native",
                "1.3: 7 of 274, certificate ec-p256, chain 3, auth native, 27.3 ms",
                "off: 2 of 592, path stunnel",
                "1.3: 1 of 26836, certificate ec-p256, chain 3",
                "1.3: 8 of 3228, group default, auth native, compression zlib",
                "off: 12 of 160, auth native, 10.5 ms",
                "1.2: 11 of 146, certificate ec-p256, chain 3, auth native",
                "off: 5 of 1398, certificate ec-p256, auth native, compression zlib",
                "1.3: 14 of 120609, certificate ec-p256, resumption on",
                "1.2: 4 of 2283, certificate ec-p256, 11.6 ms",
            ),
        ),
        (
            AT_POSTGRESQL,
            (
                "1.2: 29 of 27282, certificate ec-p256, protocol prepared",
                "1.3: 11 of 127, group default, auth md5",
                "off: 8 of 1829",
                "1.3: 26 of 2195, 32.9 ms",
                "1.3-direct: 3 of 119467, client_certificate on, auth cert, protocol prepared",
                "off: 17 of 451, path pgbouncer",
                "1.3-direct: 26 of 25897, certificate ec-p256, chain 2, protocol prepared",
                "1.3-direct: 16 of 503, certificate ec-p256, 2.3 ms",
                "1.2: 1 of 57195, certificate ec-p256, chain 2, auth md5",
                "1.3: 1 of 186, client_certificate on, auth cert",
                "1.3: 6 of 2542, certificate ec-p256, chain 2, protocol prepared",
                "1.3: 5 of 186, certificate ec-p256, auth md5, 7.2 ms",
                "1.3-direct: 25 of 2619, client_certificate on, auth cert, protocol prepared",
                "off: 9 of 11347, certificate ec-p256, path pgbouncer",
                "1.2: 22 of 91322, protocol prepared",
                "off: 3 of 1159, certificate ec-p256, auth trust, 10.8 ms",
                "1.3: 14 of 120609, auth md5",
                "1.2: 31 of 18050, certificate ec-p256, auth md5",
                "1.2: 13 of 150, certificate ec-p256, auth md5, protocol prepared",
                "1.2: 1 of 6227, certificate ec-p256, chain 2, protocol prepared, 9.8 ms",
                "1.3: 19 of 921, certificate ec-p256, auth md5",
                "1.3-direct: 18 of 164, certificate ec-p256, group default, auth md5, protocol prepared",
                "off: 3 of 404, path pgbouncer",
                "1.3: 7 of 914, client_certificate on, auth cert, 7.9 ms",
            ),
        ),
    ],
)
def test_a_validation_that_was_published_can_be_repeated_by_its_seed(
    known: tuple[Mix, ...], said: tuple[str, ...]
) -> None:
    assert tuple(map(words, drawn(known, len(said), 51, with_distance=True))) == said


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (AT_MYSQL, ["off: 32 of 200000", "1.2: 1 of 120", "1.3: 1 of 120"]),
        (
            AT_POSTGRESQL,
            ["off: 32 of 200000", "1.2: 1 of 120", "1.3: 1 of 120", "1.3-direct: 1 of 120"],
        ),
    ],
)
def test_beside_them_stand_mixes_with_nothing_unusual(known: tuple[Mix, ...], said: list[str]) -> None:
    assert [words(own) for own in references(known)] == said
