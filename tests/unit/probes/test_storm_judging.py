"""Whether connections were up in time, by planted histograms; and whether a server falls behind a rate."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

from tlstax.contract import Counts, CpuTime, Done
from tlstax.probes.storms.judging import falls_behind, is_up_in_time


def done(up_ms: Sequence[float], phase: str = "operation") -> Done:
    recorded = HdrHistogram(1, 3_600_000_000_000, 3)
    for ms in up_ms:
        recorded.record_value(int(ms * 1e6))
    none = Counts(connections=0, handshakes=(), authentications={})
    return Done(
        elapsed_s=1.0,
        operations=len(up_ms),
        scheduled=len(up_ms),
        skipped=0,
        window=none,
        lifetime=none,
        histograms_ns={phase: recorded.encode().decode()},
        cpu=CpuTime(total_us=2, user_us=1, system_us=1),
        wire=None,
        errors=(),
        row_samples=(),
    )


def in_time(up_ms: Sequence[float], connections: int, share: float = 0.99) -> bool:
    return is_up_in_time(done(up_ms), "operation", connections=connections, share=share, within_s=1.0)


def test_the_share_that_is_asked_for_has_to_be_up_in_time() -> None:
    assert in_time([500] * 99 + [1500], 100)
    assert not in_time([500] * 98 + [1500] * 2, 100)
    assert in_time([500] * 98 + [1500] * 2, 100, share=0.98)
    assert not in_time([500] * 99 + [1500], 100, share=1.0)


def test_those_that_never_came_up_count_as_late() -> None:
    assert in_time([500] * 99, 100)
    assert not in_time([500] * 98, 100)
    assert not in_time([500] * 98 + [1500], 100)


@pytest.mark.parametrize("excess", [0.03, 0.1, 0.5])
def test_a_server_that_takes_less_than_the_rate_falls_behind_by_the_rest(excess: float) -> None:
    base_ms, lasting_s, rate = 40.0, 2.0, 1000
    late = [base_ms + 1000 * lasting_s * excess * place / rate for place in range(rate)]
    assert falls_behind(done(late), lasting_s) == pytest.approx(excess, rel=0.05)


def test_a_server_that_keeps_up_does_not_however_slow_it_is_and_whatever_few_were_lost() -> None:
    assert falls_behind(done([300.0] * 97 + [1300.0] * 3), 2.0) == pytest.approx(0, abs=0.002)
