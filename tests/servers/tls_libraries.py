"""TLS libraries for the tests: copies, alone in a directory, of those that the fetched servers came with."""

from __future__ import annotations

import shutil
from pathlib import Path

from tlstax.records.trial import Specimen
from tlstax.specimens.server_build import ServerBuild, TlsLibrary, loader_of


def copied(build: ServerBuild, name: str, into: Path, *, suffix: str = ".so.3") -> TlsLibrary:
    """The libssl and libcrypto of a Debian root under names that end with `suffix`."""
    assert build.root is not None
    _, directories = loader_of(build.root)
    into.mkdir()
    for stem in ("libssl", "libcrypto"):
        shutil.copyfile(directories[0] / f"{stem}.so.3", into / f"{stem}{suffix}")
    version = build.specimen.packages["libssl3t64"]
    specimen = Specimen(name=name, kind="tls_library", version=version, origin="a test")
    return TlsLibrary(specimen, into / f"libssl{suffix}", into / f"libcrypto{suffix}")
