"""Checks of what can be observed of a process: hardware counters."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from pathlib import Path

from tlstax.doctor.check import Check

PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241, "riscv64": 241}
"""Number of the system call perf_event_open(2) by architecture (asm/unistd.h)."""

_HARDWARE, _INSTRUCTIONS = 0, 1
_EXCLUDE_USER, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 4, 1 << 5, 1 << 6
_ATTRIBUTE_BYTES = 64
"""PERF_ATTR_SIZE_VER0: the first version of struct perf_event_attr, which every kernel takes."""


def hardware_counters() -> Check:
    """Whether instructions can be counted, in user space and in the kernel; tried on ourselves."""
    name = "hardware counters"
    user_fault = try_counter(_EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR)
    kernel_fault = try_counter(_EXCLUDE_USER | _EXCLUDE_HYPERVISOR)
    if not user_fault and not kernel_fault:
        return Check(
            name=name,
            status="ok",
            found="instructions, in user space and in the kernel",
            meaning="Instructions per operation can be counted, which scatter far less than times.",
        )
    if not user_fault:
        return Check(
            name=name,
            status="limited",
            found="instructions in user space only",
            meaning="Of the kernel's part only the time is known.",
            remedy="as root, `sysctl kernel.perf_event_paranoid=1`",
        )
    refused = user_fault in {errno.EACCES, errno.EPERM}
    return Check(
        name=name,
        status="missing",
        found=f"refused ({_paranoid()})" if refused else "this machine offers none",
        meaning="Costs are told by CPU time alone, not by instructions per operation.",
        remedy="as root, `sysctl kernel.perf_event_paranoid=1`, and a container that allows perf_event_open"
        if refused
        else "bare metal, or a virtual machine with a virtual PMU",
    )


def try_counter(exclude: int) -> int:
    """Count instructions of this thread with these parts excluded: 0 if that works, else an errno."""
    number = PERF_EVENT_OPEN.get(platform.machine())
    if number is None:
        return errno.ENOSYS
    attribute = struct.pack("=IIQQQQQ", _HARDWARE, _ATTRIBUTE_BYTES, _INSTRUCTIONS, 0, 0, 0, exclude)
    buffer = ctypes.create_string_buffer(attribute, _ATTRIBUTE_BYTES)
    libc = ctypes.CDLL(None, use_errno=True)
    this_thread, any_cpu, no_group = 0, -1, -1
    descriptor = libc.syscall(number, buffer, this_thread, any_cpu, no_group, 0)
    if descriptor < 0:
        return ctypes.get_errno() or errno.EINVAL
    try:
        (count,) = struct.unpack("=Q", os.read(descriptor, 8))
    finally:
        os.close(descriptor)
    return 0 if count > 0 else errno.ENODATA


def _paranoid() -> str:
    try:
        return f"kernel.perf_event_paranoid is {PARANOID.read_text('ascii').strip()}"
    except OSError:
        return "this kernel has no perf events"
