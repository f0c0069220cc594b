"""How much CPU time and memory the control groups of this process allow it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tlstax.support.text import natural

ROOT = Path("/")


def cpu_limit(root: Path = ROOT) -> float | None:
    """CPUs' worth of time that may be used, the least along the hierarchy; None where there is no limit.

    Version 2 gives `cpu.max` as quota and period (Documentation/admin-guide/cgroup-v2.rst), version 1
    `cpu.cfs_quota_us` and `cpu.cfs_period_us` (Documentation/scheduler/sched-bwc.rst), -1 for no limit.
    """
    limits = [_quota(directory) for directory in _groups(root, "cpu")]
    return min((limit for limit in limits if limit is not None), default=None)


def memory_limit(root: Path = ROOT) -> int | None:
    """Bytes of memory that may be used, the least along the hierarchy; None where there is no limit."""
    limits = [_memory(directory) for directory in _groups(root, "memory")]
    return min((limit for limit in limits if limit is not None), default=None)


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """The directories of this process's group and its parents, in version 1 and 2 (cgroups(7)).

    In a container the path may be the host's, which is not there; what is mounted is the container's own.
    """
    mount = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0":
            top = mount
        elif controller in controllers.split(","):
            top = mount / controller
        else:
            continue
        group = top / path.lstrip("/")
        yield from (directory for directory in (group, *group.parents) if directory.is_relative_to(top))


def _quota(directory: Path) -> float | None:
    quota, _, period = _text(directory / "cpu.max").strip().partition(" ")
    if not quota:
        quota = _text(directory / "cpu.cfs_quota_us").strip()
        period = _text(directory / "cpu.cfs_period_us").strip()
    taken, of = natural(quota), natural(period)
    return taken / of if taken is not None and of else None


def _memory(directory: Path) -> int | None:
    text = _text(directory / "memory.max").strip() or _text(directory / "memory.limit_in_bytes").strip()
    # Version 1 writes "no limit" as the largest multiple of the page size below 2 to the 63.
    limit = natural(text)
    return limit if limit is not None and limit < 1 << 62 else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
