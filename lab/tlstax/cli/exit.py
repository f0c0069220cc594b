"""How every command ends: one sentence and the right exit status, never a traceback."""

from __future__ import annotations

import errno
import os
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from tlstax.cli import streams
from tlstax.support import interruption
from tlstax.support.errors import Interrupted, MachineFault, TlstaxError, UserMistake

INTERRUPTED = 130
"""What shells report for a program ended by Ctrl-C (128 + SIGINT)."""

_STDERR = 2
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_NAMES = frozenset({errno.ENAMETOOLONG, errno.ELOOP})
"""Errors that only a name gives, and only users give such names."""
_THE_MACHINES = frozenset({errno.EIO, errno.EROFS, errno.ENOMEM, errno.EMFILE, errno.ENFILE})


def guarded(command: Callable[[], object]) -> int:
    """Run the command line and turn whatever it raises into a sentence on standard error and a status.

    SIGTERM and SIGHUP end a command in the same order as Ctrl-C does (`_Ending`). SystemExit passes: it is
    how the command-line library ends a command, usage errors among them (status 2).
    """
    ending = _Ending()
    interruption.forget()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # What was ignored from the start stays so: nohup does that, and a shell to its background jobs.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, ending.interrupt)
    streams.prepare()
    try:
        with interruption.restored():
            command()
    except Interrupted:
        return _say("interrupted", INTERRUPTED)
    except Exception as error:
        return _report(error)
    finally:
        streams.settle()
    return 0


def _report(error: Exception) -> int:
    if isinstance(error, TlstaxError):
        return _say(error.sentence(), error.exit_status)
    if isinstance(error, streams.NobodyReads):
        return INTERRUPTED
    if isinstance(error, MemoryError):
        return _say("there is not enough memory; end other programs and start again", 3)
    known = _of_the_system(error) if isinstance(error, OSError) else None
    return _say(known.sentence(), known.exit_status) if known is not None else _defect(error)


def _of_the_system(error: OSError) -> TlstaxError | None:
    """What the system refused, where it can refuse it anywhere; None where it should have been foreseen."""
    where = f" ({error.filename})" if error.filename else ""
    if error.errno in _FULL:
        return MachineFault(f"the disk is full{where}", remedy="make room and start again")
    if error.errno in _NO_NAMES and error.filename:
        return UserMistake(f"{error.filename} cannot be used ({error.strerror})", remedy="name another file")
    if error.errno in _THE_MACHINES:
        return MachineFault(f"this machine is at fault: {error.strerror}{where}")
    return None


class _Ending:
    """What Ctrl-C and its like do: the first ends the work in order, the second learns what still goes on.

    The third ends that too. A first one while an external server is being left counts as the second.
    """

    def __init__(self) -> None:
        self._has_begun = self._was_told = False

    def interrupt(self, _number: int, _frame: FrameType | None) -> None:
        """The handler of a signal."""
        doing = interruption.leaving_step()
        if self._was_told or not (self._has_begun or doing):
            self._has_begun = True
            interruption.interrupt()
        self._has_begun = self._was_told = True
        # Not through sys.stderr, in the midst of a write to which this may be.
        words = doing or "finishing what was begun"
        sentence = f"\ntlstax: still {words}; press Ctrl-C again to end at once\n"
        with suppress(OSError):
            os.write(_STDERR, sentence.encode())


def _say(sentence: str, status: int) -> int:
    streams.warn(sentence)
    return status


def _defect(error: Exception) -> int:
    """An error that nobody foresaw is ours: say so, and keep the details in a file."""
    details = "".join(traceback.format_exception(error))
    summary = f"a defect in tlstax ({type(error).__name__}: {error})"
    try:
        from tlstax.support.directories import cache_dir, ensure_directory

        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        path: Path = ensure_directory(cache_dir()) / f"defect-{stamp}.txt"
        path.write_text(streams.harmless(details), encoding="utf-8")
    except (OSError, TlstaxError):
        return _say(f"{summary}; please report it", 3)
    return _say(f"{summary}; please report it with {path}", 3)
