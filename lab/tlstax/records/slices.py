"""What a case did in its slices of a sitting, slice by slice, as frozen types."""

from __future__ import annotations

from typing import Self

from pydantic import PositiveInt, field_validator, model_validator

from tlstax.contract import Counts, Frozen
from tlstax.records.server_counts import Count, count_named


class Slices(Frozen):
    """The slices of one case in one sitting, in their order: a number for each in every column.

    Cases with the same `sitting` of a block took turns. `rounds` has the round that each slice belongs to:
    slices of one round are neighbours in time, within a second or so, and no round has two of a case.
    `length_s` is what each was to last. With `lead_in` the other columns are of the part of each slice in
    which all connections were at work (`contract.FullLoadSpan`), after this many operations, and 0 for a
    slice that was over before. Without, they
    are of whole slices: `elapsed_s` until the answer of the last operation, and until the server has done
    with connections that were closed; CPU times read at the slice's two ends, when nothing was in flight.
    `server_cpu_us` and `path_cpu_us` are empty where those processes are out of reach, or there is no path.
    `finished` counts all operations of each slice, its ends included (empty in older records).
    `rounds_s` is the time of a storm's round in each slice, in which its closing is not (0 where no
    connection came up); empty where there is no storm. `took_s` is how long the whole sitting took, with
    starting its clients and ending them.
    """

    sitting: int
    length_s: float
    took_s: float
    rounds: tuple[int, ...]
    operations: tuple[float, ...]
    elapsed_s: tuple[float, ...]
    latency_sum_s: tuple[float, ...]
    client_cpu_us: tuple[float, ...]
    server_cpu_us: tuple[float, ...] = ()
    path_cpu_us: tuple[float, ...] = ()
    lead_in: PositiveInt | None = None
    rounds_s: tuple[float, ...] = ()
    finished: tuple[int, ...] = ()

    @model_validator(mode="after")
    def _columns_are_alike(self) -> Self:
        count = len(self.rounds)
        always = (self.operations, self.elapsed_s, self.latency_sum_s, self.client_cpu_us)
        maybe = (self.server_cpu_us, self.path_cpu_us, self.rounds_s, self.finished)
        if any(len(column) != count for column in always) or any(len(c) not in {0, count} for c in maybe):
            raise ValueError("the columns of slices have different lengths")
        return self


class Together(Frozen):
    """What the server counted while the clients of a sitting took turns, which it cannot tell apart.

    `clients` is how many took turns at this server. `status_delta` is the change of the counters that the
    claims are held against, by the server's own names; `claims` what all these clients say, together, that
    they made of each: the least and the most (None: any number). `own` is what this client opened meanwhile.
    """

    clients: int
    status_delta: dict[str, int]
    claims: dict[Count, tuple[int, int | None]]
    own: Counts

    @field_validator("claims", mode="before")
    @classmethod
    def _by_counts(cls, claims: dict[str, object]) -> dict[str, object]:
        """Older records name a claim by the server's counter."""
        return {count_named(name): claim for name, claim in claims.items()}
