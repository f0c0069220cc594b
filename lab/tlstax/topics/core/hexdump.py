"""Bytes as `hexdump -C` shows them: their place, sixteen of them, the printable characters."""

from __future__ import annotations

from collections.abc import Iterator

_A_LINE = 16
_A_GROUP = 8


def hexdump(data: bytes) -> Iterator[str]:
    """A line for every sixteen bytes; what is not printable ASCII is a dot."""
    for place in range(0, len(data), _A_LINE):
        line = data[place : place + _A_LINE]
        groups = (line[at : at + _A_GROUP].hex(" ") for at in (0, _A_GROUP))
        shown = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in line)
        yield f"{place:08x}  {'  '.join(f'{group:<23}' for group in groups)}  |{shown}|"
