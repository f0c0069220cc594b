"""Why an external server refused a login or a statement, in a sentence that names it and the fault."""

from __future__ import annotations

from tlstax.checks.server_errors import meaning_of
from tlstax.external.access import ExternalAccess
from tlstax.external.given_password import PASSWORD_VARIABLE
from tlstax.mysql import answers, error_codes
from tlstax.mysql.database import SqlError
from tlstax.support.errors import MachineFault, TlstaxError


def fault_of(access: ExternalAccess, error: SqlError) -> TlstaxError:
    """The server refused a login or a statement, or the connection was lost."""
    code = error_codes.number_of(error)
    message = answers.message_of(error)
    known = meaning_of(code)
    if known is None:
        return MachineFault(f"{access.address} reports an error ({message}, {code})")
    names = {
        "where": access.address,
        "user": access.user,
        "schema": access.address.schema,
        "said": f"error {code}: {message}",
        "variable": PASSWORD_VARIABLE,
        "certificate": (
            f"whether it must show another certificate than {access.tls.certificate_file}"
            if access.tls.certificate_file
            else "whether it must show a certificate (--ssl-cert, --ssl-key)"
        ),
        "plain": " and without TLS" if access.tls.mode == "DISABLED" else "",
    }
    return known.fault(known.message.format_map(names), remedy=known.remedy.format_map(names))
