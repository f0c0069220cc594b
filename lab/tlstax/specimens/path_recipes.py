"""The programs that can stand between client and server, and what each is made of."""

from __future__ import annotations

from tlstax.specimens.recipe import AptPackages, Recipe

INSTALLING = (
    "adduser",
    "debconf",
    "dpkg",
    "init-system-helpers",
    "libpam-modules",
    "libpam-runtime",
    "lsb-base",
    "netbase",
    "openssl",
    "openssh-sftp-server",
    "passwd",
    "perl",
    "procps",
    "runit-helper",
    "systemd",
    "sysvinit-utils",
    "ucf",
)
"""What these packages need to be set up or started as services of a machine, which they are not here."""


def _of_bookworm(name: str, title: str, packages: tuple[str, ...], program: str, bytes_needed: int) -> Recipe:
    return Recipe(
        name=name,
        title=f"{title} from Debian bookworm",
        kind="path",
        source=AptPackages(suites=("bookworm",), packages=packages, given=INSTALLING),
        program=program,
        bytes_needed=bytes_needed,
    )


OPENSSH = _of_bookworm(
    "openssh", "OpenSSH", ("openssh-server", "openssh-client"), "usr/sbin/sshd", 120_000_000
)
STUNNEL = _of_bookworm("stunnel", "stunnel", ("stunnel4",), "usr/bin/stunnel4", 120_000_000)
HAPROXY = _of_bookworm("haproxy", "HAProxy", ("haproxy",), "usr/sbin/haproxy", 120_000_000)
MYSQL_ROUTER = Recipe(
    name="mysql-router",
    title="MySQL Router from Debian sid",
    kind="path",
    source=AptPackages(suites=("sid",), packages=("mysql-router",), given=INSTALLING),
    program="usr/bin/mysqlrouter",
    bytes_needed=300_000_000,
)

PATHS = (OPENSSH, STUNNEL, HAPROXY, MYSQL_ROUTER)

VERSION_OPTION = {
    OPENSSH.name: "-V",
    STUNNEL.name: "-version",
    HAPROXY.name: "-v",
    MYSQL_ROUTER.name: "--version",
}
"""How each of the programs is asked for its version."""
