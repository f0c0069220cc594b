"""Where Debian's packages come from on this machine: mirror, keyring and proxy, as apt is configured."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.plain_words import reason

MIRROR_VARIABLE = "TLSTAX_APT_MIRROR"
KEYRINGS = Path("/usr/share/keyrings")
OS_RELEASE = Path("/etc/os-release")
CARRIED_SETTINGS = ("Acquire::http", "Acquire::https", "Acquire::ForceIPv4", "Acquire::ForceIPv6")
"""Settings of the machine's apt that a private root takes over: proxies, timeouts, address family."""

TARGET_FORMAT = "$(ORIGIN)|$(RELEASE)|$(REPO_URI)"


@dataclass(frozen=True)
class Mirror:
    """A Debian archive, the keyrings its signature is checked with, and apt settings to reach it."""

    uri: str
    keyrings: tuple[Path, ...]
    settings: str


def configured_mirror() -> Mirror:
    """The mirror in TLSTAX_APT_MIRROR, else the Debian archive of the machine's apt sources.

    MachineFault when there is no apt, no Debian archive or no keyring; UserMistake when the variable is
    not a URI.
    """
    for program in ("apt-get", "apt-config", "dpkg-deb"):
        if shutil.which(program) is None:
            raise MachineFault(
                f"servers are fetched with {program}, which is not on this machine's PATH",
                remedy="use a Debian or Ubuntu machine, or install a mysqld or mariadbd by other means",
            )
    chosen = os.environ.get(MIRROR_VARIABLE)
    uri = _checked(chosen) if chosen else _archive_of_apt()
    return Mirror(uri=uri, keyrings=_keyrings(), settings=_carried_settings())


def _checked(uri: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9+.-]*:/?[^\s\[\]\"]+", uri):
        raise UserMistake(
            f"{MIRROR_VARIABLE} is {uri!r}, which is not a URI",
            remedy="give the address of a Debian archive, as it stands in an apt source",
        )
    return uri


def _archive_of_apt() -> str:
    """The first source that holds Debian's own suites, not its security updates.

    apt reports the origin of a source only when its lists have been fetched. Before that, the sources of
    a Debian machine without a hyphen in the release are taken (bookworm, not bookworm-security).
    """
    for origin, _, uri in _targets():
        if origin == "Debian" and "security" not in uri:
            return uri
    if "ID=debian" in _os_release():
        for _, release, uri in _targets("--no-release-info"):
            if "-" not in release:
                return uri
    raise MachineFault(
        "this machine's apt has no Debian archive among its sources",
        remedy=f"name one in {MIRROR_VARIABLE} and install debian-archive-keyring",
    )


def _targets(*options: str) -> list[tuple[str, str, str]]:
    text = _output_of(["apt-get", *options, "indextargets", "--format", TARGET_FORMAT])
    return [(origin, release, uri) for origin, release, uri in _fields(text)]


def _fields(text: str) -> list[list[str]]:
    return [fields for line in text.splitlines() if len(fields := line.split("|")) == 3]


def _keyrings() -> tuple[Path, ...]:
    """Debian's archive keyring, or the keys of its releases one by one; never the removed keys."""
    whole = [KEYRINGS / f"debian-archive-keyring.{suffix}" for suffix in ("gpg", "pgp")]
    found = [path for path in whole if path.is_file()][:1] or [
        path
        for path in sorted(KEYRINGS.glob("debian-archive-*"))
        if path.suffix in {".gpg", ".pgp", ".asc"} and "removed" not in path.name
    ]
    if not found:
        raise MachineFault(
            f"there is no Debian archive keyring in {KEYRINGS}, so no package's signature can be checked",
            remedy="install the package debian-archive-keyring",
        )
    return tuple(found)


def _carried_settings() -> str:
    return _output_of(["apt-config", "dump", "--format", '%F "%v";%n', *CARRIED_SETTINGS])


def _output_of(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineFault(
            f"{command[0]} cannot be run ({reason(error)})", remedy="repair this machine's apt"
        ) from error
    return done.stdout


def codename() -> str:
    """The name of this machine's release, such as bookworm; empty where it has none (os-release(5))."""
    names = (line.partition("=")[2] for line in _os_release() if line.startswith("VERSION_CODENAME="))
    return next(names, "").strip("\"'")


def _os_release() -> list[str]:
    try:
        return OS_RELEASE.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
