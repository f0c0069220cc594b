"""Packages of Debian and all they need, unpacked into a directory of their own without root rights.

apt resolves and downloads in a private state of its own, so the machine's package database is neither
read nor changed; every list and package is verified against Debian's archive keys; dpkg-deb unpacks. No
maintainer script runs.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import pwd
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tlstax.specimens.manifest import AptPackages, Part, Recipe
from tlstax.specimens.processes import mortal, must_run, ran
from tlstax.specimens.progress import Reporter, megabytes
from tlstax.specimens.sources import tool
from tlstax.specimens.sources.tool import Place
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.plain_words import reason
from tlstax.support.text import counted
from tlstax.support.trusted import sha256_of

TLS_DIRECTORY, SUPPORT_DIRECTORY = "tls", "support"
SUPPORT = ("libz.so.1", "libzstd.so.1")
"""What Debian's libcrypto is linked with besides the C library."""


def fill(
    recipe: Recipe, source: AptPackages, place: Place, reporter: Reporter
) -> tuple[str, tuple[Part, ...]]:
    """Download and unpack into the tree; the version of what it is named after, and every package.

    Raises MachineFault: no apt, no keyring, no network, a signature that does not verify, a package that
    is gone.
    """
    apt = prepare(place.downloads / "apt", configured_mirror(), source.suites, source.given)
    reporter.step(f"asking the Debian archive ({', '.join(source.suites)}) for {recipe.title}")
    apt.update()
    _check_it_is_there(apt, recipe, source)
    archives = apt.archives(source.packages)
    missing = sum(archive.size_bytes for archive in archives if not apt.has(archive))
    reporter.step(f"downloading {recipe.title} and the libraries it needs ({missing / 1e6:.0f} MB)")
    files = apt.download(source.packages, archives, reporter.now)
    size_mb = sum(file.stat().st_size for file in files) / 1e6
    reporter.step(f"unpacking {counted(len(files), 'package')} ({size_mb:.0f} MB)")
    parts = tuple(_unpack(file, place.tree) for file in files)
    keep_links_inside(place.tree)
    if recipe.kind == "tls_library":
        _set_library_apart(place.tree, recipe.program.partition(".so.")[2])
    versions = {part.name: part.version for part in parts}
    return upstream(versions[source.packages[0].partition("=")[0]]), parts


def upstream(version: str) -> str:
    """The version without Debian's epoch and revision (deb-version(7))."""
    return re.sub(r"^\d+:", "", version).rpartition("-")[0].partition("+")[0]


def _check_it_is_there(apt: AptCommand, recipe: Recipe, source: AptPackages) -> None:
    """MachineFault when the archive has another version by now, with the one that it has."""
    for package in source.packages:
        name, _, pattern = package.partition("=")
        there = apt.versions(name)
        if not there or (pattern and not fnmatch.filter(there, pattern)):
            suites = " and ".join(source.suites)
            now = f"has {name} {', '.join(there)} now" if there else f"has no {name} any more"
            raise MachineFault(
                f"{recipe.title} is gone: Debian {suites} {now}",
                remedy="choose another specimen, or name a mirror that still has it in TLSTAX_APT_MIRROR",
            )


def _unpack(file: Path, tree: Path) -> Part:
    fields = _dpkg_deb("--show", "--showformat", "${Package}\n${Version}\n${Architecture}", str(file))
    package, version, architecture = fields.splitlines()
    _dpkg_deb("--extract", str(file), str(tree))
    return Part(name=package, version=version, architecture=architecture, sha256=sha256_of(file))


def keep_links_inside(tree: Path) -> None:
    """Make links relative that are meant from the root, where what they lead to was unpacked too.

    Debian 12 has its loader and libz.so as such links: from a tree they would lead to the machine's own
    files, of another release.
    """
    links = [path for path in tree.rglob("*") if path.is_symlink() and path.readlink().is_absolute()]
    for link in links:
        meant = tree / link.readlink().relative_to("/")
        if os.path.lexists(meant):
            link.unlink()
            link.symlink_to(os.path.relpath(meant, link.parent))


def _dpkg_deb(*arguments: str) -> str:
    done = must_run("dpkg-deb", mortal(["dpkg-deb", *arguments]), timeout_s=300)
    if done.returncode != 0:
        raise fault("a package cannot be unpacked", done.stderr)
    return done.stdout


def _set_library_apart(tree: Path, soname: str) -> None:
    """Give libssl and libcrypto a directory of their own, and what they need another.

    What is put first in a program's library path must bring neither a C library nor a second OpenSSL along.
    """
    for directory, patterns in (
        (TLS_DIRECTORY, (f"libssl.so.{soname}", f"libcrypto.so.{soname}")),
        (SUPPORT_DIRECTORY, SUPPORT),
    ):
        (tree / directory).mkdir()
        for pattern in patterns:
            for place in ("usr/lib", "lib"):
                for file in sorted(tree.glob(f"{place}/*-linux-gnu*/{pattern}")):
                    os.link(file.resolve(), tree / directory / file.name)


UPDATE_TIMEOUT_S = 300.0
DOWNLOAD_TIMEOUT_S = 1800.0
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
        done = must_run(command[0], mortal(command), {**os.environ, **self._environment()})
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
    for pattern, meaning, remedy in REASONS:
        if re.search(pattern, output, re.IGNORECASE):
            return MachineFault(f"{what}: {meaning} ({_reason_line(output, pattern)})", remedy=remedy)
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
    """A dpkg status file (deb822) in which only the given packages are installed, newer than any."""
    return "".join(
        f"Package: {name}\nStatus: install ok installed\nPriority: optional\nSection: misc\n"
        f"Maintainer: tlstax\nArchitecture: {architecture}\nMulti-Arch: allowed\nVersion: 999:999\n"
        f"Description: taken as given\n\n"
        for name in given
    )


def _architecture() -> str:
    return must_run("dpkg", ["dpkg", "--print-architecture"]).stdout.strip()


def _size(file: Path) -> int:
    """Its size; 0 when it was renamed in the meantime."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


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
    settings = _output_of(["apt-config", "dump", "--format", '%F "%v";%n', *CARRIED_SETTINGS])
    return Mirror(uri=uri, keyrings=_keyrings(), settings=settings)


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
    told = (line.split("|") for line in text.splitlines())
    return [(fields[0], fields[1], fields[2]) for fields in told if len(fields) == 3]


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


def _output_of(command: list[str]) -> str:
    try:
        return ran(command).stdout
    except OSError as error:
        raise MachineFault(
            f"{command[0]} cannot be run ({reason(error)})", remedy="repair this machine's apt"
        ) from error


def codename() -> str:
    """The name of this machine's release, such as bookworm; empty where it has none (os-release(5))."""
    names = (line.partition("=")[2] for line in _os_release() if line.startswith("VERSION_CODENAME="))
    return next(names, "").strip("\"'")


def _os_release() -> list[str]:
    try:
        return OS_RELEASE.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
