"""The check of the profiler: what perf can sample here, and whether the kernel's functions have names."""

from __future__ import annotations

from pathlib import Path

from tlstax.observers.profiler import Sampling, probe
from tlstax.support.errors import MachineFault
from tlstax.tools.doctor.check import Check

NAME = "profiler"
SYMBOLS, HIDING = Path("/proc/kallsyms"), Path("/proc/sys/kernel/kptr_restrict")
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
ALLOW = "as root, `sysctl kernel.perf_event_paranoid=-1`"


def profiler() -> Check:
    """What `--profile` would sample; tried on a program that does nothing."""
    try:
        return check_of(probe(), named=kernel_is_named())
    except MachineFault as fault:
        refused = "permitted" in fault.message
        return Check(
            name=NAME,
            status="missing",
            found=fault.message + (f", which is {_text(PARANOID)}" if refused else ""),
            meaning="Costs can be measured, but not attributed to functions: --profile is refused.",
            remedy=f"{ALLOW}, and a container that allows perf_event_open" if refused else fault.remedy,
        )


def check_of(sampling: Sampling, *, named: bool) -> Check:
    """The check of a machine that can sample this, and shows the names of the kernel's functions or not."""
    event = f"perf, by {sampling.event}"
    if not sampling.kernel:
        return Check(
            name=NAME,
            status="limited",
            found=f"{event}, of user space only (kernel.perf_event_paranoid is {_text(PARANOID)})",
            meaning="Costs can be attributed to functions, but not those of the kernel.",
            remedy=ALLOW,
        )
    if not named:
        return Check(
            name=NAME,
            status="limited",
            found=f"{event}; the kernel hides its functions' names (kernel.kptr_restrict is {_text(HIDING)})",
            meaning="Costs can be attributed to functions; the kernel's have no names.",
            remedy="as root, `sysctl kernel.kptr_restrict=0`",
        )
    if not sampling.processors:
        return Check(
            name=NAME,
            status="limited",
            found=f"{event}, process by process (kernel.perf_event_paranoid is {_text(PARANOID)})",
            meaning="Costs can be attributed to functions, but sampling disturbs what changes threads often.",
            remedy=ALLOW,
        )
    return Check(
        name=NAME,
        status="ok",
        found=f"{event}, of user space and kernel",
        meaning="Costs can be attributed to functions (--profile).",
    )


def kernel_is_named(symbols: Path = SYMBOLS) -> bool:
    """Whether the kernel's symbols have addresses; they read as zero where they are hidden (proc(5))."""
    try:
        with symbols.open(encoding="ascii", errors="replace") as lines:
            return any(int(line.split()[0], 16) for _, line in zip(range(1000), lines, strict=False))
    except (OSError, ValueError):
        return False


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return "not there"
