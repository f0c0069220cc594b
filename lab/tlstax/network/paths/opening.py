"""Starts a path by its name: the programs between client and server, ready to carry connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tlstax.network.paths.design import Design
from tlstax.network.paths.ends import Ends
from tlstax.network.paths.haproxy import Haproxy
from tlstax.network.paths.route import RunningPath
from tlstax.network.paths.router import MODES, Router
from tlstax.network.paths.running import Running
from tlstax.network.paths.ssh import Ssh
from tlstax.network.paths.stunnel import Stunnel
from tlstax.records.trial import Specimen
from tlstax.specimens import catalogue, resolve, shelf
from tlstax.specimens.progress import Progress
from tlstax.specimens.recipe import Recipe
from tlstax.study.path_tls import SSH_CIPHERS
from tlstax.support.errors import MachineFault

KINDS: dict[str, tuple[Recipe, Callable[[], Design]]] = {
    **{name: (catalogue.OPENSSH, lambda name=name: Ssh(name)) for name in SSH_CIPHERS},  # type: ignore[misc]
    "stunnel": (catalogue.STUNNEL, Stunnel),
    "haproxy": (catalogue.HAPROXY, lambda: Haproxy(tls=False)),
    "haproxy-tls": (catalogue.HAPROXY, lambda: Haproxy(tls=True)),
    **{name: (catalogue.MYSQL_ROUTER, lambda name=name: Router(name)) for name in MODES},  # type: ignore[misc]
}
"""What each level of `path` is made of; `direct` and `unix-socket` have no program."""


def obtain_path(name: str, say: Progress) -> Specimen:
    """The specimen that a path is made of, fetched where it is not there yet. MachineFault."""
    recipe, _ = KINDS[name]
    return resolve.specimen_of(shelf.obtain(recipe, say), f"for the path {name}")


@contextmanager
def open_path(name: str, ends: Ends) -> Iterator[RunningPath]:
    """The path of this name, running, and stopped with the block. MachineFault where it does not come up."""
    recipe, design = KINDS[name]
    kept = shelf.present(recipe)
    if kept is None:
        raise MachineFault(f"{recipe.title} has not been fetched", remedy="start again with a network")
    running = Running(name, kept, design, ends)
    try:
        running.start()
        yield running
    finally:
        running.stop()
