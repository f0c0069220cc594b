"""What a probe gathers of a driver, and the documents of `drivers probe --json` and `drivers list --json`."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from tlstax.contract import ErrorKind, Frozen, Ready
from tlstax.records.capture import Capture, Frame, Logged
from tlstax.results.interval import Interval

Certificate = Literal["right", "unknown authority", "other host", "expired"]
"""What a server shows: a certificate in order, one whose authority the driver's runtime does not know, one
for another host, one that has expired. The last two are signed by an authority that the runtime trusts."""

TABLE = "probed"
INSERT = f"INSERT INTO {TABLE} (word) VALUES ('123')"  # noqa: S608 - the name is our own
"""The one statement that drivers are given, so that all others in the server's log are their own."""


class Refusal(Frozen):
    """Why a job came to nothing, in the driver's own words as far as there are any."""

    kind: ErrorKind | None
    words: str


class Asked(Frozen):
    """What one job showed: a few connections one after another, on each N statements.

    The job's own connections, `operations` of them, come after those on which the program asks what was
    negotiated. `capture` is None where no tap stood before the server; `sessions_taken_up` is by how much the
    server's Ssl_session_cache_hits rose. With a `refusal` the rest is what there was until then; `ended` is
    whether it was not the driver's or the server's: tlstax hung up.
    """

    tls: TlsAsked
    statements: int
    operations: int
    ready: Ready | None = None
    capture: Capture | None = None
    log: tuple[Logged, ...] = ()
    sessions_taken_up: int = 0
    refusal: Refusal | None = None
    ended: bool = False


class Tried(Frozen):
    """A certificate that the server showed, and what the driver made of it.

    `encrypted` is the server's word for the connection, None where there was none. `words` are the driver's
    where it refused.
    """

    certificate: Certificate
    tls: TlsAsked
    accepted: bool
    encrypted: bool | None = None
    words: str = ""


Cache = Literal["cold", "warm"]
"""Whether the server knows the account from an earlier login, by caching_sha2_password's own memory of it."""

LoginOutcome = Literal["fast", "full", "key asked for", "yes", "refused", "ended"]
"""By the proof alone, by the whole password over TLS, or under a key that the driver asked the server for;
logged in where the plugin has no such ways, or in a way that was not seen; refused by driver or server; or
ended by tlstax, before the password could be given to whoever asks for it."""


class Login(Frozen):
    """How a login went with an account that is proved by this plugin.

    `tls` is what the driver was given for TLS; `verified` is that there must be some, and as little to check
    as it can be told. `cache` is None for plugins without one. `words` say why it did not succeed: the
    driver's, or tlstax's own.
    """

    plugin: str
    tls: TlsAsked
    cache: Cache | None
    outcome: LoginOutcome
    words: str = ""


class Gathered(Frozen):
    """All that was gathered of one driver.

    `asked` has the jobs through the tap, `tried` the certificates; `why_not_tried` says why some
    certificates could not be shown, `logins` how it logged in, `attacks` what it did on a hostile wire.
    `verified` is the strictest check of certificates that the driver could be set to, `remarks` what else
    there is to know of how it was probed. `failed` is why there is no more, in a sentence, `failed_as` its
    kind where the driver said it.
    """

    name: str
    server: str
    auth: str = "default"
    options: dict[str, str] = {}
    asked: tuple[Asked, ...] = ()
    tried: tuple[Tried, ...] = ()
    why_not_tried: str = ""
    verified: Literal["identity", "ca", "none"] | None = None
    logins: tuple[Login, ...] = ()
    attacks: tuple[Attack, ...] = ()
    remarks: tuple[str, ...] = ()
    failed: str | None = None
    failed_as: ErrorKind | None = None

    def job(self, tls: TlsAsked, statements: int) -> Asked | None:
        """The job of that kind which was done, None where there is none."""
        jobs = (job for job in self.asked if (job.tls, job.statements) == (tls, statements))
        return next((job for job in jobs if job.refusal is None), None)

    def refused(self, tls: TlsAsked) -> Refusal | None:
        """Why no job of that kind was done; None where one was, or none was begun and not ended by tlstax."""
        refusals = [job.refusal for job in self.asked if job.tls == tls and not job.ended]
        return next((refusal for refusal in refusals if refusal), None) if all(refusals) else None


TlsAsked = Literal["unset", "off", "required", "verified"]
"""What the driver was given for TLS: nothing, to leave it, that there must be some and nothing else, or that
there must be some and what to check."""

Trick = Literal[
    "offer taken away", "clear password", "old password", "key of nobody", "file", "certificate of nobody"
]
"""What the wire does: it takes the server's offer of TLS away and passes all else on; and then asks for the
password by mysql_clear_password, by mysql_old_password, or by a full caching_sha2 login with a key of its
own; or for a file (LOAD DATA LOCAL). Or it leaves the offer, shows a certificate that nobody vouches for,
and asks
for a full login over TLS."""

TRICKS: dict[Trick, str] = {
    "offer taken away": "goes on without TLS",
    "clear password": "mysql_clear_password",
    "old password": "mysql_old_password",
    "key of nobody": "full login, foreign key",
    "file": "LOCAL INFILE",
    "certificate of nobody": "full login over TLS, foreign certificate",
}

Gift = Literal["password", "hash", "file"]

Outcome = Literal["refused", "went on", "password", "hash", "file"]
"""`hash` is an old one, which takes minutes to undo; `password` is the password itself."""


class Attack(Frozen):
    """One trick on a driver that was given this for TLS; `words` are the driver's where it refused.

    `frames` are what it sent, with the password masked: the capture that shows the outcome.
    """

    tls: TlsAsked
    trick: Trick
    outcome: Outcome
    words: str = ""
    frames: tuple[Frame, ...] = ()


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

    def verified(self, when: Literal["by_default", "when_required"]) -> tuple[bool | None, ...]:
        """Whether it checks the authority, the host and the time of a certificate."""
        return tuple(getattr(self, f"verifies_{what}_{when}") for what in ("ca", "host", "expiry"))


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
