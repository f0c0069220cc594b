"""A headless Chromium for tests, driven over a pipe by the DevTools protocol: no port, no driver, no network.

Protocol: https://chromedevtools.github.io/devtools-protocol/ ; with `--remote-debugging-pipe` the browser
reads JSON messages, each ended by a zero byte, from file descriptor 3 and writes its own to 4.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ANSWER_TIMEOUT_S = 60.0
FIRST_FREE_FD = 10
"""Above the two descriptors that the browser wants, so that giving it one does not close the other."""

FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-extensions",
    "--disable-component-update",
    "--disable-background-networking",
    "--disable-domain-reliability",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--mute-audio",
)


def find_chromium() -> str:
    """The browser on PATH; LookupError with what to install where there is none."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    raise LookupError(
        f"the browser tests need one of {', '.join(NAMES)} on PATH; on Debian: apt-get install chromium"
    )


@dataclass
class Page:
    """One tab, and what it complained about and asked for since it was opened."""

    browser: Browser
    session: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    frames: list[Page] = field(default_factory=list)
    """Frames of an origin of their own, which the browser runs like tabs, in the order of their coming."""

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command of the DevTools protocol."""
        return self.browser.call(method, session=self.session, **parameters)

    def open(self, path: Path) -> None:
        """Load a file and wait until all of it is there."""
        self.go(path.absolute().as_uri())

    def go(self, address: str) -> None:
        """The same with what an address has."""
        self.call("Page.navigate", url=address)
        self.browser.wait_for("Page.loadEventFired")

    def set_width(self, width: int, height: int = 900) -> None:
        """Lay the page out for a screen of this width in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def set_dark(self, *, dark: bool) -> None:
        """What the reader's system prefers."""
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; it must be JSON."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """The whole page, also what is below the screen, as PNG."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def listen(self) -> None:
        """Be told of errors, requests and frames."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)

    def wait_until(self, expression: str, *, within_s: float = ANSWER_TIMEOUT_S) -> None:
        """Wait until a JavaScript expression is true; AssertionError where it does not become so.

        A page that is just left for another one has no answer, and is asked again.
        """
        deadline = time.monotonic() + within_s
        while not self._is_true(expression):
            assert time.monotonic() < deadline, f"never true: {expression}"
            time.sleep(0.02)

    def _is_true(self, expression: str) -> bool:
        try:
            return bool(self.evaluate(expression))
        except AssertionError as error:
            if "navigated" in str(error):
                return False
            raise

    def note(self, method: str, event: dict[str, Any]) -> None:
        """Remember what the page complains about and asks for."""
        if method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(event["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and event["type"] in {"error", "warning", "assert"}:
            self.complaints.append(str(event["args"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] in {"error", "warning"}:
            self.complaints.append(event["entry"]["text"])


class Browser:
    """A running browser; `with browser() as b` ends it and everything that it wrote."""

    def __init__(self, commands: int, events: int) -> None:
        self._commands = commands
        self._events = events
        self._unread = b""
        self._last_id = 0
        self._seen: list[str] = []
        self._target = ""
        self._pages: dict[str, Page] = {}

    def new_page(self) -> Page:
        """An empty tab that reports errors and requests. The one before is closed: tabs take time unseen."""
        if self._target:
            self.call("Target.closeTarget", targetId=self._target)
        target = self._target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        page.listen()
        return page

    def call(self, method: str, *, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; AssertionError where the browser refuses it."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._last_id:
            pass
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    def wait_for(self, method: str) -> None:
        """Wait for an event, also one that has come since the last wait."""
        while method not in self._seen:
            self._next()
        self._seen.clear()

    def _next(self) -> dict[str, Any]:
        """The next message; an event is noted by the page that it belongs to."""
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        while b"\0" not in self._unread:
            if not select.select([self._events], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"the browser said nothing for {ANSWER_TIMEOUT_S:g} s")
            read = os.read(self._events, 1 << 20)
            if not read:
                raise AssertionError("the browser ended early")
            self._unread += read
        raw, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(raw)
        if "method" in message:
            self._seen.append(message["method"])
            if page := self._pages.get(message.get("sessionId", "")):
                if message["method"] == "Target.attachedToTarget":
                    session = message["params"]["sessionId"]
                    page.frames.append(self._pages.setdefault(session, Page(self, session)))
                page.note(message["method"], message["params"])
        return message


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A browser with a profile of its own, gone with all its files at the end."""
    with tempfile.TemporaryDirectory(prefix="tlstax-chromium-", ignore_cleanup_errors=True) as profile:
        process, commands, events = _started(profile)
        try:
            running = Browser(commands, events)
            yield running
            running.call("Browser.close")
            process.wait(20)
        finally:
            process.kill()
            process.wait()
            os.close(commands)
            os.close(events)


def _started(profile: str) -> tuple[subprocess.Popen[bytes], int, int]:
    """The browser's process, where to write commands, where to read its messages."""
    (reads_commands, writes_commands), (reads_events, writes_events) = os.pipe(), os.pipe()
    theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD, FIRST_FREE_FD) for fd in (reads_commands, writes_events)]
    os.close(reads_commands)
    os.close(writes_events)
    sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
    redirected = f'exec "$0" "$@" 3<&{theirs[0]} 4>&{theirs[1]}'
    process = subprocess.Popen(
        ["bash", "-c", redirected, find_chromium(), *FLAGS, *sandbox, f"--user-data-dir={profile}"],
        pass_fds=theirs,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for fd in theirs:
        os.close(fd)
    return process, writes_commands, reads_events
