"""What a run takes of an external server, as a frozen type; a run's header has one for each."""

from __future__ import annotations

from tlstax.contract import Frozen


class ExternalServer(Frozen):
    """How many connections an external server had room for, and what a run took of them.

    `server` is its level of the factor `server`, None where the study has it alone and names none.
    `in_use` were there without this run's; of what was free the run might have `at_most` at once, and was
    `promised`, by the server's own count, with the laboratory's own. Where cases have fewer connections than
    the study says, so that they can take turns, that number is `fewer_than`. A question is answered within
    `round_trip_s`. `no_plaintext` is why nobody logged in in the clear, empty where some
    did, and `no_tables` why nothing was made there that the study would have had made.
    """

    server: str | None = None
    max_connections: int
    in_use: int
    at_most: int
    promised: int
    fewer_than: int | None = None
    round_trip_s: float = 0.0
    no_plaintext: str = ""
    no_tables: str = ""
