"""apt-get in a private state: its configuration, its two calls, and its failures in one sentence."""

from __future__ import annotations

import os
import pwd
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tlstax.errors import MachineFault
from tlstax.specimens import processes
from tlstax.specimens.apt_mirror import Mirror

UPDATE_TIMEOUT_S = 300.0
DOWNLOAD_TIMEOUT_S = 1800.0
NETWORK_TIMEOUT_S = 20
"""How long apt waits for one silent connection before it gives up (apt.conf(5), Acquire::http::Timeout)."""


@dataclass(frozen=True)
class AptCommand:
    """apt-get with a private configuration in `directory`."""

    directory: Path
    architecture: str

    def update(self) -> None:
        """Fetch and verify the list of packages; MachineFault when any of it fails."""
        self._run(["update", "-o", "APT::Update::Error-Mode=any"], UPDATE_TIMEOUT_S)

    def download(self, packages: tuple[str, ...]) -> list[Path]:
        """Resolve and download packages and what they depend on; the files, in the order of their names."""
        self._run(["install", "--download-only", "--yes", *packages], DOWNLOAD_TIMEOUT_S)
        return sorted((self.directory / "cache" / "archives").glob("*.deb"))

    def _run(self, arguments: list[str], timeout_s: float) -> None:
        """Run apt-get so that it ends when we do; its whole output is kept for the reason of a failure."""
        log = self.directory / "log"
        environment = {**os.environ, "APT_CONFIG": str(self.directory / "apt.conf"), "LC_ALL": "C"}
        offset = log.stat().st_size if log.exists() else 0
        child = processes.start(processes.Launch(["apt-get", *arguments], log, environment))
        try:
            status = child.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            raise MachineFault(
                f"apt-get {arguments[0]} did not end within {timeout_s:.0f} s", remedy="check the network"
            ) from error
        finally:
            child.kill()
            child.wait()
        if status != 0:
            text = log.read_text(encoding="utf-8", errors="replace")[offset:]
            raise fault(f"apt-get {arguments[0]} failed", text)


def prepare(directory: Path, mirror: Mirror, suite: str, given: tuple[str, ...]) -> AptCommand:
    """Write a private configuration with one source, the suite's main component on the mirror.

    `given` packages are entered as installed, so that nothing is fetched for them. The expiry date of the
    mirror's lists is not enforced, since mirrors lag: the signature is, so what can be had is what Debian
    signed at some time.
    """
    architecture = _architecture()
    for name in ("state/lists/partial", "cache/archives/partial", "etc"):
        (directory / name).mkdir(parents=True)
    (directory / "state" / "status").write_text(_status(given, architecture), encoding="ascii")
    signed_by = ",".join(map(str, mirror.keyrings))
    (directory / "sources.list").write_text(
        f"deb [signed-by={signed_by} arch={architecture}] {mirror.uri} {suite} main\n", encoding="utf-8"
    )
    (directory / "apt.conf").write_text(
        mirror.settings + _configuration(directory, architecture), encoding="utf-8"
    )
    return AptCommand(directory, architecture)


def fault(what: str, output: str) -> MachineFault:
    """The failure of a package tool, told by the reason that its output gives."""
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
"""Reasons that apt and dpkg-deb give, the most telling first: pattern, meaning, what to do."""


def _reason_line(output: str, pattern: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(pattern, line, re.IGNORECASE)]
    line = (telling or lines or ["no reason given"])[0]
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
