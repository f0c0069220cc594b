"""A downloaded file and the checksum that it must have before anything in it is unpacked or run."""

from __future__ import annotations

from pathlib import Path

from tlstax.support.checksums import sha256_of
from tlstax.support.errors import MachineFault


def is_the_one(file: Path, sha256: str) -> bool:
    """Whether the file is there and has this checksum."""
    return file.is_file() and sha256_of(file) == sha256


def check_sha256(file: Path, sha256: str, title: str) -> None:
    """MachineFault when the file is another one; it is removed then, so that the next fetch gets it anew."""
    if not is_the_one(file, sha256):
        file.unlink(missing_ok=True)
        raise MachineFault(
            f"what was fetched as {title} is not the file that tlstax knows (its SHA-256 differs)",
            remedy="it was removed: start again, and if it happens again, do not trust the registry",
        )
