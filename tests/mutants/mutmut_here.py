"""Runs mutmut in the folder where it is started, with the changes that suit arithmetic. Started by run.py.

mutmut's own kinds of change, but for one: text gets a mark at either end, and only where it is a name or a
key. Upper and lower case as well would count one assertion three times; and sentences, which have spaces, are
for a reader to judge. `max` and `min`, `all` and `any` are exchanged too, which mutmut does not do.

No change is ended after N seconds by the clock, as mutmut does beside its limit of CPU time: on a
busy machine that ends tests which have hardly begun, and what is ended counts as noticed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from random import Random

import hypothesis  # noqa: F401 (slow to import: each change is tried in a fork of this process, which has it then)
import libcst
import scipy.special  # noqa: F401 (the same)
from mutmut.__main__ import cli
from mutmut.mutation import mutators
from mutmut.workers import isolation

OPPOSITES = {"max": "min", "min": "max", "all": "any", "any": "all"}


def marked(node: libcst.BaseString) -> Iterable[libcst.BaseString]:
    """A name or a key that is another."""
    if isinstance(node, libcst.SimpleString) and " " not in node.value:
        yield from list(mutators.operator_string(node))[:1]


def opposite(node: libcst.Call) -> Iterable[libcst.Call]:
    """The call of the function that chooses the other way."""
    if isinstance(node.func, libcst.Name) and node.func.value in OPPOSITES:
        yield node.with_changes(func=libcst.Name(OPPOSITES[node.func.value]))


Kind = Callable[[libcst.CSTNode], Iterable[libcst.CSTNode]]


def drawn(change: Kind, share: float, seed: str) -> Kind:
    """The same kind of change, but only where it is drawn: by what becomes what, the same each time."""

    def some(node: libcst.CSTNode) -> Iterable[libcst.CSTNode]:
        nothing = libcst.Module([])
        own = nothing.code_for_node(node)
        for changed in change(node):
            if Random(f"{seed} {own} {nothing.code_for_node(changed)}").random() < share:  # noqa: S311
                yield changed

    return some


def never(pid: int, timeout_s: float) -> None:
    """Does not end a process after this time."""


def main() -> None:
    """Puts the kinds of change in place; mutmut does what the command line says behind share and seed."""
    isolation.register_timeout = never
    share, seed = float(sys.argv.pop(1)), sys.argv.pop(1)
    kinds = mutators.mutation_operators
    kinds[:] = [(kind, marked if change is mutators.operator_string else change) for kind, change in kinds]
    kinds.append((libcst.Call, opposite))
    if share < 1:
        kinds[:] = [(kind, drawn(change, share, seed)) for kind, change in kinds]
    cli()


if __name__ == "__main__":
    main()
