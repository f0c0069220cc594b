"""A second machine made of a network namespace: a server and an sshd there, reached by the real ssh.

sshd wants a user of its own and a folder where it runs as root, so it sees a /run and an /etc/passwd of its
own.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tlstax.network.distance.opening import Span
from tlstax.network.paths.ssh import new_ssh_key
from tlstax.specimens.processes import mortal

PORT, WITHIN_S = 2222, 20.0

SSHD = """\
Port {port}
ListenAddress {address}
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PermitRootLogin yes
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
SetEnv TMPDIR={folder}/tmp
"""

SSH = """\
Host *
  IdentityFile {folder}/user
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  BatchMode yes
"""

OF_ITS_OWN = (
    "mount -t tmpfs none /run && mkdir /run/sshd && cp /etc/passwd {folder}/passwd && "
    "echo sshd:x:65533:65534::/run/sshd:/bin/false >> {folder}/passwd && "
    "mount --bind {folder}/passwd /etc/passwd && "
    "LD_LIBRARY_PATH={libraries} exec {sshd} -r -D -e -f {folder}/sshd_config"
)


@contextmanager
def sshd_at(span: Span, sshd: Path, folder: Path) -> Iterator[str]:
    """While an sshd runs in the far place; the command that is ssh to it, from the near place.

    What is put down there for a moment lies in the folder's `tmp`.
    """
    (folder / "tmp").mkdir()
    host_key = new_ssh_key(folder / "host")
    new_ssh_key(folder / "user")
    address = span.far_address
    (folder / "known_hosts").write_text(f"[{address}]:{PORT} {host_key}\n")
    (folder / "sshd_config").write_text(SSHD.format(port=PORT, address=address, folder=folder))
    (folder / "ssh_config").write_text(SSH.format(folder=folder))
    tree = sshd.parents[2]
    libraries = ":".join(map(str, {own.parent for own in (tree / "usr" / "lib").rglob("*.so.*")}))
    words = OF_ITS_OWN.format(folder=folder, sshd=sshd, libraries=libraries)
    command = [*span.enter_far(), "unshare", "--mount", "--propagation", "private", "sh", "-c", words]
    with (folder / "log").open("wb") as log, subprocess.Popen(mortal(command), stderr=log) as program:
        try:
            _wait_for(span, address)
            yield shlex.join(["ssh", "-F", str(folder / "ssh_config")])
        finally:
            program.terminate()


def _wait_for(span: Span, address: str) -> None:
    """Until somebody answers at that port, as seen from the near place."""
    asks = f"import socket; socket.create_connection(({address!r}, {PORT}), 1).recv(3)"
    until = time.monotonic() + WITHIN_S
    command = [*span.enter_near(), sys.executable, "-c", asks]
    while subprocess.run(command, capture_output=True, check=False).returncode:
        assert time.monotonic() < until, "sshd does not answer"
        time.sleep(0.1)
