"""A way of using a server: TLS, key, group, resumption, login, path, statements and their bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, Self

from pydantic import Field, PositiveInt, model_validator
from pydantic_core import PydanticCustomError

from tlstax.contract import Compression, Frozen
from tlstax.study import exclusions
from tlstax.study.case_workload import CaseWorkload
from tlstax.study.client_kinds import Wanted
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import (
    AUTH_PLUGINS,
    CERT,
    CLEAR_PASSWORD,
    DEFAULT_AUTH,
    DEFAULT_CERTIFICATE,
    DIRECT,
    DIRECT_TLS,
    GROUPS,
    PATHS,
    POSTGRESQL_AUTH,
    SCRAM_PLUS,
    Level,
)
from tlstax.study.product import Family
from tlstax.study.tls_levels import BEGINS_TLS, ENDS_TLS, POOLS, version_of
from tlstax.study.workloads.sized import MOST_BYTES, MOST_STATEMENTS, Session

P256 = "P-256"

LONGEST_CHAIN = 3
"""Of the certificates that a server sends, those of authorities up to the root among them, without it."""

CHEAPEST_KEY = "ec-p256"
"""As secure as RSA 3072 (NIST SP 800-57, part 1), and the cheapest to sign with that all drivers take."""

CURVES = {"ec-p256": P256, "ec-p384": "P-384"}
"""The curve of each key that has one. In TLS 1.2 it must be among the client's groups (RFC 8422, 5.1.1)."""


CARRYING: Mapping[Family, tuple[str, ...]] = {
    "mysql": tuple(path for path in PATHS if path not in ENDS_TLS | BEGINS_TLS | POOLS),
    "postgresql": tuple(path for path in PATHS if path not in ENDS_TLS | BEGINS_TLS),
}
"""The paths that take bytes as they come and hand them on so."""

VERSIONS: Mapping[Family, tuple[str, ...]] = {
    "mysql": ("off", "1.2", "1.3"),
    "postgresql": ("off", "1.2", "1.3", DIRECT_TLS),
}
"""The levels of `tls` that mixes have."""

_IDENTITY = (exclusions.of_certificate, exclusions.of_group, exclusions.of_client_certificate)
"""What nobody can prove themselves by."""

NEEDS_TLS = (SCRAM_PLUS, CLEAR_PASSWORD, CERT)
"""Of PostgreSQL's logins those that no connection in the clear has."""

_NOT_AT_POSTGRESQL = {
    "resumption": exclusions.of_resumption,
    "compression": exclusions.of_compression,
    "auth": exclusions.of_auth,
    "path": exclusions.of_path,
}
"""What says of a field that PostgreSQL has no such thing, or that nobody can log in so."""

LOGINS: Mapping[Family, tuple[str, ...]] = {
    "mysql": (DEFAULT_AUTH, *AUTH_PLUGINS),
    "postgresql": (DEFAULT_AUTH, *POSTGRESQL_AUTH),
}
"""What proves the clients' account."""


_FACTORS = (
    *("certificate", "chain", "client_certificate", "tls", "resumption", "group", "auth", "path"),
    *("compression", "protocol"),
)
"""Those that a mix has a level of, in fields of their names."""


class Mix(Frozen):
    """Connections of one kind: `statements` selects on each, each returning `answer_bytes`.

    `product` is whose protocol they speak. In the clear there is no key, group or resumption: those fields
    are then what they are by default. A resumed connection signs nothing, and one of TLS 1.2 agrees on no
    group. `chain` is how many certificates the server sends, and with `client_certificate` the client sends
    one with a key of the same kind. `auth` is the plugin or method by which the client's account is proved,
    `path` what carries its bytes, which is in the clear to both of its ends. `compression` is the protocol's
    own, of answers that are random digits. Statements are sent as text, or `prepared` once a connection.
    """

    product: Family = Field(default="mysql", exclude_if=lambda product: product == "mysql")
    tls: Literal["off", "1.2", "1.3", "1.3-direct"] = "1.3"
    certificate: str = DEFAULT_CERTIFICATE
    chain: int = Field(default=1, ge=1, le=LONGEST_CHAIN)
    client_certificate: Literal["off", "on"] = "off"
    group: str = P256
    resumption: Literal["off", "on"] = "off"
    auth: str = DEFAULT_AUTH
    path: str = DIRECT
    compression: Compression = "off"
    protocol: Literal["text", "prepared"] = Field(
        default="text", exclude_if=lambda protocol: protocol == "text"
    )
    statements: PositiveInt = Field(le=MOST_STATEMENTS)
    answer_bytes: PositiveInt = Field(le=MOST_BYTES)

    @property
    def version(self) -> str:
        """The TLS version, however it is begun; "off" where there is none."""
        return version_of(self.tls)

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        for field, why in self._faults():
            raise PydanticCustomError(field, "{why}", {"why": why})
        return self

    def _faults(self) -> Iterator[tuple[str, str]]:
        """What cannot be: the field, and why."""
        if self.tls == "off" and self.resumption == "on":
            yield "resumption", "without TLS there is no session to resume"
        if self.tls == "off" and self.client_certificate == "on":
            yield "client_certificate", "without TLS nobody is asked for a certificate"
        case = CaseLevels.of(self._all_levels())
        wanted = Wanted(case, CaseWorkload.of(case, {}), product=self.product)
        if impossible := next(filter(None, (lacks(wanted) for lacks in _IDENTITY)), ""):
            yield "certificate", impossible
        if self.auth not in LOGINS[self.product]:
            yield "auth", f"{self.auth} is not among {', '.join(LOGINS[self.product])}"
        if self.path not in CARRYING[self.product]:
            yield "path", f"{self.path} is not among {', '.join(CARRYING[self.product])}"
        if self.path != DIRECT and self.tls != "off":
            yield "path", f"what TLS costs through {self.path} is not known, only what it costs without (off)"
        if self.path != DIRECT and self.compression != "off":
            yield "compression", f"what it costs through {self.path} is not known, only what it costs without"
        if self.path != DIRECT and self.protocol == "prepared":
            yield "protocol", f"what preparing costs through {self.path} is not known, only what text does"
        curve = CURVES.get(self.certificate)
        if self.tls == "1.2" and curve is not None and self.group in GROUPS and self.group != curve:
            yield "group", f"in TLS 1.2 a key on {curve} is taken only by clients that offer that group"
        yield from self._faults_at_postgresql(wanted) if wanted.is_of_postgresql else self._faults_at_mysql()

    def _faults_at_postgresql(self, wanted: Wanted) -> Iterator[tuple[str, str]]:
        for field, lacks in _NOT_AT_POSTGRESQL.items():
            if impossible := lacks(wanted):
                yield field, impossible

    def _faults_at_mysql(self) -> Iterator[tuple[str, str]]:
        if self.tls not in VERSIONS[self.product]:
            yield "tls", "MySQL and MariaDB begin in the clear, so TLS cannot begin at once"
        if self.protocol != "text":
            yield "protocol", "what preparing costs is measured at PostgreSQL alone, not at MySQL or MariaDB"

    @classmethod
    def of(cls, case: CaseLevels, product: Family = "mysql") -> Self | None:
        """The mix that a case measures at such a server; None for one that does or has something else."""
        session = case.session
        if session is None or session.statements is None or case.tls not in VERSIONS[product]:
            return None
        if case.path not in CARRYING[product] or (case.path != DIRECT and case.is_encrypted):
            return None
        if product == "mysql" and case.protocol == "prepared":
            return None
        return cls.model_validate(
            {
                **{name: getattr(case, name) for name in _FACTORS},
                "product": product,
                "chain": case.chain or 1,
                "client_certificate": case.client_certificate if case.is_encrypted else "off",
                "resumption": case.resumption if case.is_encrypted else "off",
                "protocol": "prepared" if case.protocol == "prepared" else "text",
                **session._asdict(),
            }
        )

    def levels(self) -> dict[str, Level]:
        """The levels of a case that measures it, in the factors that its product has."""
        absent = ("resumption", "compression") if self.product == "postgresql" else ("protocol",)
        return {name: level for name, level in self._all_levels().items() if name not in absent}

    def _all_levels(self) -> dict[str, Level]:
        own = {name: getattr(self, name) for name in _FACTORS}
        return {**own, "workload": Session(self.statements, self.answer_bytes).name}

    def but(self, **changes: str | int) -> Mix:
        """The same mix otherwise, and checked again."""
        return Mix.model_validate(self.model_dump() | changes)
