"""What adapters of load clients share: a client that cannot stop in mid-run works in one slice."""

from __future__ import annotations

import pytest

from tlstax.clients.adapter import Laboratory, Refusal, has_begun, has_ended, only_slice
from tlstax.contract import Counts, CpuTime, Done


def said(text: str) -> Laboratory:
    laboratory = Laboratory()
    laboratory.take(text.encode())
    return laboratory


def test_all_work_is_begun_by_the_first_go_and_the_result_asked_for_by_end() -> None:
    laboratory = said("\ngo 0.0")
    assert not has_begun(laboratory)
    laboratory.take(b"2\n")
    assert has_begun(laboratory)
    assert not has_ended(laboratory)
    laboratory.take(b"\nending\nend\n")
    assert has_ended(laboratory)


@pytest.mark.parametrize("length", ["", " soon", " 0", " -1", " nan", " inf", " 1 2", " 31536001"])
def test_a_go_without_a_length_that_can_be_is_refused_in_a_sentence(length: str) -> None:
    with pytest.raises(Refusal, match="needs the length of a slice") as refused:
        has_begun(said(f"go{length}\n"))
    assert "\n" not in str(refused.value)


def test_a_second_go_is_refused() -> None:
    laboratory = said("go 1\ngo 1\nend\n")
    assert has_begun(laboratory)
    with pytest.raises(Refusal, match="one slice"):
        has_ended(laboratory)


def test_an_end_without_a_slice_is_refused() -> None:
    with pytest.raises(Refusal, match="before the first slice"):
        has_begun(said("end\n"))


def test_the_one_slice_has_what_the_result_has() -> None:
    done = Done(
        elapsed_s=1.5,
        operations=20,
        scheduled=21,
        skipped=0,
        window=Counts(connections=4, handshakes=(), authentications={}),
        lifetime=Counts(connections=9, handshakes=(), authentications={}),
        histograms_ns={},
        cpu=CpuTime(total_us=3.0, user_us=2.0, system_us=1.0),
        wire=None,
        errors=(),
        row_samples=(),
    )
    piece = only_slice(done)
    assert (piece.elapsed_s, piece.operations, piece.cpu_us, piece.counts) == (1.5, 20, 3.0, done.window)
    assert piece.latency_sum_s == 0
