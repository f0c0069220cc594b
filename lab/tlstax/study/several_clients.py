"""What a study cannot have where its load comes from several machines. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.study.cpu_features import OWN_FEATURES
from tlstax.study.design import Study
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import DIRECT, ENGINE, OWN, STORM
from tlstax.support.errors import UserMistake

RATHER = "leave it out, or --clients-on"


def check_shared(study: Study) -> None:
    """UserMistake where the study asks for what only a client on the server's own machine can do."""
    if study.capture:
        raise UserMistake(
            "--capture needs a client on the server's own machine, where its tap is", remedy=RATHER
        )
    for case in study.included():
        for what, why in _cannot(case):
            raise UserMistake(f"{what}, where the load comes from other machines: {why}", remedy=RATHER)


def _cannot(case: CaseLevels) -> Iterator[tuple[str, str]]:
    """What is asked for of a case in vain, and why."""
    if case.client != ENGINE:
        yield f"client {case.client} cannot be measured", "only tlstax's own engine can share a load"
    if case.client_tls_library != OWN:
        yield (
            f"the client's TLS library cannot be {case.client_tls_library}",
            "each machine's client runs over that machine's own",
        )
    if case.cpu_features != OWN_FEATURES:
        yield (
            f"cpu_features cannot be {case.cpu_features}",
            "each machine's client finds the instructions of its own processor",
        )
    if case.workload == STORM:
        yield "a storm cannot be measured", "it opens all its connections at one moment, from one client"
    if case.path != DIRECT:
        yield f"path {case.path} cannot be measured", "its programs stand on the server's own machine"
    if case.distance.is_any:
        yield "a distance cannot be made", "there is a real network between them"
