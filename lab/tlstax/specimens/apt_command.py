"""apt-get in a private state: its configuration, its two calls, and its failures in one sentence."""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tlstax.specimens import processes
from tlstax.specimens.apt_mirror import Mirror
from tlstax.specimens.progress import megabytes
from tlstax.specimens.sources import tool
from tlstax.support.errors import MachineFault

UPDATE_TIMEOUT_S = 300.0
DOWNLOAD_TIMEOUT_S = 1800.0
ASK_TIMEOUT_S = 60.0
NETWORK_TIMEOUT_S = 20
"""How long apt waits for one silent connection before it gives up (apt.conf(5), Acquire::http::Timeout)."""

HASHES = {"MD5Sum": "md5", "SHA1": "sha1", "SHA256": "sha256", "SHA512": "sha512"}
"""The names that apt has for digests, and hashlib's."""


@dataclass(frozen=True)
class Archive:
    """A package's file as the signed lists have it: `digest` is hashlib's name of it and its hex."""

    name: str
    size_bytes: int
    digest: tuple[str, str]


@dataclass(frozen=True)
class AptCommand:
    """apt-get with a private configuration in `directory`."""

    directory: Path
    architecture: str

    def update(self) -> None:
        """Fetch and verify the list of packages; MachineFault when any of it fails."""
        self._run(["update", "-o", "APT::Update::Error-Mode=any"], UPDATE_TIMEOUT_S)

    def versions(self, package: str) -> list[str]:
        """The versions of a package that the lists have, the newest first."""
        lines = self._ask(["apt-cache", "madison", package]).splitlines()
        return [fields[1].strip() for line in lines if len(fields := line.split("|")) == 3]

    def archives(self, packages: tuple[str, ...]) -> list[Archive]:
        """What has to be there for these packages, by name; MachineFault when apt cannot resolve them."""
        none_here = f"Dir::Cache::archives={self.directory / 'empty'}"
        arguments = ["install", "--yes", "--print-uris", "-qq", "-o", none_here, *packages]
        listed = re.findall(
            r"^'\S+' (\S+) (\d+) (\w+):(\S+)$", self._ask(["apt-get", *arguments]), re.MULTILINE
        )
        return sorted(
            (
                Archive(name, int(size), (HASHES[kind], digest))
                for name, size, kind, digest in listed
                if kind in HASHES
            ),
            key=lambda archive: archive.name,
        )

    def has(self, archive: Archive) -> bool:
        """Whether the file was downloaded, and is what the lists say."""
        file = self._archives / archive.name
        kind, digest = archive.digest
        if not file.is_file():
            return False
        with file.open("rb") as content:
            return hashlib.file_digest(content, kind).hexdigest() == digest

    def download(
        self, packages: tuple[str, ...], archives: list[Archive], now: Callable[[str], None]
    ) -> list[Path]:
        """Download packages and what they depend on; the files, in the order of their names.

        What an earlier download left is used: apt goes on with a file of which it has a part.
        """
        for archive in archives:
            if not self.has(archive):
                (self._archives / archive.name).unlink(missing_ok=True)
        meter = megabytes("downloading packages", sum(archive.size_bytes for archive in archives))
        wanted = {archive.name for archive in archives}

        def look() -> None:
            files = [*self._archives.glob("*.deb"), *(self._archives / "partial").glob("*.deb")]
            now(meter.words(sum(_size(file) for file in files if file.name in wanted)))

        self._run(["install", "--download-only", "--yes", *packages], DOWNLOAD_TIMEOUT_S, look)
        missing = [archive.name for archive in archives if not self.has(archive)]
        if missing or not archives:
            raise MachineFault(
                f"apt-get did not download {', '.join(missing) or 'anything'}",
                remedy="start again: what is there is kept",
            )
        return [self._archives / archive.name for archive in archives]

    @property
    def _archives(self) -> Path:
        return self.directory / "cache" / "archives"

    def _run(self, arguments: list[str], timeout_s: float, look: Callable[[], None] = lambda: None) -> None:
        """Run apt-get so that it ends when we do; its whole output is kept for the reason of a failure."""
        log = self.directory / "log"
        offset = log.stat().st_size if log.exists() else 0
        work = tool.Run(["apt-get", *arguments], self.directory, log, timeout_s, look, self._environment())
        if tool.run(work) != 0:
            text = log.read_text(encoding="utf-8", errors="replace")[offset:]
            raise fault(f"apt-get {arguments[0]} failed", text)

    def _ask(self, command: list[str]) -> str:
        """What apt says from the lists that it has."""
        done = subprocess.run(
            processes.mortal(command),
            capture_output=True,
            text=True,
            check=False,
            timeout=ASK_TIMEOUT_S,
            env={**os.environ, **self._environment()},
        )
        if done.returncode != 0:
            raise fault(f"{command[0]} failed", done.stdout + done.stderr)
        return done.stdout

    def _environment(self) -> dict[str, str]:
        return {"APT_CONFIG": str(self.directory / "apt.conf"), "LC_ALL": "C"}


def prepare(directory: Path, mirror: Mirror, suites: tuple[str, ...], given: tuple[str, ...]) -> AptCommand:
    """Write a private configuration with the suites' main component on the mirror.

    A directory that was prepared before keeps what was downloaded to it.

    `given` packages are entered as installed, so that nothing is fetched for them. The expiry date of the
    mirror's lists is not enforced, since mirrors lag: the signature is, so what is available is what Debian
    signed at some time.
    """
    architecture = _architecture()
    for name in ("state/lists/partial", "cache/archives/partial", "empty/partial", "etc"):
        (directory / name).mkdir(parents=True, exist_ok=True)
    (directory / "state" / "status").write_text(_status(given, architecture), encoding="ascii")
    signed_by = ",".join(map(str, mirror.keyrings))
    (directory / "sources.list").write_text(
        "".join(
            f"deb [signed-by={signed_by} arch={architecture}] {mirror.uri} {suite} main\n" for suite in suites
        ),
        encoding="utf-8",
    )
    (directory / "apt.conf").write_text(
        mirror.settings + _configuration(directory, architecture), encoding="utf-8"
    )
    return AptCommand(directory, architecture)


def fault(what: str, output: str) -> MachineFault:
    """The failure of a package tool, reported by the reason that its output gives."""
    for pattern, reason, remedy in REASONS:
        if re.search(pattern, output, re.IGNORECASE):
            return MachineFault(f"{what}: {reason} ({_reason_line(output, pattern)})", remedy=remedy)
    return MachineFault(f"{what} ({_reason_line(output, '^(E|W|dpkg-deb: error): ')})")


REASONS = (
    (
        r"no space left on device|not enough free space|don't have enough free space",
        "the disk is full",
        "make room, or name another place in TLSTAX_CACHE",
    ),
    (
        r"NO_PUBKEY|BADSIG|EXPKEYSIG|REVKEYSIG|not signed|signatures? (were|was|couldn't|could not)|GPG error"
        r"|Hash Sum mismatch|signature verification",
        "what the mirror sent is not verifiably Debian's",
        "check the mirror, or name another in TLSTAX_APT_MIRROR",
    ),
    (
        r"not valid yet",
        "the mirror's lists are dated in the future",
        "set this machine's clock",
    ),
    (
        r"could not resolve|temporary failure resolving|could not connect|cannot initiate the connection"
        r"|connection (failed|refused|timed out)|network is unreachable|unable to connect|timeout"
        r"|certificate verification failed|handshake",
        "the mirror cannot be reached",
        "check the network, or name another mirror in TLSTAX_APT_MIRROR",
    ),
    (
        r"unable to locate package|was not found|no installation candidate|404 +not found"
        r"|does not have a Release file|unmet dependencies",
        "the mirror does not have it",
        "name another mirror in TLSTAX_APT_MIRROR",
    ),
)
"""Reasons that apt and dpkg-deb give, the most specific first: pattern, meaning, what to do."""


def _reason_line(output: str, pattern: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    matching = [line for line in lines if re.search(pattern, line, re.IGNORECASE)]
    line = (matching or lines or ["no reason given"])[0]
    return re.sub(r"^([EW]|Err:\d+|dpkg-deb: error): ?", "", line)[:300]


def _configuration(directory: Path, architecture: str) -> str:
    user = pwd.getpwuid(os.geteuid()).pw_name
    settings = {
        "Dir::State": directory / "state",
        "Dir::State::status": directory / "state" / "status",
        "Dir::Cache": directory / "cache",
        "Dir::Log": directory,
        "Dir::Etc": directory / "etc",
        "Dir::Etc::sourcelist": directory / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::parts": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Dir::Etc::netrc": "/etc/apt/auth.conf",
        "Dir::Etc::netrcparts": "/etc/apt/auth.conf.d",
        "APT::Architecture": architecture,
        "APT::Sandbox::User": user,
        "APT::Install-Recommends": "false",
        "APT::Get::AllowUnauthenticated": "false",
        "Acquire::AllowInsecureRepositories": "false",
        "Acquire::Check-Valid-Until": "false",
        "Acquire::Languages": "none",
        "Acquire::Retries": "2",
        "Acquire::http::Timeout": NETWORK_TIMEOUT_S,
        "Acquire::https::Timeout": NETWORK_TIMEOUT_S,
    }
    lines = [f'{name} "{value}";' for name, value in settings.items()]
    return "\n".join([*lines, f'APT::Architectures {{ "{architecture}"; }};', ""])


def _status(given: tuple[str, ...], architecture: str) -> str:
    """A dpkg status file (deb822) in which only the given packages are installed."""
    return "".join(
        f"Package: {name}\nStatus: install ok installed\nPriority: optional\nSection: misc\n"
        f"Maintainer: tlstax\nArchitecture: {architecture}\nMulti-Arch: allowed\nVersion: 999\n"
        f"Description: taken as given\n\n"
        for name in given
    )


def _architecture() -> str:
    done = subprocess.run(
        ["dpkg", "--print-architecture"], capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout.strip()


def _size(file: Path) -> int:
    """Its size; 0 when it was renamed in the meantime."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
