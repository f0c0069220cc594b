"""What an inspection of a server found: what it agreed to, what it shows of itself, what is unsafe."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from tlstax.contract import Frozen, TlsView
from tlstax.study.product import Family, family_of, product_of

Topic = Literal["default", "version", "suite", "group", "direct", "resumption"]
"""What is asked: what clients left to themselves get, and each thing when it alone is offered."""


KEPT_BACK = "the account's login sends the password itself, which no old version gets"
"""Why a question was not asked that this machine's library could ask."""

WOULD_BLOCK = "the server blocks a host after a single refusal (max_connect_errors)"
"""The same, where an answer of no would have been the last one."""


class Asked(Frozen):
    """One question, which is one handshake with one thing offered, and what became of it.

    `agreed` is what the client saw; None where there was no agreement, and `why_not` says in whose words. A
    question that was not asked has `could_ask` false: this machine's TLS library cannot ask it,
    `KEPT_BACK` or `WOULD_BLOCK`.
    """

    topic: Topic
    name: str
    agreed: TlsView | None = None
    why_not: str = ""
    could_ask: bool = True


COMMON_RSA_BITS = 2048
"""What most public authorities sign for, and servers make for themselves."""


def key_bits(key: str) -> int | None:
    """The size of an RSA or DSA key, 2048 of "RSA-PSS 2048"; None for any other."""
    sized = re.fullmatch(r"(?:RSA|RSA-PSS|DSA) (\d+)", key)
    return None if sized is None else int(sized[1])


class Certificate(Frozen):
    """A certificate that the server shows. `key` is kind and size, `names` whom it is for, dates are UTC.

    `version` is X.509's. `is_authority` says whether it may issue others, None where it does not say;
    `purposes` are those that its key is restricted to, empty where it is not.
    """

    subject: str
    issuer: str
    is_self_signed: bool
    key: str
    signature: str
    names: tuple[str, ...]
    not_before: str
    not_after: str
    size_bytes: PositiveInt
    sha256: str
    version: PositiveInt = 3
    is_authority: bool | None = None
    purposes: tuple[str, ...] = ()

    @property
    def is_costly_rsa(self) -> bool:
        """Whether its key is an RSA key of more bits than common, which each full handshake pays for."""
        return self.key.startswith("RSA") and (key_bits(self.key) or 0) > COMMON_RSA_BITS


PoolerLeg = Literal["TLS", "in the clear", "Unix socket"]
"""How a pooler came to the server behind it."""


def _is_none(value: object) -> bool:
    """Whether a field that one product alone has is left out of the document."""
    return value is None


TRUST_BEHIND = "trust (behind other lines)"
"""In place of a method in `ServerWord.admission`: a line of pg_hba.conf that lets in whoever comes as far,
which nobody does while those before it stand."""


class ServerWord(Frozen):
    """What the server says of itself to the account, None or empty where it does not say.

    `admission` has how its lines of pg_hba.conf let clients in over TCP ("host md5"), without those for its
    own machine, and `lets_in_clear` whether they let this account in from here in the clear.
    `scram_iterations` is how often the account's password is hashed for each login, `password_encryption` by
    what passwords are kept that are set from now on, and `pooler_leg` how a pooler that is in front came to
    the server. `costly_settings` are those by which each connection takes longer, or more are made:
    "log_hostname = on", "idle_session_timeout = 30000 ms". All of these are PostgreSQL's alone.
    """

    version: str
    tls_library: str | None
    account_plugin: str | None
    requires_tls: bool | None
    account_is_encrypted: bool
    admission: tuple[str, ...] = ()
    scram_iterations: PositiveInt | None = Field(default=None, exclude_if=_is_none)
    password_encryption: str | None = Field(default=None, exclude_if=_is_none)
    pooler_leg: PoolerLeg | None = Field(default=None, exclude_if=_is_none)
    lets_in_clear: bool | None = Field(default=None, exclude_if=_is_none)
    costly_settings: tuple[str, ...] = Field(default=(), exclude_if=lambda said: not said)

    @property
    def family(self) -> Family:
        """Whose protocol it speaks, by its version."""
        return family_of(product_of(self.version))

    @property
    def is_postgresql(self) -> bool:
        """Whether it is a PostgreSQL."""
        return self.family == "postgresql"


class Use(Frozen):
    """How a server was used over `over_s` seconds; None where it does not count that.

    `asked` is what it counts of what clients ask, and what `statements_per_s` and the like are of: PostgreSQL
    counts transactions, and a statement by itself is one.
    `tls_share` is of its new connections those that made a TLS handshake, `resumed_share` of these those that
    resumed a session.
    """

    over_s: PositiveFloat
    connects_per_s: NonNegativeFloat
    statements_per_s: NonNegativeFloat | None
    statements_per_connect: NonNegativeFloat | None
    tls_share: NonNegativeFloat | None
    resumed_share: NonNegativeFloat | None
    received_bytes_per_s: NonNegativeFloat | None
    sent_bytes_per_s: NonNegativeFloat | None
    aborted_connects_per_s: NonNegativeFloat | None
    asked: Literal["statements", "transactions"] = "statements"


class Program(Frozen):
    """Connections of one kind that are open now: their program's own words, how they came, how many.

    `compression` says whether they compress what they send.
    """

    client: str
    version: str
    program: str
    transport: str
    tls: str
    compression: bool = False
    connections: PositiveInt


class Inside(Frozen):
    """How the server is used, as far as the account may see: since its start, and while it was watched.

    `unread` says what the account may not read, and what would permit it.
    """

    since_start: Use | None
    watched: Use | None
    programs: tuple[Program, ...]
    unread: tuple[str, ...]


class ConnectPhase(Frozen):
    """A phase of making a connection, or all of it (`connect`), from the machine that asked.

    Means over `connects` connections of a client left to itself, and the median time.
    """

    name: str
    connects: PositiveInt
    round_trips: NonNegativeFloat
    sent_bytes: NonNegativeFloat
    received_bytes: NonNegativeFloat
    median_us: NonNegativeFloat


class Step(Frozen):
    """What to do, where: lines to paste into a file, to run, or to put into a program."""

    where: str
    lines: tuple[str, ...]


Danger = Literal["unsafe", "soon unsafe", "weak", "costly"]


class Concern(Frozen):
    """Something to mend: what, why it matters or what it costs connects, the remedy, and the lines to paste.

    The lines are for this product and version.
    """

    danger: Danger
    what: str
    why: str
    remedy: str
    steps: tuple[Step, ...] = ()


Cause = Literal[
    "plaintext", "no TLS", "version", "suite", "group", "signature", "key", "certificate", "login"
]
"""What keeps a driver out, in the order in which a connection meets it: the server refuses plaintext; it has
no TLS; no version, cipher suite or group is common to both; the driver knows no signature by the server's
key, or takes no key so short; it does not accept the certificate; it cannot log in as the account is to."""


class Obstacle(Frozen):
    """What keeps these drivers out, alike for all of them.

    `client` and `server` have the lines that mend it at either side: each of `client` for the drivers that
    its `where` names. `says` is what the server's lines are for, or why it has none; `unmended` are drivers
    that have no lines.
    """

    at: Cause
    drivers: tuple[str, ...]
    why: str
    client: tuple[Step, ...] = ()
    server: tuple[Step, ...] = ()
    says: str = ""
    unmended: tuple[str, ...] = ()


class Way(Frozen):
    """How the drivers fare in one way of using them; each is in one of the four.

    `unknown` are those of which it was not seen what would decide it.
    """

    encrypted: tuple[str, ...]
    in_clear: tuple[str, ...]
    obstacles: tuple[Obstacle, ...]
    unknown: tuple[str, ...] = ()


class LockedOut(Frozen):
    """A change of the server, and which of the drivers that can connect over TLS no longer could.

    `kept` are those that still could.
    """

    change: Literal["TLS 1.3 alone", "no RSA key exchange", "an ML-DSA certificate"]
    drivers: tuple[str, ...]
    kept: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class WhoConnects(Frozen):
    """Told from what was measured of drivers, `measured_at` (a day, UTC); none was tried at this server.

    `by_default` is with nothing said of TLS, `over_tls` with TLS required by each driver's plainest word and
    nothing else said.
    """

    measured_at: str
    drivers: PositiveInt
    by_default: Way
    over_tls: Way
    changes: tuple[LockedOut, ...]


class InspectedServer(Frozen):
    """The document that `inspect --json` prints.

    `connections` counts all that were made, `at` is when (UTC). `chain` begins with the server's own
    certificate and is empty where there is no TLS. `connect` begins with all of a connect and goes on with
    its phases; it is empty where that was not measured. `concerns` have the gravest first, `payments` are
    what connects pay for and need not. `who_connects` is None where too little was asked to tell.
    `stopped_because` is empty where it is complete.
    """

    schema_version: Literal[2] = Field(default=2, alias="schema")
    server: str
    at: str
    connections: NonNegativeInt
    word: ServerWord
    offers_tls: bool
    asked: tuple[Asked, ...]
    connect: tuple[ConnectPhase, ...]
    inside: Inside
    chain: tuple[Certificate, ...]
    concerns: tuple[Concern, ...] = ()
    payments: tuple[Concern, ...] = ()
    who_connects: WhoConnects | None = None
    status: Literal["complete", "interrupted", "failed"]
    stopped_because: str

    def of(self, topic: Topic) -> tuple[Asked, ...]:
        """What was asked of a topic."""
        return tuple(asked for asked in self.asked if asked.topic == topic)

    @property
    def default(self) -> TlsView | None:
        """What clients left to themselves get; None where they agree to nothing, or it was not asked."""
        return next((asked.agreed for asked in self.of("default")), None)
