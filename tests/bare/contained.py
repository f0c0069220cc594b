"""Builds the container from a Debian 13 made here, and runs it without a network: `./test bare-container`.

No registry of images is asked. What this machine needs to reach its package registries is put into the image
that it starts from, and so into the one that is made.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from roots import NotMade, Root, pack, reaching, unpack
from rows import all_valid
from run import CHECKOUT, say

from tlstax.support.directories import cache_dir, ensure_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE, IMAGE = "localhost/tlstax-test-debian", "localhost/tlstax-test"
BUILD_TIMEOUT_S, RUN_TIMEOUT_S = 3600, 600
HERE = ("--isolation", "chroot", "--network", "host")
"""As a machine can that has no runtime of containers."""
OFFLINE = """
ip link set lo up
exec buildah run --isolation chroot --user tlstax "$1" /opt/tlstax/tlstax run --budget 20s
"""


def main() -> int:
    """Exit status: 0 where a run without a network has a report, 1 where not, 3 where this is not root."""
    if os.geteuid() != 0:
        sys.stderr.write("bare roots are made and entered by root alone\n")
        return 3
    kept = ensure_directory(cache_dir() / "bare")
    try:
        packed = pack("trixie", kept, ())
    except NotMade as reason:
        sys.stderr.write(f"no root could be made: {reason}\n")
        return 1
    with tempfile.TemporaryDirectory(prefix="tlstax-bare-", dir=kept) as name:
        folder, clone = Path(name), Path(name) / "clone"
        subprocess.run(["git", "clone", "--quiet", CHECKOUT.as_uri(), clone], check=True)
        _make_base(unpack(packed, folder / "root", partial(Path.mkdir, parents=True)))
        say("building")
        source = ["--file", str(clone / "setup/Containerfile"), str(clone)]
        _buildah("build", *HERE, "--pull-never", "--build-arg", f"DEBIAN={BASE}", "--tag", IMAGE, *source)
    wrong = _tried()
    say(
        wrong or f"a run without a network has a report; {_buildah('images', '--format', '{{.Size}}', IMAGE)}"
    )
    _buildah("rmi", IMAGE, BASE)
    return 1 if wrong else 0


def _tried() -> str:
    """What is wrong with a run of the image that reaches nothing; empty for nothing."""
    with _container(IMAGE) as container:
        offline = ["unshare", "--net", "bash", "-c", OFFLINE, "offline", container]
        done = subprocess.run(
            offline, env=_settings(), timeout=RUN_TIMEOUT_S, check=False, stdout=subprocess.PIPE, text=True
        )
        say(done.stdout)
        if done.returncode != 0 or not all_valid(done.stdout):
            return f"a run without a network: status {done.returncode}, not all trials valid or no report"
        run = ("run", "--isolation", "chroot", container)
        reports = _buildah(*run, "sh", "-c", "ls /var/lib/tlstax/reports/*.html")
        return "" if reports.endswith(".html") else "there is no report among the runs"


def _make_base(root: Root) -> None:
    """A Debian 13 that reaches the registries as this machine does, as a local image."""
    with _container("scratch") as container:
        _buildah("add", "--quiet", container, str(root.folder), "/")
        for name, value in reaching().items():
            _buildah("config", "--env", f"{name}={value}", container)
        _buildah("commit", "--quiet", container, BASE)


@contextmanager
def _container(image: str) -> Iterator[str]:
    container = _buildah("from", "--pull-never", image)
    try:
        yield container
    finally:
        _buildah("rm", container)


def _buildah(*words: str) -> str:
    """The last line that it prints. Its steps go to standard error."""
    done = subprocess.run(
        ["buildah", *words],
        env=_settings(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=BUILD_TIMEOUT_S,
    )
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""


def _settings() -> dict[str, str]:
    """The plainest of its ways to keep images works anywhere."""
    return {**os.environ, "STORAGE_DRIVER": "vfs"}


if __name__ == "__main__":
    sys.exit(main())
