"""What a connection costs in memory: planted slopes are found again, and what was cut short is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlstax.cli.memory_command import MemoryOptions, memory_command
from tlstax.guests.access import GuestOptions
from tlstax.observers.process import read_memory
from tlstax.probes.memory.document import Held, MemoryDocument, MemoryOfServer, Tls
from tlstax.probes.memory.measure import sizes_of
from tlstax.probes.memory.slopes import kinds, pss, rss, slopes, tls_adds
from tlstax.probes.memory.table import memory_text
from tlstax.support.errors import UserMistake

BASE, PLAIN, MORE = 500_000_000, 90_000, 40_000
SIZES = (100, 500, 2000)
THERE = GuestOptions(url="mysql://ann@127.0.0.1:9")
OFF_BY = (0, 1000, -1000)
"""By how much processes differ, a connection."""


def held(tls: Tls, number: int, connections: int) -> Held:
    each = PLAIN + (0 if tls == "off" else MORE) + OFF_BY[number]
    rss = BASE + each * connections
    return Held(
        tls=tls,
        round=number,
        connections=connections,
        rss_bytes=rss,
        pss_bytes=rss // 2,
        threads=connections + 40,
    )


ALL = [held(tls, number, size) for number in range(3) for tls in ("off", "1.3") for size in SIZES]  # type: ignore[arg-type]


def test_planted_slopes_are_found_with_the_scatter_of_processes() -> None:
    assert slopes([own for own in ALL if own.tls == "off"], rss) == pytest.approx(
        {0: 90_000, 1: 91_000, 2: 89_000}
    )
    plain, encrypted = kinds(ALL)
    assert (plain.tls, encrypted.tls) == ("off", "1.3")
    assert plain.rss_bytes.point == pytest.approx(PLAIN)
    assert plain.rss_bytes.blocks == 3
    assert plain.rss_bytes.low is not None
    assert plain.rss_bytes.low < PLAIN
    assert encrypted.pss_bytes is not None
    assert encrypted.pss_bytes.point == pytest.approx((PLAIN + MORE) / 2)
    assert plain.threads.point == pytest.approx(1)
    (added,) = tls_adds(ALL)
    assert (added.tls, added.rss_bytes.blocks) == ("1.3", 3)
    assert added.rss_bytes.point == pytest.approx(MORE)
    # The same scatter is in both, so that the difference has none.
    assert added.rss_bytes.low == pytest.approx(MORE)
    assert added.pss_bytes is not None
    assert added.pss_bytes.point == pytest.approx(MORE / 2)
    assert added.rss_ratio.point == pytest.approx((PLAIN + MORE) / PLAIN)
    assert added.rss_ratio.low is not None
    assert 1 < added.rss_ratio.low < added.rss_ratio.point


def test_a_process_with_one_size_alone_has_no_slope() -> None:
    short = [*ALL[:6], held("off", 2, 100)]
    assert set(slopes([own for own in short if own.tls == "off"], rss)) == {0}
    assert kinds([held("off", 0, 100)]) == ()
    assert tls_adds([held("1.3", 0, 100), held("1.3", 0, 500)]) == ()


def test_without_growth_in_the_clear_there_is_no_ratio() -> None:
    still = [own.model_copy(update={"rss_bytes": BASE}) if own.tls == "off" else own for own in ALL]
    (added,) = tls_adds(still)
    assert added.rss_ratio is None
    assert added.rss_bytes.point > 0


def test_rounds_in_any_order_give_kinds_in_theirs() -> None:
    assert [kind.tls for kind in kinds(ALL[::-1])] == ["off", "1.3"]


def test_memory_that_was_not_read_is_left_out() -> None:
    silent = [own.model_copy(update={"pss_bytes": None}) for own in ALL]
    assert all(kind.pss_bytes is None for kind in kinds(silent))
    assert all(added.pss_bytes is None for added in tls_adds(silent))
    assert slopes(silent, pss) == {}


def test_memory_is_what_the_kernel_adds_up(tmp_path: Path) -> None:
    place = tmp_path / "proc/7"
    place.mkdir(parents=True)
    (place / "smaps_rollup").write_text(
        "00400000-7fff ---p 00000000 00:00 0 [rollup]\nRss: 900 kB\nPss:     120 kB\n"
    )
    for thread in (7, 9):
        (place / f"task/{thread}").mkdir(parents=True)
    assert read_memory(7, tmp_path) == (900 * 1024, 120 * 1024, 2)
    assert read_memory(2**22 + 8, tmp_path) is None


def of_server(*held: Held, **changes: object) -> MemoryOfServer:
    plain = MemoryOfServer(
        server="mysql-9.7",
        server_version="9.7.4",
        tls_library="openssl-3.6",
        certificate="rsa-4096",
        kinds=kinds(held),
        tls_adds=tls_adds(held),
        refused=(),
        held=held,
    )
    return plain.model_copy(update=changes)


@pytest.mark.parametrize("width", [60, 100])
def test_on_a_terminal_each_kind_has_its_cost(width: int) -> None:
    found = MemoryDocument(
        status="interrupted",
        sizes=SIZES,
        rounds=3,
        servers=(of_server(*ALL), of_server(server="mysql-5.6.14", tls_library=None, refused=("1.3",))),
    )
    text = memory_text(found, width=width, colour=False)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    for part in (
        "mysql-9.7 (9.7.4) over openssl-3.6, RSA 4096",
        "TLS 1.3",
        "adds 39.1",
        "100, 500 and 2,000",
        "mysql-5.6.14 (9.7.4), RSA 4096",
        "It does not take TLS 1.3.",
        "Nothing is known yet",
        "interrupted",
    ):
        assert part in words
    if width == 100:
        assert "×1.44" in words


def test_bad_options_are_one_sentence_each() -> None:
    assert sizes_of(["500", " 100", "500"]) == (100, 500)
    for texts in (["100"], ["0", "5"], ["many", "5"]):
        with pytest.raises(UserMistake, match="--connections"):
            sizes_of(texts)
    for options, words in (
        (MemoryOptions(certificate="rsa-2048,rsa-12"), "--certificate"),
        (MemoryOptions(server=","), "--server"),
        (MemoryOptions(max_connections=9), "--max-connections needs the address of an external server"),
        (MemoryOptions(external=THERE, connections="9,20"), "--connections needs private servers"),
        (MemoryOptions(external=THERE, certificate="ec-p256"), "--certificate needs private servers"),
        (MemoryOptions(connections="100,1000000000"), "--connections 1000000000 needs a server that"),
    ):
        with pytest.raises(UserMistake) as mistake:
            memory_command(options)
        assert words in mistake.value.message
