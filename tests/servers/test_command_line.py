"""What tests of the command line rely on: a block that fails does not wait for what it started."""

from __future__ import annotations

import subprocess
import time

import pytest
from command_line import Started


def test_a_process_ends_with_the_block_that_fails() -> None:
    began = time.monotonic()
    with pytest.raises(ZeroDivisionError), Started(["sleep", "60"], stdout=subprocess.DEVNULL) as process:
        raise ZeroDivisionError
    assert process.returncode is not None
    assert time.monotonic() - began < 50
