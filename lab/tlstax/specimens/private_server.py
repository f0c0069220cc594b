"""A server of our own: started, paused and stopped here, by default reachable from this machine alone.

It listens on 127.0.0.1 (where its load comes from other machines, on the address at which they reach it) and
on a Unix socket in a directory that only this user can enter, with a certificate and two accounts generated
for it. No account is ever without a password: root gets a random one, or is removed, in the run that creates
the system tables and opens no socket; the accounts are made by --init-file, which the server executes before
it takes its first login.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Self

from tlstax.contract import Account, Job, TcpEndpoint, UnixEndpoint
from tlstax.products.product import Product, product_named
from tlstax.records.trial import LibraryClaim, PlantedClaim, ServerClaim, Specimen
from tlstax.specimens.certificates import Certificates
from tlstax.specimens.processes import log_bytes, log_lines, log_reason, log_tail
from tlstax.specimens.server import MOST_DEATHS, Logins, Server
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_process import ServerProcess
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.specimens.shared_pages import BurnPage, LockPage
from tlstax.sql import answers
from tlstax.sql.answering import Answering, Listener, find_listener
from tlstax.sql.credentials import new_credentials
from tlstax.sql.database import Database, SqlError
from tlstax.sql.table_rows import TableContent
from tlstax.study.workloads import TABLES, Shape
from tlstax.support.errors import MachineFault, UserMistake


class PrivateServer(Server):
    """A running private server, a `Server`; start one with `start`, and it stops with its `with` block.

    It dies when the thread that started it ends (see `processes`).
    """

    def __init__(self, build: ServerBuild, session: Session, settings: ServerSettings) -> None:
        self._build = build
        self._product = product_named(build.flavour)
        self._credentials = new_credentials()
        self._process = ServerProcess(build, session, settings)
        library = settings.tls_library
        self._library_claim: LibraryClaim | None = library.claim() if library else None
        self._planted: PlantedClaim | None = settings.fault.claim() if settings.fault else None
        self._address = settings.address
        self._listener: Listener | None = None
        self._version = ""
        self._tls_library_version: str | None = None
        self._max_connections = 0
        self._by_plugin: dict[str, Account] = {}

    @classmethod
    def start(cls, build: ServerBuild, session: Session, settings: ServerSettings | None = None) -> Self:
        """Create its data, start it and wait until it answers.

        MachineFault, with the decisive line of its error log, when it does not; nothing is left behind then.
        """
        server = cls(build, session, settings or ServerSettings())
        try:
            server._process.launch(server._credentials, server._answers)
            server._learn()
        except BaseException:
            server.stop()
            raise
        return server

    def restart(self) -> bool:
        """Start it again on its own data, on another port: True. Faults as of `start`."""
        self._process.relaunch(self._answers)
        self._learn()
        return True

    def recover(self, deaths: int, say: Callable[[str], None]) -> Database:
        """Start it again after it died, on its data; the administrator's new connection.

        MachineFault where it has died too often, or does not come up.
        """
        if deaths > MOST_DEATHS:
            raise MachineFault(f"{self.specimen.name} died {deaths} times: {self.log_tail(1)}")
        say(f"the server died in a trial, which is not counted; starting it again ({deaths})")
        self.restart()
        return self.admin()

    @property
    def specimen(self) -> Specimen:
        """What it is and where it came from."""
        return self._build.specimen

    @property
    def product(self) -> Product:
        """Which product it is, and by which modules it is asked."""
        return self._product

    @property
    def version(self) -> str:
        """The server's own word."""
        return self._version

    @property
    def tls_library_version(self) -> str | None:
        """The server's own word for its TLS library; None from one too old to report it."""
        return self._tls_library_version

    @property
    def load_account(self) -> Account:
        """An account with all rights on the schema `tlstax` and none elsewhere."""
        return self._account(self._product.accounts.LOAD_USER)

    def account_by(self, plugin: str) -> Account:
        """A load account that is proved by that plugin; UserMistake where the server has none by it.

        It is the load account itself where that is the server's default, else an account for this plugin
        alone. Both stay for as long as the server.
        """
        accounts = self._product.accounts
        account = self._account(accounts.user_by_plugin(plugin))
        try:
            with self.admin() as database:
                if accounts.plugin_of_load_account(database) == plugin:
                    return self.load_account
                accounts.make_by_plugin(database, plugin, account.password)
        except SqlError as error:
            raise UserMistake(
                f"{self.specimen.name} has no account with {plugin} ({error.args[-1]})",
                remedy="choose another server, or leave auth at default",
            ) from error
        self._by_plugin[plugin] = account
        self._remember_logins()
        return account

    def account_by_certificate(self) -> Account:
        """A load account that is let in only with the client's certificate. MachineFault where refused."""
        accounts = self._product.accounts
        account = self._account(accounts.LOAD_USER_BY_CERTIFICATE)
        try:
            with self.admin() as database:
                accounts.make_by_certificate(database, account.password)
        except SqlError as error:
            raise MachineFault(
                f"{self.specimen.name} makes no account that demands a certificate ({error.args[-1]})"
            ) from error
        return account

    @property
    def tables(self) -> Mapping[Shape, str]:
        """What the table of each shape is called."""
        return TABLES

    @property
    def ca_file(self) -> str:
        """The authority (PEM) that signed its certificate."""
        return str(self._process.certificates.ca_file)

    @property
    def certificates(self) -> Certificates:
        """The authority, its certificate and its key, as files."""
        return self._process.certificates

    @property
    def is_external(self) -> bool:
        """It is one that tlstax started."""
        return False

    @property
    def pid(self) -> int | None:
        """Its process id while it runs."""
        return self._process.pid

    @property
    def burn_page(self) -> BurnPage | None:
        """What it shares with the fault `burn`; None where that is not planted."""
        return self._process.burn_page

    @property
    def lock_page(self) -> LockPage | None:
        """What it shares with whoever counts its locks; None where nobody does."""
        return self._process.lock_page

    def endpoint(self) -> TcpEndpoint:
        """The address that it listens on, 127.0.0.1 unless others are to reach it, and its port."""
        return TcpEndpoint(host=self._address, port=self._process.port)

    def unix_endpoint(self) -> UnixEndpoint:
        """Its Unix socket."""
        return UnixEndpoint(path=str(self._process.socket_path))

    def claim(self) -> ServerClaim:
        """Which server a trial on it is meant to measure. MachineFault when it does not run."""
        pid = self.pid
        if pid is None:
            raise MachineFault(f"{self.specimen.name} is no longer running: {self._reason()}")
        return ServerClaim(
            name=self.specimen.name,
            version=self.specimen.version,
            program=str(self._build.executable.resolve()),
            pid=pid,
            data_directory=str(self._process.data_directory.resolve()),
            tls_library=self._library_claim,
            planted=self._planted,
        )

    def observed_identity(self, database: Database) -> Answering:
        """Who answers on this connection of the laboratory's, and on which TCP port it listens.

        It is this very connection that is asked, so that counters read over it are known to be that
        process's. Raises SqlError when the server does not answer.
        """
        return self._product.server_facts.answering(database, self._listener)

    def demands_certificate(self, database: Database, user: str) -> bool | None:
        """Whether this user is let in only with a certificate."""
        return self._product.accounts.demands_certificate(database, user)

    def settled_status(self, database: Database, expected: int) -> dict[str, int]:
        """Its counters, once no more than `expected` connections are left: what one counted may come late."""
        return self._product.status.read_settled_status(database, expected)

    def admin(self) -> Database:
        """A new connection of the administrator's over the socket, with autocommit, in `tlstax`."""
        try:
            return self._log_in_as_administrator()
        except SqlError as error:
            raise MachineFault(
                f"{self.specimen.name} does not answer ({error.args[-1]}): {self._reason()}"
            ) from error

    def prepare_table(self, content: TableContent, progress: Callable[[str], None] | None = None) -> int:
        """Make and fill the table of this shape, or reuse the one there if it holds the same."""
        try:
            with self.admin() as database:
                table = self._product.table
                return table.prepare(database, TABLES[content.shape], content, progress=progress)
        except SqlError as error:
            raise MachineFault(
                f"{self.specimen.name} did not accept the table's data ({error.args[-1]}): {self._reason()}"
            ) from error

    def keep_copy(self, database: Database, shape: Shape) -> None:
        """Have a copy of this table beside it."""
        self._product.table.keep_copy(database, TABLES[shape], shape)

    def carry_out(self, database: Database, statement: str, *, once: bool) -> None:  # noqa: ARG002
        """Carry it out, whatever it creates: all data goes with the server."""
        answers.carry_out(database, statement)

    def check_connections(self, wanted: int) -> None:
        """UserMistake when more are wanted than the limit of open files lets the server accept."""
        if wanted > self._max_connections:
            raise UserMistake(
                f"{wanted} connections were asked for, and {self.specimen.name} can accept "
                f"{self._max_connections} here",
                remedy="ask for fewer, or raise the limit of open files (ulimit -Hn)",
            )

    @contextmanager
    def logins(self, database: Database, job: Job) -> Iterator[Logins | None]:
        """What its log names while the block runs, of the logins of this job's client.

        A login has its line before the client is told that it is in.
        """
        log = self._product.login_log
        if log is None:
            yield None
            return
        log.begin(database)
        offset = log_bytes(self._process.log_file)
        try:
            # A driver says what it likes of itself, and is alone while it is logged.
            user, name = job.account.user, None if job.driver else job.attributes.get("application_name")
            yield lambda: log.seen(log_lines(self._process.log_file, offset), {user}, name)
        finally:
            log.end(database)

    def pause(self) -> None:
        """Stop it; it keeps its memory and connections."""
        self._process.pause()

    def resume(self) -> None:
        """Let it go on."""
        self._process.resume()

    def is_alive(self) -> bool:
        """Whether its process runs, paused or not."""
        return self.pid is not None

    def log_tail(self, lines: int = 20) -> str:
        """The end of its error log."""
        return log_tail(self._process.log_file, lines)

    def stop(self) -> None:
        """End it and remove its data, keys and sockets. May be called twice."""
        self._process.stop()

    def _reason(self) -> str:
        return log_reason(self._process.log_file)

    def _answers(self) -> bool:
        """Whether a login succeeds; a refused one means that the accounts were not made."""
        try:
            self._log_in_as_administrator().close()
        except SqlError as error:
            if error.code in self._product.database.ACCESS_DENIED:
                reason = self._reason()
                raise MachineFault(f"{self.specimen.name} did not create its accounts: {reason}") from error
            return False
        return True

    def _learn(self) -> None:
        """Ask what it is; have it remember the load accounts."""
        self._listener = find_listener(self._process.pid or 0, self._process.port)
        self._remember_logins()
        product = self._product
        with self.admin() as database:
            self._version, self._max_connections = product.server_facts.version_and_limit(database)
            self._tls_library_version = product.server_tls.facts(database).library_version

    def _remember_logins(self) -> None:
        """Log in once where that is remembered; of its own default the server does not say whether it is."""
        remembered = self._product.accounts.REMEMBERED
        if not remembered:
            return
        by_plugin = (account for plugin, account in self._by_plugin.items() if plugin in remembered)
        for account in (self.load_account, *by_plugin):
            self._log_in(account).close()

    def _account(self, user: str) -> Account:
        """A load account; they all have one password."""
        return Account(
            user=user,
            password=self._credentials.load_password,
            database=self._product.accounts.SCHEMA,
        )

    def _log_in_as_administrator(self) -> Database:
        accounts = self._product.accounts
        password = self._credentials.admin_password
        return self._log_in(Account(user=accounts.ADMINISTRATOR, password=password, database=accounts.SCHEMA))

    def _log_in(self, account: Account) -> Database:
        return self._product.database.log_in_over_socket(self._process.socket_path, account)
