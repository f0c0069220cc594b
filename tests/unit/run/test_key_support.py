"""What server and client do not agree on is asked once, said, and left out; all else stays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from tlstax.clients.process import ClientFailure
from tlstax.run import tls_support
from tlstax.study import Levels, load_study
from tlstax.study.factors import CaseLevels, ServerChoice
from tlstax.support.errors import UserMistake


class Benches:
    """Every server awake at once."""

    @contextmanager
    def using(self, choice: ServerChoice) -> Iterator[Any]:
        yield SimpleNamespace(choice=choice)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[CaseLevels]:
    """The handshakes that were tried; MySQL refuses ML-DSA and hybrids."""
    tried: list[CaseLevels] = []

    def connect(levels: Levels, _: object) -> None:
        case = CaseLevels.of(levels)
        tried.append(case)
        is_new = case.certificate.startswith("mldsa") or "MLKEM" in case.group
        if case.server == "mysql-9.7" and case.fault == "none" and is_new:
            raise ClientFailure("the server ended TLS with alert 40 (handshake failure)", ())

    monkeypatch.setattr(tls_support, "_connect", connect)
    return tried


def test_what_is_refused_is_left_out_and_said(asked: list[CaseLevels]) -> None:
    study, said = load_study("identity"), list[str]()
    found = tls_support.accepted(study, Benches(), said.append)  # type: ignore[arg-type]
    before, after = list(study.included()), list(found.included())
    gone = [CaseLevels.of(levels) for levels in before if levels not in after]
    assert {(case.server, case.certificate) for case in gone} == {("mysql-9.7", "mldsa44")}
    assert {case.connections for case in gone} == {1, 4}
    (sentence,) = said
    assert "ML-DSA-44" in sentence
    assert "alert 40 (handshake failure)" in sentence
    assert len(asked) == len(set(map(str, asked)))
    assert all(case.is_encrypted for case in asked)


def test_a_study_without_such_keys_asks_nobody(asked: list[CaseLevels]) -> None:
    study = load_study("pool-or-reconnect")
    assert tls_support.accepted(study, Benches(), print) is study  # type: ignore[arg-type]
    assert asked == []


def test_a_study_whose_baseline_is_refused_ends_with_a_sentence(asked: list[CaseLevels]) -> None:
    terms = {"tls": ("1.3",), "server": ("mysql-9.7",), "workload": ("reconnect",)}
    study = load_study("identity").model_copy(
        update={
            "factors": {**terms, "group": ("X25519MLKEM768", "P-256")},
            "treatments": (),
            "baseline": {"group": "X25519MLKEM768"},
            "contrasts": (),
        }
    )
    with pytest.raises(UserMistake, match=r"no case with group = .* is left .* \(handshake failure\)"):
        tls_support.accepted(study, Benches(), str)  # type: ignore[arg-type]
    assert asked
