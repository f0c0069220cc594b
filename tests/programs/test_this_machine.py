"""The description of the very machine that the tests run on."""

from __future__ import annotations

from tlstax.observers.machine import describe_machine


def test_this_machine_is_described() -> None:
    described = describe_machine()
    assert described.cores >= 1
    assert described.memory_bytes > 0
    assert described.kernel
