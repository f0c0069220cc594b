"""The sysbench process: started so that it dies with us, listened to, given its word, and ended."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from tlstax.clients.adapter import Failed, Laboratory, failure, file_in_memory
from tlstax.clients.child import LOG_CHARACTERS, READ_BYTES, STANDARD_ERROR, Child, started
from tlstax.clients.sysbench import SysbenchProgram
from tlstax.clients.sysbench.messages import FATAL, MESSAGE, Reported, failure_in
from tlstax.support.plain_words import plain

LAST_WORDS_S = 0.2
"""How long more lines are waited for after the first by which sysbench gives up."""

END_S = 10.0


@dataclass(frozen=True)
class Launch:
    """How sysbench is to be started.

    `options` is what it reads as a file of options: the password, which must be on no command line and in
    no file of the disk, so it lies in memory (memfd_create(2)). `directory` is where it looks for files.
    """

    program: SysbenchProgram
    script: Path
    arguments: Sequence[str]
    options: str
    directory: Path
    environment: Mapping[str, str]


class Sysbench(Child):
    """A running sysbench. What it complains of is among what it prints."""

    def __init__(self, launch: Launch, laboratory: Laboratory) -> None:
        self.reported = Reported()
        self._partial = b""
        self._report, report = _pipe("rb")
        self._window, window = _pipe("wb")
        self._leave, leave = _pipe("wb")
        secret = file_in_memory(launch.options)
        ours = [
            f"--config-file=/proc/self/fd/{secret}",
            f"--tlstax_report={report}",
            f"--tlstax_window={window}",
            f"--tlstax_leave={leave}",
        ]
        process = started(
            launch.program.command([*ours, *launch.arguments, str(launch.script), "run"]),
            launch.environment,
            (secret, report, window, leave),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            cwd=launch.directory,
        )
        super().__init__("sysbench", process, laboratory, failure_in)
        (self._output,) = self._left
        self.heard |= {self._output: self._take_log, self._report.fileno(): self._take_messages}

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        for pipe in (self._report, self._window, self._leave):
            pipe.close()

    def listen(self, reached: Callable[[], bool], within_s: float | None, doing: str) -> None:
        """Take in messages until `reached`.

        Failed when sysbench gives up, dies or is silent for `within_s`; LaboratoryGone when standard
        input ends meanwhile.
        """
        while not reached():
            self.hear(None if within_s is None else time.monotonic() + within_s, doing, within_s)

    def open_window(self) -> None:
        """Give the word that the first thread waits for; that sysbench has died is heard by who listens."""
        with contextlib.suppress(BrokenPipeError):
            self._window.write(b"!")

    def close_window(self) -> None:
        """Let the threads report how the window went."""
        self._window.close()

    def release(self) -> None:
        """Let the threads close their connections, and wait until sysbench has ended."""
        self._leave.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.communicate(timeout=END_S)

    def _take_log(self) -> None:
        """Pass on what sysbench prints; when it gives up, learn why."""
        if not self._read_log():
            raise Failed(self.death(self._process.wait()))
        if FATAL in self._log:
            for _ in self._last_words():
                self._read_log()
            event = failure_in(self._log)
            raise Failed(event or self.death(self._process.wait()))

    def _read_log(self) -> bool:
        """Keep and pass on some of the log; False at its end."""
        data = os.read(self._output, READ_BYTES)
        os.write(STANDARD_ERROR, data)
        self._log = (self._log + data.decode(errors="replace"))[-LOG_CHARACTERS:]
        return bool(data)

    def _last_words(self) -> Iterator[None]:
        deadline = time.monotonic() + LAST_WORDS_S
        with selectors.PollSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ)
            while selector.select(deadline - time.monotonic()) and time.monotonic() < deadline:
                yield

    def _take_messages(self) -> None:
        data = os.read(self._report.fileno(), READ_BYTES)
        if not data:
            while self._read_log():
                pass
            raise Failed(self.death(self._process.wait()))
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            try:
                self.reported.add(MESSAGE.validate_json(line.decode(errors="replace")))
            except ValidationError as error:
                text = f"our script in sysbench broke its protocol: {plain(error.errors()[0]['msg'])}"
                raise Failed(failure("internal", "client", text)) from None


def _pipe(mode: Literal["rb", "wb"]) -> tuple[FileIO, int]:
    """Our end of a new pipe and sysbench's."""
    read, write = os.pipe()
    ours, theirs = (read, write) if mode == "rb" else (write, read)
    return FileIO(ours, mode), theirs
