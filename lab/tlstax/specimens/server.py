"""What the laboratory needs of a server, whether it is private or external."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Protocol, Self

from tlstax.contract import Account, Endpoint, Job, UnixEndpoint
from tlstax.products.product import Product
from tlstax.records.trial import ConnectionsSeen, ServerClaim, Specimen
from tlstax.specimens.shared_pages import BurnPage, LockPage
from tlstax.sql.answering import Answering
from tlstax.sql.database import Database
from tlstax.sql.table_rows import TableContent
from tlstax.study.workloads import Shape
from tlstax.study.workloads.user_defined import UserWorkload

MOST_DEATHS = 3
"""A server, or a path to one, that dies more often than this is not worth another start."""


Logins = Callable[[], tuple[ConnectionsSeen, ...]]
"""Reads the logins that a server's log has named since it was asked to."""


class Server(Protocol):
    """A running server, with a schema and tables in it that are the laboratory's.

    What has a body here is so of one that has nothing to do or to tell there. As a context manager it calls
    `stop` at the end. Calls that reach the server raise MachineFault when the server fails and UserMistake
    when an account, option or name of the user's is refused.
    """

    @property
    def specimen(self) -> Specimen:
        """What it is and where it came from."""
        ...

    @property
    def product(self) -> Product:
        """Which product it is, and by which modules it is asked."""
        ...

    @property
    def version(self) -> str:
        """The server's own word."""
        ...

    @property
    def tls_library_version(self) -> str | None:
        """The server's own word for its TLS library; None where it does not report it."""
        ...

    @property
    def load_account(self) -> Account:
        """Whom the load clients log in as; `database` is the schema that the table is in."""
        ...

    @property
    def tables(self) -> Mapping[Shape, str]:
        """What the table of each shape is called, without its schema."""
        ...

    @property
    def table_name(self) -> str:
        """The table of sysbench's shape."""
        return self.tables["sbtest"]

    @property
    def ca_file(self) -> str | None:
        """The certificate authority (PEM) that the server's certificate can be verified with, if known."""
        ...

    @property
    def is_external(self) -> bool:
        """Whether it is one that tlstax did not start, as records say of their trials."""
        ...

    @property
    def counts_us_alone(self) -> bool:
        """Whether nobody else's work is in its counters."""
        return not self.is_external

    @property
    def pid(self) -> int | None:
        """The process that was started here, for what is read of its files; None for an external one."""
        return None

    @property
    def watched_pid(self) -> int | None:
        """The process of this machine whose CPU time and memory are read; None where it is out of reach."""
        return self.pid

    @property
    def burn_page(self) -> BurnPage | None:
        """What it shares with the fault `burn`; None where that is not planted."""
        return None

    @property
    def lock_page(self) -> LockPage | None:
        """What it shares with whoever counts its locks; None where nobody does."""
        return None

    def claim(self) -> ServerClaim | None:
        """Which server a trial on it is meant to measure; None where nothing is known but its address."""
        return None

    def observed_identity(self, database: Database) -> Answering | None:  # noqa: ARG002
        """Who answers on this connection; None for an external one. Raises SqlError."""
        return None

    def demands_certificate(self, database: Database, user: str) -> bool | None:  # noqa: ARG002
        """Whether this user is let in only with a certificate; None where that is not the laboratory's."""
        return None

    def endpoint(self) -> Endpoint:
        """Where it listens on TCP."""
        ...

    def unix_endpoint(self) -> UnixEndpoint | None:
        """Where it listens on a Unix socket, if it is known to."""
        return None

    def admin(self) -> Database:
        """A new connection with autocommit in the laboratory's schema; the caller closes it."""
        ...

    def prepare_table(self, content: TableContent, progress: Callable[[str], None] | None = None) -> int:
        """Make and fill the table of this shape, or reuse an equal one that is there; its row count."""
        ...

    def keep_copy(self, database: Database, shape: Shape) -> None:
        """Have a copy of this table beside it, from which it can be put back. Raises SqlError.

        UserMistake where its name is taken by a table that is not the laboratory's.
        """
        ...

    def carry_out(self, database: Database, statement: str, *, once: bool) -> None:
        """Carry out a statement of the user's; what it creates goes when the server is left.

        `once` for one that is not said again in the run. Raises SqlError where it is refused,
        UserMistake for what could not be taken back from an external server.
        """
        ...

    def check_workload(self, own: UserWorkload) -> None:  # noqa: ARG002
        """UserMistake where what load clients will say reaches what others have at an external server."""
        return

    def hold(self) -> None:
        """See that the schema is still the laboratory's alone; MachineFault where it is not."""
        return

    def know_account(self) -> None:
        """See that the load account has logged in over TLS, so that its password is not asked for without."""
        return

    def settled_status(self, database: Database, expected: int) -> dict[str, int]:
        """Its counters, once no more than `expected` connections are left; at an external one as they are."""
        ...

    def connected(self) -> frozenset[int]:
        """Those of the account's that are there now, for `wait_until_gone`."""
        return frozenset()

    def logins(self, database: Database, job: Job) -> AbstractContextManager[Logins | None]:  # noqa: ARG002
        """What its log names while the block runs, of the logins of this job's client: a function for it.

        None where its log is not the laboratory's to read, or says nothing of them.
        """
        return nullcontext()

    def wait_until_gone(self, stays: frozenset[int]) -> None:  # noqa: ARG002
        """Wait until the server is done with all others, where it was promised how many it gets at once."""
        return

    def pause(self) -> None:
        """Let it use no CPU until `resume`; nothing happens to an external one."""
        return

    def resume(self) -> None:
        """Let it go on after `pause`."""
        return

    def is_alive(self) -> bool:
        """Whether its process runs; of an external one, whether it still answers."""
        ...

    def restart(self) -> bool:
        """Start its process anew on its data, and whether it did: an external one goes on as it is."""
        return False

    def recover(self, deaths: int, say: Callable[[str], None]) -> Database:
        """Bring it back where it is not alive, for the time of this number; a new connection as of `admin`.

        A private one is started again, unless it dies too often (`MOST_DEATHS`); into an external one, which
        is not ours to start, nothing but a login is tried. The fault says why it is not to be had.
        """
        ...

    def log_tail(self, lines: int = 20) -> str:  # noqa: ARG002
        """The end of its error log; empty for an external one."""
        return ""

    def stop(self) -> None:
        """Leave nothing behind: stop it and remove its data; at an external one, drop what was created."""
        ...

    def __enter__(self) -> Self:
        """The server itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Calls `stop`."""
        self.stop()
