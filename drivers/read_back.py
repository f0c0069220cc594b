"""A histogram that a driver's program writes, read back by HdrHistogram's own library.

`read_back.py COMMAND…` is called by a folder's `test`: the command is given values on standard input and
prints a histogram of them.
"""

from __future__ import annotations

import subprocess
import sys

from hdrh.histogram import HdrHistogram

VALUES_NS = [1, 2, 2047, 2048, 4096, 100_003, 100_003, 7_654_321, 3_599_999_999_999]


def main() -> None:
    """Record the values there and here, and compare what the two encodings hold."""
    given = " ".join(map(str, VALUES_NS))
    said = subprocess.run(sys.argv[1:], input=given, stdout=subprocess.PIPE, text=True, check=True).stdout
    expected = HdrHistogram(1, 3_600_000_000_000, 3)
    for value_ns in VALUES_NS:
        expected.record_value(value_ns)
    there, here = _recorded(said), _recorded(expected.encode())
    if there != here:
        sys.exit(f"the histogram reads back as {there} instead of {here}")
    sys.stdout.write(f"{len(here)} values read back as they were recorded; the rules hold\n")


def _recorded(encoded: str | bytes) -> list[tuple[int, int]]:
    """Values and how often each was recorded."""
    items = HdrHistogram.decode(encoded).get_recorded_iterator()
    return [(item.value_iterated_to, item.count_at_value_iterated_to) for item in items]


main()
