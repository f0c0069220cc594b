"""What an external PostgreSQL can do, by its own word."""

from __future__ import annotations

from tlstax.external import connection as external_connection
from tlstax.external.access import ExternalAccess
from tlstax.products.external import external_product
from tlstax.sql import answers
from tlstax.sql.database import SqlError
from tlstax.study.product import ServerAbilities, of_postgresql, release_of
from tlstax.support.errors import MachineFault


def abilities_of(access: ExternalAccess) -> ServerAbilities:
    """Log in once and ask for its version, and for the TLS that it is configured to accept.

    UserMistake or MachineFault where nobody is let in, or it does not answer.
    """
    product = external_product(access.product)
    database = external_connection.connect(access, access.address.schema)
    try:
        version = product.server_facts.version(database)
        versions = product.server_tls.facts(database).versions
    except SqlError as error:
        raise MachineFault(
            f"{access.address} does not say what it is ({answers.message_of(error)})"
        ) from error
    finally:
        external_connection.close(database)
    known = of_postgresql(release_of(version)[0])
    names = tuple(name.removeprefix("TLSv") for name in versions)
    accepted = tuple("1.0" if name == "1" else name for name in names)
    return known.model_copy(update={"tls_versions": accepted}) if accepted else known
