"""For all tests: runs wait for no other, signals end what they start, no store but their own is read."""

from __future__ import annotations

import os
import signal

import pytest

from tlstax.observers import turn

os.environ[turn.VARIABLE] = f"tests-{os.getpid()}"

# A shell ignores the first for what it starts in the background, nohup the second, and that is inherited.
for _number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


@pytest.fixture(autouse=True, scope="session")
def own_store(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The store of whoever runs the tests is neither read nor written: it may be that of another tlstax."""
    os.environ["TLSTAX_DATA"] = str(tmp_path_factory.mktemp("data"))
