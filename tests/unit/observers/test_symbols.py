"""An address within a file is given the name of the function whose code is there, and no other's."""

from __future__ import annotations

import struct

import pytest

from tlstax.observers.symbols import Names, names_in

TEXT_OFFSET, TEXT_ADDRESS, TEXT_SIZE = 0x1000, 0x401000, 0x200
FUNCTIONS = {"take_lock": (0x401010, 0x20), "main": (0x401080, 0x40), "short": (0x401100, 0)}
OTHER_THINGS = {"a_variable": (0x401030, 8)}
FUNCTION, VARIABLE = 2, 1


def elf(*, kind: int = 2, magic: bytes = b"\x7fELF\x02\x01") -> bytes:
    """An ELF file (elf(5)) with one segment of code and a symbol table of this kind (2 full, 11 dynamic)."""
    strings, symbols = b"\0", struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0)
    for type_, names in ((FUNCTION, FUNCTIONS), (VARIABLE, OTHER_THINGS)):
        for name, (address, size) in names.items():
            symbols += struct.pack("<IBBHQQ", len(strings), type_, 0, 1, address, size)
            strings += name.encode() + b"\0"
    program_at, sections_at = 64, 64 + 56
    symbols_at = sections_at + 3 * 64
    strings_at = symbols_at + len(symbols)
    header = magic.ljust(16, b"\0")
    header += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, program_at, sections_at, 0, 64, 56, 1, 64, 3, 2)
    program = struct.pack("<IIQQQQQQ", 1, 5, TEXT_OFFSET, TEXT_ADDRESS, 0, TEXT_SIZE, TEXT_SIZE, 0x1000)
    sections = bytes(64)
    sections += struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, symbols_at, len(symbols), 2, 0, 8, 24)
    sections += struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, strings_at, len(strings), 0, 0, 1, 0)
    return header + program + sections + symbols + strings


def at(names: Names, address: int) -> str:
    return names.at(address - TEXT_ADDRESS + TEXT_OFFSET)


@pytest.mark.parametrize("kind", [2, 11])
def test_a_function_has_its_own_code_and_no_more(kind: int) -> None:
    names = names_in(elf(kind=kind))
    assert [at(names, address) for address in (0x401010, 0x40102F)] == ["take_lock", "take_lock"]
    assert at(names, 0x401080) == "main"
    assert at(names, 0x401100) == "short"
    assert {at(names, address) for address in (0x40100F, 0x401030, 0x4010C0, 0x401101)} == {""}


def test_what_lies_outside_the_code_has_no_name() -> None:
    names = names_in(elf())
    assert names.at(TEXT_OFFSET - 1) == names.at(TEXT_OFFSET + TEXT_SIZE) == ""


def test_a_file_without_symbols_has_no_names() -> None:
    assert at(names_in(elf(kind=7)), 0x401010) == ""


@pytest.mark.parametrize("magic", [b"#!/bin/sh", b"\x7fELF\x01\x01", b""])
def test_other_files_are_not_read(magic: bytes) -> None:
    with pytest.raises(ValueError, match="no little-endian ELF file"):
        names_in(elf(magic=magic))
