"""What was measured of drivers and comes with tlstax: what they offer, take and log in by. Pure.

`setup/renew-drivers` measures all of it and writes a file for each family; none of it is written by hand.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from importlib import resources
from typing import Literal, TypeVar

from pydantic import Field

from tlstax.contract import Frozen
from tlstax.study.product import Family, product_of, release_of
from tlstax.support.credentials import called
from tlstax.support.errors import UserMistake
from tlstax.support.text import closest

FILES: dict[Family, str] = {"mysql": "known_drivers.json", "postgresql": "known_postgresql_drivers.json"}
"""The files of each family."""

Fact = TypeVar("Fact")

Verified = Literal["authority", "host", "expiry"]

LoginPath = Literal["fast", "full", "key asked for"]
"""How caching_sha2_password let a driver in: by the proof alone, by the password over TLS, by the password
under a key that it asked the server for."""


class KnownLogin(Frozen):
    """How a driver logged in to a server whose account is proved by this plugin, in the clear and over TLS.

    The words are the driver's where it could not; empty where it could. `encrypts` is whether it did with
    nothing said of TLS, None where it could not connect so. Of caching_sha2_password `cold` says how it went
    before the server knew the account, and the paths which way it took. `takes_unknown` is whether it took a
    certificate of an unknown authority with TLS required and nothing else said: MariaDB 11.4 and
    newer prove theirs by the account's password. PostgreSQL's methods stand for plugins, and SCRAM is one,
    bound to the channel or not: what it takes is up to the client.
    """

    server: str
    plugin: str
    encrypts: bool | None
    in_clear: str = ""
    over_tls: str = ""
    cold_in_clear: str = ""
    takes_unknown: bool = False
    paths: dict[
        Literal["in clear, cold", "in clear, warm", "over TLS, cold", "over TLS, warm"], LoginPath
    ] = {}


class KnownDriver(Frozen):
    """One driver of one version, over the runtime that it was measured with.

    `versions` are those with which a handshake succeeded at each of these servers when it took nothing
    else, since some drivers offer by the server's version; of PostgreSQL's they are those that it offers. The
    suites, groups and signatures are of its ClientHello. `takes_rsa_1024` is whether it took a certificate of
    so short a key, None where that was not tried. `verifies` is what it checks with TLS required and nothing
    else said, `verifies_by_default` with nothing said at all; `can_require` is whether it encrypts where it
    is told that and nothing more. `demands_tls` is whether it refuses a server without TLS with nothing said.
    """

    name: str
    product: str
    version: str
    language: str
    client_version: str
    can_require: bool
    versions: dict[str, tuple[str, ...]]
    cipher_suites: tuple[str, ...]
    groups: tuple[str, ...]
    signatures: tuple[str, ...]
    takes_rsa_1024: bool | None
    verifies: tuple[Verified, ...] = ()
    verifies_by_default: tuple[Verified, ...] = ()
    demands_tls: bool = False
    logins: tuple[KnownLogin, ...]

    @property
    def title(self) -> str:
        """Its product and version: "go-sql-driver/mysql 1.9.3"."""
        return f"{self.product} {self.version}"


class KnownDrivers(Frozen):
    """All of them, and where and when they were measured; `servers` are those that they were tried at."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    at: str
    tlstax_version: str
    distribution: str
    servers: dict[str, str]
    drivers: tuple[KnownDriver, ...]

    def only(self, names: Collection[str]) -> KnownDrivers:
        """Those of these names; all of them where there is no name. UserMistake for one that is not known."""
        for name in names:
            if name not in {driver.name for driver in self.drivers}:
                known = [driver.name for driver in self.drivers]
                raise UserMistake(
                    f"nothing is known of a driver {called(name)} at a server of this kind"
                    f"{closest(name, known)}",
                    remedy="`tlstax drivers list` names those that are",
                )
        kept = tuple(driver for driver in self.drivers if not names or driver.name in names)
        return self.model_copy(update={"drivers": kept})

    def text(self) -> str:
        """The file, a driver a line, so that a new measurement changes lines and not all of it."""
        head = self.model_dump_json(by_alias=True, exclude={"drivers"})
        lines = ",\n".join(own.model_dump_json(exclude_defaults=True) for own in self.drivers)
        return f'{head[:-1]},"drivers":[\n{lines}\n]}}\n'

    def login_at(self, driver: KnownDriver, version: str, plugin: str) -> KnownLogin | None:
        """What is nearest to a login at a server that says so of its version, by an account of this plugin.

        None where no account of that plugin was tried at a server of its product.
        """
        tried = {own.server: own for own in driver.logins if own.plugin == plugin}
        return self._nearest(self._alike(tried, version), version)

    def encrypts_at(self, driver: KnownDriver, version: str) -> bool | None:
        """Whether it encrypts there with nothing said of TLS; None where that was not seen."""
        seen = {own.server: own.encrypts for own in driver.logins if own.encrypts is not None}
        return self._nearest(self._alike(seen, version) or seen, version)

    def versions_at(self, driver: KnownDriver, version: str) -> tuple[str, ...]:
        """Those of TLS that it speaks with a server that says so of its version."""
        spoken = self._alike(driver.versions, version) or driver.versions
        return self._nearest(spoken, version) or ()

    def _alike(self, seen: Mapping[str, Fact], version: str) -> dict[str, Fact]:
        """What was seen at servers of that product."""
        product = product_of(version)
        return {own: what for own, what in seen.items() if product_of(self.servers[own]) == product}

    def _nearest(self, seen: Mapping[str, Fact], version: str) -> Fact | None:
        """What was seen at the newest server that is no newer than that, else at the oldest; None of none."""
        ordered = sorted(seen, key=lambda server: release_of(self.servers[server]))
        older = [server for server in ordered if release_of(self.servers[server]) <= release_of(version)]
        return seen[(older[-1:] or ordered)[0]] if seen else None


@cache
def known_drivers(family: Family = "mysql") -> KnownDrivers:
    """Those of this family that come with tlstax."""
    file = resources.files("tlstax.topics.inspection") / FILES[family]
    return KnownDrivers.model_validate_json(file.read_text(encoding="utf-8"))
