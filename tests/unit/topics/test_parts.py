"""Planted costs of parts are found from mixes of them, and intervals hold as often as they promise."""

from __future__ import annotations

from dataclasses import replace
from math import exp, hypot

import numpy as np
import pytest

from planted_parts import PLANTED, cost_of
from tlstax.stats.contrasts import PROCESSES
from tlstax.study import load_study
from tlstax.study.factors import CaseLevels
from tlstax.study.mixes import Mix
from tlstax.support.errors import UserMistake
from tlstax.topics.prediction.model import Fit, fitted
from tlstax.topics.prediction.parts import part_words, parts_of, statements_alone

STUDENT_44 = 2.0154
"""The 0.975 quantile of Student's t with as many degrees of freedom as the study has mixes to spare."""


def mixes() -> list[Mix]:
    """Those of the built-in study."""
    found = (Mix.of(CaseLevels.of(levels)) for levels in load_study("components").treatments)
    return [mix for mix in found if mix is not None]


def fit_of(noise: np.random.Generator | None = None, sd: float = 0.0) -> Fit:
    measured = []
    for mix in mixes():
        luck = exp(noise.normal(0, sd)) if noise is not None else 1.0
        measured.append((parts_of(mix), cost_of(parts_of(mix)) * luck))
    return fitted(measured, blocks=5, confidence=0.95, study="components")


def test_what_was_planted_is_found_to_the_last_digit() -> None:
    fit = fit_of()
    assert set(fit.names) == set(PLANTED)
    for name, cost in PLANTED.items():
        assert fit.cost({name: 1}).point == pytest.approx(cost)
    assert fit.unexplained == pytest.approx(0, abs=1e-9)
    new = Mix(tls="1.2", certificate="rsa-3072", group="P-384", statements=11, answer_bytes=777)
    found = fit.predicted(parts_of(new))
    assert found.point == pytest.approx(cost_of(parts_of(new)))
    reach = STUDENT_44 * PROCESSES
    assert (found.low, found.high) == pytest.approx(
        (found.point * exp(-reach), found.point * exp(reach)), rel=1e-3
    )


def test_what_a_change_saves_is_the_difference_of_its_parts() -> None:
    fit = fit_of()
    before = Mix(certificate="rsa-4096", statements=10, answer_bytes=100)
    saved = fit.saving(parts_of(before), parts_of(before.but(certificate="ec-p256")))
    assert saved.point == pytest.approx(2750)
    nothing = fit.saving(parts_of(before), parts_of(before))
    assert (nothing.point, nothing.low, nothing.high) == (0, 0, 0)


def test_a_saving_is_as_unsure_as_what_is_exchanged() -> None:
    costs, covariance = np.array([60.0, 40.0, 10.0]), np.diag([36.0, 16.0, 9.0])
    fit = Fit(("a", "b", "c"), costs, covariance, 0.0, 10**6, 3, 0.95)
    saved = fit.saving({"a": 1, "c": 1}, {"b": 1, "c": 1})
    # 60 of a and 40 of b are each another time on another process; of c nothing is.
    half = 1.96 * hypot(hypot(6, 4), PROCESSES * hypot(60, 40))
    assert (saved.low, saved.point, saved.high) == pytest.approx((20 - half, 20, 20 + half), rel=1e-4)


def test_a_share_is_exact_where_the_costs_are() -> None:
    fit = Fit(("a", "b"), np.array([60.0, 40.0]), np.diag([36.0, 16.0]), 0.0, 10**6, 3, 0.95)
    share = fit.saved_share({"a": 1, "b": 1}, {"b": 1})
    # d(a / (a + b)) = (0.4 da - 0.6 db) / 100, and the process that differs by 3 % of what is exchanged.
    sd = hypot(hypot(0.4 * 6, 0.6 * 4), PROCESSES * 60) / 100
    assert (share.point, share.low) == pytest.approx((0.6, 0.6 - 1.96 * sd), rel=1e-4)
    assert replace(fit, speed=2.0).saved_share({"a": 1, "b": 1}, {"b": 1}) == share


def test_a_cost_that_may_be_at_another_speed_has_no_other_sign() -> None:
    fit = Fit(("a",), np.array([60.0]), np.array([[36.0]]), 0.0, 10**6, 3, 0.95, speed=0.5)
    found = fit.cost({"a": 1})
    off = exp(1.96 * 0.5)
    assert (found.low, found.high) == pytest.approx(((60 - 1.96 * 6) / off, (60 + 1.96 * 6) * off), rel=1e-4)
    saved = fit.cost({"a": -1})
    assert saved.low == pytest.approx(-(found.high or 0.0))


def test_a_part_that_was_not_measured_is_not_known() -> None:
    fit = fit_of()
    assert fit.knows(parts_of(mixes()[0]))
    assert not fit.knows({"key mldsa87": 1})
    with pytest.raises(KeyError, match="mldsa87"):
        fit.cost({"key mldsa87": 1})


def test_too_few_mixes_are_no_fit() -> None:
    few = [(parts_of(mix), cost_of(parts_of(mix))) for mix in mixes()[:5]]
    with pytest.raises(UserMistake, match="5 mixes") as caught:
        fitted(few, blocks=5, confidence=0.95, study="components")
    assert caught.value.remedy == "run `tlstax study run components` to its end"
    same = [(parts_of(mixes()[1]), 100.0)] * 20
    with pytest.raises(UserMistake, match="20 mixes"):
        fitted(same, blocks=5, confidence=0.95, study="components")


def test_intervals_hold_as_often_as_they_promise() -> None:
    """New mixes with the same scatter on processes of their own, 40 of each of 60 fits: about 95 %."""
    chance = np.random.default_rng(4)
    new = [
        Mix(tls="1.3", certificate="rsa-4096", statements=6, answer_bytes=2000),
        Mix(
            tls="1.2", certificate="ec-p256", group="P-256", resumption="on", statements=20, answer_bytes=400
        ),
        Mix(tls="off", statements=3, answer_bytes=9000),
        Mix(tls="1.3", certificate="ec-p384", group="default", statements=1, answer_bytes=120),
    ]
    held = []
    for _ in range(60):
        fit = fit_of(chance, 0.03)
        for mix in new:
            truth = cost_of(parts_of(mix))
            found = fit.predicted(parts_of(mix))
            assert found.low is not None
            assert found.high is not None
            luck = hypot(0.03, PROCESSES)
            held += [found.low <= truth * exp(chance.normal(0, luck)) <= found.high for _ in range(10)]
    assert 0.925 <= np.mean(held) <= 0.975


def test_the_costs_of_parts_hold_as_often() -> None:
    chance = np.random.default_rng(5)
    held = []
    for _ in range(200):
        fit = fit_of(chance, 0.03)
        for name in ("statement", "TLS 1.3", "key rsa-4096", "group default"):
            found = fit.cost({name: 1})
            assert found.low is not None
            assert found.high is not None
            held.append(found.low <= PLANTED[name] <= found.high)
    assert np.mean(held) >= 0.9


def test_parts_of_a_resumed_connection_have_no_key_and_in_tls_1_2_no_group() -> None:
    mix = Mix(certificate="rsa-4096", group="default", resumption="on", statements=2, answer_bytes=512)
    assert parts_of(mix) == {
        "connection": 1,
        "statement": 2,
        "KiB": 1,
        "TLS 1.3 resumed": 1,
        "group default": 1,
        "ticket again": 1,
        "statement under TLS": 2,
        "KiB under TLS": 1,
    }
    assert not {"group default", "ticket again"} & parts_of(mix.but(tls="1.2")).keys()
    assert "ticket again" not in parts_of(mix.but(group="P-384"))
    assert parts_of(mix.but(tls="1.2", resumption="off")) == {
        "connection": 1,
        "statement": 2,
        "KiB": 1,
        "TLS 1.2": 1,
        "key rsa-4096": 1,
        "group default": 1,
        "statement under TLS": 2,
        "KiB under TLS": 1,
    }
    assert set(parts_of(Mix(tls="off", statements=1, answer_bytes=1))) == {"connection", "statement", "KiB"}


def test_a_chain_and_a_client_certificate_are_parts_of_full_handshakes() -> None:
    mix = Mix(certificate="rsa-4096", chain=3, client_certificate="on", statements=1, answer_bytes=512)
    own = parts_of(mix)
    assert own["chain rsa-2048"] == 2, "authorities of RSA have keys of 2048 bits"
    assert own["client rsa-4096"] == 1
    assert parts_of(mix.but(chain=2))["chain rsa-2048"] == 1
    assert not any(name.startswith("chain") for name in parts_of(mix.but(chain=1)))
    assert not any(name.startswith("chain") for name in parts_of(mix.but(resumption="on")))
    assert parts_of(mix.but(resumption="on"))["client rsa-4096 resumed"] == 1
    assert "chain mldsa65" in parts_of(mix.but(certificate="mldsa65"))
    with pytest.raises(ValueError, match="nobody is asked"):
        mix.but(tls="off")


def test_what_tls_1_3_alone_has_is_refused_before_it() -> None:
    with pytest.raises(ValueError, match="mldsa65 signs"):
        Mix(tls="1.2", certificate="mldsa65", statements=1, answer_bytes=1)
    with pytest.raises(ValueError, match="X25519MLKEM768 is a group"):
        Mix(tls="1.2", group="X25519MLKEM768", statements=1, answer_bytes=1)


def test_bytes_beyond_16_kib_of_an_answer_are_a_part_of_their_own() -> None:
    own = parts_of(Mix(statements=2, answer_bytes=20 << 10))
    assert own["KiB"] == own["KiB under TLS"] == 2 * 16
    assert own["KiB beyond 16"] == own["KiB beyond 16 under TLS"] == 2 * 4
    assert own["buffer KiB"] == 4, "a connection's buffers grow once"
    assert "buffer KiB" not in statements_alone(Mix(statements=2, answer_bytes=20 << 10))
    assert "KiB beyond 16" not in parts_of(Mix(statements=2, answer_bytes=16 << 10))
    assert "KiB beyond 16" in statements_alone(Mix(statements=2, answer_bytes=20 << 10))


def test_statements_of_a_long_connection_are_a_part_of_their_own_through_a_path_as_well() -> None:
    long = Mix(statements=20, answer_bytes=512)
    own = parts_of(long)
    assert (own["statement"], own["statement beyond 8"]) == (8, 12)
    assert (own["statement under TLS"], own["statement beyond 8 under TLS"]) == (8, 12)
    assert own["KiB"] == 10
    assert "statement beyond 8" in statements_alone(long)
    assert "statement beyond 8" not in parts_of(long.but(statements=8))
    through = parts_of(Mix(tls="off", path="stunnel", statements=20, answer_bytes=512))
    assert through["statement"] == through["statement through stunnel"] == 8
    assert through["statement beyond 8"] == through["statement beyond 8 through stunnel"] == 12


def test_compression_is_in_connection_statements_and_the_steps_of_their_answers() -> None:
    own = parts_of(Mix(tls="off", compression="zlib", statements=2, answer_bytes=40 << 10))
    added = {name: amount for name, amount in own.items() if "zlib" in name}
    assert added == {
        "compression zlib": 1,
        "statement under zlib": 2,
        "KiB under zlib": 2 * 8,
        "KiB 8 to 16 under zlib": 2 * 8,
        "KiB 16 to 32 under zlib": 2 * 16,
        "KiB beyond 32 under zlib": 2 * 8,
    }
    clear = parts_of(Mix(tls="off", statements=2, answer_bytes=40 << 10))
    assert {name: amount for name, amount in own.items() if name not in added} == clear
    small = parts_of(Mix(tls="off", compression="zstd", statements=1, answer_bytes=8 << 10))
    assert [name for name in small if "zstd" in name] == [
        "compression zstd",
        "statement under zstd",
        "KiB under zstd",
    ]
    assert "KiB under zlib" in statements_alone(Mix(compression="zlib", statements=1, answer_bytes=1))


def test_tls_encrypts_what_a_compression_leaves() -> None:
    own = parts_of(Mix(compression="zlib", statements=2, answer_bytes=40 << 10))
    assert own["KiB under TLS"] == 2 * 16
    assert own["KiB beyond 16 under TLS"] == 2 * 4
    assert own["statement under TLS"] == own["statement under zlib under TLS"] == 2
    assert "statement under zlib under TLS" not in parts_of(
        Mix(tls="off", compression="zlib", statements=2, answer_bytes=1)
    )


def test_what_compression_costs_through_a_path_is_refused() -> None:
    with pytest.raises(ValueError, match="what it costs through stunnel is not known"):
        Mix(tls="off", path="stunnel", compression="zstd", statements=1, answer_bytes=1)


def test_making_a_connection_has_none_of_its_statements() -> None:
    mix = Mix(certificate="rsa-4096", statements=2, answer_bytes=512)
    made = set(parts_of(mix)) - set(statements_alone(mix))
    assert made == {"connection", "TLS 1.3", "key rsa-4096"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("connection", "a connection, in the clear"),
        ("TLS 1.3", "a full handshake of TLS 1.3, with RSA 2048 and P-256"),
        ("TLS 1.2 resumed", "a resumed handshake of TLS 1.2"),
        ("key rsa-4096", "RSA 4096 in place of RSA 2048"),
        ("chain rsa-2048", "further certificate of an authority with RSA 2048"),
        ("client ec-p256", "a client certificate with EC P-256"),
        ("client ec-p256 resumed", "a client certificate with EC P-256, resumed"),
        ("group P-384", "P-384 in place of P-256"),
        ("group default", "the client's first group in place of P-256"),
        ("login mysql_native_password", "a login by mysql_native_password"),
        ("compression zlib", "zlib, agreed on and made ready"),
        ("statement under zlib under TLS", "statement under zlib and TLS at once"),
        ("KiB under zlib", "KiB of the first 8 of each, under zlib"),
        ("KiB 8 to 16 under zstd", "KiB 8 to 16 of each, under zstd"),
        ("KiB beyond 32 under zlib", "KiB beyond the first 32 of each, under zlib"),
        ("KiB through stunnel", "KiB through stunnel"),
    ],
)
def test_a_part_in_words(name: str, words: str) -> None:
    assert part_words(name) == words
