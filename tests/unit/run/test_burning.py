"""The amount stands in the page while a turn lasts, and what the library counted meanwhile is that turn's."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tlstax.records.window import Burned
from tlstax.run.server_pages import Burning
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.shared_pages import BurnPage
from tlstax.study.factors import CaseLevels

WORDS = struct.Struct("Q56xQQQQ")


CLOCK_NS = 200
"""What one reading of a thread's CPU clock is charged to it, in each call."""


class Library:
    """What the planted library does with the page: it reads and adds up, as faults/burn.c has it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def called(self, times: int, overshoot_ns: int = 12) -> None:
        amount_ns, calls, asked_ns, burned_ns, cpu_ns = WORDS.unpack(self._path.read_bytes()[: WORDS.size])
        burned = times * (amount_ns + overshoot_ns) if amount_ns else 0
        cpu_ns += burned + times * CLOCK_NS
        words = WORDS.pack(amount_ns, calls + times, asked_ns + times * amount_ns, burned_ns + burned, cpu_ns)
        with self._path.open("r+b") as file:
            file.write(words)


def bench(page: BurnPage | None) -> Any:
    """A bench on a server with this page."""
    server = PrivateServer.__new__(PrivateServer)
    server._process = type("Process", (), {"burn_page": page})()  # type: ignore[assignment]
    return type("Bench", (), {"server": server})()


@pytest.fixture
def page(tmp_path: Path) -> BurnPage:
    return BurnPage(tmp_path / "burn")


def burn(level: str) -> CaseLevels:
    return CaseLevels.of({"fault": "burn", "burn": level})


def test_a_turn_has_its_amount_and_nothing_is_burned_between_turns(page: BurnPage) -> None:
    library = Library(page.path)
    dear, cheap = (
        Burning(CaseLevels.of({"fault": "burn", "burn": level}), bench(page)) for level in ("400ns", "off")
    )
    library.called(3)
    with dear.turn():
        library.called(10)
    library.called(1000)
    with cheap.turn():
        library.called(20)
    with dear.turn():
        library.called(30)
    assert dear.record() == Burned(
        calls=(10, 30), asked_ns=(4000, 12_000), burned_ns=(4120, 12_360), cpu_ns=(6120, 18_360)
    )
    assert cheap.record() == Burned(calls=(20,), asked_ns=(0,), burned_ns=(0,), cpu_ns=(4000,))


def test_a_turn_that_fails_is_none_and_its_amount_is_taken_away(page: BurnPage) -> None:
    library, burning = (
        Library(page.path),
        Burning(burn("400ns"), bench(page)),
    )
    with pytest.raises(OSError, match="gone"), burning.turn():
        raise OSError("gone")
    assert burning.record() is None
    library.called(5)
    with burning.turn():
        library.called(7)
    assert burning.record() == Burned(calls=(7,), asked_ns=(2800,), burned_ns=(2884,), cpu_ns=(4284,))


def test_where_nothing_is_planted_there_is_nothing_to_tell() -> None:
    burning = Burning(CaseLevels.of({}), bench(None))
    with burning.turn():
        pass
    assert burning.record() is None


def test_the_page_is_the_users_alone(page: BurnPage) -> None:
    assert page.path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        BurnPage(page.path)


def test_columns_are_of_one_length() -> None:
    with pytest.raises(ValidationError, match="different lengths"):
        Burned(calls=(1,), asked_ns=(), burned_ns=(1,))
    with pytest.raises(ValidationError, match="different lengths"):
        Burned(calls=(1, 2), asked_ns=(1, 2), burned_ns=(1, 2), cpu_ns=(1,))
    assert Burned(calls=(1,), asked_ns=(1,), burned_ns=(1,)).cpu_ns == ()
