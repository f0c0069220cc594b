"""Sampled stacks as they are kept: one text a stack, and how often it was seen.

A stack is its frames from the root to the leaf, joined by ";" (the "folded" form of Brendan Gregg's flame
graphs, which inferno and others read). A frame is `function [library]`, such as
`RSA_sign [libcrypto.so.3]`; the kernel's library is `kernel`. What has no name is `[unknown]`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from tlstax.contract import Frozen

Side = Literal["server", "client"]
SIDES: tuple[Side, ...] = ("server", "client")

UNKNOWN = "[unknown]"
KERNEL = "kernel"
CUT_OFF = "[cut off]"
"""Stands at the root of a stack whose beginning the sampler did not keep."""


class Frame(NamedTuple):
    """One function on a stack, and the file that it is in: its base name, or `kernel`."""

    function: str
    library: str

    def text(self) -> str:
        """As it stands in a stack."""
        return f"{self.function} [{self.library}]"


class SideProfile(Frozen):
    """The samples of one process over the measured window: how often each stack was seen."""

    stacks: dict[str, int]

    @property
    def samples(self) -> int:
        """All samples."""
        return sum(self.stacks.values())


class Profile(Frozen):
    """What was sampled of a trial, over its measured window.

    `event` is what perf counted between samples (`cycles`, or `cpu-clock` where the machine has no hardware
    counters). Without `kernel`, only user space could be sampled. `lost` counts samples that perf had to
    drop. A side is None where its process was out of reach.
    """

    event: str
    frequency_hz: int
    kernel: bool
    lost: int = 0
    server: SideProfile | None = None
    client: SideProfile | None = None

    def side(self, side: Side) -> SideProfile | None:
        """The samples of one side."""
        return self.server if side == "server" else self.client


def frames(stack: str) -> tuple[Frame, ...]:
    """The frames of a stack, from the root to the leaf."""
    return tuple(_frame(text) for text in stack.split(";"))


def folded(frames_from_root: list[Frame]) -> str:
    """The text of a stack. A semicolon in a function's name would end it, and becomes a colon."""
    return ";".join(frame.text().replace(";", ":") for frame in frames_from_root)


def _frame(text: str) -> Frame:
    function, bracket, library = text.rpartition(" [")
    return Frame(function, library.removesuffix("]")) if bracket else Frame(text, UNKNOWN)
