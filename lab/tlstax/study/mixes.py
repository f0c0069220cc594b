"""A way of using a server: TLS, key, group, resumption, login, path, statements and their bytes."""

from __future__ import annotations

from collections.abc import Iterator
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
    DEFAULT_AUTH,
    DEFAULT_CERTIFICATE,
    DIRECT,
    GROUPS,
    PATHS,
    Level,
)
from tlstax.study.tls_levels import BEGINS_TLS, ENDS_TLS
from tlstax.study.workloads.sized import MOST_BYTES, MOST_STATEMENTS, Session

P256 = "P-256"

LONGEST_CHAIN = 3
"""Of the certificates that a server sends, those of authorities up to the root among them, without it."""

CHEAPEST_KEY = "ec-p256"
"""As secure as RSA 3072 (NIST SP 800-57, part 1), and the cheapest to sign with that all drivers take."""

CURVES = {"ec-p256": P256, "ec-p384": "P-384"}
"""The curve of each key that has one. In TLS 1.2 it must be among the client's groups (RFC 8422, 5.1.1)."""


CARRYING = tuple(path for path in PATHS if path not in ENDS_TLS | BEGINS_TLS)
"""The paths that take bytes as they come and hand them on so."""


_IDENTITY = (exclusions.of_certificate, exclusions.of_group, exclusions.of_client_certificate)
"""What nobody can prove themselves by."""

LOGINS = (DEFAULT_AUTH, *AUTH_PLUGINS)
"""The plugins of the clients' account."""


class Mix(Frozen):
    """Connections of one kind: `statements` selects on each, each returning `answer_bytes`.

    In the clear there is no key, group or resumption: those fields are then what they are by default. A
    resumed connection signs nothing, and one of TLS 1.2 agrees on no group. `chain` is how many certificates
    the server sends, and with `client_certificate` the client sends one with a key of the same kind. `auth`
    is the plugin of the client's account, `path` what carries its bytes, which is in the clear to both of
    its ends. `compression` is the protocol's own, of answers that are random digits.
    """

    tls: Literal["off", "1.2", "1.3"] = "1.3"
    certificate: str = DEFAULT_CERTIFICATE
    chain: int = Field(default=1, ge=1, le=LONGEST_CHAIN)
    client_certificate: Literal["off", "on"] = "off"
    group: str = P256
    resumption: Literal["off", "on"] = "off"
    auth: str = DEFAULT_AUTH
    path: str = DIRECT
    compression: Compression = "off"
    statements: PositiveInt = Field(le=MOST_STATEMENTS)
    answer_bytes: PositiveInt = Field(le=MOST_BYTES)

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
        case = CaseLevels.of(self.levels())
        wanted = Wanted(case, CaseWorkload.of(case, {}))
        if impossible := next(filter(None, (lacks(wanted) for lacks in _IDENTITY)), ""):
            yield "certificate", impossible
        if self.auth not in LOGINS:
            yield "auth", f"{self.auth} is not among {', '.join(LOGINS)}"
        if self.path not in CARRYING:
            yield "path", f"{self.path} is not among {', '.join(CARRYING)}"
        if self.path != DIRECT and self.tls != "off":
            yield "path", f"what TLS costs through {self.path} is not known, only what it costs without (off)"
        if self.path != DIRECT and self.compression != "off":
            yield "compression", f"what it costs through {self.path} is not known, only what it costs without"
        curve = CURVES.get(self.certificate)
        if self.tls == "1.2" and curve is not None and self.group in GROUPS and self.group != curve:
            yield "group", f"in TLS 1.2 a key on {curve} is taken only by clients that offer that group"

    @classmethod
    def of(cls, case: CaseLevels) -> Self | None:
        """The mix that a case measures; None for one that connects otherwise or does something else."""
        session = case.session
        if session is None or session.statements is None or case.tls not in {"off", "1.2", "1.3"}:
            return None
        if case.path not in CARRYING or (case.path != DIRECT and case.is_encrypted):
            return None
        return cls.model_validate(
            {
                "tls": case.tls,
                "certificate": case.certificate,
                "chain": case.chain or 1,
                "client_certificate": case.client_certificate if case.is_encrypted else "off",
                "group": case.group,
                "resumption": case.resumption if case.is_encrypted else "off",
                "auth": case.auth,
                "path": case.path,
                "compression": case.compression,
                "statements": session.statements,
                "answer_bytes": session.answer_bytes,
            }
        )

    def levels(self) -> dict[str, Level]:
        """The levels of a case that measures it."""
        return {
            "certificate": self.certificate,
            "chain": self.chain,
            "client_certificate": self.client_certificate,
            "tls": self.tls,
            "resumption": self.resumption,
            "group": self.group,
            "auth": self.auth,
            "path": self.path,
            "compression": self.compression,
            "workload": Session(self.statements, self.answer_bytes).name,
        }

    def but(self, **changes: str | int) -> Mix:
        """The same mix otherwise, and checked again."""
        return Mix.model_validate(self.model_dump() | changes)
