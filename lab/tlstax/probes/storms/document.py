"""The document that `tlstax storm --json` prints, as frozen types."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, NonNegativeInt, PositiveFloat, PositiveInt

from tlstax.contract import Frozen

Verdict = Literal["does", "does not", "not told"]


class Tried(Frozen):
    """A size that was tried: of `tries` storms `did` were up in time."""

    connections: PositiveInt
    tries: PositiveInt
    did: NonNegativeInt
    verdict: Verdict


class StormLimit(Frozen):
    """What was found of one kind of connection.

    `connections` is the largest storm that does, None where not even the smallest does; `too_many` the next
    larger one that was tried, None where the largest does. `connections_per_s` is the rate at which the last
    storm of that size came up, `client_share` how busy the client's busiest thread was then: near 1 the
    client is the limit, not the server.
    """

    tls: str
    resumed: bool
    label: str
    connections: PositiveInt | None
    too_many: PositiveInt | None
    connections_per_s: PositiveFloat | None
    client_share: float | None
    tried: tuple[Tried, ...]


class StormDocument(Frozen):
    """The largest storms of which `share` of the connections are up within `within_s`."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    status: Literal["complete", "interrupted"]
    server: str
    server_version: str
    within_s: PositiveFloat
    share: PositiveFloat
    confidence: PositiveFloat
    variables: dict[str, str]
    limits: tuple[StormLimit, ...]
