"""Packs that anybody may have written, opened in a process of their own: a small file fills no memory."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from kept_runs import RUN
from tlstax.store.pack import packed

OPENING = """
import resource, sys
from pathlib import Path
from tlstax.store.pack import opened
from tlstax.support.errors import UserMistake

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    opened(Path(sys.argv[1]))
except UserMistake as mistake:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, mistake.sentence())
"""

MOST_KIB = 400 * 1024


def bomb(kind: str) -> bytes:
    """A file of about a MB that would take gigabytes."""
    content = packed(RUN, by="0.1.0", names_left_out=False)
    first, trial, *_ = gzip.decompress(content.split(b"\n", 1)[1]).splitlines(keepends=True)
    filled = trial.replace(b'"why_no_profile":', b'"x":[%s1],"why_no_profile":' % (b"1," * 5_000_000))
    assert filled != trial
    line, times = {"lines": (trial, 40_000), "values": (filled, 100), "blanks": (b" " * 2**20, 1000)}[kind]
    packer = zlib.compressobj(wbits=31)
    rest = b"".join((packer.compress(first), *(packer.compress(line) for _ in range(times)), packer.flush()))
    return f"tlstax pack 1 sha256={hashlib.sha256(rest).hexdigest()}\n".encode() + rest


@pytest.mark.parametrize("kind", ["lines", "values", "blanks"])
def test_a_small_file_does_not_fill_the_memory(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "a.tlstax"
    file.write_bytes(bomb(kind))
    assert file.stat().st_size < 10_000_000
    done = subprocess.run(
        [sys.executable, "-c", OPENING, str(file)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    taken_kib, sentence = done.stdout.split(" ", 1)
    assert "is no run that `tlstax runs pack` wrote" in sentence or "not in the form" in sentence
    assert int(taken_kib) < MOST_KIB, f"{int(taken_kib) >> 10} MiB for {file.stat().st_size} bytes"
