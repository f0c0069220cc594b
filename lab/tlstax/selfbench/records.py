"""What is learned of held connections, and of the server that holds them."""

from __future__ import annotations

from typing import Literal

from tlstax.contract import Done, Frozen, Ready
from tlstax.records.trial import ServerCpu
from tlstax.selfbench.plan import Trial

Status = Literal["complete", "interrupted", "failed"]


class Observation(Frozen):
    """All that one trial left behind, before it is judged.

    `setup_delta` is the change of the server's global status counters from before the client started to its
    `ready`, `window_delta` over the window. `server_cpu` is of the window. `row_mismatches` names statements
    whose rows were not the server's.
    """

    trial: Trial
    ready: Ready | None = None
    done: Done | None = None
    setup_delta: dict[str, int] = {}
    window_delta: dict[str, int] = {}
    server_cpu: ServerCpu | None = None
    row_mismatches: tuple[str, ...] = ()


class ServerFacts(Frozen):
    """The server that holds them; `tls_versions` are those that it accepts."""

    name: str
    version: str
    tls_library_version: str | None
    tls_versions: str
