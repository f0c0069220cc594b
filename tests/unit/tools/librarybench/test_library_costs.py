"""A planted difference between libraries comes out as planted, a planted nothing does not, in all formats."""

from __future__ import annotations

import csv
import io

import pytest

from library_runs import CLIENT_US, EXCHANGE, HANDSHAKE, SERVER_US, SIGNATURE, bench
from tlstax.report.formats.render import bench_report
from tlstax.results.document import BenchDocument
from tlstax.results.rows import Row
from tlstax.tools.librarybench.costs import (
    COST,
    FACTS,
    LOCKS,
    OUTCOMES,
    RATIO,
    REFUSED,
    TAKER,
    TOPIC,
    document,
)
from tlstax.tools.librarybench.subjects import Instructions, Locks, Run, Side, Subject, Taker

RUN = bench([1.0, 1.03, 1.0], (HANDSHAKE, SIGNATURE, EXCHANGE), refuses=1)
TAKERS = tuple(
    Taker(library="libcrypto.so.3", function=f"ossl_take_{number}", per_operation=9.0 - number)
    for number in range(7)
)
COUNTED = RUN.model_copy(
    update={
        "instructions": (
            Instructions(subject=0, library=0, per_operation=11_131_000, atomic_per_operation=900),
            Instructions(subject=2, library=1, per_operation=1e6, atomic_per_operation=0),
        ),
        "counted_by": "valgrind-3.24",
        "locks": (
            Locks(subject=0, library=0, side="client", takers=TAKERS),
            Locks(subject=0, library=0, side="server", takers=TAKERS[:1]),
        ),
    }
)


def of(found: BenchDocument, role: str, place: int, subject: Subject = HANDSHAKE) -> tuple[Row, ...]:
    """The rows of a role, of a subject over one library."""
    case = {**subject.levels, "library": f"library-{place}"}
    return tuple(row for row in found.told.of(role=role) if row.case == case)


def beside(found: BenchDocument, place: int, side: Side, subject: Subject = HANDSHAKE) -> Row:
    (row,) = (row for row in of(found, RATIO, place, subject) if row.outcome == OUTCOMES[side])
    assert row.baseline == {**subject.levels, "library": "library-0"}
    return row


@pytest.mark.parametrize("drift", [0.0, 0.001])
def test_what_was_planted_is_found_whatever_else_happens(drift: float) -> None:
    found = document(bench([1.0, 1.03, 1.0], drift=drift))
    server = beside(found, 1, "server").ratio
    assert server.point == pytest.approx(1.03, rel=1e-3)
    assert server.low is not None
    assert server.low > 1.02
    assert beside(found, 1, "client").ratio.point == pytest.approx(1.0, rel=1e-3)
    assert beside(found, 2, "server").ratio.point == pytest.approx(1.0, rel=1e-3)


def test_absolute_figures_are_those_of_the_median_slice() -> None:
    found = document(bench([1.0, 0.5]))
    server, client = of(found, COST, 0)
    assert [row.outcome for row in (server, client)] == list(OUTCOMES.values())
    assert (server.unit, server.known.point, server.blocks) == ("us", pytest.approx(SERVER_US), 6)
    assert client.value == pytest.approx(CLIENT_US)
    assert of(found, COST, 1)[0].value == pytest.approx(SERVER_US / 2)
    assert beside(found, 1, "server").value == pytest.approx(SERVER_US / 2)
    assert of(found, RATIO, 0) == ()
    assert server.negotiated == "TLSv1.3"


def test_what_a_library_cannot_do_has_its_reason_and_no_figure() -> None:
    found = document(RUN)
    (refused,) = found.told.of(role=REFUSED)
    assert (refused.label, refused.case["library"]) == ("signature, ED25519", "library-1")
    assert refused.word("why") == "it has no such key"
    assert of(found, COST, 1, SIGNATURE) == of(found, RATIO, 1, SIGNATURE) == ()
    assert of(found, COST, 1)
    assert beside(found, 2, "server", SIGNATURE)


def test_what_was_counted_stands_where_it_was() -> None:
    found = document(COUNTED)
    counted = {
        (row.label, row.case["library"], row.outcome): row.value
        for role in ("instructions", LOCKS)
        for row in found.told.of(role=role)
    }
    assert counted == {
        (HANDSHAKE.label, "library-0", "instructions"): 11_131_000,
        (HANDSHAKE.label, "library-0", "atomic_instructions"): 900,
        (EXCHANGE.label, "library-1", "instructions"): 1e6,
        (EXCHANGE.label, "library-1", "atomic_instructions"): 0,
        (HANDSHAKE.label, "library-0", "client_locks"): 9 + 8 + 7 + 6 + 5 + 4 + 3,
        (HANDSHAKE.label, "library-0", "server_locks"): 9,
    }
    named = [(row.word("side"), row.word("function"), row.value) for row in found.told.of(role=TAKER)]
    assert named == [
        *(("client", taker.function, taker.per_operation) for taker in TAKERS[:5]),
        ("server", "ossl_take_0", 9),
    ]
    assert found.caveats == (
        "instructions were counted by callgrind (valgrind-3.24), whose processor has no AVX-512: on one that "
        "has, libraries may take another way",
    )


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
    assert found.stopped_because == changes.get("why", "")
    assert document(bench([1.0, 1.0])).caveats == ()


def test_of_one_block_there_is_no_interval() -> None:
    found = document(bench([1.0, 1.1], number_of_blocks=1))
    assert found.facts["blocks"] == 1
    assert found.caveats == ("one block: inconclusive",)
    server = beside(found, 1, "server").ratio
    assert server.half_width is None
    assert server.point == pytest.approx(1.1, rel=1e-3)
    assert "library-1  440 µs  +10.0 %  200 µs" in bench_report(TOPIC, found, "terminal")


def shown(run: Run, width: int) -> list[str]:
    return bench_report(TOPIC, document(run), "terminal", width=width).splitlines()


@pytest.mark.parametrize("width", [72, 80, 96, 120])
@pytest.mark.parametrize("run", [RUN, COUNTED])
def test_nothing_is_wider_than_the_terminal_or_cut_off(run: Run, width: int) -> None:
    assert max(map(len, shown(run, width))) <= width
    assert not [line for line in shown(run, width) if line.endswith("…")]


def test_on_a_terminal_each_subject_has_a_table() -> None:
    text = shown(RUN, 80)
    place = text.index("TLS 1.3 handshake, RSA 2048, P-256")
    assert text[place + 2].split() == ["server", "change", "client", "change"]
    assert text[place + 3].split() == ["library-0", "400", "µs", "200", "µs"]
    assert text[place + 4].startswith("library-1  412 µs  +3.0 % [+3.0 … +3.0]")
    assert text[text.index("key exchange, X25519") + 2].split() == ["derive", "change"]
    signature = text.index("signature, ED25519")
    assert text[signature + 2].split() == ["sign", "change", "verify", "change"]
    assert text[signature + 4].split() == ["library-1", "–", "–", "–", "–"]


def test_on_a_terminal_what_was_counted_has_columns_and_who_takes_locks_a_line() -> None:
    text = shown(COUNTED, 120)
    place = text.index("TLS 1.3 handshake, RSA 2048, P-256")
    assert text[place + 2].split() == ["server's", "client's"]
    assert text[place + 3].split()[-4:] == ["instructions", "atomic", "locks", "locks"]
    assert text[place + 4].split()[-4:] == ["11,130,000", "900.0", "9.000", "42.00"]
    assert text[place + 5].split()[-4:] == ["–"] * 4
    assert "• library-0, server: ossl_take_0 9.00" in text
    signature = text.index("signature, ED25519")
    assert text[signature + 2].split() == ["sign", "change", "verify", "change"]


def test_what_a_run_did_not_come_to_is_left_out() -> None:
    first = tuple(turns for turns in RUN.turns if turns.sitting.subject == 0)
    cut_off = RUN.model_copy(update={"turns": first[:1], "status": "interrupted"})
    for form in ("terminal", "md"):
        text = bench_report(TOPIC, document(cut_off), form)
        assert "TLS 1.3 handshake, RSA 2048, P-256" in text
        assert "key exchange" not in text
        assert "it was interrupted: what had been measured before that counts" in text


def test_what_ran_stands_below() -> None:
    text = " ".join(shown(RUN, 120))
    assert "library-0: OpenSSL 3.5.5, libssl aaaaaaaa, libcrypto bbbbbbbb" in text
    assert "library-1 cannot do signature, ED25519: it has no such key" in text
    assert "a processor, 2 cores, 1.00 GiB, Debian, 6.1, on CPU 1" in text
    assert "6 blocks in slices of 10.0 ms; changes are against the first library, at 95 %; seed 1" in text


def test_markdown_has_one_table_of_each_subject_and_library_with_both_ends() -> None:
    rows = [line for line in bench_report(TOPIC, document(RUN), "md").splitlines() if line.startswith("|")]
    assert rows[0] == "| subject | library | server | change | client | change |"
    assert len(rows) == 2 + 3 * 3
    assert rows[2].startswith("| TLS 1.3 handshake, RSA 2048, P-256 | library-0 | 400 µs |  | 200 µs |")
    assert "+3.0 % \\[+3.0 … +3.0\\]" in rows[3]


def test_csv_has_a_line_for_each_row_and_json_is_the_document() -> None:
    found = document(COUNTED)
    lines = list(csv.DictReader(io.StringIO(bench_report(TOPIC, found, "csv"))))
    assert len(lines) == len(found.told.rows)
    (ratio,) = (
        line
        for line in lines
        if (line["role"], line["case_measure"], line["case_library"]) == (RATIO, "handshake", "library-1")
        if line["outcome"] == OUTCOMES["server"]
    )
    assert float(ratio["ratio"]) == pytest.approx(1.03, rel=1e-3)
    assert (ratio["baseline_library"], ratio["case_certificate"]) == ("library-0", "rsa-2048")
    assert BenchDocument.model_validate_json(bench_report(TOPIC, found, "json")) == found
    assert found.facts.keys() == {fact.name for fact in FACTS}
