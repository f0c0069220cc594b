"""The two ways a command can fail, each an exit status and one sentence a person can act on."""

from __future__ import annotations


class TlstaxError(Exception):
    """A failure that is shown to the user as one sentence, never as a traceback.

    `message` says what is wrong and whose fault it is; `remedy`, where there is one, what to do.
    """

    exit_status = 3

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def sentence(self) -> str:
        """The message and, after it, what to do."""
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


class UserMistake(TlstaxError):
    """What was asked for cannot be: an unknown level, a wrong password, a bad file. Exit status 2."""

    exit_status = 2


class MachineFault(TlstaxError):
    """The machine or a server failed: no disk, no package, a crash. Exit status 3."""

    exit_status = 3


class Interrupted(BaseException):
    """Ctrl-C, SIGTERM or SIGHUP: what runs ends in order and keeps what was measured.

    Not KeyboardInterrupt, which the command-line library would turn into an exit status of its own.
    """
