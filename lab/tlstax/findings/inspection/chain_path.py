"""Which certificates that a server sent lead from its own towards a root, and which do not. Pure.

A client follows issuers' names from the server's certificate on (RFC 5280, 6.1; RFC 8446, 4.4.2): what
else is sent costs bytes, and what is missing is an authority that it cannot reach.
"""

from __future__ import annotations

from collections.abc import Sequence

from tlstax.results.inspection import Certificate


def path(chain: Sequence[Certificate]) -> tuple[Certificate, ...]:
    """From the server's own certificate to issuer after issuer, as far as they were sent."""
    if not chain:
        return ()
    way = [chain[0]]
    while not way[-1].is_self_signed:
        issuer = next((own for own in chain if own.subject == way[-1].issuer and own not in way), None)
        if issuer is None:
            break
        way.append(issuer)
    return tuple(way)


def missing_issuer(chain: Sequence[Certificate]) -> str:
    """The name of the authority whose certificate was not sent; empty where the path ends in a root."""
    way = path(chain)
    return "" if not way or way[-1].is_self_signed else way[-1].issuer


def duplicates(chain: Sequence[Certificate]) -> tuple[Certificate, ...]:
    """Those that were sent before, each as often as it was sent again."""
    return tuple(
        own for place, own in enumerate(chain) if own.sha256 in {old.sha256 for old in chain[:place]}
    )


def unrelated(chain: Sequence[Certificate]) -> tuple[Certificate, ...]:
    """Those that did not issue anything on the path, each once."""
    way = {own.sha256 for own in path(chain)}
    return tuple({own.sha256: own for own in chain if own.sha256 not in way}.values())


def is_out_of_order(chain: Sequence[Certificate]) -> bool:
    """Whether the certificates of the path were not sent in its order."""
    way = [own.sha256 for own in path(chain)]
    sent = list(dict.fromkeys(own.sha256 for own in chain))
    return [sha256 for sha256 in sent if sha256 in way] != way
