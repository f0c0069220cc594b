"""The document that `tlstax storm --json` prints, as frozen types."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, NonNegativeInt, PositiveFloat, PositiveInt

from tlstax.contract import Frozen

Sought = Literal["connections", "connections_per_s"]
Verdict = Literal["does", "does not", "undecided"]
Ending = Literal["complete", "budget", "interrupted"]


class Tried(Frozen):
    """A load that was tried, in the unit of what is `sought`.

    Of `tries` times its connections were up in time `did` times. The verdict is "undecided" as well where the
    search ended before there was another.
    """

    load: PositiveInt
    tries: PositiveInt
    did: NonNegativeInt
    verdict: Verdict


class Limit(Frozen):
    """What was found of one kind of connection, in the unit of what is `sought`.

    `highest` is the highest load that does, null where none did; `too_high` the next higher one that was
    tried and did not, or was left undecided; null where there was none. `is_refused` is whether the server
    does not take that version of TLS, so that nothing was tried. `is_found` is whether the search came to its
    end: the two are close, or the lowest does not, or the highest that may be tried does. `achieved_per_s` is
    how many connections a second came up in the last try of `highest`, `client_share` how busy the client's
    busiest thread was then: near 1 the client is the limit, not the server.
    """

    tls: str
    resumed: bool
    label: str
    highest: PositiveInt | None
    too_high: PositiveInt | None
    is_refused: bool
    is_found: bool
    achieved_per_s: PositiveFloat | None
    client_share: float | None
    tried: tuple[Tried, ...]


class StormDocument(Frozen):
    """The highest loads at which `share` of the connections are up within `within_s` of when they were due.

    A load is a storm of that many connections at once, or, where `connections_per_s` are `sought`, that many
    new connections in each of `lasting_s` seconds, of which the client makes `at_once` at the same time at
    most. A verdict is wrong with a probability of 1 − `confidence` at the most. `status` is "budget" where
    `budget_s` ended the search. `promised` is how many connections at once an external server was promised,
    which bounds the loads that were tried; null for a private one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    status: Ending
    sought: Sought
    server: str
    server_version: str
    within_s: PositiveFloat
    share: PositiveFloat
    confidence: PositiveFloat
    budget_s: PositiveFloat
    lasting_s: PositiveFloat | None
    at_once: PositiveInt | None
    promised: PositiveInt | None = None
    variables: dict[str, str]
    limits: tuple[Limit, ...]
