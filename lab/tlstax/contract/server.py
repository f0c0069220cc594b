"""What kind of server a job is for, and what of it only that kind has."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tlstax.contract.frozen import Frozen

AuthMethod = Literal["none", "password", "md5", "scram-sha-256", "scram-sha-256-plus"]
"""A way of logging in to PostgreSQL, by its name in libpq's `require_auth`; the last, SCRAM bound to the TLS
channel, has none there. `none` is a server that asks for nothing: trust, peer, or a certificate of the
client's."""


SslNegotiation = Literal["request", "direct"]
"""How TLS begins at PostgreSQL: after the client's question and the server's answer, or at once."""


class MySqlServer(Frozen):
    """MySQL, or MariaDB, which speaks as it does."""

    kind: Literal["mysql"] = "mysql"


class PostgreSqlServer(Frozen):
    """PostgreSQL, and what only it is told.

    `ssl_negotiation` is how TLS begins: after the client's question and the server's answer (SSLRequest), or
    at once. `require_auth` has the ways of logging in that are good enough; empty means whichever the server
    asks for. SCRAM is bound to the TLS channel where the server offers it and `scram-sha-256-plus` is among
    them, or none.
    """

    kind: Literal["postgresql"] = "postgresql"
    ssl_negotiation: SslNegotiation = "request"
    require_auth: tuple[AuthMethod, ...] = ()


Server = Annotated[MySqlServer | PostgreSqlServer, Field(discriminator="kind")]
