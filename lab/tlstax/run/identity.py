"""What clients trust and prove themselves by at a private server: files and an account for its cases."""

from __future__ import annotations

from typing import Any

from tlstax.specimens.authorities import Bundle, write_trusted
from tlstax.specimens.certificates import write_authorities
from tlstax.specimens.private_server import PrivateServer
from tlstax.study import Study
from tlstax.study.factors import ServerChoice
from tlstax.study.job_parts import ClientProof


def identity_terms(
    study: Study, server: PrivateServer, choice: ServerChoice, bundle: Bundle | None = None
) -> dict[str, Any]:
    """The fields of the server's job terms that its cases need for `trust` and `client_certificate`.

    Files of authorities are written beside the server's own, and go with them. `bundle` is one of the user's.
    """
    cases = [case for case in study.included() if case.server_choice == choice]
    files = server.certificates
    trusted: dict[int, str] = {}
    if bundle is not None:
        trusted = write_trusted(files.ca_file.parent, bundle, files.ca_file.read_bytes())
    wanted = dict.fromkeys(case.trust for case in cases if case.trust is not None)
    for count in wanted.keys() - trusted.keys():
        file = files.ca_file.with_name(f"authorities-{count}.pem")
        write_authorities(file, files.ca_file, count)
        trusted[count] = str(file)
    if files.client is None:
        return {"trust_files": trusted}
    proof = ClientProof(
        account=server.account_by_certificate(),
        certificate_file=str(files.client.certificate_file),
        key_file=str(files.client.key_file),
    )
    return {"trust_files": trusted, "client_proof": proof}
