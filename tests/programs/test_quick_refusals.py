"""A mistake is told before what it takes to measure is loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADED = """
import sys
from tlstax.cli.app import main
status = main()
print(status, sum(name.startswith(("tlstax.run", "tlstax.stats", "scipy")) for name in sys.modules))
"""


@pytest.mark.parametrize(
    "arguments", [("--tls", "1.4"), ("--connections", "none"), ("--rtt-ms", "far"), ("--tls-library", "!")]
)
def test_a_level_that_does_not_exist_is_refused_at_once(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", LOADED, "run", *arguments], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["2", "0"], done.stderr
    assert arguments[0] in done.stderr
