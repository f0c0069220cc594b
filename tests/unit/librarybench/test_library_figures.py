"""A planted difference between libraries comes out as planted, and a planted nothing does not come out."""

from __future__ import annotations

import pytest

from library_runs import CLIENT_US, EXCHANGE, HANDSHAKE, SERVER_US, SIGNATURE, bench
from tlstax.librarybench.document import Figures
from tlstax.librarybench.estimate import document
from tlstax.librarybench.records import Instructions, Locks, Taker
from tlstax.results.interval import Interval


def figures(found: Figures) -> tuple[Interval, Interval]:
    assert found.server_ratio is not None
    assert found.client_ratio is not None
    return found.server_ratio, found.client_ratio


@pytest.mark.parametrize("drift", [0.0, 0.001])
def test_what_was_planted_is_found_whatever_else_happens(drift: float) -> None:
    found = document(bench([1.0, 1.03, 1.0], drift=drift)).subjects[0].libraries
    server, client = figures(found[1])
    assert server.point == pytest.approx(1.03, rel=1e-3)
    assert server.low is not None
    assert server.low > 1.02
    assert client.point == pytest.approx(1.0, rel=1e-3)
    nothing, _ = figures(found[2])
    assert nothing.point == pytest.approx(1.0, rel=1e-3)


def test_absolute_figures_are_those_of_the_median_slice() -> None:
    first, second = document(bench([1.0, 0.5])).subjects[0].libraries
    assert first.server_cpu_us is not None
    assert first.server_cpu_us.point == pytest.approx(SERVER_US)
    assert first.server_cpu_us.blocks == 6
    assert second.server_cpu_us is not None
    assert second.server_cpu_us.point == pytest.approx(SERVER_US / 2)
    assert first.client_cpu_us is not None
    assert first.client_cpu_us.point == pytest.approx(CLIENT_US)
    assert first.server_ratio is None
    assert first.client_ratio is None


def test_what_a_library_cannot_do_has_its_reason_and_no_figure() -> None:
    found = document(bench([1.0, 1.0, 1.0], (HANDSHAKE, SIGNATURE), refuses=1))
    able, unable = found.subjects[0].libraries[1], found.subjects[1].libraries[1]
    assert able.server_cpu_us is not None
    assert not able.refused
    assert unable == Figures(library="library-1", refused="it has no such key")
    assert found.subjects[1].libraries[2].server_ratio is not None


def test_instructions_stand_where_they_were_counted() -> None:
    run = bench([1.0, 1.0, 1.0], (HANDSHAKE, EXCHANGE))
    counted = (
        Instructions(subject=0, library=0, per_operation=11e6, atomic_per_operation=900),
        Instructions(subject=1, library=1, per_operation=1e6, atomic_per_operation=0),
    )
    found = document(run.model_copy(update={"instructions": counted, "counted_by": "valgrind-3.24"}))
    assert [f.instructions for f in found.subjects[0].libraries] == [11e6, None, None]
    assert [f.atomic_instructions for f in found.subjects[0].libraries] == [900, None, None]
    assert [f.instructions for f in found.subjects[1].libraries] == [None, 1e6, None]
    assert found.caveats == (
        "instructions were counted by callgrind (valgrind-3.24), whose processor has no AVX-512: on one that "
        "has, libraries may take another way",
    )


def test_locks_are_summed_by_side_and_those_who_take_most_are_named() -> None:
    run = bench([1.0, 1.0, 1.0], (HANDSHAKE, EXCHANGE))
    takers = tuple(
        Taker(library="libcrypto.so.3", function=f"f{place}", per_operation=float(9 - place))
        for place in range(7)
    )
    counted = (
        Locks(subject=0, library=0, side="client", takers=takers),
        Locks(subject=0, library=0, side="server", takers=takers[:1]),
    )
    first, second, _ = document(run.model_copy(update={"locks": counted})).subjects[0].libraries
    assert (first.client_locks, first.server_locks) == (9 + 8 + 7 + 6 + 5 + 4 + 3, 9)
    assert first.lock_takers == {"client": takers[:5], "server": takers[:1]}
    assert (second.client_locks, second.lock_takers) == (None, {})


@pytest.mark.parametrize(
    ("changes", "caveat"),
    [
        ({"status": "interrupted"}, "it was interrupted: what had been measured before that counts"),
        ({"status": "failed", "why": "a library's program failed"}, "it failed before its end: a library's"),
        ({"beside_another": True}, "another run measured on the same processors meanwhile"),
    ],
)
def test_what_is_to_be_borne_in_mind_is_said(changes: dict[str, object], caveat: str) -> None:
    found = document(bench([1.0, 1.0]).model_copy(update=changes))
    assert [text for text in found.caveats if text.startswith(caveat)]
    assert document(bench([1.0, 1.0])).caveats == ()


def test_of_one_block_there_is_no_interval() -> None:
    found = document(bench([1.0, 1.1], number_of_blocks=1))
    assert found.blocks == 1
    assert found.caveats == ("one block: inconclusive",)
    server, _ = figures(found.subjects[0].libraries[1])
    assert server.half_width is None
    assert server.point == pytest.approx(1.1, rel=1e-3)
