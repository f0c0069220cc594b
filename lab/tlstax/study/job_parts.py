"""What each factor does to the job of a load client, and what all jobs on one server have in common.

A factor's declaration names its function of these (`factors.py`): from the case and the terms to fields of
`Job` or, where the case encrypts as it says, of `TlsOn`. `plan/jobs.py` puts them together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from tlstax.contract import (
    Account,
    AuthMethod,
    ClosedLoop,
    Endpoint,
    Frozen,
    PostgreSqlServer,
    Schedule,
    SslNegotiation,
    TlsVersion,
)
from tlstax.study import tls_levels
from tlstax.study.client_kinds import kind_of
from tlstax.study.level_names import DEFAULT_AUTH, DIRECT_TLS, EACH, GROUP_LISTS, OWN, POSTGRESQL_AUTH
from tlstax.study.product import DEFAULT, ProductName
from tlstax.study.workloads import Shape
from tlstax.study.workloads.user_defined import UserWorkload

if TYPE_CHECKING:
    from tlstax.study.factors import CaseLevels

Part = Mapping[str, object]
"""Fields of a job, or of its TLS, by their names."""


def merged(parts: Iterable[Part]) -> dict[str, Any]:
    """All fields of these parts."""
    return {name: value for part in parts for name, value in part.items()}


class Verification(Frozen):
    """What the load client checks of the server's certificate, and with which files.

    Without TLS there is no certificate: `get_server_public_key` says whether the server's RSA key may be
    taken for the password, unverified.
    """

    verify: Literal["none", "ca", "identity"] = "none"
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    get_server_public_key: bool = True


class ClientProof(Frozen):
    """What a client proves itself by, beside its password: files (PEM), and the account that demands them."""

    account: Account
    certificate_file: str
    key_file: str


class JobTerms(Frozen):
    """What all jobs of a run on one server have in common.

    `product` is the server's, whose statements and protocol they have.
    `accounts` are those of other levels of `auth` than the server's default.
    `tables` names the table of each shape, `workloads` are the user's own, by name.
    `trust_files` maps the levels of `trust` to files of as many authorities, `client_proof` is what clients
    with a certificate have, None where none has one.
    `addresses` are those by which an external server is reached besides `endpoint`.
    `client_libraries` maps the levels of `client_tls_library` to the libssl that each stands for.
    `counts_lingering` where the server was promised how many connections it gets at once.
    `ssl_negotiation` is how TLS begins at PostgreSQL, where a case does not say that, and `require_auth` has
    the ways of logging in there that the user takes, empty for whichever the server asks for.
    """

    product: ProductName = DEFAULT
    endpoint: Endpoint
    addresses: dict[str, Endpoint] = {}
    account: Account
    accounts: dict[str, Account] = {}
    tables: dict[Shape, str]
    rows: int
    workloads: dict[str, UserWorkload] = {}
    verification: Verification
    client_cpus: tuple[int, ...]
    source_addresses: tuple[str, ...] = ()
    schedule: Schedule = ClosedLoop()
    client_libraries: dict[str, str] = {}
    trust_files: dict[int, str] = {}
    client_proof: ClientProof | None = None
    duration_s: float
    seed: int
    timeout_s: float = 10.0
    counts_lingering: bool = False
    ssl_negotiation: SslNegotiation = "request"
    require_auth: tuple[AuthMethod, ...] = ()


def of_address(case: CaseLevels, terms: JobTerms) -> Part:
    """Where the client connects to."""
    return {"endpoint": terms.addresses.get(case.address, terms.endpoint)}


def of_auth(case: CaseLevels, terms: JobTerms) -> Part:
    """Whom it logs in as; with a certificate as the account that demands one."""
    if case.proves_client and case.auth == DEFAULT_AUTH:
        return {"account": _proof(terms).account}
    return {"account": terms.accounts.get(case.auth, terms.account)}


_NO_QUESTION: AuthMethod = "none"
_ASKED: Mapping[str, AuthMethod] = {
    **{method: method for method in get_args(AuthMethod)},
    **dict.fromkeys(("trust", "cert"), _NO_QUESTION),
}
"""What the server asks for a password by, with each method of its accounts."""


def of_server(case: CaseLevels, terms: JobTerms) -> Part:
    """What PostgreSQL alone is told; jobs for other products have no such part.

    Where neither the case nor the user names a way of logging in, whichever the server asks for will do, as
    with libpq.
    """
    if terms.product != "postgresql":
        return {}
    named = (_ASKED[case.auth],) if case.auth in POSTGRESQL_AUTH else terms.require_auth
    begins: SslNegotiation = "direct" if case.tls == DIRECT_TLS else "request"
    if case.is_encrypted and terms.ssl_negotiation == "direct":
        begins = "direct"
    return {"server": PostgreSqlServer(ssl_negotiation=begins, require_auth=named)}


def of_connections(case: CaseLevels, terms: JobTerms) -> Part:
    """How many connections it opens, and the threads that share them, one for each of its processors."""
    threads = min(case.connections, max(1, len(terms.client_cpus)))
    return {"connections": case.connections, "threads": threads}


def of_tls(case: CaseLevels, terms: JobTerms) -> Part:
    """The one version that it offers, and what it checks of the server."""
    version = _version(case)
    return {"min_version": version, "max_version": version, "verify": terms.verification.verify}


def of_cipher(case: CaseLevels, _: JobTerms) -> Part:
    """The only cipher suite that it offers; those of TLS 1.3 begin alike (RFC 8446, appendix B.4)."""
    version, only = _version(case), "" if case.cipher == "default" else case.cipher
    suites = only if only.startswith("TLS_") else None
    return {
        "cipher_list": tls_levels.cipher_list(version, case.certificate, None if suites else only),
        "ciphersuites": suites,
        "weak_dh": only.startswith("DHE-") and version in {"1.0", "1.1"},
    }


def of_group(case: CaseLevels, _: JobTerms) -> Part:
    """The groups that it offers; TLS 1.0 and 1.1 are spoken here without a key exchange by groups."""
    unsaid = case.group == "default" or _version(case) in {"1.0", "1.1"}
    return {"groups": None if unsaid else GROUP_LISTS.get(case.group, case.group)}


def of_trust(case: CaseLevels, terms: JobTerms) -> Part:
    """The file of authorities by which it verifies the server."""
    return {"ca_file": terms.verification.ca_file if case.trust is None else terms.trust_files[case.trust]}


def of_client_certificate(case: CaseLevels, terms: JobTerms) -> Part:
    """What it proves itself by."""
    own = _proof(terms) if case.proves_client else terms.verification
    return {"certificate_file": own.certificate_file, "key_file": own.key_file}


def of_resumption(case: CaseLevels, _: JobTerms) -> Part:
    """Whether it resumes a session."""
    return {"resumption": case.resumes}


def of_tls_context(case: CaseLevels, _: JobTerms) -> Part:
    """Whether each of its connections has a TLS context of its own."""
    return {"own_context": case.tls_context == EACH}


def of_client_tls_library(case: CaseLevels, terms: JobTerms) -> Part:
    """The libssl that it loads in place of its own; nothing of one that is started over it."""
    library = case.client_tls_library
    is_loaded = library != OWN and not kind_of(case.client).is_put_over_libraries
    return {"library": terms.client_libraries[library] if is_loaded else None}


def _version(case: CaseLevels) -> TlsVersion | None:
    return None if case.tls == "default" else tls_levels.version_of(case.tls)  # type: ignore[return-value]


def _proof(terms: JobTerms) -> ClientProof:
    if terms.client_proof is None:
        raise RuntimeError("a client is to have a certificate, and none was made")
    return terms.client_proof
