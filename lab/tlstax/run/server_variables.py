"""What is set at a running server for one trial: whether it accepts TLS, and when a commit is on the disk.

The very process is set, so that nothing else differs between two cases. What is in force is read back while
it is in force, and everything is put back as it was when the trial ends, however it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import NamedTuple

from tlstax.run.bench import Bench
from tlstax.run.benches import Benches
from tlstax.study import Study
from tlstax.study.client_kinds import kind_of
from tlstax.study.factors import CaseLevels
from tlstax.support.errors import MachineFault, UserMistake


class InForce(NamedTuple):
    """What held at the server during a trial; None where its case leaves it alone.

    `tls_versions` are those that it accepted, empty where it accepted no TLS; `durability` is a level, or the
    server's own setting where that is none.
    """

    tls_versions: str | None = None
    durability: str | None = None


def check_switchable(study: Study, benches: Benches) -> None:
    """UserMistake when TLS is to be switched at a server that cannot do that while it runs."""
    choices = dict.fromkeys(case.server_choice for case in study.included() if case.is_switched_at_server)
    for choice in choices:
        with benches.using(choice) as bench:
            if not bench.server.product.server_tls.can_switch(bench.admin):
                raise UserMistake(
                    f"{choice.words()} cannot turn TLS off and on while it runs, as tls_switch=server asks "
                    "for; MySQL can from 8.0.16 on",
                    remedy="leave it out, or leave tls_switch at client",
                )


@contextmanager
def applied(levels: CaseLevels, bench: Bench) -> Iterator[None]:
    """The server as the case with these levels wants it, until the block ends.

    MachineFault when it cannot be set. Where the block fails, its own error is the one that is
    reported: a server that died has nothing to be put back, and starts anew with what it had.
    """
    undo: list[Callable[[], None]] = []
    try:
        for set_it in (_switch_tls, _set_durability):
            set_it(levels, bench, undo)
        yield
    except BaseException:
        with suppress(MachineFault):
            _put_back(undo)
        raise
    _put_back(undo)


def in_force(case: CaseLevels, bench: Bench) -> InForce:
    """What holds at the server now, of what its case sets, and what it accepts of a client that asks nothing.

    It logs in once more, because only a greeting says what a new connection would meet: after a reload that
    failed, the variables say one thing and the server does another.
    """
    versions = durability = None
    server_tls = bench.server.product.server_tls
    if kind_of(case.client).is_silent_at(bench.server.product.name):
        versions = server_tls.session_versions(bench.admin)
    if case.is_switched_at_server:
        with closing(bench.server.admin()) as fresh:
            facts = server_tls.facts(fresh)
        reported = ",".join(facts.versions) or "versions that it does not report"
        versions = reported if facts.offered else server_tls.NO_TLS
    if case.durability is not None:
        durability = bench.server.product.server_facts.durability(bench.admin)
    return InForce(versions, durability)


def _switch_tls(case: CaseLevels, bench: Bench, undo: list[Callable[[], None]]) -> None:
    if case.is_encrypted or not case.is_switched_at_server:
        return
    server_tls = bench.server.product.server_tls
    before = server_tls.accepted_versions(bench.admin)
    undo.append(lambda: server_tls.accept(bench.admin, before))
    server_tls.accept(bench.admin, server_tls.NO_TLS)


def _set_durability(case: CaseLevels, bench: Bench, undo: list[Callable[[], None]]) -> None:
    wanted = case.durability
    if wanted is None:
        return
    server_facts = bench.server.product.server_facts
    before = server_facts.durability(bench.admin)
    undo.append(lambda: server_facts.set_durability(bench.admin, before))
    server_facts.set_durability(bench.admin, wanted)


def _put_back(undo: list[Callable[[], None]]) -> None:
    """All that can be put back; MachineFault for the first that cannot."""
    faults = []
    for step in reversed(undo):
        try:
            step()
        except MachineFault as fault:
            faults.append(fault)
    if faults:
        raise faults[0]
