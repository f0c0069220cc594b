"""Standard output by one of its names, as another process has it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_standard_output_by_name_goes_on_where_it_is(tmp_path: Path) -> None:
    """A log that the shell opened to append to is neither cut nor replaced."""
    log = tmp_path / "log"
    log.write_text("before\n")
    program = (
        "from pathlib import Path; from tlstax.cli.streams import check_writable, write_text\n"
        "for name in ('/dev/stdout', '/proc/self/fd/1', '/dev/fd/1'):\n"
        "    check_writable(Path(name)); write_text(Path(name), name + '\\n')"
    )
    with log.open("a") as out:
        subprocess.run(
            [sys.executable, "-c", program],
            stdout=out,
            check=True,
            timeout=60,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    assert log.read_text() == "before\n/dev/stdout\n/proc/self/fd/1\n/dev/fd/1\n"
