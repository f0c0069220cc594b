"""Which C library programs need is read from them."""

from __future__ import annotations

from pathlib import Path

from tlstax.tools.bundle.programs import oldest_glibc


def test_the_newest_version_that_any_program_needs(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"\x7fELF\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0")
    (tmp_path / "two").write_bytes(b"\x7fELF\0GLIBC_2.17\0GLIBC_PRIVATE\0")
    assert oldest_glibc(tmp_path) == "2.34"


def test_what_is_linked_statically_needs_none(tmp_path: Path) -> None:
    (tmp_path / "static").write_bytes(b"\x7fELF\0")
    assert oldest_glibc(tmp_path) == "2.0"
