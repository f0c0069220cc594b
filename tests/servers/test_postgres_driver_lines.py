"""The lines that `tlstax advise` prints for drivers of PostgreSQL, to verify and for groups, before a tap.

Lines of languages that take them as they are stand in a program of that language; words of a connection
string are handed to the project's own program around the driver, which passes them on unchanged.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from driver_jobs import obtainable

from tlstax.clients.choice import adapter_command
from tlstax.contract import Account, TcpEndpoint
from tlstax.network.tap.opening import open_tap
from tlstax.records.capture import Conversation
from tlstax.specimens import shelf
from tlstax.specimens.catalogue import RECIPES
from tlstax.specimens.certificates import issue
from tlstax.specimens.private_server import PrivateServer
from tlstax.stats.programs import all_programs
from tlstax.study.driver_catalogue import FOLDER
from tlstax.tools.probes.postgres_drivers.adapter import Adapter, Told
from tlstax.tools.probes.postgres_drivers.words import Word
from tlstax.topics.advice.advise import steps_for

QUICK = {"psycopg-3", "asyncpg-0.32"}
LINES = {driver: own for own in all_programs("postgresql") for driver in own.drivers}
CONFIGURED = ("OPENSSL_CONF=", "node --openssl-config=")
CA = "ca.pem"
"""The file of authorities, by the name that it has in the lines: the programs are started beside it."""

UNNAMED = "127.0.0.9"
"""A host that no certificate names."""

WITHIN_S = 120.0

PYTHON = {
    "psycopg-3": "import psycopg; psycopg.connect(host=HOST, port=PORT, user=USER, password=PASSWORD, "
    "dbname=DATABASE, LINE).execute('SELECT 1')",
    "psycopg2-binary-2.9": "import psycopg2; psycopg2.connect(host=HOST, port=PORT, user=USER, "
    "password=PASSWORD, dbname=DATABASE, LINE).cursor().execute('SELECT 1')",
    "asyncpg-0.32": "import asyncio, asyncpg, ssl; asyncio.run(asyncpg.connect(host=HOST, port=PORT, "
    "user=USER, password=PASSWORD, database=DATABASE, LINE))",
    "pg8000-1": "import pg8000.dbapi, ssl; pg8000.dbapi.connect(host=HOST, port=PORT, user=USER, "
    "password=PASSWORD, database=DATABASE, LINE).cursor().execute('SELECT 1')",
}
PYTHON_BEFORE = (
    "import os; HOST, PORT, USER, PASSWORD, DATABASE = (os.environ['THE_' + name] for name in "
    "('HOST', 'PORT', 'USER', 'PASSWORD', 'DATABASE')); PORT = int(PORT); "
)
NODE_BEFORE = (
    "const {THE_HOST: host, THE_PORT: port, THE_USER: user, THE_PASSWORD: password, THE_DATABASE: database}"
    " = process.env; const ca = require('node:fs').readFileSync('ca.pem'); "
)
NODE = {
    "node-pg-8": "const {Client} = require('pg'); const client = new Client({host, port, user, password, "
    "database, LINE}); client.connect().then(() => client.end());",
    "postgres-js-3": "const sql = require('postgres')({host, port, user, password, database, LINE, "
    "max: 1}); sql`SELECT 1`.then(() => sql.end());",
}
PGSQL = (
    "exit(pg_connect('host=' . getenv('THE_HOST') . ' port=' . getenv('THE_PORT') . ' user=' . "
    "getenv('THE_USER') . ' password=' . getenv('THE_PASSWORD') . ' dbname=' . getenv('THE_DATABASE') . "
    "' LINE') ? 0 : 1);"
)
PDO = (
    "new PDO('pgsql:host=' . getenv('THE_HOST') . ';port=' . getenv('THE_PORT') . ';dbname=' . "
    "getenv('THE_DATABASE') . ';LINE', getenv('THE_USER'), getenv('THE_PASSWORD'));"
)
DBD = (
    'use DBI; my $dsn = "dbi:Pg:host=$ENV{THE_HOST};port=$ENV{THE_PORT};dbname=$ENV{THE_DATABASE};LINE"; '
    "DBI->connect($dsn, $ENV{THE_USER}, $ENV{THE_PASSWORD}, { RaiseError => 1 });"
)
RUBY = (
    "require 'pg'; PG.connect(host: ENV['THE_HOST'], port: ENV['THE_PORT'], user: ENV['THE_USER'], "
    "password: ENV['THE_PASSWORD'], dbname: ENV['THE_DATABASE'], LINE)"
)
SCRIPTS = {
    **dict.fromkeys(("php-pgsql-8.2", "php-pgsql-8.4"), ("php", "-r", PGSQL)),
    **dict.fromkeys(("pdo-pgsql-8.2", "pdo-pgsql-8.4"), ("php", "-r", PDO)),
    **dict.fromkeys(("dbd-pg-3.16", "dbd-pg-3.18"), ("perl", "-e", DBD)),
    "ruby-pg-1.4": ("ruby", "-e", RUBY),
}
"""By driver: the interpreter in its tree, and a program in which LINE stands for what is pasted."""

IN_THE_SOURCE: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "tokio-postgres-0.7": ("rustls.rs", ("MakeRustlsConnect",)),
    "tokio-postgres-native-tls-0.7": ("native_tls.rs", ("add_root_certificate", "TlsConnector")),
    "tokio-postgres-openssl-0.7": ("openssl.rs", ("set_ca_file", "SslConnector")),
}
"""Where the line names calls: the source of the project's program, which makes them, and these."""


@dataclass(frozen=True)
class Asked:
    """A program around a driver, which is to verify by the file of authorities here."""

    name: str
    line: str
    account: Account

    def is_let_in(self, at: TcpEndpoint) -> bool:
        """Whether it takes the server there for its own."""
        if self.name in PYTHON:
            code = PYTHON_BEFORE + PYTHON[self.name].replace("LINE", self.line)
            return self._ran(at, sys.executable, "-c", code, PYTHONPATH=str(tree(self.name) / "site"))
        if self.name in NODE:
            code = NODE_BEFORE + NODE[self.name].replace("LINE", self.line)
            return self._ran(at, "node", "-e", code, NODE_PATH=str(tree(self.name) / "node_modules"))
        if self.name in SCRIPTS:
            interpreter, option, code = SCRIPTS[self.name]
            pasted = code.replace("LINE", self.line.removesuffix(" in its DSN"))
            return self._ran(at, str(tree(self.name) / interpreter), option, pasted)
        told = Told(self.name, at, self.account, self._word(), CA)
        with Adapter(adapter_command(self.name, lambda _: None), told) as adapter:
            return adapter.open().done

    def _word(self) -> Word:
        if self.name in IN_THE_SOURCE:
            return Word("verify-full", self.line, "on")
        return Word("verify-full", self.line, options=words_of_line(self.line))

    def _ran(self, at: TcpEndpoint, *words: str, **variables: str) -> bool:
        account = {"USER": self.account.user, "PASSWORD": self.account.password}
        place = {"HOST": at.host, "PORT": str(at.port), "DATABASE": self.account.database or ""}
        told = {f"THE_{name}": text for name, text in (account | place).items()}
        done = subprocess.run(
            words,
            env=os.environ | told | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )
        said = f"{done.stdout}{done.stderr}"
        assert done.returncode == 0 or "certificate" in said, said
        return done.returncode == 0


def words_of_line(line: str) -> dict[str, str]:
    """The words of a connection string: of a URL, or with blanks or "and" between them."""
    return dict(parse_qsl(line.removeprefix("?").replace(" and ", "&").replace(" ", "&")))


def configured(line: str) -> dict[str, str]:
    """What the line for groups puts into the environment; Node.js's own options stand in a variable there."""
    if line.startswith("node "):
        options = line.removeprefix("node ").partition(",")[0]
        return {"NODE_OPTIONS": options.replace("=openssl.cnf", f"={Path('openssl.cnf').absolute()}")}
    return {"OPENSSL_CONF": str(Path("openssl.cnf").absolute())}


def tree(name: str) -> Path:
    """Where a driver lies, built if it is not there."""
    return shelf.obtain(RECIPES[name], lambda _: None).program.parent


@pytest.fixture(
    params=[name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in LINES]
)
def asked(
    request: pytest.FixtureRequest,
    postgresql: PrivateServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Asked:
    name = obtainable(str(request.param))
    monkeypatch.chdir(tmp_path)
    return Asked(name, LINES[name].verify, postgresql.load_account)


def seen(asked: Asked, server: PrivateServer, host: str) -> tuple[bool, Sequence[Conversation]]:
    """Whether the program takes the server for its own at this host, and what a tap saw of it."""
    with open_tap(server.endpoint(), at=host) as tap:
        let_in = asked.is_let_in(tap.entry)
        return let_in, tap.capture().conversations


def test_the_line_verifies_chain_and_host(asked: Asked, postgresql: PrivateServer, tmp_path: Path) -> None:
    shutil.copy2(postgresql.ca_file, CA)
    let_in, talks = seen(asked, postgresql, "127.0.0.1")
    assert let_in
    assert talks
    assert all(talk.tls is not None and talk.tls.finished for talk in talks)
    other = tmp_path / "other"
    other.mkdir()
    for host, authority in ((UNNAMED, postgresql.ca_file), ("127.0.0.1", issue(other).ca_file)):
        shutil.copy2(authority, CA)
        let_in, talks = seen(asked, postgresql, host)
        assert not let_in, (host, authority)
        assert talks, "it did not come as far as the server"
        assert all(talk.tls is not None for talk in talks), "it went on in the clear"


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, own in LINES.items() if own.groups.startswith(CONFIGURED)])
def test_the_line_for_groups_offers_p256_first(
    name: str, postgresql: PrivateServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of those whose line names OpenSSL's configuration, which it has in the lines above it."""
    monkeypatch.chdir(tmp_path)
    (lines,) = (step.lines for step in steps_for("group", postgresql.version) if "openssl.cnf" in step.where)
    Path("openssl.cnf").write_text("\n".join(lines) + "\n")
    shutil.copy2(postgresql.ca_file, CA)
    for variable, text in configured(LINES[name].groups).items():
        monkeypatch.setenv(variable, text)
    let_in, talks = seen(Asked(name, LINES[name].verify, postgresql.load_account), postgresql, "127.0.0.1")
    assert let_in
    assert talks
    for talk in talks:
        assert talk.tls is not None
        assert talk.tls.hello.groups[0] == "secp256r1"


@pytest.mark.parametrize("name", IN_THE_SOURCE)
def test_the_calls_that_a_line_names_are_those_that_are_tried(name: str) -> None:
    file, calls = IN_THE_SOURCE[name]
    source = (FOLDER / "rust" / "crates" / "tokio-postgres" / "src" / "tls" / file).read_text()
    for call in calls:
        assert re.search(rf"\b{call}\b", LINES[name].verify)
        assert re.search(rf"\b{call}\b", source)
