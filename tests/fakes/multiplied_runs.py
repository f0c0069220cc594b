"""Large runs made of a small recorded one: as many trials as are wanted, each of them a little different.

Every trial is a recorded one of a case like its own (the same TLS mode and workload), moved to its place.
What a report works on differs from trial to trial, so that nothing can be kept and taken for another's: times
and costs, every slice, every histogram.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from math import exp
from random import Random

from tlstax.plan.order import blocks
from tlstax.records.trial import StoredRun, Trial, TrialRecord
from tlstax.records.window import Slices
from tlstax.study import Levels, Study

ROUNDS = 20
"""Slices of a trial: those of trials of 0.4 s, which a long run has."""

NOISE = 0.02
"""Standard deviation of the logarithm of what a trial is off the recorded one; a slice is off twice that."""

_ALIKE = ("workload", "tls", "resumption")
_HEADER_BYTES = 8
_COUNTS_BEGIN = 40
"""Where the counts begin in HdrHistogram's V2 encoding, after the fields of its header."""


def multiplied(recorded: StoredRun, study: Study, trials: int, seed: int = 1) -> Iterator[TrialRecord]:
    """N trials of the study in the plan's order, whole blocks and what is left of the last one.

    The same arguments always give the same trials. `recorded` needs a valid trial of each role, and gives
    what is like a case the most in `_ALIKE`.
    """
    generator = Random(seed)  # noqa: S311 (noise, not a secret)
    models = [one for one in recorded.measured if one.verdict.value == "valid"]
    chosen: dict[str, list[TrialRecord]] = {}
    planned = (trial for block in blocks(study, recorded.header.seed) for trial in block)
    for trial in islice(planned, trials):
        key = trial.case.key()
        if key not in chosen:
            chosen[key] = _most_alike(models, trial.case.levels, trial.case.role)
        yield _moved(generator.choice(chosen[key]), trial, generator)


def _most_alike(models: Sequence[TrialRecord], levels: Levels, role: str) -> list[TrialRecord]:
    def likeness(model: TrialRecord) -> tuple[int, bool]:
        own = model.trial.case
        return sum(own.levels.get(name) == levels.get(name) for name in _ALIKE), own.role == role

    best = max(map(likeness, models))
    return [model for model in models if likeness(model) == best]


def _moved(model: TrialRecord, trial: Trial, generator: Random) -> TrialRecord:
    off = exp(generator.gauss(0, NOISE))
    update: dict[str, object] = {"trial": trial}
    if model.done is not None:
        cpu = model.done.cpu
        update["done"] = model.done.model_copy(
            update={
                "elapsed_s": model.done.elapsed_s * off,
                "cpu": cpu.model_copy(update={"total_us": cpu.total_us * off, "user_us": cpu.user_us * off}),
                "histograms_ns": {
                    phase: other_counts(text, generator) for phase, text in model.done.histograms_ns.items()
                },
            }
        )
    if model.slices is not None:
        update["slices"] = _other_slices(model.slices, off, generator)
    return model.model_copy(update=update)


def _other_slices(recorded: Slices, off: float, generator: Random) -> Slices:
    count = len(recorded.rounds)
    drawn = [generator.randrange(count) for _ in range(ROUNDS)]
    factors = [off * exp(generator.gauss(0, 2 * NOISE)) for _ in drawn]

    def column(name: str, *, varies: bool = True) -> tuple[float, ...]:
        values = getattr(recorded, name)
        if not values:
            return ()
        return tuple(
            values[place] * (factor if varies else 1) for place, factor in zip(drawn, factors, strict=True)
        )

    times = ("elapsed_s", "latency_sum_s", "client_cpu_us", "server_cpu_us", "path_cpu_us", "rounds_s")
    counts = ("operations", "finished")
    return recorded.model_copy(
        update={
            "rounds": tuple(range(ROUNDS)),
            **{name: column(name) for name in times},
            **{name: column(name, varies=False) for name in counts},
        }
    )


def other_counts(encoded: str, generator: Random) -> str:
    """A histogram as it is sent, with a few of its counts one higher.

    Counts are ZigZag varints (HdrHistogram V2): a byte below 0x80 after another one is a number of its own.
    """
    whole = base64.b64decode(encoded)
    payload = bytearray(zlib.decompress(whole[_HEADER_BYTES:]))
    places = [
        place
        for place in range(_COUNTS_BEGIN + 1, len(payload))
        if payload[place - 1] < 0x80 and 0 < payload[place] < 0x7E and payload[place] % 2 == 0
    ]
    for place in generator.sample(places, min(8, len(places))):
        payload[place] += 2
    packed = zlib.compress(bytes(payload))
    header = whole[:4] + len(packed).to_bytes(4, "big")
    return base64.b64encode(header + packed).decode()
