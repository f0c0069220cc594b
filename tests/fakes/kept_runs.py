"""What the store's tests have in common: a run to keep, and the one sentence of a fault."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fake_trials import fake_run
from tlstax.records.trial import StoredRun
from tlstax.store import Store
from tlstax.support.errors import TlstaxError

RUN = fake_run(number_of_blocks=2)
NAME = RUN.header.run


def keep(store: Store, stored: StoredRun, name: str = NAME) -> None:
    store.begin(stored.header.model_copy(update={"run": name}))
    for record in stored.trials:
        store.add_trials(name, (record,))


def measuring_nothing(stored: StoredRun) -> Callable[..., StoredRun]:
    """A pipeline in whose place this run is kept as if it had been measured."""

    def run(_request: object, store: Store, _watcher: object) -> StoredRun:
        store.adopt(stored)
        return stored

    return run


def sentence_of(kind: type[TlstaxError], caught: pytest.ExceptionInfo[TlstaxError]) -> str:
    assert isinstance(caught.value, kind)
    assert "\n" not in caught.value.sentence()
    return caught.value.sentence()
