"""A server's CPU clock is read when it has done with the connections that were just closed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from tlstax.observers import process
from tlstax.observers.process import CpuClock


class Used(CpuClock):
    """A clock that shows these microseconds, one after another."""

    def __init__(self, readings_us: Sequence[float]) -> None:
        super().__init__(None)
        self._readings_us: Iterator[float] = iter(readings_us)

    def read_us(self) -> float:
        return next(self._readings_us)


@pytest.fixture(autouse=True)
def _time_is_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A millisecond passes with every look at the time."""
    times_s = iter(number / 1000 for number in range(1000))
    monkeypatch.setattr(process.time, "monotonic", lambda: next(times_s))
    monkeypatch.setattr(process.time, "sleep", lambda _s: None)


def test_where_connections_are_kept_it_is_read_once() -> None:
    assert Used([1_000.0]).read_settled(comes_and_goes=False) == (1_000.0, 0.0)


def test_it_is_read_again_until_it_stands_still_and_what_it_went_on_for_is_known() -> None:
    now_us, went_on_s = Used([1_000, 1_100, 1_200, 1_205]).read_settled(comes_and_goes=True)
    assert (now_us, went_on_s) == (1_205, pytest.approx(0.002))
    assert Used([1_000, 1_019]).read_settled(comes_and_goes=True) == (1_019, 0.0)


def test_a_server_that_never_rests_is_not_waited_for_any_longer() -> None:
    now_us, went_on_s = Used([1_000.0 * number for number in range(1000)]).read_settled(comes_and_goes=True)
    assert (now_us, went_on_s) == (50_000.0, pytest.approx(process.LONGEST_SETTLING_S))
