"""Whatever perf prints is read: no text ends in an exception, or takes time with its square."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlstax.records.profiles.perf_script import LONGEST_NAME, parse, readable
from tlstax.records.profiles.stacks import Side, frames

PIDS: dict[int, Side] = {4001: "server", 4002: "client"}
WITHIN_S = 5.0
"""CPU time, ten times what each takes; before they were bounded, some took longer, and others had no end."""

WORDS = st.sampled_from(
    [
        "(",
        ")",
        "<",
        ">",
        "::",
        "operator",
        " ",
        "const",
        ".part.0",
        "@@X_1",
        "[clone .cold]",
        "lambda#1",
        "a",
        "~",
        ";",
    ]
)
NAMES = st.lists(WORDS, max_size=40).map("".join) | st.text(max_size=60)
LINES = st.one_of(
    st.sampled_from(["4001 ", "4002 ", "4003 ", "", "PERF_RECORD_LOST lost 3"]),
    st.builds("\t{:>16} {} ({})".format, st.text("0123456789abcdef", min_size=1, max_size=20), NAMES, NAMES),
    st.text(max_size=80),
)


@given(lines=st.lists(LINES, max_size=40))
def test_any_lines_are_read_and_no_sample_is_made_up(lines: list[str]) -> None:
    found = parse(lines, PIDS)
    counted = sum(side.samples for side in found.sides.values())
    assert counted <= sum(line.strip().lstrip("0") in {"4001", "4002"} for line in lines)
    for side in found.sides.values():
        for stack in side.stacks:
            assert all(frame.library for frame in frames(stack))


@given(symbol=NAMES)
def test_a_name_stays_a_name(symbol: str) -> None:
    name = readable(symbol)
    assert bool(name) == bool(symbol)
    assert len(name) <= max(len(symbol), 1)


@pytest.mark.parametrize(
    "symbol",
    [
        "<" * 50_000,
        "<a<" * 20_000,
        "a" + "<b>" * 20_000,
        "a" + ".part.1" * 10_000,
        "a(" + " const" * 10_000 + "x",
        "a" + " [clone " * 10_000,
        "a()" + "&" * 5_000 + "x",
        "a()" + "&" * 50_000,
        "operator" + " " * 50_000 + "x<",
        "f" + " (" * 50_000,
        "f" + "(a) " * 20_000,
    ],
    ids=lambda symbol: symbol[:8],
)
def test_a_long_name_takes_no_longer_than_it_is_worth(symbol: str) -> None:
    begun = time.thread_time()
    found = parse(["4001 ", f"\t 1f {symbol} (libx.so)", ""], PIDS)
    parse(["4001 ", f"\t 1f {symbol} (libx.so", f"\t 1f{' ' * 50_000}(x"], PIDS)
    assert time.thread_time() - begun < WITHIN_S
    ((stack, times),) = found.sides["server"].stacks.items()
    assert times == 1
    assert len(stack) < LONGEST_NAME + 100


@pytest.mark.parametrize("line", ["9" * 5000, "٤٠٠١", f"PERF_RECORD_LOST lost {'9' * 5000}", "4001²"])
def test_a_number_that_none_can_mean_is_none(line: str) -> None:
    found = parse([line, "\t 1f f (libx.so)", ""], PIDS)
    assert (found.lost, found.sides["server"].samples) == (0, 0)


def test_a_file_whose_name_has_brackets_is_told_from_the_symbol() -> None:
    lines = ["4001 ", "\t 1f f(int) (a) (/usr/lib/libx.so (deleted))", "\t 1f  (libx.so)", ""]
    (stack,) = parse(lines, PIDS).sides["server"].stacks
    assert [frame.library for frame in frames(stack)][-1] == "libx.so"
