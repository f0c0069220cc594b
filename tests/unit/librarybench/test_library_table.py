"""The table of a bench of libraries fits its terminal, and says what ran."""

from __future__ import annotations

import pytest

from library_runs import EXCHANGE, HANDSHAKE, SIGNATURE, bench
from tlstax.librarybench.estimate import document
from tlstax.librarybench.records import Instructions, Locks, Taker
from tlstax.librarybench.table import WIDE, markdown, terminal

RUN = bench([1.0, 1.03, 1.0], (HANDSHAKE, SIGNATURE, EXCHANGE), refuses=1)


def lines(width: int) -> list[str]:
    return terminal(document(RUN), width=width).splitlines()


@pytest.mark.parametrize("width", [72, 80, WIDE, 120])
def test_nothing_is_wider_than_the_terminal_or_cut_off(width: int) -> None:
    assert max(map(len, lines(width))) <= width
    assert not [line for line in lines(width) if "…" in line and "[" not in line]


def test_a_line_a_library_under_the_name_of_what_was_measured() -> None:
    text = lines(80)
    place = text.index("TLS 1.3 handshake, RSA 2048, P-256")
    assert text[place + 1].split() == ["server", "change", "client", "change"]
    assert text[place + 2].split() == ["library-0", "400", "µs", "200", "µs"]
    assert text[place + 3].startswith("library-1  412 µs  +3.0 % ±")


def test_of_an_exchange_one_side_is_enough_and_a_signature_is_made_and_checked() -> None:
    text = lines(80)
    assert text[text.index("key exchange, X25519") + 1].split() == ["derive", "change"]
    assert text[text.index("signature, ED25519") + 1].split() == ["sign", "change", "verify", "change"]


def test_what_a_library_cannot_do_is_said() -> None:
    text = "\n".join(lines(120))
    assert "library-1 cannot do signature, ED25519: it has no such key" in text


def test_where_there_is_room_both_ends_of_an_interval_are_shown() -> None:
    text = lines(WIDE)
    place = text.index("TLS 1.3 handshake, RSA 2048, P-256")
    assert "+3.0 % [+" in text[place + 3]


def test_what_a_run_did_not_come_to_is_left_out() -> None:
    first = tuple(turns for turns in RUN.turns if turns.sitting.subject == 0)
    cut_off = document(RUN.model_copy(update={"turns": first[:1], "status": "interrupted"}))
    text = terminal(cut_off, width=80)
    assert "TLS 1.3 handshake, RSA 2048, P-256" in text
    assert "key exchange" not in text
    assert "key exchange" not in markdown(cut_off)
    assert "it was interrupted: what had been measured before that counts" in text


def test_what_was_counted_has_a_column_and_who_takes_locks_a_line() -> None:
    taker = Taker(library="libcrypto.so.3", function="ossl_take", per_operation=312.0)
    counted = {
        "instructions": (
            Instructions(subject=0, library=0, per_operation=11_131_000, atomic_per_operation=900),
        ),
        "counted_by": "valgrind-3.24",
        "locks": (
            Locks(subject=0, library=0, side="client", takers=(taker,)),
            Locks(subject=0, library=0, side="server", takers=()),
        ),
    }
    text = terminal(document(RUN.model_copy(update=counted)), width=100).splitlines()
    place = text.index("TLS 1.3 handshake, RSA 2048, P-256")
    assert text[place + 5].split() == ["instructions", "atomic", "server's", "locks", "client's", "locks"]
    assert text[place + 6].split() == ["library-0", "11,130,000", "900.0", "0", "312.0"]
    assert "• library-0, client: ossl_take 312" in text


def test_what_ran_stands_below() -> None:
    text = " ".join(lines(120))
    assert "library-0: OpenSSL 3.5.5, libssl aaaaaaaa, libcrypto bbbbbbbb" in text
    assert "a processor, 2 cores, 1.00 GiB, Debian, 6.1, on CPU 1" in text
    assert "6 blocks in slices of 10.0 ms; changes are against the first library, at 95 %; seed 1" in text


def test_markdown_has_a_row_for_each_subject_and_library() -> None:
    rows = [line for line in markdown(document(RUN)).splitlines() if line.startswith("|")]
    assert rows[0] == "| subject | library | server | change | client | change |"
    assert len(rows) == 2 + 3 * 3
    assert rows[2].startswith("| TLS 1.3 handshake, RSA 2048, P-256 | library-0 | 400 µs |  | 200 µs |")
