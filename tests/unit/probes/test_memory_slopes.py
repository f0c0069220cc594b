"""What a connection costs in memory: planted slopes are found again, and what was cut short is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlstax.cli.memory_command import MemoryOptions, memory_command
from tlstax.probes.memory.document import Held, MemoryDocument, Tls
from tlstax.probes.memory.measure import read_pss_bytes, sizes_of
from tlstax.probes.memory.slopes import kinds, slopes, tls_adds
from tlstax.probes.memory.table import memory_text
from tlstax.support.errors import UserMistake

BASE, PLAIN, MORE = 500_000_000, 90_000, 40_000
SIZES = (100, 500, 2000)
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
    assert slopes([own for own in ALL if own.tls == "off"]) == pytest.approx(
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
    added = tls_adds(ALL)
    assert added["1.3"].point == pytest.approx(MORE)
    # The same scatter is in both, so that the difference has none.
    assert added["1.3"].low == pytest.approx(MORE)


def test_a_process_with_one_size_alone_has_no_slope() -> None:
    short = [*ALL[:6], held("off", 2, 100)]
    assert set(slopes([own for own in short if own.tls == "off"])) == {0}
    assert kinds([held("off", 0, 100)]) == ()
    assert tls_adds([held("1.3", 0, 100), held("1.3", 0, 500)]) == {}


def test_memory_that_is_not_told_is_left_out() -> None:
    silent = [own.model_copy(update={"pss_bytes": None}) for own in ALL]
    assert all(kind.pss_bytes is None for kind in kinds(silent))


def test_pss_is_what_the_kernel_adds_up(tmp_path: Path) -> None:
    place = tmp_path / "proc/7"
    place.mkdir(parents=True)
    (place / "smaps_rollup").write_text(
        "00400000-7fff ---p 00000000 00:00 0 [rollup]\nRss: 900 kB\nPss:     120 kB\n"
    )
    assert read_pss_bytes(7, tmp_path) == 120 * 1024
    assert read_pss_bytes(8, tmp_path) is None


@pytest.mark.parametrize("width", [50, 100])
def test_on_a_terminal_each_kind_has_its_cost(width: int) -> None:
    found = MemoryDocument(
        status="complete",
        server="mysql-9.7",
        server_version="9.7.4",
        tls_library="openssl-3.6",
        certificate="rsa-4096",
        sizes=SIZES,
        rounds=3,
        kinds=kinds(ALL),
        tls_adds=tls_adds(ALL),
        held=tuple(ALL),
    )
    text = memory_text(found, width=width, colour=False)
    assert max(map(len, text.splitlines())) <= width
    plain = " ".join(text.split())
    for part in (
        "mysql-9.7 (9.7.4) over openssl-3.6, RSA 4096",
        "over TLS 1.3",
        "TLS 1.3 adds 39.1 KiB",
        "2,000",
    ):
        assert part in plain


def test_bad_options_are_one_sentence_each() -> None:
    assert sizes_of(["100", " 500", "100"]) == (100, 500)
    for texts in (["100"], ["0", "5"], ["many", "5"]):
        with pytest.raises(UserMistake, match="--connections"):
            sizes_of(texts)
    with pytest.raises(UserMistake, match="--certificate"):
        memory_command(MemoryOptions(certificate="rsa-12"))
