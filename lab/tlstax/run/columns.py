"""What a client did in its turns, as columns: of whole slices, or of their parts under full load. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict

from tlstax.contract import FullLoadSpan, Slice


@dataclass(frozen=True)
class Turn:
    """A slice in the round with this number: what the client reports, and what was read at its two ends.

    After it the server went on with it for `settling_s`. The CPU times are those of the server and of all
    programs of the path, 0 where they are out of reach. One that `began_apart`, on several machines, counts
    nowhere.
    """

    round: int
    slice: Slice
    settling_s: float
    server_cpu_us: float
    path_cpu_us: float
    began_apart: bool = False


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
    """The columns of these turns, of what was done under full load, after `lead_in` operations, if most tell.

    A slice of which the client does not tell was over before all connections had been at work, which happens
    where other programs have the processors: nothing of it counts. One kind for all: a column that mixed
    whole slices and parts of them would have steps in it. `of_server` and `of_path` say whose CPU time is
    known; under full load the client has read the server's first. The rounds of a storm are never under full
    load.
    """
    parts = [turn.slice.full_load for turn in turns]
    telling = sum(part is not None for part in parts)
    if lead_in is None or 2 * telling <= len(parts):
        return _whole(turns, of_server=of_server, of_path=of_path, of_storm=of_storm)
    return _under_full_load(turns, parts, lead_in, of_server=of_server, of_path=of_path)


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
    turns: Sequence[Turn],
    parts: Sequence[FullLoadSpan | None],
    lead_in: int,
    *,
    of_server: bool,
    of_path: bool,
) -> Columns:
    def column(of_part: Callable[[FullLoadSpan], float], digits: int) -> tuple[float, ...]:
        return _rounded((of_part(part) if part is not None else 0.0 for part in parts), digits)

    return Columns(
        rounds=tuple(turn.round for turn in turns),
        operations=column(lambda part: part.operations, 6),
        elapsed_s=column(lambda part: part.elapsed_s, 9),
        latency_sum_s=column(lambda part: part.latency_sum_s, 9),
        client_cpu_us=column(lambda part: part.cpu_us, 3),
        server_cpu_us=column(lambda part: part.cpu_of_us[0], 3) if of_server else (),
        path_cpu_us=column(lambda part: sum(part.cpu_of_us[int(of_server) :]), 3) if of_path else (),
        rounds_s=(),
        finished=tuple(turn.slice.operations for turn in turns),
        lead_in=lead_in,
    )


def _rounded(values: Iterable[float], digits: int) -> tuple[float, ...]:
    return tuple(round(value, digits) for value in values)
