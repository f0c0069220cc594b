"""What counting costs is measured with programs that wake each other."""

from __future__ import annotations

import pytest

from tlstax.observers import countable
from tlstax.observers.countable import us_per_switch


def test_counting_nothing_costs_something_known(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = us_per_switch(())
    assert cost is not None
    assert cost >= 0
    monkeypatch.setattr(countable, "_COMMAND", ("false",))
    assert us_per_switch(()) is None
    monkeypatch.setattr(countable, "_COMMAND", ("no-such-program",))
    assert us_per_switch(()) is None
