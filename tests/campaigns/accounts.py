"""accounts.py COUNT SEED [PART …]: accounts and settings of real servers, and how `run` and `inspect` end.

COUNT cases (or those with a PART in their names) are drawn from SEED among those of both products; each is
set up on a private server that is used as an external one. Beside each stands what its sentence must name and
with which status it must end. Afterwards nothing may be left: no object in the schema, no schema of tlstax's,
no connection. What is wrong is printed, and makes the status 1.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import tlstax
from tlstax.specimens import resolve, sessions
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.sql.database import Database, SqlError
from tlstax.support.directories import cache_dir

MYSQL, MARIADB = "mysql-9.7", "mariadb-11.8"
BOTH = (MYSQL, MARIADB)
PASSWORD = "Sesame, open!"
ACCOUNT = "guest@'127.0.0.1'"
RUN = ("--rows", "200", "--budget", "1s", "--over-budget", "--connections", "2", "--tls", "1.3")
WITHIN_S, GONE_WITHIN_S = 240.0, 20.0


@dataclass(frozen=True)
class End:
    """With which status a command must end, and what its last words must name."""

    status: int = 0
    names: tuple[str, ...] = ()


FINE = End()


@dataclass(frozen=True)
class Case:
    """An account and settings, and how the two commands must end; `inspect` None where it is not asked.

    `made` stands after the account's password, `rights` on the schema `lent` (empty: none), `more` is carried
    out by the owner once it is there, `settings` are global ones, `then` comes after them. With `options` a
    server is started for it.
    """

    name: str
    run: End = FINE
    inspect: End | None = FINE
    products: tuple[str, ...] = BOTH
    made: str = ""
    identified: str = f"IDENTIFIED BY '{PASSWORD}'"
    rights: str = "ALL"
    more: tuple[str, ...] = ()
    then: tuple[str, ...] = ()
    settings: dict[str, str | float] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    workload: str = "reconnect"
    schema: str = "lent"
    user: str = "guest"


def refused(*names: str) -> End:
    """Refused, as a mistake of the user's or something that they can change."""
    return End(2, names)


ROLE = ("CREATE ROLE lender", "GRANT ALL ON lent.* TO lender")
CASES = (
    Case("an ordinary account"),
    Case("its role is active", rights="", more=(*ROLE, "GRANT lender TO {account}", "{default_role}")),
    Case(
        "its role is not active",
        refused("role"),
        refused("role"),
        rights="",
        more=(*ROLE, "GRANT lender TO {account}"),
    ),
    Case(
        "a mandatory role",
        products=(MYSQL,),
        rights="",
        more=ROLE,
        settings={"mandatory_roles": "lender", "activate_all_roles_on_login": "ON"},
    ),
    Case("REQUIRE SSL", made="REQUIRE SSL"),
    Case("REQUIRE X509", refused("--ssl-cert"), refused("--ssl-cert"), made="REQUIRE X509"),
    Case("REQUIRE SUBJECT", refused("--ssl-cert"), refused("--ssl-cert"), made="REQUIRE SUBJECT '/CN=a'"),
    Case("REQUIRE ISSUER", refused("--ssl-cert"), refused("--ssl-cert"), made="REQUIRE ISSUER '/CN=a'"),
    Case("REQUIRE CIPHER", refused("guest"), refused("guest"), made="REQUIRE CIPHER 'AES128-SHA'"),
    Case("queries an hour", refused("MAX_QUERIES_PER_HOUR"), None, made="WITH MAX_QUERIES_PER_HOUR 200"),
    Case("updates an hour", refused("MAX_UPDATES_PER_HOUR"), None, made="WITH MAX_UPDATES_PER_HOUR 20"),
    Case(
        "connections an hour",
        refused("MAX_CONNECTIONS_PER_HOUR"),
        None,
        made="WITH MAX_CONNECTIONS_PER_HOUR 9",
    ),
    Case("few queries an hour", refused("error 1226"), None, made="WITH MAX_QUERIES_PER_HOUR 1"),
    Case("two connections at once", refused("MAX_USER_CONNECTIONS"), made="WITH MAX_USER_CONNECTIONS 2"),
    Case("it may only read", refused("guest may not", "grant it"), rights="SELECT"),
    Case("it may not drop", refused("may not drop"), rights="CREATE, INDEX, INSERT, SELECT"),
    Case("it may not insert", refused("may not", "INSERT", "grant it"), rights="CREATE, DROP, INDEX, SELECT"),
    Case("it may only drop", refused("guest may not", "CREATE"), rights="DROP, SELECT"),
    Case("no schema named, and no right to make one", refused("grant it"), rights="", schema=""),
    Case("a schema that there is not", refused("guest may not"), refused("guest may not"), schema="absent"),
    Case("expired", refused("expired"), refused("expired"), made="PASSWORD EXPIRE"),
    Case("locked", refused("locked"), refused("locked"), made="ACCOUNT LOCK"),
    Case(
        "partial revokes",
        refused("may not drop"),
        products=(MYSQL,),
        settings={"partial_revokes": "ON"},
        rights="",
        then=(
            "GRANT CREATE, DROP, INDEX, INSERT, SELECT ON *.* TO {account}",
            "REVOKE DROP ON lent.* FROM {account}",
        ),
    ),
    Case(
        "an anonymous account",
        rights="",
        user="nobody",
        more=(
            f"CREATE USER ''@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
            "GRANT ALL ON lent.* TO ''@'127.0.0.1'",
        ),
    ),
    Case("PROXY granted", more=("GRANT PROXY ON 'other'@'%' TO {account}",)),
    Case(
        "sha256_password",
        refused("sha256_password"),
        None,
        (MYSQL,),
        identified=f"IDENTIFIED WITH sha256_password BY '{PASSWORD}'",
    ),
    Case("a cold cache", products=(MYSQL,), more=("FLUSH PRIVILEGES",)),
    Case(
        "ed25519",
        refused("method"),
        refused("method"),
        (MARIADB,),
        identified=f"IDENTIFIED VIA ed25519 USING PASSWORD('{PASSWORD}')",
    ),
    Case(
        "parsec",
        refused("method"),
        refused("method"),
        (MARIADB,),
        identified=f"IDENTIFIED VIA parsec USING PASSWORD('{PASSWORD}')",
    ),
    Case(
        "unix_socket", refused("guest"), refused("guest"), (MARIADB,), identified="IDENTIFIED VIA unix_socket"
    ),
    Case("read_only", refused("read-only"), settings={"read_only": "ON"}),
    Case(
        "super_read_only",
        refused("read-only"),
        products=(MYSQL,),
        settings={"read_only": "ON", "super_read_only": "ON"},
    ),
    Case("transaction_read_only", refused("read-only"), settings={"transaction_read_only": "ON"}),
    Case("offline_mode", refused("offline"), refused("offline"), (MYSQL,), settings={"offline_mode": "ON"}),
    Case("TLS demanded", settings={"require_secure_transport": "ON"}),
    Case("only TLS 1.2", refused("TLS 1.3"), options=("--tls-version=TLSv1.2",)),
    Case("only TLS 1.3", options=("--tls-version=TLSv1.3",)),
    Case("small letters", options=("--lower-case-table-names=1",)),
    Case(
        "nothing can be prepared",
        refused("1461", "max_prepared_stmt_count"),
        settings={"max_prepared_stmt_count": 0},
        workload="point-select",
    ),
    Case("answers are cut", refused("sql_select_limit"), settings={"sql_select_limit": 1}),
    Case("ANSI_QUOTES", settings={"sql_mode": "ANSI_QUOTES"}, workload="insert"),
    Case("NO_BACKSLASH_ESCAPES", settings={"sql_mode": "NO_BACKSLASH_ESCAPES"}, workload="insert"),
    Case("PAD_CHAR_TO_FULL_LENGTH", settings={"sql_mode": "PAD_CHAR_TO_FULL_LENGTH"}, workload="insert"),
    Case("ORACLE", products=(MARIADB,), settings={"sql_mode": "ORACLE"}),
    Case("nothing is committed", refused("autocommit"), settings={"autocommit": 0}, workload="insert"),
    Case("nothing need be committed", settings={"autocommit": 0}),
    Case("another engine", settings={"default_storage_engine": "MEMORY"}),
    Case("short packets", settings={"max_allowed_packet": 16384}),
    Case("wait_timeout", settings={"wait_timeout": 1, "interactive_timeout": 1}),
    Case("net_read_timeout", settings={"net_read_timeout": 1}),
    Case("max_execution_time", products=(MYSQL,), settings={"max_execution_time": 1}),
    Case("max_statement_time", products=(MARIADB,), settings={"max_statement_time": 0.5}),
    Case(
        "a primary key is demanded",
        products=(MYSQL,),
        settings={"sql_require_primary_key": "ON"},
        workload="insert",
    ),
    Case("foreign_key_checks", settings={"foreign_key_checks": 0}),
    Case("sql_safe_updates", settings={"sql_safe_updates": 1}, workload="insert"),
    # Both answer SHOW STATUS, by which load clients ask what they negotiated, by a join.
    Case("max_join_size", refused("error 1104", "max_join_size"), settings={"max_join_size": 1}),
    Case("completion_type", settings={"completion_type": "RELEASE"}),
    Case("character_set_server", settings={"character_set_server": "utf16"}),
    Case(
        "init_connect fails",
        refused("init_connect"),
        refused("init_connect"),
        settings={"init_connect": "SELECT absent"},
    ),
    Case("init_connect is slow", settings={"init_connect": "DO SLEEP(0.1)"}),
    Case("max_user_connections", refused("MAX_USER_CONNECTIONS"), options=("--max-user-connections=2",)),
)


class Server:
    """A server with the schema `lent`; its owner's connection is from before all settings."""

    def __init__(self, server: PrivateServer) -> None:
        self.port = server.endpoint().port
        self._owner: Database = server.admin()
        self.say("CREATE DATABASE IF NOT EXISTS lent", "DROP DATABASE IF EXISTS tlstax")

    def say(self, *statements: str) -> tuple[tuple[object, ...], ...]:
        """Carry them out as the owner; the rows of the last."""
        answers = [self._owner.rows(statement) for statement in statements]
        return tuple(answers[-1]) if answers else ()

    @contextmanager
    def set_up(self, case: Case, product: str) -> Iterator[None]:
        """The account and the settings, for as long as the block; SqlError where they cannot be had here."""
        default = f"SET DEFAULT ROLE lender {'TO' if product == MYSQL else 'FOR'} {ACCOUNT}"
        plugin = case.identified.split()[2]
        before: dict[str, object] = {}
        try:
            if plugin in {"ed25519", "parsec"}:
                with suppress(SqlError):
                    self.say(f"INSTALL SONAME 'auth_{plugin}'")
            self.say(f"CREATE USER {ACCOUNT} {case.identified} {case.made}")
            if case.rights:
                self.say(f"GRANT {case.rights} ON lent.* TO {ACCOUNT}")
            self.say(*(text.format(account=ACCOUNT, default_role=default) for text in case.more))
            for name, value in case.settings.items():
                before[name] = self.say(f"SELECT @@GLOBAL.{name}")[0][0]
                self._set(name, value)
            self.say(*(text.format(account=ACCOUNT) for text in case.then))
            yield
        finally:
            for name, value in reversed(before.items()):
                self._set(name, value)
            for statement in (f"DROP USER {ACCOUNT}", "DROP USER ''@'127.0.0.1'", "DROP ROLE lender"):
                with suppress(SqlError):
                    self.say(statement)

    def left(self, user: str) -> list[str]:
        """What a command has left there; it is removed."""
        kinds = (("TABLES", "TABLE"), ("ROUTINES", "ROUTINE"), ("TRIGGERS", "TRIGGER"), ("EVENTS", "EVENT"))
        objects = self.say(
            " UNION ALL ".join(
                f"SELECT {kind}_NAME FROM information_schema.{view} WHERE {kind}_SCHEMA = 'lent'"  # noqa: S608
                for view, kind in kinds
            )
        )
        left = [f"lent.{name} is left" for (name,) in objects]
        left += ["the schema tlstax is left" for (name,) in self.say("SHOW DATABASES") if name == "tlstax"]
        asked = f"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = '{user}'"  # noqa: S608
        deadline = time.monotonic() + GONE_WITHIN_S
        while (count := self.say(asked)[0][0]) and time.monotonic() < deadline:
            time.sleep(0.1)
        if count:
            left.append(f"{count} connections are left")
        if left:
            self.say("DROP DATABASE lent", "CREATE DATABASE lent", "DROP DATABASE IF EXISTS tlstax")
        return left

    def _set(self, name: str, value: object) -> None:
        self._owner.rows(f"SET GLOBAL {name} = %s", (value,))


def wrong_of(case: Case, server: Server, data: str) -> list[str]:
    """What was wrong with the ends of the commands, and with what they left; each is printed."""
    url = f"mysql://{case.user}@127.0.0.1:{server.port}/{case.schema}"
    commands = {("run", "--server", url, *RUN, "--workload", case.workload): case.run}
    if case.inspect is not None:
        commands["inspect", url] = case.inspect
    wrong = []
    for command, end in commands.items():
        status, said = tlstax_says(command, data)
        faults = [f"status {status} and not {end.status}"] if status != end.status else []
        faults += [f"{name!r} is not in it" for name in end.names if name not in said]
        if "a defect in tlstax" in said or PASSWORD in said:
            faults.append("a defect, or the password")
        faults += server.left(case.user)
        print(f"  {command[0]:8}{status}  {said[:300]}", flush=True)  # noqa: T201
        wrong += [f"{command[0]}: {fault}" for fault in faults]
    return wrong


def tlstax_says(command: Sequence[str], data: str) -> tuple[int, str]:
    """The exit status, and the last line on standard error."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tlstax", *command],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(tlstax.__file__).parents[1]),
            "TLSTAX_DATA": data,
            "TLSTAX_CACHE": str(cache_dir()),
            "TLSTAX_PASSWORD": PASSWORD,
            "TLSTAX_TURN": f"accounts-{os.getpid()}",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    sentences = [line for line in done.stderr.splitlines() if line.startswith("tlstax: ")]
    return done.returncode, sentences[-1] if sentences and done.returncode else ""


@contextmanager
def started(product: str, session: Session, options: tuple[str, ...]) -> Iterator[Server]:
    """A server of this product."""
    build = resolve.named_server(product, lambda _: None)
    settings = ServerSettings(buffer_pool_bytes=64 * 1024 * 1024, options=options)
    with PrivateServer.start(build, session, settings) as server:
        yield Server(server)


def main(count: int, seed: int, named: Sequence[str]) -> int:
    """Try them, or those whose names have one of these parts; the status."""
    drawn = [(product, case) for case in CASES for product in case.products]
    drawn = [one for one in drawn if not named or any(part in f"{one[0]}: {one[1].name}" for part in named)]
    random.Random(seed).shuffle(drawn)  # noqa: S311 - to be repeatable
    drawn = sorted(drawn[:count], key=lambda one: (one[0], one[1].options))
    wrong: list[str] = []
    absent = 0
    with sessions.open_session() as session, tempfile.TemporaryDirectory() as data:
        for product in sorted({product for product, _ in drawn}):
            for options in sorted({case.options for of, case in drawn if of == product}):
                cases = [case for of, case in drawn if (of, case.options) == (product, options)]
                with started(product, session, options) as server:
                    for case in cases:
                        print(f"{product}: {case.name}", flush=True)  # noqa: T201
                        try:
                            with server.set_up(case, product):
                                found = wrong_of(case, server, data)
                        except SqlError as error:
                            absent += 1
                            print(f"  not to be had here: {error}", flush=True)  # noqa: T201
                            continue
                        wrong += [f"{product}: {case.name}: {one}" for one in found]
    for one in wrong:
        print(f"WRONG  {one}")  # noqa: T201
    print(f"{len(drawn)} cases (seed {seed}), {absent} not to be had here, {len(wrong)} faults")  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
