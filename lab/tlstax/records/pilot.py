"""What a pilot saw: short trials before the first block, by which the CPUs were shared out."""

from __future__ import annotations

from tlstax.contract import Frozen
from tlstax.study import Level


class PilotLoad(Frozen):
    """How many CPUs a case kept busy on either side while it worked: CPU seconds a second, both above 0."""

    case: dict[str, Level]
    client_busy_cpus: float
    server_busy_cpus: float

    @property
    def client_to_server(self) -> float:
        """How many CPUs the client needs for each that the server keeps busy."""
        return self.client_busy_cpus / self.server_busy_cpus


class Pilot(Frozen):
    """The pilot of a run: the CPUs that both sides had meanwhile, and what each case used of them.

    Without `loads` nothing could be measured, and the shares stayed what they were.
    """

    server_cpus: tuple[int, ...]
    client_cpus: tuple[int, ...]
    loads: tuple[PilotLoad, ...] = ()

    @property
    def decisive(self) -> PilotLoad | None:
        """The case whose client needs most for what its server does; None where nothing was measured."""
        return max(self.loads, key=lambda load: load.client_to_server, default=None)
