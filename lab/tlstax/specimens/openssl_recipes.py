"""OpenSSL as it can be put under a server or a client: built alike from source, and Debian's binaries.

Compare versions that were built alike: same compiler, same flags. Debian's are for tests and quick starts.
"""

from __future__ import annotations

from tlstax.specimens.recipe import AptPackages, Crate, OpensslBuild, Recipe

LENDER = Crate(
    version="300.5.0+3.5.0", sha256="e8ce546f549326b0e6052b649198487d91320875da901e7bd11a06d1ee3f9c2f"
)
"""Some crates lack three files that the build needs; they are the same in this one."""


def _built(series: str, crate: str, sha256: str, *, borrows: bool = False, names_of: str = "") -> Recipe:
    version = crate.partition("+")[2]
    soname = names_of or {"1": "1.1", "3": "3", "4": "4"}[version[0]]
    return Recipe(
        name=f"openssl-{series}",
        title=f"OpenSSL {version}{f' under the names of {names_of}' if names_of else ''}",
        kind="tls_library",
        version=version,
        source=OpensslBuild(
            crate=Crate(version=crate, sha256=sha256), lender=LENDER if borrows else None, names_of=names_of
        ),
        program=f"lib/libssl.so.{soname}",
        bytes_needed=700_000_000,
    )


def _of_debian(series: str, suites: tuple[str, ...], package: str, soname: str) -> Recipe:
    return Recipe(
        name=f"openssl-{series}-debian",
        title=f"OpenSSL {series} from Debian {suites[0]}",
        kind="tls_library",
        source=AptPackages(suites=suites, packages=(package, f"openssl={series}*")),
        program=f"tls/libssl.so.{soname}",
        bytes_needed=150_000_000,
    )


OPENSSL = (
    _built("1.1.1l", "111.16.0+1.1.1l", "7ab2173f69416cf3ec12debb5823d244127d23a9b127d5a5189aa97c5fa2859f"),
    _built("1.1.1w", "111.28.2+1.1.1w", "bb1830e20a48a975ca898ca8c1d036a36c3c6c5cb7dabc1c216706587857920f"),
    _built("3.0.2", "300.0.5+3.0.2", "9bd053af511ee4439768d9b839a1cdb32eee00f52fe5f748d64c0e8f73194ba1"),
    _built("3.0", "300.0.13+3.0.8", "f00789a63ec8951fcda9adb0f2258582afdcfe1b2435e332d3a859896f814f0a"),
    _built("3.1", "300.1.6+3.1.4", "439fac53e092cd7442a3660c85dde4643ab3b5bd39040912388dcdabf6b88085"),
    _built("3.2", "300.2.3+3.2.1", "5cff92b6f71555b61bb9315f7c64da3ca43d87531622120fea0195fc761b4843"),
    _built("3.3", "300.3.2+3.3.2", "a211a18d945ef7e648cc6e0058f4c548ee46aab922ea203e0d30e966ea23647b"),
    _built("3.4", "300.4.2+3.4.1", "168ce4e058f975fe43e89d9ccf78ca668601887ae736090aacc23ae353c298e2"),
    _built(
        "3.5.5",
        "300.5.5+3.5.5",
        "3f1787d533e03597a7934fd0a765f0d28e94ecc5fb7789f8053b1e699a56f709",
        borrows=True,
    ),
    _built(
        "3.6",
        "300.6.1+3.6.3",
        "46eb8fb9fb3b61ce1c0f8a026c4c1a0714d3a9e138e7fbde78753ce2babc3846",
        borrows=True,
    ),
    _built(
        "4.0",
        "400.0.2+4.0.3",
        "d2093956673b8dbda85c87fa4fb78e70698ce6c5978a2837d1613f661d3bef76",
        borrows=True,
    ),
    _built(
        "4.0-as-3",
        "400.0.2+4.0.3",
        "d2093956673b8dbda85c87fa4fb78e70698ce6c5978a2837d1613f661d3bef76",
        borrows=True,
        names_of="3",
    ),
    _of_debian("1.1.1", ("bullseye",), "libssl1.1", "1.1"),
    _of_debian("3.0", ("bookworm",), "libssl3", "3"),
    _of_debian("3.5", ("trixie",), "libssl3t64", "3"),
    _of_debian("3.6", ("sid",), "libssl3t64", "3"),
    _of_debian("4.0", ("experimental", "sid"), "libssl4", "4"),
)
