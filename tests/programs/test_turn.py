"""Two runs at once: the second waits and says for whom, or goes on beside the first, which both then know."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import tlstax
from tlstax.observers import turn as turns
from tlstax.observers.turn import Turn, turn
from tlstax.support.errors import Interrupted

WITHIN_S = 60.0

HOLDER = """
import sys, time
from tlstax.observers.turn import turn
with turn(print, beside_others=False):
    print("mine", flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _a_turn_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(turns.VARIABLE, f"{os.getpid()}-{tmp_path.name}")


def silent(text: str) -> None:
    raise AssertionError(f"there was nothing to say: {text}")


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def another_process() -> subprocess.Popen[str]:
    """A process whose turn it is."""
    environment = {**os.environ, "PYTHONPATH": str(Path(tlstax.__file__).parents[1])}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, "tlstax", "run", "--tls", "1.3\x1b[2J"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "mine\n"
    return process


def test_who_is_alone_has_its_turn_at_once_and_again() -> None:
    for beside_others in (False, True, False):
        with turn(silent, beside_others=beside_others) as mine:
            assert not mine.others()


def test_the_second_says_for_whom_it_waits_and_goes_on_when_that_one_is_killed() -> None:
    first = another_process()
    said: list[str] = []
    done = threading.Event()

    def second() -> None:
        with turn(said.append, beside_others=False) as mine:
            assert not mine.others()
            done.set()

    waiting = threading.Thread(target=second)
    with first:
        waiting.start()
        until(lambda: said)
        assert not done.wait(0.2)
        first.kill()
        waiting.join(WITHIN_S)
    assert done.is_set()
    (words,) = said
    assert words.startswith("waiting, because another run measures on the same processors: process ")
    assert f"process {first.pid}, since " in words
    assert "(tlstax run --tls 1.3\N{REPLACEMENT CHARACTER}[2J)" in words
    assert words.endswith("Ctrl-C ends the wait, --beside-others goes on at once")


def test_of_several_that_wait_one_goes_on_and_the_others_wait_for_it() -> None:
    said: list[str] = []
    order: list[str] = []
    with turn(silent, beside_others=False):

        def later(name: str) -> None:
            with turn(said.append, beside_others=False):
                order.append(f"{name} begins")
                time.sleep(0.05)
                order.append(f"{name} ends")

        waiting = [threading.Thread(target=later, args=(name,)) for name in "abc"]
        for one in waiting:
            one.start()
        until(lambda: len(said) == 3)
        assert order == []
    for one in waiting:
        one.join(WITHIN_S)
    assert len(order) == 6
    assert all(order[n].replace("begins", "ends") == order[n + 1] for n in (0, 2, 4))


def test_ctrl_c_ends_the_wait() -> None:
    def interrupt(_: str) -> None:
        raise Interrupted

    with turn(silent, beside_others=False) as first:
        with pytest.raises(Interrupted), turn(interrupt, beside_others=False):
            raise AssertionError("it was not its turn")
        assert not first.others()


def test_who_only_waits_disturbs_nobody() -> None:
    with turn(silent, beside_others=False) as first:
        second = Turn()
        connection = second._connected()
        assert connection is not None
        with connection:
            assert not first.others()
        assert not first.others()


def test_both_know_when_one_goes_on_beside_the_other() -> None:
    said: list[str] = []
    with turn(silent, beside_others=False) as first:
        assert not first.others()
        with turn(said.append, beside_others=True) as second:
            assert first.others()
            assert second.others()
            assert first.others()
        assert first.others(), "the other one measured since it was last asked"
        assert not first.others()
        with turn(said.append, beside_others=True):
            pass
        assert first.others(), "one that came and went between two questions"
    assert len(said) == 2
    assert f"process {os.getpid()}, since" in said[0]
    assert said[0].endswith("both will be noisier")


def test_who_went_on_beside_has_the_turn_once_the_first_is_gone() -> None:
    first, said = another_process(), list[str]()
    with (
        first,
        turn(said.append, beside_others=True) as second,
        turn(said.append, beside_others=True) as third,
    ):
        assert second.others()
        assert third.others()
        first.kill()
        first.wait()
        assert second.others(), "the first was there until now"
        assert third.others()
        assert second.others(), "the third is beside it"
        assert third.others()
    with turn(silent, beside_others=False) as alone:
        assert not alone.others()
