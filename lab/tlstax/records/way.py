"""What was between client and server: the programs of a path, and a distance, as frozen types."""

from __future__ import annotations

from typing import Literal

from tlstax.contract import Frozen


class PathPart(Frozen):
    """One program of a path: where it stands, which process of which file, and whether it ran at the end.

    Of one that did not, `ended` says how it ended, as far as that is known, and `last_line` is the last line
    of its log.
    """

    role: Literal["near the client", "near the server"]
    program: str
    pid: int
    alive: bool
    ended: str = ""
    last_line: str = ""


class PathObservation(Frozen):
    """What the programs between client and server showed of one trial.

    `name` is the level of `path`, `specimen` and `version` what was run, `parts` its programs.
    `protection` is the path's own word for what protects the bytes between its ends ("aes256-ctr,
    hmac-sha2-256"), None where nothing does; `said_by` is who says so (its log, its status page).
    `connections` is how many the path counted over the client's whole life, None where it does not
    count. Clients enter at `entry_port`, and are led to `server_port` of the server's. `log` is the end of
    its programs' logs where one of them has died.
    """

    name: str
    specimen: str
    version: str
    parts: tuple[PathPart, ...]
    protection: str | None
    said_by: str
    connections: int | None
    entry_port: int
    server_port: int
    log: str = ""


class RoundTripTime(Frozen):
    """Round trip times that were measured over a distance, by `samples` packets sent out and answered."""

    median_ms: float
    lowest_ms: float
    highest_ms: float
    samples: int


class LaneUse(Frozen):
    """What one way of a distance carried: packets of IP, their bytes, and packets that found no room."""

    packets: int
    bytes: int
    drops: int


class Lateness(Frozen):
    """How late packets were handed over, against when they were due, in microseconds."""

    p50: float
    p99: float
    max: float


class LinkUse(Frozen):
    """What our own link carried to the server's place and to the client's, and how late."""

    to_far: LaneUse
    to_near: LaneUse
    lateness_us: Lateness


class DistanceObservation(Frozen):
    """The distance of a trial: what it was meant to be, what made it, and what was measured of it.

    `before` and `after` are measured from the client's place to the server's, by the kernels' own
    answers alone. `link` is what our own link carried from `before` on, None where the kernel delays.
    """

    rtt_ms: float
    jitter_ms: float
    rate_mbit: int
    made_by: Literal["netem", "tlstax-link"]
    before: RoundTripTime
    after: RoundTripTime | None
    link: LinkUse | None = None
