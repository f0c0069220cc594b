"""Counted calls are given to who takes the lock, not to what takes it for others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from tlstax.observers.symbols import Function, Symbols
from tlstax.run.server_pages import named
from tlstax.specimens.shared_pages import Site, Taken, taken_between

FUNCTIONS = {
    1: Function("libcrypto.so.3", "CRYPTO_THREAD_read_lock"),
    2: Function("libcrypto.so.3", "ossl_method_store_cache_get"),
    3: Function("mysqld", "do_command"),
    4: Function("mysqld", ""),
}


class Named:
    """The functions of a process, by address."""

    def __init__(self, functions: Mapping[int, Function]) -> None:
        self._functions = functions

    def called_from(self, address: int) -> Function:
        return self._functions[address]


def found(sites: Mapping[Site, Taken]) -> list[tuple[str, str, str, int, int, int]]:
    return [
        (site.kind, site.library, site.function, site.calls, site.contended, site.moved)
        for site in named(sites, cast("Symbols", Named(FUNCTIONS)))
    ]


def test_a_lock_is_taken_by_the_caller_of_what_only_passes_it_on() -> None:
    assert found({Site("read lock", (1, 2, 3)): Taken(5, 1, 2)}) == [
        ("read lock", "libcrypto.so.3", "ossl_method_store_cache_get", 5, 1, 2)
    ]
    assert found({Site("mutex", (3, 2, 1)): Taken(5, 0, 0)})[0][2] == "do_command"
    assert found({Site("mutex", (1,)): Taken(1, 0, 0)})[0][2] == "CRYPTO_THREAD_read_lock"
    assert found({Site("mutex", ()): Taken(1, 0, 0)})[0][1:3] == ("", "")


def test_all_calls_of_a_function_are_one_and_the_busiest_is_first() -> None:
    sites = {
        Site("mutex", (3, 1)): Taken(2, 1, 0),
        Site("mutex", (3, 2)): Taken(3, 0, 1),
        Site("write lock", (3,)): Taken(4, 0, 0),
        Site("mutex", (4,)): Taken(9, 0, 0),
    }
    assert found(sites) == [
        ("mutex", "mysqld", "", 9, 0, 0),
        ("mutex", "mysqld", "do_command", 5, 1, 1),
        ("write lock", "mysqld", "do_command", 4, 0, 0),
    ]


def test_between_two_readings_is_what_was_added() -> None:
    old, new, still = Site("mutex", (1,)), Site("mutex", (2,)), Site("mutex", (3,))
    before = {old: Taken(10, 1, 2), still: Taken(7, 0, 0)}
    after = {old: Taken(15, 1, 5), still: Taken(7, 0, 0), new: Taken(1, 0, 0)}
    assert taken_between(before, after) == {old: Taken(5, 0, 3), new: Taken(1, 0, 0)}
    assert taken_between(after, after) == {}
