"""The documents that `drivers probe --json` and `drivers list --json` print, as frozen types."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from tlstax.contract import ErrorKind, Frozen
from tlstax.results.interval import Interval
from tlstax.tools.probes.drivers.attacked import Attack
from tlstax.tools.probes.drivers.probed import Cache, Login, Tried


class Cost(Interval):
    """An interval as these documents hold it: its point is their `value`."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)

    point: float = Field(alias="value")


class TlsShown(Frozen):
    """What a driver offers and agrees on: versions and cipher as OpenSSL prints them, groups as IANA does.

    `resumes` is whether later connections take up an earlier session; None where some did and others did not.
    """

    version: str | None
    cipher: str | None
    group: str | None
    hello_retry: bool
    resumes: bool | None
    versions_offered: tuple[str, ...]
    groups_offered: tuple[str, ...]
    key_shares: tuple[str, ...]


class Way(Frozen):
    """What connecting and an insert take, in the clear or encrypted; None where it could not be determined.

    Round trips are counted as in contract/README.md (`phase_wire`): TCP's own is one, the greeting is one.
    `connect_us` is the median time of the driver's whole connect call, `statement_us` of an insert of a row;
    CPU is the driver's process, for a connect that of connecting, asking and closing less an insert's.
    """

    round_trips_per_connect: int | None = None
    round_trips_per_statement: int | None = None
    connect_us: Cost | None = None
    statement_us: Cost | None = None
    connect_cpu_us: Cost | None = None
    statement_cpu_us: Cost | None = None
    failed: str | None = None


class DriverRow(Frozen):
    """One driver of one version: what it does when nothing is said of TLS, and what that costs.

    `options` are those that it was given. A field is None where it could not be determined. `required` says
    what it does when TLS is required and nothing else is said, `verifies_*_when_required` what it checks
    then. `round_trips_*`, `connect_us` and `statement_us` are those by default; `plain` and `encrypted` have
    both ways, the latter set to verify. `logins` are how it logged in, by each plugin. `attacks` are what it
    did on a hostile wire, where it was set on one. `verified_by` names what showed it, `failed` says why
    there is no more, and `failed_as` (contract/README.md) its kind if the driver said it.
    """

    name: str
    product: str
    version: str
    language: str
    client_version: str | None = None
    server: str = ""
    auth: str = "default"
    options: dict[str, str] = {}
    encrypts_by_default: bool | None = None
    verifies_ca_by_default: bool | None = None
    verifies_host_by_default: bool | None = None
    verifies_expiry_by_default: bool | None = None
    verifies_ca_when_required: bool | None = None
    verifies_host_when_required: bool | None = None
    verifies_expiry_when_required: bool | None = None
    resumes_by_default: bool | None = None
    tls_version: str | None = None
    cipher: str | None = None
    group: str | None = None
    hello_retry: bool | None = None
    versions_offered: tuple[str, ...] = ()
    groups_offered: tuple[str, ...] = ()
    key_shares: tuple[str, ...] = ()
    required: TlsShown | None = None
    statements_on_connect: tuple[str, ...] = ()
    statements_before_each_statement: tuple[str, ...] = ()
    statements_after_each_statement: tuple[str, ...] = ()
    statements_on_close: tuple[str, ...] = ()
    round_trips_per_connect: int | None = None
    round_trips_per_statement: int | None = None
    connect_us: float | None = None
    statement_us: float | None = None
    plain: Way = Way()
    encrypted: Way = Way()
    steady: bool | None = None
    warmup_s: float | None = None
    certificates: tuple[Tried, ...] = ()
    logins: tuple[Login, ...] = ()
    attacks: tuple[Attack, ...] = ()
    verified_by: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    failed: str | None = None
    failed_as: ErrorKind | None = None


class ProbedThere(Frozen):
    """What there is to say of an external server that drivers were probed at.

    `plugin` proves the account, and `cache_when_found` is what the server remembered of it (None for a plugin
    without such a cache). `connections` is how many it got, all in all, `not_seen` what could not be seen
    there, in sentences.
    """

    plugin: str
    cache_when_found: Cache | None
    connections: int
    not_seen: tuple[str, ...]


class ProbeDocument(Frozen):
    """The one document that `drivers probe --json` prints; `run` is the stored run that costs are from.

    `external` is None on a private server. `stopped_because` says why costs were measured no longer, or why
    a probe that failed ended.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    status: Literal["complete", "interrupted", "failed"]
    server: str
    server_version: str
    external: ProbedThere | None = None
    run: str | None
    stopped_because: str
    drivers: tuple[DriverRow, ...]


class ListedDriver(Frozen):
    """A driver that is known: whether it is built, and which programs that building it needs are not here."""

    name: str
    product: str
    version: str
    language: str
    status: Literal["ready", "absent", "broken"]
    needs: tuple[str, ...]
    missing: tuple[str, ...]


class ListedDrivers(Frozen):
    """The one document that `drivers list --json` prints."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    drivers: tuple[ListedDriver, ...]
