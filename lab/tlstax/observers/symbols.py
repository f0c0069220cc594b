"""Which function an address of a running process lies in, by its memory map and its files' symbol tables."""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_SECTION = np.dtype(
    [
        ("name", "<u4"),
        ("type", "<u4"),
        ("flags", "<u8"),
        ("address", "<u8"),
        ("offset", "<u8"),
        ("size", "<u8"),
        ("link", "<u4"),
        ("info", "<u4"),
        ("align", "<u8"),
        ("entry", "<u8"),
    ]
)
_SEGMENT = np.dtype(
    [
        ("type", "<u4"),
        ("flags", "<u4"),
        ("offset", "<u8"),
        ("address", "<u8"),
        ("physical", "<u8"),
        ("size", "<u8"),
        ("memory", "<u8"),
        ("align", "<u8"),
    ]
)
_MAGIC, _LOAD, _SYMTAB, _DYNSYM, _FUNCTION, _IFUNC = b"\x7fELF\x02\x01", 1, 2, 11, 2, 10
"""Little-endian files of 64 bits, and the numbers of what is looked for there (elf(5))."""


class Function(NamedTuple):
    """A function of a file; the name is empty where its symbols do not have it."""

    library: str
    name: str


class _Mapping(NamedTuple):
    start: int
    end: int
    offset: int
    path: str


class Symbols:
    """The functions of one process, as its memory map is now."""

    def __init__(self, pid: int) -> None:
        """OSError where the process is out of reach."""
        self._mappings = _mappings(Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace"))
        self._starts = [mapping.start for mapping in self._mappings]

    def called_from(self, address: int) -> Function:
        """The function that a return address leads back to: the call is the instruction before it."""
        place = bisect_right(self._starts, address - 1) - 1
        if place < 0 or address > self._mappings[place].end:
            return Function("", "")
        mapping = self._mappings[place]
        name = _names(mapping.path).at(address - 1 - mapping.start + mapping.offset)
        return Function(Path(mapping.path).name, readable(name))


class Names:
    """The functions of a file, by where they are in it."""

    def __init__(
        self, segments: Sequence[tuple[int, int, int]], functions: Sequence[tuple[int, int, str]]
    ) -> None:
        """`segments` are offset, size and address; `functions` address, size and name, in ascending order."""
        self._segments, self._functions = segments, functions
        self._addresses = [address for address, _, _ in functions]

    def at(self, offset: int) -> str:
        """The name of the function whose code is there; empty where there is none that is known."""
        for begins, size, address in self._segments:
            if begins <= offset < begins + size:
                return self._at_address(offset - begins + address)
        return ""

    def _at_address(self, wanted: int) -> str:
        place = bisect_right(self._addresses, wanted) - 1
        if place < 0:
            return ""
        address, size, name = self._functions[place]
        return name if wanted < address + max(size, 1) else ""


def _mappings(text: str) -> list[_Mapping]:
    """The executable parts of files (proc(5), /proc/PID/maps), in ascending order."""
    found = []
    for line in text.splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and "x" in fields[1] and fields[5].startswith("/"):
            start, _, end = fields[0].partition("-")
            found.append(_Mapping(int(start, 16), int(end, 16), int(fields[2], 16), fields[5]))
    return found


@lru_cache(maxsize=64)
def _names(path: str) -> Names:
    """Nothing where the file cannot be read, or is none of those that are understood."""
    try:
        return names_in(Path(path).read_bytes())
    except (OSError, ValueError):
        return Names((), ())


def names_in(content: bytes) -> Names:
    """The functions of an ELF file, by its full symbol table if there is one (elf(5)); else ValueError."""
    if not content.startswith(_MAGIC):
        raise ValueError("this is no little-endian ELF file of 64 bits")
    header = np.frombuffer(content, "<u8", count=3, offset=24)
    sizes = np.frombuffer(content, "<u2", count=5, offset=54)
    segments = np.frombuffer(content, _SEGMENT, count=int(sizes[1]), offset=int(header[1]))
    sections = np.frombuffer(content, _SECTION, count=int(sizes[3]), offset=int(header[2]))
    loaded = [
        (int(one["offset"]), int(one["size"]), int(one["address"]))
        for one in segments
        if one["type"] == _LOAD
    ]
    for kind in (_SYMTAB, _DYNSYM):
        for table in sections[sections["type"] == kind]:
            return Names(loaded, _functions(content, table, sections[int(table["link"])]))
    return Names(loaded, ())


def _functions(content: bytes, table: np.void, strings: np.void) -> list[tuple[int, int, str]]:
    count = int(table["size"]) // _SYMBOL.itemsize
    symbols = np.frombuffer(content, _SYMBOL, count=count, offset=int(table["offset"]))
    kinds = symbols["info"] & 15
    code = symbols[((kinds == _FUNCTION) | (kinds == _IFUNC)) & (symbols["section"] != 0)]
    code = code[np.argsort(code["value"], kind="stable")]
    names = content[int(strings["offset"]) : int(strings["offset"]) + int(strings["size"])]
    return [
        (int(value), int(size), names[start : names.index(b"\0", start)].decode(errors="replace"))
        for start, value, size in zip(
            code["name"].tolist(), code["value"].tolist(), code["size"].tolist(), strict=True
        )
    ]


@lru_cache(maxsize=4096)
def readable(name: str) -> str:
    """A C++ function's name as it stands in its source, without its arguments; any other name as it is.

    By the C++ library's own __cxa_demangle (Itanium C++ ABI, 3.4), where there is one.
    """
    if not name.startswith("_Z"):
        return name
    demangle = _demangler()
    text = demangle(name.encode()) if demangle is not None else ""
    return text.partition("(")[0] or name


@lru_cache(maxsize=1)
def _demangler() -> Callable[[bytes], str] | None:
    try:
        library, process = ctypes.CDLL("libstdc++.so.6"), ctypes.CDLL(None)
    except OSError:
        return None
    function = library["__cxa_demangle"]
    function.restype, process.free.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)

    def demangled(name: bytes) -> str:
        place = function(name, None, None, None)
        if not place:
            return ""
        text = ctypes.string_at(place).decode(errors="replace")
        process.free(place)
        return text

    return demangled
