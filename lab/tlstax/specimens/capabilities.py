"""What a TLS library finds the processor capable of, in its own words."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping

from tlstax.specimens.tls_library import TlsLibrary

PATIENCE_S = 10.0
_WORDS = re.compile(r"OPENSSL_ia32cap=((?:0x[0-9a-f]+:?)+)")


def capabilities(library: TlsLibrary, environment: Mapping[str, str]) -> tuple[int, ...] | None:
    """The numbers that it prints for OPENSSL_ia32cap (openssl-version(1), -c, since 3.0), as many as it has.

    None where it came without a program that says so, as OpenSSL 1.1.1, or that program does not run here.
    """
    program = library.directory.parent / "bin" / "openssl"
    if not program.is_file():
        return None
    path = ":".join(str(directory) for directory in (library.directory, *library.support))
    variables = {"PATH": os.defpath, "LC_ALL": "C", "LD_LIBRARY_PATH": path, **environment}
    try:
        done = subprocess.run(
            [program, "version", "-c"],
            env=variables,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    said = _WORDS.search(done.stdout)
    return tuple(int(word, 16) for word in said[1].strip(":").split(":")) if said else None
