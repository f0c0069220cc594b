"""For all tests: their runs neither wait for what else is measured on this machine nor are waited for."""

from __future__ import annotations

import os

from tlstax.observers import turn

os.environ[turn.VARIABLE] = f"tests-{os.getpid()}"
