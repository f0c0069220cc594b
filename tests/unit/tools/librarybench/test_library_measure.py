"""A library that cannot be loaded here is left out with a sentence, and the others are compared."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tlstax.clients.process import ProgramFailure
from tlstax.support.errors import MachineFault
from tlstax.tools.librarybench.measure import Contestant, Workplace, loadable


def place(**can_load: bool) -> Workplace:
    """A place where these libraries can be loaded, or not."""

    def start(contestant: Contestant) -> Any:
        def wait_ready() -> None:
            if not can_load[contestant.name]:
                raise ProgramFailure("libssl.so.3 needs GLIBC_2.38")

        return nullcontext(SimpleNamespace(wait_ready=wait_ready))

    contestants = tuple(Contestant(name, None) for name in can_load)
    return cast(Workplace, SimpleNamespace(contestants=contestants, start=start))


def test_the_others_are_compared_and_it_is_said_why_one_is_not() -> None:
    said: list[str] = []
    assert [one.name for one in loadable(place(a=False, b=True, c=True), said.append)] == ["b", "c"]
    assert said == ["a is left out, since it cannot be loaded here: libssl.so.3 needs GLIBC_2.38"]


def test_where_none_can_be_loaded_that_is_the_machines_fault() -> None:
    with pytest.raises(MachineFault, match=r"no library can be loaded here .*GLIBC_2\.38"):
        loadable(place(a=False, b=False), lambda _: None)
