"""What a client did in its turns, as columns: of whole slices, or of their parts under full load. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict

from tlstax.contract import FullLoadSpan, Slice


@dataclass(frozen=True)
class Turn:
    """A slice in the round with this number: what the client reports, and what was read at its two ends.

    After it the server went on with it for `settling_s`. The CPU times are those of the server and of all
    programs of the path, 0 where they are out of reach.
    """

    round: int
    slice: Slice
    settling_s: float
    server_cpu_us: float
    path_cpu_us: float


class Columns(TypedDict):
    """What was measured, a number for each slice (`records.Slices` has what each column is)."""

    rounds: tuple[int, ...]
    operations: tuple[float, ...]
    elapsed_s: tuple[float, ...]
    latency_sum_s: tuple[float, ...]
    client_cpu_us: tuple[float, ...]
    server_cpu_us: tuple[float, ...]
    path_cpu_us: tuple[float, ...]
    rounds_s: tuple[float, ...]
    finished: tuple[int, ...]
    lead_in: int | None


def of(
    turns: Sequence[Turn], lead_in: int | None, *, of_server: bool, of_path: bool, of_storm: bool
) -> Columns:
    """The columns of these turns, of what was done under full load, after `lead_in` operations, if all tell.

    One for all: a column that mixed whole slices and parts of them would have steps in it. `of_server` and
    `of_path` say whose CPU time is known; under full load the client has read the server's first. The
    rounds of a storm are never under full load.
    """
    parts = [turn.slice.full_load for turn in turns]
    known = [part for part in parts if part is not None]
    if lead_in is None or len(known) < len(parts):
        return _whole(turns, of_server=of_server, of_path=of_path, of_storm=of_storm)
    return _under_full_load(turns, known, lead_in, of_server=of_server, of_path=of_path)


def _whole(turns: Sequence[Turn], *, of_server: bool, of_path: bool, of_storm: bool) -> Columns:
    return Columns(
        rounds=tuple(turn.round for turn in turns),
        operations=tuple(turn.slice.operations for turn in turns),
        elapsed_s=_rounded((turn.slice.elapsed_s + turn.settling_s for turn in turns), 9),
        latency_sum_s=_rounded((turn.slice.latency_sum_s for turn in turns), 9),
        client_cpu_us=_rounded((turn.slice.cpu_us for turn in turns), 3),
        server_cpu_us=_rounded((turn.server_cpu_us for turn in turns), 3) if of_server else (),
        path_cpu_us=_rounded((turn.path_cpu_us for turn in turns), 3) if of_path else (),
        rounds_s=_rounded((sum(turn.slice.rounds_s) for turn in turns), 9) if of_storm else (),
        finished=tuple(turn.slice.operations for turn in turns),
        lead_in=None,
    )


def _under_full_load(
    turns: Sequence[Turn], parts: Sequence[FullLoadSpan], lead_in: int, *, of_server: bool, of_path: bool
) -> Columns:
    server_us = (part.cpu_of_us[0] for part in parts)
    path_us = (sum(part.cpu_of_us[int(of_server) :]) for part in parts)
    return Columns(
        rounds=tuple(turn.round for turn in turns),
        operations=_rounded((part.operations for part in parts), 6),
        elapsed_s=_rounded((part.elapsed_s for part in parts), 9),
        latency_sum_s=_rounded((part.latency_sum_s for part in parts), 9),
        client_cpu_us=_rounded((part.cpu_us for part in parts), 3),
        server_cpu_us=_rounded(server_us, 3) if of_server else (),
        path_cpu_us=_rounded(path_us, 3) if of_path else (),
        rounds_s=(),
        finished=tuple(turn.slice.operations for turn in turns),
        lead_in=lead_in,
    )


def _rounded(values: Iterable[float], digits: int) -> tuple[float, ...]:
    return tuple(round(value, digits) for value in values)
