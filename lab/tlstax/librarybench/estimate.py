"""From what was observed to the document: figures, and ratios within blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log

from tlstax.findings.core import slices as sliced
from tlstax.findings.core import stats
from tlstax.librarybench.document import Figures, LibraryBenchDocument, LibraryFacts, SubjectFigures
from tlstax.librarybench.messages import Slice
from tlstax.librarybench.order import SLICE_S
from tlstax.librarybench.records import Run, Turns
from tlstax.librarybench.subjects import Side
from tlstax.records.slices import Slices
from tlstax.results.interval import Interval

CONFIDENCE = 0.95

MOST_NAMED = 5
"""How many functions are named that take most locks."""

OUTCOMES: dict[Side, str] = {"server": "server_cpu_us_per_op", "client": "client_cpu_us_per_op"}


def document(run: Run) -> LibraryBenchDocument:
    """What a run shows."""
    blocks = len({turns.sitting.block for turns in run.turns})
    return LibraryBenchDocument(
        status=run.status,
        started_at=run.started_at,
        tlstax_version=run.tlstax_version,
        seed=run.seed,
        slice_s=SLICE_S,
        blocks=blocks,
        machine=run.machine,
        cpu=run.cpu,
        libraries=tuple(
            LibraryFacts(
                name=library.name,
                version=library.version,
                libssl_sha256=library.libssl_sha256,
                libcrypto_sha256=library.libcrypto_sha256,
            )
            for library in run.libraries
        ),
        subjects=tuple(
            SubjectFigures(subject=subject, label=subject.label, libraries=_of_subject(run, number))
            for number, subject in enumerate(run.subjects)
        ),
        counted_by=run.counted_by,
        caveats=tuple(_caveats(run, blocks)),
    )


def _of_subject(run: Run, number: int) -> tuple[Figures, ...]:
    turns = [each for each in run.turns if each.sitting.subject == number]
    counted = {each.library: each for each in run.instructions if each.subject == number}
    found = []
    for place, library in enumerate(run.libraries):
        negotiated = library.subjects[number]
        if negotiated is None:
            found.append(Figures(library=library.name, refused=library.refused[number]))
            continue
        values: dict[str, Interval | float | None] = {}
        if place in counted:
            values["instructions"] = counted[place].per_operation
            values["atomic_instructions"] = counted[place].atomic_per_operation
        for side in OUTCOMES:
            values[f"{side}_cpu_us"] = _value(turns, place, side)
            values[f"{side}_ratio"] = _ratio(turns, place, side) if place else None
        locks = [each for each in run.locks if (each.subject, each.library) == (number, place)]
        for each in locks:
            values[f"{each.side}_locks"] = sum(taker.per_operation for taker in each.takers)
        takers = {each.side: each.takers[:MOST_NAMED] for each in locks}
        known = {"library": library.name, "negotiated": negotiated, "lock_takers": takers}
        found.append(Figures.model_validate({**known, **values}))
    return tuple(found)


def _value(turns: Sequence[Turns], place: int, side: Side) -> Interval | None:
    """The geometric mean over blocks of the median slice's."""
    each = (_turns_of(block, place) for block in turns)
    found = [value for one in each if one is not None and (value := one.value(OUTCOMES[side]))]
    return stats.interval([log(value) for value in found], CONFIDENCE) if found else None


def _ratio(turns: Sequence[Turns], place: int, side: Side) -> Interval | None:
    """To the first library's: the median of that of neighbouring slices, pooled over blocks."""
    sides = ((_turns_of(block, place), _turns_of(block, 0)) for block in turns)
    found = [sliced.log_ratio_of_neighbours(OUTCOMES[side], pair) for pair in sides]
    logs = [ratio for ratio in found if ratio is not None]
    return stats.interval(logs, CONFIDENCE) if logs else None


def _turns_of(turns: Turns, place: int) -> sliced.Turns | None:
    """A library's slices as the estimator takes them; a pair of neighbours is one of the same round."""
    own = turns.slices[place]
    if not own:
        return None
    slices = Slices(
        sitting=turns.sitting.number,
        length_s=SLICE_S,
        took_s=0.0,
        rounds=tuple(range(len(own))),
        operations=_column(own, "operations"),
        elapsed_s=_column(own, "elapsed_s"),
        latency_sum_s=(0.0,) * len(own),
        client_cpu_us=_column(own, "client_cpu_us"),
        server_cpu_us=_column(own, "server_cpu_us"),
    )
    return sliced.Turns(turns.sitting.block, None, slices)


def _column(slices: Sequence[Slice], name: str) -> tuple[float, ...]:
    return tuple(float(getattr(each, name)) for each in slices)


def _caveats(run: Run, blocks: int) -> Iterator[str]:
    if run.status == "interrupted":
        yield "it was interrupted: what had been measured before that counts"
    if run.status == "failed":
        yield f"it failed before its end: {run.why}"
    if blocks == 1:
        yield "one block: inconclusive"
    if run.beside_another:
        yield "another run measured on the same processors meanwhile"
    if run.counted_by:
        yield (
            f"instructions were counted by callgrind ({run.counted_by}), whose processor has no AVX-512: on "
            "one that has, libraries may take another way"
        )
