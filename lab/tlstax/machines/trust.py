"""Whether what the machines of a run say to each other may cross the network between them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tlstax.machines.cluster import Node
from tlstax.plan.addresses import is_loopback
from tlstax.support.errors import UserMistake

RAY_TLS = "RAY_USE_TLS"
"""By this variable Ray encrypts what it carries (Ray's manual, "TLS authentication")."""


def check_trusted(nodes: Sequence[Node], *, is_private: bool, is_trusted: bool) -> None:
    """UserMistake where others might be on the network between these machines, and nobody says that none are.

    A private server listens on it for as long as the run takes. Passwords go to load machines over an
    encrypted connection, but whose it is, is known by what Ray carries.
    """
    if is_trusted or all(is_loopback(node.address) for node in nodes):
        return
    if is_private:
        raise UserMistake(
            "--server-on has a private server listen on the network between the machines for as long as the "
            "run takes, with a certificate, accounts and data that were made for it",
            remedy="say --trust-network if nobody else is on that network",
        )
    if os.environ.get(RAY_TLS, "") not in {"1", "true", "True"}:
        raise UserMistake(
            "the password of the external server would go to the load machines that this Ray cluster names, "
            "and its TLS is off, so that others on the network could name theirs",
            remedy=f"switch Ray's TLS on ({RAY_TLS}=1, as its manual says), or say --trust-network",
        )
