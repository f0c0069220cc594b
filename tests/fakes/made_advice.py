"""An advice, made up: a key that is measured, groups that are counted, and a change that is not worth it."""

from __future__ import annotations

from inspected_servers import inspected
from tlstax.results.inspection import Concern, Step
from tlstax.results.interval import Interval
from tlstax.topics.advice.advise import Advice, Advised, Saving, SeenUse

UNSAFE = Concern(danger="unsafe", what="TLS 1.1 is <b>accepted</b>", why="it is old", remedy="forbid it")
WEAK = Concern(danger="weak", what="plaintext is accepted", why="nobody need encrypt", remedy="refuse it")


def interval(point: float, half: float) -> Interval:
    return Interval(point=point, low=point - half, high=point + half, confidence=0.95, blocks=5)


KEY = Advised(
    change="certificate",
    what="EC P-256 in place of RSA 4096",
    seen="the server signs each full handshake with RSA 4096",
    saving=Saving(
        server_cpu_us=interval(2900, 100),
        server_share=interval(0.61, 0.03),
        measured_on="mysql-9.7",
        time_us=interval(3100, 200),
    ),
    why_not="",
    steps=(Step(where="a shell", lines=("openssl genpkey …", "openssl req …")),),
)
GROUP = Advised(
    change="group",
    what="P-256 first in the clients' groups",
    seen="clients are asked for a second ClientHello",
    saving=Saving(round_trips=1.0, inconclusive=("the time of a connection",)),
    why_not="",
    steps=(),
)
LITTLE = Advised(
    change="version",
    what="TLS 1.2 in place of 1.3",
    seen="",
    saving=Saving(
        server_cpu_us=interval(-95, 143), server_share=interval(-0.02, 0.03), measured_on="mysql-9.7"
    ),
    why_not="it saves less than 5 %",
    steps=(Step(where="nowhere", lines=("nothing to paste",)),),
)


def advice(**changes: object) -> Advice:
    found = Advice(
        inspected=inspected().model_copy(update={"concerns": (WEAK, UNSAFE)}),
        use=SeenUse(connects_per_s=200.0, statements=2, answer_bytes=120, source="watched"),
        changes=(KEY, GROUP, LITTLE),
        stand_in="mysql-9.7",
        runs=("20261126-000000-abcd",),
        connections_there=1234,
        spent_there="1,200 connections were made there, one at a time, within 5 s",
        not_measured=("x: y",),
        status="complete",
    )
    return found.model_copy(update=changes)
