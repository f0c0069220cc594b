"""What an operation costs over each library: figures and ratios within blocks, and how they are shown.

A row has the outcome of one side of a subject over one library: by itself ("cost"), and beside the first
library ("ratio"). What was counted has rows of its own, as has each library, what one cannot do, and what is
told of a run beside. The last library is the first again: how far its ratios are from 1 is chance, and
smaller differences of others cannot be told from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import log

from tlstax.records.window import Slices
from tlstax.results.document import BenchDocument
from tlstax.results.interval import Interval
from tlstax.results.rows import Row, Told, by_label
from tlstax.stats import slices as sliced
from tlstax.stats import stats
from tlstax.stats.wording import percent
from tlstax.support.text import counted
from tlstax.tools.librarybench.split import SPLIT, SPLIT_COLUMNS, beside, sentences
from tlstax.tools.librarybench.subjects import DONE_BY, SIDES, SLICE_S, Negotiated, Run, Side, Slice, Turns
from tlstax.topics.core import columns
from tlstax.topics.core.columns import Column
from tlstax.topics.core.facts import machine_words
from tlstax.topics.core.figures import NOTHING, quantity, significant
from tlstax.topics.core.section import Block, Items, Roomy, Section
from tlstax.topics.core.table import Cell, Number, Table, ratio
from tlstax.topics.core.topic import TopicOf

CONFIDENCE = 0.95

MOST_NAMED = 5
"""How many functions are named that take most locks."""

OUTCOMES: dict[Side, str] = {"server": "server_cpu_us_per_op", "client": "client_cpu_us_per_op"}

COST, RATIO, INSTRUCTIONS, LOCKS, TAKER = "cost", "ratio", "instructions", "locks", "taker"
LIBRARY, REFUSED = "library", "refused"


def rows(run: Run) -> Iterator[Row]:
    """The libraries, then each subject over each, then what that tells of a run beside."""
    for library in run.libraries:
        names = ("version", "libssl_sha256", "libcrypto_sha256")
        yield Row(role=LIBRARY, label=library.name, more={name: getattr(library, name) for name in names})
    of_subjects = [row for number in range(len(run.subjects)) for row in _of_subject(run, number)]
    yield from of_subjects
    if run.beside is not None:
        costs = {
            (row.label, str(row.case["library"])): row.known
            for row in of_subjects
            if (row.role, row.outcome) == (COST, OUTCOMES["server"])
        }
        yield from beside(run.beside, costs)


def _of_subject(run: Run, number: int) -> Iterator[Row]:
    subject = run.subjects[number]
    turns = [each for each in run.turns if each.sitting.subject == number]
    for place, library in enumerate(run.libraries):
        of_library = partial(Row, label=subject.label, case={**subject.levels, "library": library.name})
        negotiated = library.subjects[number]
        if negotiated is None:
            yield of_library(role=REFUSED, more={"why": library.refused[number]})
            continue
        for side, outcome in OUTCOMES.items():
            of_side = partial(of_library, outcome=outcome, unit="us", negotiated=_words(negotiated))
            value = _value(turns, place, side)
            beside_first = _ratio(turns, place, side) if place else None
            if value is not None:
                yield of_side(role=COST, interval=value)
            if value is not None and beside_first is not None:
                first = {**subject.levels, "library": run.libraries[0].name}
                yield of_side(
                    role=RATIO, baseline=first, value=value.point, interval=beside_first, of="ratio"
                )
        yield from _counted(run, (number, place), of_library)


def _counted(run: Run, place: tuple[int, int], of_library: Callable[..., Row]) -> Iterator[Row]:
    """What was counted of an operation over a library, which is at this place, and who takes most locks."""
    for each in run.instructions:
        if (each.subject, each.library) == place:
            atomic = each.atomic_per_operation
            yield of_library(role=INSTRUCTIONS, outcome="instructions", value=each.per_operation)
            yield of_library(role=INSTRUCTIONS, outcome="atomic_instructions", value=atomic)
    for own in run.locks:
        if (own.subject, own.library) == place:
            of_side = partial(of_library, outcome=f"{own.side}_locks")
            yield of_side(role=LOCKS, value=sum(taker.per_operation for taker in own.takers))
            for taker in own.takers[:MOST_NAMED]:
                more = {"side": own.side, "function": taker.function, columns.LIBRARY.name: taker.library}
                yield of_side(role=TAKER, value=taker.per_operation, more=more)


def _words(negotiated: Negotiated) -> str:
    """What a connection agreed on, as findings say it; empty where there is none."""
    agreed = " ".join(filter(None, (negotiated.version, negotiated.cipher, negotiated.group)))
    return f"{agreed}, resumed" if negotiated.resumed else agreed


def _value(turns: Sequence[Turns], place: int, side: Side) -> Interval | None:
    """The geometric mean over blocks of the median slice's."""
    each = (_turns_of(block, place) for block in turns)
    values = [value for own in each if own is not None and (value := own.value(OUTCOMES[side]))]
    return stats.interval([log(value) for value in values], CONFIDENCE) if values else None


def _ratio(turns: Sequence[Turns], place: int, side: Side) -> Interval | None:
    """To the first library's: the median of that of neighbouring slices, pooled over blocks."""
    sides = ((_turns_of(block, place), _turns_of(block, 0)) for block in turns)
    ratios = [sliced.log_ratio_of_neighbours(OUTCOMES[side], pair) for pair in sides]
    logs = [ratio for ratio in ratios if ratio is not None]
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


def document(run: Run) -> BenchDocument:
    """What a bench of libraries shows."""
    blocks = len({turns.sitting.block for turns in run.turns})
    return BenchDocument(
        bench=TOPIC.name,
        status=run.status,
        stopped_because=run.why if run.status == "failed" else "",
        started_at=run.started_at,
        tlstax_version=run.tlstax_version,
        seed=run.seed,
        machine=run.machine,
        specimens=run.specimens,
        facts={
            "budget_s": run.budget_s,
            "slice_s": SLICE_S,
            "blocks": blocks,
            "cpu": run.cpu,
            "run_beside": run.beside.run if run.beside is not None else "",
            "counted_by": run.counted_by,
        },
        told=TOPIC.told(run),
        caveats=tuple(_caveats(run, blocks)),
    )


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


SPLIT_HEADS = ("TLS adds", "library alone", "the server")

COUNTED = {
    "instructions": "instructions",
    "atomic": "atomic_instructions",
    "server's\nlocks": "server_locks",
    "client's\nlocks": "client_locks",
}
"""What is counted besides, by its head in the table: the outcome."""


def sections(told: Told, document: BenchDocument) -> Iterator[Section]:
    """A table for each subject, or where there is room one of all; the run beside; what ran."""
    subjects = {
        label: own
        for label, own in by_label(row for row in told.rows if "library" in row.case).items()
        if any(row.role == COST for row in own)  # One that was interrupted may not have come to it.
    }
    counts = _counted_heads(row for own in subjects.values() for row in own)
    heads = ("library", *("server", "change", "client", "change"), *counts)
    all_lines = [
        (label, library, *_costs(own, library, SIDES), *_counts(own, library, counts))
        for label, own in subjects.items()
        for library in _libraries(own)
    ]
    takers = (f"{label}: {words}" for label, own in subjects.items() for words in _takers(own))
    whole = (Table("", heads, all_lines, (), of="subject"), Items(tuple(takers), all_of_them=True))
    each = (block for label, own in subjects.items() for block in _subject(label, own))
    yield Section((Roomy(whole, otherwise=tuple(each)),), TOPIC.title)
    if splits := told.of(role=SPLIT):
        title = f"What TLS costs the server of a new connection, run {document.facts['run_beside']}"
        table = Table("", SPLIT_HEADS, [(row.label, *_split_cells(row)) for row in splits], ())
        yield Section((table, Items(told.sentences, all_of_them=True)), title)
    yield Section((Items((*_facts(told, document), *document.caveats), all_of_them=True),))


def _counted_heads(own: Iterable[Row]) -> tuple[str, ...]:
    """The heads of what was counted of anything."""
    outcomes = {row.outcome for row in own}
    return tuple(head for head, outcome in COUNTED.items() if outcome in outcomes)


def _subject(label: str, own: Sequence[Row]) -> Iterator[Block]:
    """A line a library; who takes most of its locks."""
    counts = _counted_heads(own)
    done_by = _done_by(own)
    sides: Sequence[Side] = SIDES if len(set(done_by.values())) > 1 else SIDES[:1]
    heads = [head for side in sides for head in (done_by[side], "change")]
    lines = [
        (library, *_costs(own, library, sides), *_counts(own, library, counts)) for library in _libraries(own)
    ]
    yield Table(label, (*heads, *counts), lines, ())
    yield Items(tuple(_takers(own)), all_of_them=True)


def _done_by(own: Sequence[Row]) -> Mapping[str, str]:
    """What either side does in this subject: both the same in a key exchange."""
    return DONE_BY[str(own[0].case["measure"])]


def _libraries(own: Iterable[Row]) -> Iterable[str]:
    return dict.fromkeys(str(row.case["library"]) for row in own)


def _costs(own: Sequence[Row], library: str, sides: Iterable[Side]) -> Iterator[Cell]:
    """What either side costs, and its change with its interval."""
    for side in sides:
        known = {
            row.role: row for row in own if (row.case["library"], row.outcome) == (library, OUTCOMES[side])
        }
        yield Number(known[COST].value if COST in known else None, said=_us)
        if RATIO not in known:
            yield "" if COST in known else NOTHING
            continue
        yield replace(ratio(known[RATIO].ratio), is_whole=True)


_us = partial(quantity, unit="us")


def _counts(own: Sequence[Row], library: str, heads: Iterable[str]) -> Iterator[Cell]:
    known = {row.outcome: row.value for row in own if row.case["library"] == library and row.role != TAKER}
    for head in heads:
        yield Number(known.get(COUNTED[head]), said=partial(significant, digits=4))


def _takers(own: Sequence[Row]) -> Iterator[str]:
    """Who takes most of the counted locks: "openssl-3.0.2, client: ossl_lib_ctx_get_data 543, …"."""
    takers, done_by = [row for row in own if row.role == TAKER], _done_by(own)
    for library, side in dict.fromkeys((row.case["library"], row.word("side")) for row in takers):
        named = (
            f"{row.word('function') or row.word(columns.LIBRARY.name)} {significant(row.value or 0)}"
            for row in takers
            if (row.case["library"], row.word("side")) == (library, side)
        )
        yield f"{library}, {done_by[side]}: {', '.join(named)}"


def _split_cells(split: Row) -> tuple[Cell, ...]:
    added, alone = split.difference.point, split.number("library_us") or 0.0
    return _us(added), f"{_us(alone)} ({percent(alone / added)})", _us(split.number("server_us") or 0.0)


def _facts(told: Told, document: BenchDocument) -> Iterator[str]:
    """What ran, where and how often; what a library cannot do."""
    for row in told.of(role=LIBRARY):
        sums = (f"{name} {row.word(f'{name}_sha256')[:8]}" for name in ("libssl", "libcrypto"))
        yield f"{row.label}: {row.word('version')}, {', '.join(sums)}"
    for row in told.of(role=REFUSED):
        yield f"{row.case['library']} cannot do {row.label}: {row.word('why')}"
    cpu = document.facts["cpu"]
    yield machine_words(document.machine) + ("" if cpu is None else f", on CPU {cpu}")
    blocks = counted(int(document.fact("blocks")), "block")
    yield (
        f"{blocks} in slices of {_us(document.fact('slice_s') * 1e6)}; "
        f"changes are against the first library, at 95 %; seed {document.seed}, {document.started_at}"
    )
    yield "changes are taken between neighbouring slices, so they are not exactly those of the figures here"


COLUMNS = (
    columns.SIDE,
    columns.FUNCTION,
    columns.LIBRARY,
    *SPLIT_COLUMNS,
    Column("version", "TEXT", "what the library says of itself"),
    Column("libssl_sha256", "TEXT", "the checksum of the libssl that was mapped"),
    Column("libcrypto_sha256", "TEXT", "the checksum of the libcrypto that was mapped"),
    Column("why", "TEXT", "why the library cannot do it"),
)

FACTS = (
    Column("budget_s", "REAL", "how long libraries took turns", "seconds"),
    Column("slice_s", "REAL", "how long a slice lasts", "seconds"),
    Column("blocks", "INTEGER", "how many blocks have begun"),
    Column("cpu", "INTEGER", "the processor that all programs were bound to; null for none"),
    Column("run_beside", "TEXT", "the run that they are set beside; empty for none"),
    Column("counted_by", "TEXT", "what counted instructions, and its version; empty where nothing did"),
)

TOPIC = TopicOf(
    "library-bench",
    "TLS libraries alone: CPU time of one operation, both sides in one process",
    rows,
    sections,
    sentences,
    COLUMNS,
)
