"""Checks of how much there is: memory, disk, file descriptors."""

from __future__ import annotations

import re
import resource
import shutil
from pathlib import Path

from tlstax.observers import cgroup
from tlstax.support import directories, here, trusted
from tlstax.support.errors import MachineFault, TlstaxError
from tlstax.tools.doctor.check import Check

MEMORY_WANTED_BYTES = 2_000_000_000
"""A server with its buffers, the client, the laboratory and its statistics."""
DISK_WANTED_BYTES = 2_000_000_000
"""A fetched server (800 MB while it is unpacked), its data, and the runs."""
DESCRIPTORS_WANTED = 4096
"""Both ends of a thousand connections, four times over."""


def processes() -> Check:
    """Whether processes can be watched at all."""
    try:
        here.check_proc()
    except MachineFault as fault:
        meaning = "Nothing can be measured."
        return Check(
            name="/proc", status="missing", found=fault.message, meaning=meaning, remedy=fault.remedy
        )
    return Check(name="/proc", status="ok", found="mounted", meaning="Processes can be watched.")


def memory() -> Check:
    """Whether there is memory for a server and its buffers."""
    found = re.search(
        r"^MemAvailable:\s*([0-9]{1,15}) kB", Path("/proc/meminfo").read_text("ascii"), re.MULTILINE
    )
    available_bytes = int(found[1]) * 1024 if found else 0
    limit = cgroup.memory_limit()
    available_bytes = available_bytes if limit is None else min(limit, available_bytes)
    enough = available_bytes >= MEMORY_WANTED_BYTES
    return Check(
        name="memory",
        status="ok" if enough else "limited",
        found=f"{available_bytes / 1e9:.1f} GB available",
        meaning="Server, client and laboratory fit." if enough else "The server may swap or be killed.",
        remedy="" if enough else f"{MEMORY_WANTED_BYTES / 1e9:.0f} GB of free memory",
    )


def disk() -> Check:
    """Whether there is room for servers and runs, and we may write there."""
    name = "disk"
    try:
        folder = directories.cache_dir()
        directories.check_place(folder)
    except TlstaxError as fault:
        meaning = "No server can be fetched and none can be started."
        return Check(name=name, status="missing", found=fault.message, meaning=meaning, remedy=fault.remedy)
    try:
        trusted.check(folder, "TLSTAX_CACHE")
        directories.plain(folder)
    except MachineFault as fault:
        meaning = "Nothing that is kept there is run."
        return Check(name=name, status="missing", found=fault.message, meaning=meaning, remedy=fault.remedy)
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free_bytes = shutil.disk_usage(there).free
    found = f"{free_bytes / 1e9:.1f} GB free for {folder}"
    if free_bytes < DISK_WANTED_BYTES:
        return Check(
            name=name,
            status="limited",
            found=found,
            meaning="Servers that are not yet there may not fit.",
            remedy=f"{DISK_WANTED_BYTES / 1e9:.0f} GB of room, or another disk named with TLSTAX_CACHE",
        )
    return Check(name=name, status="ok", found=found, meaning="Servers and runs fit.")


def runs() -> Check:
    """Whether runs and their reports can be kept."""
    name = "runs"
    try:
        folder = directories.data_dir()
        for place in (folder, folder / "reports"):
            directories.check_place(place)
    except TlstaxError as fault:
        meaning = "No run can be kept, and so none is measured."
        return Check(name=name, status="missing", found=fault.message, meaning=meaning, remedy=fault.remedy)
    return Check(name=name, status="ok", found=f"kept in {folder}", meaning="Runs and reports can be kept.")


def file_descriptors() -> Check:
    """How many connections can be open at once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = "without limit" if hard == resource.RLIM_INFINITY else f"up to {hard}"
    enough = hard == resource.RLIM_INFINITY or hard >= DESCRIPTORS_WANTED
    return Check(
        name="file descriptors",
        status="ok" if enough else "limited",
        found=f"{soft}, which a program may raise {most}",
        meaning="Thousands of connections can be open at once."
        if enough
        else f"Studies with more than about {hard // 2} connections will fail.",
        remedy="" if enough else f"`ulimit -Hn {DESCRIPTORS_WANTED}` or more, as root",
    )
