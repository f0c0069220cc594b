"""What a server says of itself to an ordinary account: version, library, login, plaintext."""

from __future__ import annotations

from tlstax.mysql import server_facts, tls_facts
from tlstax.mysql.database import Database
from tlstax.results.inspection import ServerWord


def word(database: Database) -> ServerWord:
    """Ask on this connection. Raises SqlError."""
    return ServerWord(
        version=server_facts.version(database),
        tls_library=tls_facts.read(database).library_version,
        account_plugin=getattr(database, "_auth_plugin_name", "") or None,
        requires_tls=server_facts.requires_tls(database),
        account_is_encrypted=bool(getattr(database, "_secure", False)),
    )
