"""What a probe gathered of a driver, before anything is read from it."""

from __future__ import annotations

from typing import Literal

from tlstax.contract import ErrorKind, Frozen, Ready
from tlstax.records.capture import Capture, Logged
from tlstax.tools.probes.drivers.attacked import Attack, TlsAsked

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
