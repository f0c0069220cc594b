"""Processes that tests look for, any of which may end while it is looked at."""

from __future__ import annotations

import psutil


def family(pid: int | None = None, *, name: str = "", word: str = "") -> list[psutil.Process]:
    """The descendants of a process, or of this one; those of a name, or with a word in their command line."""
    try:
        children = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return [child for child in children if _fits(child, name, word)]


def runs(process: psutil.Process) -> bool:
    """Whether a process is there; one that has ended and was not waited for is not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def lives(pid: int) -> bool:
    """Whether the process of a number runs."""
    try:
        return runs(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return False


def name_of(pid: int) -> str:
    """The name of the process of a number; empty where it has ended."""
    try:
        return psutil.Process(pid).name()
    except psutil.NoSuchProcess:
        return ""


def command_of(process: psutil.Process) -> list[str]:
    """A process's words; none where it has ended."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def _fits(process: psutil.Process, name: str, word: str) -> bool:
    try:
        return (not name or process.name() == name) and (
            not word or any(word in part for part in process.cmdline())
        )
    except psutil.NoSuchProcess:
        return False
