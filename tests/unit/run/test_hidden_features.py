"""Instructions are hidden where that is possible, and what libraries say of it is noted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tlstax.records.trial import Specimen
from tlstax.run import benches
from tlstax.run.benches import check_hidden, hidden_notes
from tlstax.specimens.server_build import TlsLibrary
from tlstax.study import Study, load_study
from tlstax.study.changes import override
from tlstax.support.errors import MachineFault, UserMistake

TAX = load_study("tax")
IFMA = 1 << 21


def asking(*levels: str) -> Study:
    return override(TAX, "cpu_features", levels)


def library(name: str) -> TlsLibrary:
    specimen = Specimen(name=name, kind="tls_library", version="3", origin="here")
    return TlsLibrary(specimen, Path("/kept/lib/libssl.so.3"), Path("/kept/lib/libcrypto.so.3"))


def says(
    monkeypatch: pytest.MonkeyPatch, own: tuple[int, ...] | None, masked: tuple[int, ...] | None
) -> None:
    """Libraries say the first of these without a variable in their environment, and the second with one."""

    def answer(_: TlsLibrary, environment: Mapping[str, str]) -> tuple[int, ...] | None:
        return masked if environment else own

    monkeypatch.setattr(benches, "capabilities", answer)


def test_only_x86_has_the_instructions() -> None:
    check_hidden(asking("own", "no-avx2"), "x86_64")
    check_hidden(asking("own"), "aarch64")
    check_hidden(TAX, "aarch64")
    with pytest.raises(UserMistake, match="this machine's is aarch64"):
        check_hidden(asking("own", "no-avx2"), "aarch64")


def test_what_each_library_finds_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, (7, IFMA | 1), (7, 1))
    assert list(hidden_notes(asking("own", "no-ifma"), [library("a"), library("b")])) == [
        "a with no-ifma finds 0x7:0x1",
        "b with no-ifma finds 0x7:0x1",
    ]
    assert list(hidden_notes(TAX, [library("a")])) == list(hidden_notes(asking("own"), [library("a")])) == []


def test_a_processor_that_has_none_of_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, (7, 1), (7, 1))
    (note,) = hidden_notes(asking("no-ifma"), [library("a")])
    assert note.endswith("(as without: this processor has none of it)")


def test_a_library_that_cannot_say_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, None, None)
    assert list(hidden_notes(asking("no-ifma"), [library("a")])) == [
        "a cannot say what it finds with no-ifma; its environment is all that is known"
    ]


def test_a_library_that_finds_it_all_the_same_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, (7, IFMA), (7, IFMA))
    with pytest.raises(MachineFault, match="a finds AVX512IFMA all the same with no-ifma"):
        list(hidden_notes(asking("no-ifma"), [library("a")]))
