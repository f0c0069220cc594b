"""What a trial needs of its load client, be it a process here or one on each of several machines."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from tlstax.contract import Done, ErrorEvent, Ready, Slice
from tlstax.records.trial import MappedLibrary
from tlstax.records.window import Load, PortUse


class Client(Protocol):
    """A load client that has its job. Calls that wait raise ClientFailure; leaving it ends the client.

    It is there from when it is made, and loads itself; entering it, or `give_job`, has it connect.
    """

    def give_job(self) -> None:
        """Hand over the job, once, as entering does."""
        ...

    @property
    def watched_pid(self) -> int | None:
        """The process that does the work, once it is ready; None where it is on another machine."""
        ...

    @property
    def errors(self) -> tuple[ErrorEvent, ...]:
        """Every error event so far, fatal or not."""
        ...

    @property
    def began_apart(self) -> bool:
        """Whether its last slice began on several machines too far apart to be counted."""
        ...

    def log(self) -> str:
        """The end of what it wrote on its standard error."""
        ...

    def wait_ready(self, within_s: float) -> Ready:
        """Return when every connection is up and warm."""
        ...

    def mapped_tls_libraries(self) -> tuple[MappedLibrary, ...]:
        """The TLS libraries that it has loaded, once it is ready."""
        ...

    def go(self) -> None:
        """Start the measurement: the whole window as one slice."""
        ...

    def wait_done(self, within_s: float) -> Done:
        """Return the result of the one slice that `go` began."""
        ...

    def slice(self, length_s: float, within_s: float) -> Slice:
        """Have it work for `length_s` and return what it did."""
        ...

    def wind_up(self) -> None:
        """There is no further slice: it may put its result together while others do as well."""
        ...

    def finish(self, within_s: float) -> Done:
        """Return the result of all slices so far."""
        ...

    def hang_up(self) -> None:
        """Have it end by itself."""
        ...

    def load(self) -> Load | None:
        """Each machine's part in it; None where there is one machine."""
        ...

    def ports(self) -> PortUse | None:
        """The ports that wait where it ran; of several machines, where most do. None: they do not matter."""
        ...

    def __enter__(self) -> Self:
        """The client, which has been given its job."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends it."""
        ...
