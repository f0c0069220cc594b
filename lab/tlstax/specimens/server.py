"""What the laboratory needs of a server, whether it is private or external."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Protocol, Self

from tlstax.contract import Account, Endpoint, UnixEndpoint
from tlstax.mysql.database import Database
from tlstax.mysql.table_rows import TableContent
from tlstax.records.trial import Specimen
from tlstax.study.workloads import Shape
from tlstax.study.workloads.user_defined import UserWorkload


class Server(Protocol):
    """A running server, with a schema and tables in it that are the laboratory's.

    As a context manager it calls `stop` at the end. Calls that reach the server raise MachineFault when
    the server fails and UserMistake when an account, option or name of the user's is refused.
    """

    @property
    def specimen(self) -> Specimen:
        """What it is and where it came from."""
        ...

    @property
    def version(self) -> str:
        """What SELECT VERSION() says."""
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
        ...

    @property
    def ca_file(self) -> str | None:
        """The certificate authority (PEM) that the server's certificate can be verified with, if known."""
        ...

    @property
    def pid(self) -> int | None:
        """The process, where it is this machine's and this user's to watch."""
        ...

    def endpoint(self) -> Endpoint:
        """Where it listens on TCP."""
        ...

    def unix_endpoint(self) -> UnixEndpoint | None:
        """Where it listens on a Unix socket, if it is known to."""
        ...

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

    def check_workload(self, own: UserWorkload) -> None:
        """UserMistake where what load clients will say reaches what others have at an external server."""
        ...

    def hold(self) -> None:
        """See that the schema is still the laboratory's alone; MachineFault where it is not."""
        ...

    def connected(self) -> frozenset[int]:
        """Those of the account's that are there now, for `wait_until_gone`."""
        ...

    def wait_until_gone(self, stays: frozenset[int]) -> None:
        """Wait until the server is done with all others, where it was promised how many it gets at once."""
        ...

    def pause(self) -> None:
        """Let it use no CPU until `resume`; nothing happens to an external one."""
        ...

    def resume(self) -> None:
        """Let it go on after `pause`."""
        ...

    def is_alive(self) -> bool:
        """Whether its process runs; of an external one, whether it still answers."""
        ...

    def log_tail(self, lines: int = 20) -> str:
        """The end of its error log; empty for an external one."""
        ...

    def stop(self) -> None:
        """Leave nothing behind: stop it and remove its data; at an external one, drop what was created."""
        ...

    def __enter__(self) -> Self:
        """The server itself."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Calls `stop`."""
        ...
