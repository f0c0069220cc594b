"""For all tests: their runs wait for no other and no other for them, and signals end what they start."""

from __future__ import annotations

import os
import signal

from tlstax.observers import turn

os.environ[turn.VARIABLE] = f"tests-{os.getpid()}"

# A shell ignores the first for what it starts in the background, nohup the second, and that is inherited.
for _number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)
