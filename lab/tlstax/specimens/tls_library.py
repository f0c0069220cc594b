"""A TLS library that can be put under a server or a client."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tlstax.records.trial import LibraryClaim, Specimen
from tlstax.support.checksums import sha256_of


@dataclass(frozen=True)
class TlsLibrary:
    """Two files, libssl and libcrypto, in a directory that holds nothing else a program would load.

    `libssl` and `libcrypto` are paths in `directory` under the names that programs ask for
    (`libssl.so.3`). `support` are directories with what these libraries need themselves, to be searched after
    a program's own.
    """

    specimen: Specimen
    libssl: Path
    libcrypto: Path
    support: tuple[Path, ...] = ()

    @property
    def directory(self) -> Path:
        """Where both files are: to be put first in a program's library path."""
        return self.libssl.parent

    def claim(self) -> LibraryClaim:
        """What a process that runs over it must show."""
        return LibraryClaim(
            name=self.specimen.name,
            version=self.specimen.version,
            libssl_sha256=sha256_of(self.libssl),
            libcrypto_sha256=sha256_of(self.libcrypto),
        )
