"""CPUs are dealt out in whole cores, as asked for or so that the client keeps up with a busy server."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlstax.plan.cpu_shares import (
    FULLEST,
    AskedCpus,
    Core,
    Split,
    as_asked,
    balanced,
    by_default,
    client_share,
    of_server,
    share_cores,
)
from tlstax.support.errors import UserMistake

FOUR: list[Core] = [(0,), (1,), (2,), (3,)]
EIGHT: list[Core] = [(cpu,) for cpu in range(8)]
FOUR_OF_TWO: list[Core] = [(0, 4), (1, 5), (2, 6), (3, 7)]


@pytest.mark.parametrize(
    ("cores", "split"),
    [
        ([], ((), ())),
        ([(0,)], ((), ())),
        ([(0,), (1,)], ((0,), (1,))),
        ([(0, 1)], ((0,), (1,))),
        ([(0,), (1,), (2,)], ((0, 1), (2,))),
        ([(0, 2), (1, 3)], ((0, 2), (1, 3))),
        (FOUR, ((0, 1, 2), (3,))),
        (EIGHT[:7], ((0, 1, 2, 3, 4, 5), (6,))),
        (EIGHT, ((0, 1, 2, 3, 4, 5), (6, 7))),
        (FOUR_OF_TWO, ((0, 1, 2, 4, 5, 6), (3, 7))),
    ],
)
def test_by_default_the_client_has_a_quarter(
    cores: list[Core], split: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    assert by_default(cores) == split


@pytest.mark.parametrize(
    ("server", "client", "cores", "split"),
    [
        ((0,), (1,), FOUR, ((0,), (1,))),
        ((2, 3), (0, 1), FOUR, ((2, 3), (0, 1))),
        ((0,), None, FOUR, ((0,), (1, 2, 3))),
        (None, (0, 1), FOUR, ((2, 3), (0, 1))),
        # A sibling of a CPU that was asked for stays empty.
        ((0,), None, FOUR_OF_TWO, ((0,), (1, 2, 3, 5, 6, 7))),
        (None, (3, 7), FOUR_OF_TWO, ((0, 1, 2, 4, 5, 6), (3, 7))),
        (None, (0, 1, 2, 3), FOUR_OF_TWO, ((4, 5, 6, 7), (0, 1, 2, 3))),
        (None, (1,), [(0, 1)], ((0,), (1,))),
        # Threads of one core on both sides, if that is what is wanted.
        ((0,), (4,), FOUR_OF_TWO, ((0,), (4,))),
        (None, None, FOUR, ((0, 1, 2), (3,))),
    ],
)
def test_what_was_asked_for_is_given_and_the_other_side_has_the_rest(
    server: tuple[int, ...] | None,
    client: tuple[int, ...] | None,
    cores: list[Core],
    split: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    assert as_asked(AskedCpus(server=server, client=client), cores) == split


@pytest.mark.parametrize(
    ("server", "client", "says"),
    [
        ((0, 1), (1, 2), "--server-cpus and --client-cpus both name CPU 1; give each side CPUs of its own"),
        ((0, 1, 2), (0, 1, 2), "--server-cpus and --client-cpus both name CPU 0-2"),
        ((0, 1, 2, 3), None, "--server-cpus: CPU 0-3 leaves none for the client; leave it at least one"),
        (None, (0, 1, 2, 3), "--client-cpus: CPU 0-3 leaves none for the server; leave it at least one"),
    ],
)
def test_neither_side_is_left_without_a_cpu_of_its_own(
    server: tuple[int, ...] | None, client: tuple[int, ...] | None, says: str
) -> None:
    with pytest.raises(UserMistake) as caught:
        as_asked(AskedCpus(server=server, client=client), FOUR)
    assert caught.value.sentence().startswith(says)


def test_nothing_asked_for_is_told_from_something() -> None:
    assert not AskedCpus().is_any
    assert AskedCpus(server=(0,)).is_any
    assert AskedCpus(client=(0,)).is_any


@pytest.mark.parametrize(
    ("client_busy", "server_busy", "cores", "split"),
    [
        # A quarter of the server's: two CPUs for six would be 75 % busy, three for five are 42 %.
        (0.75, 3.0, EIGHT, ((0, 1, 2, 3, 4), (5, 6, 7))),
        # Just as busy as they may be: 0.7 CPUs on one for every seven of the server's.
        (0.7, 7.0, EIGHT, ((0, 1, 2, 3, 4, 5, 6), (7,))),
        (0.71, 7.0, EIGHT, ((0, 1, 2, 3, 4, 5), (6, 7))),
        # A handshake costs both sides about the same.
        (2.0, 2.0, EIGHT, ((0, 1, 2), (3, 4, 5, 6, 7))),
        (0.81, 1.0, FOUR, ((0,), (1, 2, 3))),
        # More than there is: the server keeps a core.
        (9.0, 1.0, FOUR, ((0,), (1, 2, 3))),
        (0.001, 1.0, FOUR, ((0, 1, 2), (3,))),
        # Whole cores, so three siblings of the client's six threads are not shared.
        (2.0, 2.0, FOUR_OF_TWO, ((0, 4), (1, 2, 3, 5, 6, 7))),
        (0.2, 2.0, FOUR_OF_TWO, ((0, 1, 2, 4, 5, 6), (3, 7))),
        # A core of which one thread alone may be used goes first.
        (0.2, 2.0, [(0, 4), (1,), (2, 6), (3, 7)], ((0, 2, 3, 4, 6, 7), (1,))),
        (0.3, 2.0, [(0, 4), (1,), (2, 6), (3, 7)], ((0, 2, 4, 6), (1, 3, 7))),
    ],
)
def test_the_client_gets_as_few_cores_as_keep_it_from_being_the_limit(
    client_busy: float, server_busy: float, cores: list[Core], split: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    assert balanced(client_busy, server_busy, cores) == split


@given(
    st.floats(0.001, 64),
    st.floats(0.001, 64),
    st.integers(2, 64),
    st.integers(1, 2),
)
def test_a_balanced_client_is_not_the_limit_where_that_can_be_and_no_core_is_wasted_on_it(
    client_busy: float, server_busy: float, number: int, threads: int
) -> None:
    cores: list[Core] = [tuple(first + number * at for at in range(threads)) for first in range(number)]
    split = balanced(client_busy, server_busy, cores)
    assert sorted((*split.server_cpus, *split.client_cpus)) == list(range(number * threads))
    assert not share_cores(split, cores)
    cores_of_client = len(split.client_cpus) // threads
    assert 1 <= cores_of_client < number
    ratio = client_busy / server_busy
    if cores_of_client < number - 1:
        assert ratio * (number - cores_of_client) <= FULLEST * cores_of_client * (1 + 1e-6)
    if cores_of_client > 1:
        fewer = cores_of_client - 1
        assert ratio * (number - fewer) > FULLEST * fewer * (1 - 1e-6)


@pytest.mark.parametrize(
    ("client_busy", "server_busy", "cores"), [(0.0, 1.0, FOUR), (1.0, 0.0, FOUR), (1.0, 1.0, [(0, 1)])]
)
def test_what_cannot_be_balanced_is_not(client_busy: float, server_busy: float, cores: list[Core]) -> None:
    with pytest.raises(ValueError, match="nothing to balance"):
        balanced(client_busy, server_busy, cores)


def test_how_busy_the_client_is_follows_what_it_needs_and_what_it_has() -> None:
    assert client_share(0.75, 3.0, Split((0, 1, 2, 3, 4, 5), (6, 7))) == pytest.approx(0.75)
    assert client_share(1.0, 1.0, Split((0, 1, 2), (3,))) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("split", "words"),
    [
        (Split((0,), (1,)), "server on CPU 0, client on CPU 1"),
        (Split((0, 1, 2, 5), (3, 4)), "server on CPU 0-2,5, client on CPU 3-4"),
        (Split((), (3, 4)), "client on CPU 3-4"),
        (Split((0,), (0,)), "server and client share CPU 0"),
        (Split((), ()), ""),
    ],
)
def test_a_split_reads_as_the_kernel_writes_cpus(split: Split, words: str) -> None:
    assert split.words() == words


def test_both_sides_of_one_core_are_siblings() -> None:
    assert share_cores(Split((0, 1), (4,)), FOUR_OF_TWO)
    assert not share_cores(Split((0, 4), (1, 5)), FOUR_OF_TWO)
    assert by_default(FOUR_OF_TWO) == ((0, 1, 2, 4, 5, 6), (3, 7))


def test_a_number_of_processors_is_the_servers_own_first_and_then_the_clients_last() -> None:
    split = Split((0, 1), (2, 3))
    assert of_server(split, None) == (0, 1)
    assert [of_server(split, count) for count in (1, 2, 3, 4)] == [(0,), (0, 1), (0, 1, 3), (0, 1, 3, 2)]
    assert of_server(Split((0, 1), (0, 1)), 2) == (0, 1)
    with pytest.raises(UserMistake, match="cannot have 5 processors: this machine lets us use 4"):
        of_server(split, 5)
