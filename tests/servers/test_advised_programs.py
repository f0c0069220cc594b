"""The lines that `tlstax advise` gives to each driver do what they say: a tap sees it before a real server.

Which of the project's drivers say P-256 first, or resume, by themselves is asked of their own programs; what
an application writes is in `advised/`, in each language.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from load_jobs import ROWS, job
from test_guest_run import PASSWORD, SMALL, lent

from tlstax.clients.choice import obtain_client
from tlstax.clients.process import LoadClient
from tlstax.contract import DriverTerms, TlsOn, TlsRequired
from tlstax.network.tap.opening import open_tap
from tlstax.records.capture import Conversation
from tlstax.specimens import shelf
from tlstax.specimens.catalogue import RECIPES
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.sql.table_rows import TableContent
from tlstax.stats.programs import ProgramLines, all_programs
from tlstax.study.driver_catalogue import DRIVERS, speaking
from tlstax.topics.advice.advise import steps_for

# Some compile a driver with all that it needs, in minutes beside other tests.
pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]

ADVISED = Path(__file__).parent / "advised"
P256 = "secp256r1"
WITHIN_S = 900.0

HIKARI = ("com.zaxxer:HikariCP:6.3.3", "org.slf4j:slf4j-api:2.0.17")
PYTHON_POOLS = (
    "sqlalchemy==2.0.44",
    "django==5.2.8",
    "typing-extensions==4.15.0",
    "asgiref==3.10.0",
    "sqlparse==0.5.3",
)

NO_LOGIN = {"connector-j-5.1.6"}
"""What cannot log in to the server here at all."""


@pytest.fixture(scope="module")
def server(mysql_build: ServerBuild, session: Session) -> Iterator[PrivateServer]:
    with lent(mysql_build, session, ServerSettings(buffer_pool_bytes=SMALL)) as started:
        yield started


def tree(name: str) -> Path:
    """Where a driver lies, built if it is not there."""
    return shelf.obtain(RECIPES[name], lambda _: None).program.parent


def seen(
    server: PrivateServer, *command: object, cwd: Path = ADVISED, **variables: str
) -> tuple[Conversation, ...]:
    """The connections of a program, as a tap sees them; {port} and {ca} in its command are filled in."""
    with open_tap(server.endpoint()) as tap:
        known = {"port": str(tap.entry.port), "ca": server.ca_file}
        told = {"TLSTAX_PASSWORD": PASSWORD, "PORT": known["port"], "CA_FILE": known["ca"]}
        done = subprocess.run(
            [str(word).format_map(known) for word in command],
            env=os.environ | told | variables,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found = tap.capture()
    assert found.encrypted == found.connections == len(found.conversations)
    return found.conversations


def run_once(*command: object, cwd: Path, **variables: str) -> None:
    done = subprocess.run(
        [str(word) for word in command],
        env=os.environ | variables,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


# --- What the project's own program around a driver shows: the groups, and what it resumes by itself.

NODE, OPENSSL = "NODE_OPTIONS", "OPENSSL_CONF"


MUST_BE_TOLD: dict[str, Literal["ca", "identity"]] = {
    "mysql-async-0.36": "identity",
    "ruby-mysql2-0.5.3": "ca",
}
"""What encrypts only where it is told an authority, and what it then can check: to the first what its runtime
trusts is not enough, and to the second that TLS is required says nothing."""


def by_project(server: PrivateServer, name: str, **variables: str) -> tuple[Conversation, ...]:
    """Three connections of a driver's program, told to encrypt and nothing else."""
    setting = [f"{variable}={value}" for variable, value in variables.items()]
    command = ["env", *setting, *obtain_client(name, lambda _: None).command]
    server.prepare_table(TableContent(rows=ROWS, seed=1))
    with open_tap(server.endpoint()) as tap:
        asked = job(
            server,
            "reconnect",
            endpoint=tap.entry,
            tls=TlsOn(verify=MUST_BE_TOLD[name], ca_file=server.ca_file)
            if name in MUST_BE_TOLD
            else TlsRequired(trusted_ca_file=server.ca_file),
            connections=1,
            operations=3,
            warmup_s=0.0,
            source_addresses=(),
            driver=DriverTerms(),
        )
        with LoadClient(command, asked) as client:
            client.wait_ready(WITHIN_S)
            client.go()
            client.wait_done(WITHIN_S)
        found = tap.capture()
    assert found.connections == found.encrypted >= 3
    return found.conversations


def asks_twice(conversations: tuple[Conversation, ...]) -> bool:
    """Whether the server asked for a second ClientHello, alike on all connections."""
    (retried,) = {own.tls.hello_retry for own in conversations if own.tls}
    return retried


def variables_of(program: ProgramLines, configuration: Path) -> dict[str, str]:
    """What the line for groups puts into the environment of a program that cannot be changed here."""
    line = program.groups
    if line.startswith("OPENSSL_CONF="):
        return {OPENSSL: str(configuration)}
    options = line.removeprefix("node ").partition(",")[0].split()
    return {NODE: " ".join(own.replace("=openssl.cnf", f"={configuration}") for own in options)}


IN_THE_SOURCE = {"go-sql-driver-1.9", "go-mysql-1.13"}
"""Where the application says it in its own code."""

NO_CHOICE = {"mysql-async-0.36", "sqlx-0.8"}

TLS_1_2 = {"connector-j-5.1.49", "connector-j-8.0.16"}
"""What speaks TLS 1.2, as its line says: there a server asks for no second ClientHello (RFC 5246, 7.3)."""

WITH_P256 = {"connector-j-8.0.33", "connector-j-9.7", "mariadb-connector-j-3.5"}
"""What sends a key share for P-256 anyway, as its line says."""


@pytest.mark.parametrize(
    ("program", "driver"),
    [
        pytest.param(program, driver, id=driver)
        for program in all_programs()
        for driver in program.drivers
        if driver not in IN_THE_SOURCE | NO_CHOICE | NO_LOGIN | TLS_1_2 | WITH_P256
    ],
)
def test_the_line_for_groups_saves_the_second_client_hello(
    server: PrivateServer, program: ProgramLines, driver: str, tmp_path: Path
) -> None:
    own = tmp_path / "openssl.cnf"
    (lines,) = (step.lines for step in steps_for("group", server.version) if "openssl.cnf" in step.where)
    own.write_text("\n".join(lines) + "\n")
    before, after = by_project(server, driver), by_project(server, driver, **variables_of(program, own))
    assert asks_twice(before)
    assert not asks_twice(after)
    for talk in after:
        assert talk.tls is not None
        assert (talk.tls.group, talk.tls.hello.groups[0]) == (P256, P256)


@pytest.mark.parametrize("driver", [name for name in speaking("mysql") if name not in NO_LOGIN])
def test_a_driver_resumes_by_itself_where_its_line_says_so(server: PrivateServer, driver: str) -> None:
    (line,) = (own.resumption for own in all_programs() if driver in own.drivers)
    resumed = [talk.tls.resumed for talk in by_project(server, driver) if talk.tls]
    assert any(resumed[1:]) == (line == "it resumes by itself")


def test_mysql_async_is_asked_twice_only_once(server: PrivateServer) -> None:
    retried = [talk.tls.hello_retry for talk in by_project(server, "mysql-async-0.36") if talk.tls]
    assert retried == [True] + [False] * (len(retried) - 1)


@pytest.mark.parametrize("driver", sorted(WITH_P256 | TLS_1_2))
def test_some_are_not_asked_twice_whatever_is_said(server: PrivateServer, driver: str) -> None:
    found = by_project(server, driver)
    assert not asks_twice(found)
    versions = {talk.tls.version for talk in found if talk.tls}
    assert versions == {"TLSv1.2" if driver in TLS_1_2 else "TLSv1.3"}


# --- What an application writes: pools, and Go's and the C library's own words for groups and sessions.


def connections(conversations: tuple[Conversation, ...]) -> int:
    return len(conversations)


@pytest.fixture(scope="module")
def python_pools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SQLAlchemy and Django, as users install them."""
    folder = tmp_path_factory.mktemp("pools")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder)
    run_once(*pip, *PYTHON_POOLS, cwd=folder)
    return folder


@pytest.mark.parametrize(
    ("driver", "how"),
    [
        ("mysql-connector-python-9", "connector"),
        ("mysql-connector-python-9", "mysql+mysqlconnector"),
        ("pymysql-1.1", "mysql+pymysql"),
        ("pymysql-1.2", "mysql+pymysql"),
        ("mysqlclient-2.2", "mysql+mysqldb"),
        ("mysqlclient-2.2", "django"),
    ],
)
def test_pools_of_python_keep_one_connection(
    server: PrivateServer, python_pools: Path, driver: str, how: str
) -> None:
    site = tree(driver) / "site"
    found = seen(
        server,
        *(sys.executable, "-B", "python/keep.py", how, "{port}", "{ca}"),
        PYTHONPATH=f"{site}:{python_pools}",
        MARIADB_PLUGIN_DIR=str(tree(driver) / "lib" / "plugin"),
    )
    assert connections(found) == 1


@pytest.fixture(scope="module")
def hikari(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """HikariCP and what it needs, by Maven."""
    folder = tmp_path_factory.mktemp("hikari")
    plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
    for artifact in HIKARI:
        run_once(
            *("mvn", "-B", "-q", "-ntp", plugin, f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"),
            cwd=folder,
        )
    return folder


@pytest.fixture(scope="module")
def truststore(server: PrivateServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("trust") / "truststore.p12"
    run_once(
        *("keytool", "-importcert", "-noprompt", "-storetype", "PKCS12", "-storepass", "changeit"),
        *("-alias", "ca", "-file", server.ca_file, "-keystore", file),
        cwd=file.parent,
    )
    return file


JDBC = {
    "connector-j-8.0.16": "sslMode=VERIFY_IDENTITY&trustCertificateKeyStoreUrl=file:{p12}",
    "connector-j-8.0.33": "sslMode=VERIFY_IDENTITY&trustCertificateKeyStoreUrl=file:{p12}",
    "connector-j-9.7": "sslMode=VERIFY_IDENTITY&trustCertificateKeyStoreUrl=file:{p12}",
    "connector-j-5.1.49": "useSSL=true&verifyServerCertificate=true&trustCertificateKeyStoreUrl=file:{p12}",
    "mariadb-connector-j-3.5": "sslMode=verify-full&serverSslCert={ca}",
}
PASSWORD_OF_STORE = "&trustCertificateKeyStorePassword=changeit"


@pytest.mark.parametrize("driver", JDBC)
def test_hikari_keeps_one_connection(
    server: PrivateServer, hikari: Path, truststore: Path, driver: str
) -> None:
    assert connections(seen(server, *jdbc(driver, hikari, truststore))) == 1


def test_mariadbs_own_pool_keeps_one_connection(
    server: PrivateServer, hikari: Path, truststore: Path
) -> None:
    *command, url = jdbc("mariadb-connector-j-3.5", hikari, truststore)
    assert connections(seen(server, *command, url, "own")) == 5
    assert connections(seen(server, *command, f"{url}&pool=true&maxPoolSize=1&minPoolSize=1", "own")) == 1


def jdbc(driver: str, hikari: Path, truststore: Path) -> tuple[str, ...]:
    product = "mariadb" if driver.startswith("mariadb") else "mysql"
    terms = JDBC[driver].format(p12=truststore, ca="{ca}")
    store = "" if product == "mariadb" else PASSWORD_OF_STORE
    jars = f"{tree(driver) / 'jars'}/*:{hikari}/*"
    return ("java", "-cp", jars, "java/Keep.java", f"jdbc:{product}://127.0.0.1:{{port}}/lent?{terms}{store}")


@pytest.mark.parametrize(("driver", "package"), [("mysql2-3", "mysql2"), ("mariadb-node-3", "mariadb")])
def test_pools_of_node_keep_one_connection(server: PrivateServer, driver: str, package: str) -> None:
    modules = str(tree(driver) / "node_modules")
    found = seen(server, "node", "node/keep.cjs", package, "{port}", "{ca}", NODE_PATH=modules)
    assert connections(found) == 1


SCRIPTS = {
    "mysqli-8.2": "php/keep.php",
    "mysqli-8.4": "php/keep.php",
    "pdo-mysql-8.2": "php/keep.php",
    "pdo-mysql-8.4": "php/keep.php",
    "dbd-mysql-4.050": "perl/keep.pl",
    "dbd-mysql-4.053": "perl/keep.pl",
    "dbd-mariadb-1.22": "perl/keep.pl",
    "ruby-mysql2-0.5.3": "ruby/keep.rb",
    "ruby-mysql2-0.5.5": "ruby/keep.rb",
    "rmariadb-1.3": "r/keep.R",
}
"""By driver, an application in the folder of its language; the driver's tree has an interpreter of that
name."""


@pytest.mark.parametrize("driver", SCRIPTS)
def test_a_script_keeps_one_connection_as_it_is_told(server: PrivateServer, driver: str) -> None:
    script = SCRIPTS[driver]
    interpreter = tree(driver) / script.partition("/")[0]
    words = (f"--file={script}", "--args") if script.endswith(".R") else (script,)
    command = (interpreter, *words, driver.rpartition("-")[0], "{port}", "{ca}")
    assert connections(seen(server, *command, "opened anew")) == 5
    assert connections(seen(server, *command, "kept")) == 1


@pytest.fixture
def application(tmp_path: Path) -> Callable[[str, Path, str], Path]:
    """Builds an application around a driver: the driver's own folder, with our program in its place."""

    def build(name: str, source: Path, place: str) -> Path:
        driver = DRIVERS[name]
        folder, made = tmp_path / driver.folder, tmp_path / "made"
        shutil.copytree(driver.place, folder, ignore=shutil.ignore_patterns("target"))
        shutil.rmtree(folder / place)
        shutil.copytree(source, folder / place)
        made.mkdir()
        if driver.folder == "rust":
            return built_by_cargo(folder, (folder / place).parent)
        if driver.debian:
            shutil.copytree(tree(name) / "root", made / "root", symlinks=True, copy_function=os.link)
        run_once(folder / "build", name, driver.version, made, cwd=folder)
        return made / "run"

    return build


def built_by_cargo(workspace: Path, crate: Path) -> Path:
    """An application has a runtime of its own, which the driver's program has through another crate."""
    manifest = crate / "Cargo.toml"
    manifest.write_text(f"{manifest.read_text()}tokio.workspace = true\n")
    package = tomllib.loads(manifest.read_text())["package"]["name"]
    # What it says to a server is the same unoptimized, in half the time.
    run_once("cargo", "build", "--package", package, cwd=workspace, CARGO_PROFILE_DEV_DEBUG="0")
    return workspace / "target" / "debug" / str(package)


APPLICATIONS = {
    "go-sql-driver-1.9": (ADVISED / "go" / "go-sql-driver", "cmd/go-sql-driver", 4),
    "go-mysql-1.13": (ADVISED / "go" / "go-mysql", "cmd/go-mysql", 2),
    "mysql-async-0.36": (ADVISED / "rust" / "mysql-async", "crates/mysql-async/src", 1),
    "sqlx-0.8": (ADVISED / "rust" / "sqlx", "crates/sqlx/src", 1),
    "libmysqlclient-9.7": (ADVISED / "c", "program", 1),
    "libmariadb-3.3": (ADVISED / "c", "program", 1),
    "libmariadb-3.4": (ADVISED / "c", "program", 1),
}
"""By driver: our program, the place of the driver's own, and how many connections it makes at the most."""

RESUMING = {"go-sql-driver-1.9", "go-mysql-1.13", "libmysqlclient-9.7"}


@pytest.mark.parametrize("driver", APPLICATIONS)
def test_an_application_keeps_resumes_and_offers_as_it_is_told(
    server: PrivateServer, application: Callable[[str, Path, str], Path], driver: str
) -> None:
    source, place, kept = APPLICATIONS[driver]
    run = application(driver, source, place)
    assert 1 <= connections(seen(server, run, WHAT="pool")) <= kept
    if driver in RESUMING:
        found = seen(server, run, WHAT="resumption")
        assert [talk.tls.resumed for talk in found if talk.tls] == [False] + [True] * 4
    if driver in IN_THE_SOURCE:
        found = seen(server, run, WHAT="groups")
        assert len(found) == 5
        assert not asks_twice(found)
        assert {talk.tls.hello.groups for talk in found if talk.tls} == {(P256,)}
