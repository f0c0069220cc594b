"""Bare Debian machines as folders: made by mmdebstrap, entered in namespaces of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGES = "ca-certificates,python3"
USER, USER_ID = "alice", 1000
BROUGHT = "brought"
"""The folder in the homes of either user that has what is to be tried."""
MAKING_TIMEOUT_S = 900
FRESH_S = 24 * 3600
"""How long a packed root is used again before it is made anew."""

CARRIED = re.compile(
    r"(PIP_|CARGO_(HTTP|REGISTR|NET)|npm_config_|GOPROXY|GOSUMDB|NODE_EXTRA_CA_CERTS|SSL_CERT_|.*_proxy$|TLSTAX_APT_)",
    re.IGNORECASE,
)
"""How this machine reaches its package registries holds in the root too: the variables, and these files."""
CARRIED_FILES = ("/etc/resolv.conf", "/etc/pip.conf")
CARRIED_HOME = (".npmrc", ".cargo/config.toml", ".m2/settings.xml", ".config/pip/pip.conf")
AUTHORITIES = Path("/usr/local/share/ca-certificates")

ENTER = """
set -e
root=$1 who=$2 reach=$3
shift 3
if [ "$reach" = nothing ]; then ip link set lo up; fi
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
# In a root that is changed to by chroot alone, the kernel lets nobody make a user namespace.
cd "$root"
mkdir -p .outside
pivot_root . .outside
cd /
# umount(8) is in a package that may be missing. 2 is MNT_DETACH.
/usr/bin/python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).umount2(b"/.outside", 2))'
rmdir .outside
exec chroot --userspec="$who" / /usr/bin/env -i "$@"
"""


@dataclass(frozen=True)
class Done:
    """How a command in a root ended: its exit status (None: it took too long) and what it wrote."""

    status: int | None
    output: str
    took_s: float


class NotMade(Exception):
    """A root could not be made; the words say why."""


@dataclass(frozen=True)
class Root:
    """A bare machine in a folder, removed with `remove`."""

    folder: Path

    def run(
        self, who: str, command: Sequence[str], log: Path, timeout_s: float, *, offline: bool = False
    ) -> Done:
        """Run a command in what was brought, as root or as the ordinary user. Nothing of it outlives it.

        Its output is appended to the log as it comes. What is offline has a loopback interface alone.
        """
        home = home_of(who)
        environment = {**reaching(), "HOME": home, "USER": who, "TERM": "dumb", "LANG": "C.UTF-8"}
        ids = "0:0" if who == "root" else f"{USER_ID}:{USER_ID}"
        settings = [f"{name}={value}" for name, value in environment.items()]
        there = ["/bin/bash", "-c", f'cd {home}/{BROUGHT} && exec "$@"', "there", *command]
        apart = ["--net"] if offline else []
        kept_in = ["unshare", "--mount", "--pid", *apart, "--fork", "--kill-child"]
        reach = "nothing" if offline else "all"
        entering = [*kept_in, "bash", "-c", ENTER, "enter"]
        started = time.monotonic()
        with log.open("a", encoding="utf-8") as out:
            out.write(f"$ {' '.join(command)}\n")
            out.flush()
            before = out.tell()
            try:
                status = subprocess.run(
                    [*entering, str(self.folder), ids, reach, *settings, *there],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    timeout=timeout_s,
                    check=False,
                ).returncode
            except subprocess.TimeoutExpired:
                status = None
        took_s = time.monotonic() - started
        with log.open(encoding="utf-8", errors="replace") as written:
            written.seek(before)
            return Done(status, written.read(), took_s)

    def remove(self) -> None:
        """Remove the folder with all that was done in it."""
        shutil.rmtree(self.folder)


def reaching() -> dict[str, str]:
    """The variables by which a root finds its programs, and reaches the registries as this machine does."""
    carried = {name: value for name, value in os.environ.items() if CARRIED.match(name)}
    return {**carried, "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def home_of(who: str) -> str:
    """The home of root or of the ordinary user, in a root."""
    return "/root" if who == "root" else f"/home/{USER}"


def pack(release: str, folder: Path, more: Sequence[str]) -> Path:
    """The packed root of a release with some packages more, made where there is no fresh one.

    NotMade where that fails.
    """
    packed = folder / f"{'-'.join([release, *more])}.tar"
    if packed.exists() and time.time() - packed.stat().st_mtime < FRESH_S:
        return packed
    partial = packed.with_suffix(".partial.tar")
    # Mirrors lag; sid's lists then are older than they say that they may be.
    command = ["mmdebstrap", "--variant=apt", f"--include={','.join([PACKAGES, *more])}"]
    command += ['--aptopt=Acquire::Check-Valid-Until "false"', release, str(partial)]
    try:
        made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=MAKING_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotMade(str(error)) from error
    if made.returncode != 0:
        reasons = [line for line in made.stderr.splitlines() if line.startswith("E:")]
        raise NotMade(reasons[0] if reasons else "mmdebstrap failed")
    return partial.rename(packed)


def unpack(packed: Path, folder: Path, bring: Callable[[Path], None]) -> Root:
    """A root; `bring` makes the folder of what is to be tried, for root and for an ordinary user."""
    folder.mkdir(parents=True)
    subprocess.run(["tar", "-x", "-f", packed, "-C", folder], check=True)
    with (folder / "etc/passwd").open("a") as passwd, (folder / "etc/group").open("a") as group:
        passwd.write(f"{USER}:x:{USER_ID}:{USER_ID}::/home/{USER}:/bin/bash\n")
        group.write(f"{USER}:x:{USER_ID}:\n")
    # No package has it: whoever installs a machine or starts a container writes it.
    (folder / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    _carry(folder)
    for home in ("root", f"home/{USER}"):
        bring(folder / home / BROUGHT)
    subprocess.run(["chown", "-R", f"{USER_ID}:{USER_ID}", folder / "home" / USER], check=True)
    return Root(folder)


def _carry(folder: Path) -> None:
    """Take over how this machine reaches its registries."""
    for file in CARRIED_FILES:
        if Path(file).exists():
            (folder / file[1:]).unlink(missing_ok=True)
            shutil.copy(file, folder / file[1:])
    for home in (folder / "root", folder / "home" / USER):
        for name in CARRIED_HOME:
            file = Path.home() / name
            if file.exists():
                (home / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, home / name)
    if AUTHORITIES.is_dir() and any(AUTHORITIES.iterdir()):
        shutil.copytree(AUTHORITIES, folder / str(AUTHORITIES)[1:], dirs_exist_ok=True)
        subprocess.run(["chroot", folder, "update-ca-certificates"], check=True, capture_output=True)
