"""What to bear in mind about a run of the self-bench, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from tlstax.selfbench.document import CellFigures, TrialCounts
from tlstax.selfbench.plan import CONTESTANTS
from tlstax.selfbench.proof import TLS_1_3
from tlstax.selfbench.records import Header, Run
from tlstax.selfbench.words import cell_words
from tlstax.support.text import counted, enumerated
from tlstax.topics.answer.caveats import BESIDE_ANOTHER, CLIENT_BOUND_SHARE, FEW_BLOCKS


def of_run(run: Run, blocks: int, cells: Sequence[CellFigures], counts: TrialCounts) -> tuple[str, ...]:
    """What bears on the whole run, the gravest first."""
    return (
        *_ended(run, blocks),
        *([BESIDE_ANOTHER] if run.beside_another else []),
        *_absent(run.header),
        *_rejected(counts),
        *_negotiated_differently(cells),
        *_client_bound(cells),
        *_instructions(run.header),
        *run.header.machine.notes,
    )


def _ended(run: Run, blocks: int) -> list[str]:
    kept = f"{counted(blocks, 'complete block')} kept"
    found = {
        "complete": [],
        "interrupted": [f"the run was interrupted: {kept}"],
        "failed": [f"the run failed ({run.why}): {kept}"],
    }[run.status]
    if blocks == 1:
        return [*found, "one block only: there are no intervals; a longer --budget gives more blocks"]
    if 0 < blocks < FEW_BLOCKS:
        return [*found, f"{blocks} blocks only: the intervals rest on hardly any evidence"]
    return found


def _absent(header: Header) -> list[str]:
    return [f"there is no {absence.contestant} to compare with: {absence.why}" for absence in header.absent]


def _rejected(counts: TrialCounts) -> list[str]:
    if not counts.rejected:
        return []
    total = counted(counts.valid + counts.invalid, "trial")
    first = counts.rejected[0]
    return [
        f"{counts.invalid} of {total} not valid and left out; most often the {first.contestant}, "
        f"{cell_words(first)}: {first.reason}"
    ]


def _negotiated_differently(cells: Sequence[CellFigures]) -> list[str]:
    """A contestant with another cipher does other work; said once for each difference.

    One that did not ask the server which cipher it was says nothing to compare.
    """
    found: dict[str, None] = {}
    for cell in cells:
        said = {name: getattr(cell, name).negotiated for name in CONTESTANTS if getattr(cell, name)}
        seen = {name: words for name, words in said.items() if words != TLS_1_3}
        if len(set(seen.values())) > 1:
            found[", ".join(f"the {name} {words}" for name, words in seen.items())] = None
    return [f"they did not negotiate the same: {words}" for words in found]


def _client_bound(cells: Sequence[CellFigures]) -> list[str]:
    """Where a client is at its limit, operations a second describe the client, not of the server."""
    bound = []
    for name in CONTESTANTS:
        shares = [(figures.client_cpu_share, c) for c in cells if (figures := getattr(c, name))]
        many = sum(1 for share, _ in shares if share is not None and share.point > CLIENT_BOUND_SHARE)
        if many:
            bound.append(f"the {name} in {many} of {counted(len(shares), 'cell')}")
    if not bound:
        return []
    return [f"the client's CPU was busy all the time, so that the client set the rate: {enumerated(bound)}"]


def _instructions(header: Header) -> list[str]:
    why = header.why_no_instructions
    return [f"instructions were not counted: {why}"] if why else []
