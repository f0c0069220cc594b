"""Local forwarding by OpenSSH: ssh near the client, sshd near the server, one TCP connection between them.

sshd asks for a user and a directory of its own only where it runs as root. It therefore runs as an ordinary
user: as ours, or, where that is root, in a user namespace in which we are not. It accepts one key for one
purpose, connections to the server's port.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from tlstax.network.paths.design import Design, Ends, Laid, Plan, Ports, Program
from tlstax.specimens.manifest import Kept
from tlstax.study.tls_levels import SSH_CIPHERS
from tlstax.support.errors import MachineFault
from tlstax.support.here import LOOPBACK

LOGGED = "kex.c:kex_choose_conf():*,channels.c:channel_new():*"
"""What is logged beside faults: what was agreed on, and one line for each new channel, where -v would log
several (ssh_config(5), LogVerbose)."""

_AGREED = re.compile(r"kex: client->server cipher: (?P<cipher>\S+) MAC: (?P<mac>\S+)")
_CHANNEL = re.compile(r"channel \d+: new direct-tcpip")

SILENT_S = 5
"""After so long a silence sshd asks whether ssh is there, and ends after three times: where the distance
between them is gone, nothing else reports it."""

SERVER_CONFIGURATION = """\
Port {between}
ListenAddress {address}
HostKey {directory}/host
AuthorizedKeysFile {directory}/user.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
AllowTcpForwarding local
PermitOpen {server}
X11Forwarding no
AllowAgentForwarding no
PermitTTY no
UseDNS no
Compression no
ClientAliveInterval {alive}
Ciphers {cipher}
"""


class Ssh(Design):
    """The tunnel with the cipher of this level of `path`.

    `protection` is the cipher that ssh logged, and the MAC where the cipher has none of its own.
    """

    said_by = "the log of ssh"

    def __init__(self, name: str) -> None:
        self._cipher = SSH_CIPHERS[name]

    def lay(self, directory: Path, kept: Kept, ends: Ends, ports: Ports) -> Laid:
        """A key for each side, both configurations."""
        host_key = new_ssh_key(directory / "host")
        new_ssh_key(directory / "user")
        (directory / "known_hosts").write_text(
            f"[{ends.far_address}]:{ports.between} {host_key}\n", encoding="ascii"
        )
        words = SERVER_CONFIGURATION.format(
            between=ports.between,
            address=ends.far_address,
            directory=directory,
            server=ends.server_from_far,
            cipher=self._cipher,
            alive=SILENT_S,
        )
        (directory / "sshd_config").write_text(words, encoding="utf-8")
        login, in_front = _who_logs_in()
        far = Plan(
            ends.far,
            kept.program,
            ("-r", "-D", "-e", "-f", str(directory / "sshd_config")),
            in_front=in_front,
        )
        near = Plan(
            ends.near,
            kept.tree / "usr/bin/ssh",
            (
                *("-N", "-F", "none", "-p", str(ports.between), "-l", login, "-i", str(directory / "user")),
                *_options(directory),
                *("-c", self._cipher),
                *("-L", f"{LOOPBACK}:{ports.entry}:{ends.server_from_far}", ends.far_address),
            ),
        )
        return Laid((far, near), LOOPBACK, banner=b"SSH-2.0")

    def began(self, programs: Sequence[Program]) -> None:
        """The cipher is read from the log of ssh."""
        programs[0].new_lines()
        self._read(programs[1].new_lines())
        if self.protection is None:
            raise MachineFault("ssh did not log which cipher it agreed on")

    def connections(self, programs: Sequence[Program]) -> int | None:
        """The channels that ssh has opened since."""
        programs[0].new_lines()
        return self._read(programs[1].new_lines())

    def _read(self, lines: Sequence[str]) -> int:
        for line in lines:
            agreed = _AGREED.search(line)
            if agreed:
                own = agreed["mac"] == "<implicit>"
                self.protection = agreed["cipher"] if own else f"{agreed['cipher']}, {agreed['mac']}"
        return sum(_CHANNEL.search(line) is not None for line in lines)


def _options(directory: Path) -> list[str]:
    """Nothing of this machine's or the user's: no agent, no other key, no other known host."""
    options = (
        f"UserKnownHostsFile={directory / 'known_hosts'}",
        "GlobalKnownHostsFile=/dev/null",
        "StrictHostKeyChecking=yes",
        "UpdateHostKeys=no",
        "IdentitiesOnly=yes",
        "IdentityAgent=none",
        "BatchMode=yes",
        "ExitOnForwardFailure=yes",
        "Compression=no",
        "ControlMaster=no",
        "ServerAliveInterval=0",
        f"LogVerbose={LOGGED}",
    )
    return [word for option in options for word in ("-o", option)]


def _who_logs_in() -> tuple[str, tuple[str, ...]]:
    """The name to log in with, and what goes before sshd so that it does not run as root."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name, ()
    other = someone_else(pwd.getpwall())
    unshare = shutil.which("unshare")
    if other is None or unshare is None:
        raise MachineFault(
            "sshd cannot be run without root's rights here",
            remedy="install util-linux, or do not run as root",
        )
    entering = (unshare, "--user", f"--map-user={other.pw_uid}", f"--map-group={other.pw_gid}", "--")
    if subprocess.run((*entering, "true"), capture_output=True, check=False).returncode != 0:
        raise MachineFault(
            "sshd cannot be run without root's rights here: no user namespace can be made in this container",
            remedy="run tlstax as an ordinary user, or leave the paths through SSH out",
        )
    return other.pw_name, entering


def someone_else(users: Iterable[pwd.struct_passwd]) -> pwd.struct_passwd | None:
    """The first who is not root and whom sshd lets in: the shell must be there (allowed_user in its auth.c).

    A small machine has accounts with /usr/sbin/nologin, and no such program.
    """
    return next((user for user in users if user.pw_uid != 0 and os.access(user.pw_shell, os.X_OK)), None)


def new_ssh_key(file: Path) -> str:
    """Make an Ed25519 key: the private one in `file` (mode 0600), the public one beside it and given back."""
    key = ed25519.Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    file.touch(0o600)
    file.write_bytes(private)
    file.with_suffix(".pub").write_bytes(public + b"\n")
    return public.decode("ascii")
