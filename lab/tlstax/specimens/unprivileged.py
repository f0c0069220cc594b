"""Programs that refuse to run as root: run as another user where the laboratory is root.

That user owns nothing (Debian policy, 9.2.2; Linux Standard Base, "User & Group Names"). What only root can
enter it is allowed to read when told to (capabilities(7), CAP_DAC_READ_SEARCH), and no more.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from tlstax.specimens import processes
from tlstax.support.errors import MachineFault

USER = "nobody"

CAPABILITIES = {"dac_read_search": 2, "dac_override": 1}
"""What lets another user read what root owns, the narrower one first, by its number in <linux/capability.h>.
Containers often keep the second alone."""


def user(program: str) -> pwd.struct_passwd | None:
    """Whom `program` runs as; None where the laboratory is an ordinary user itself. MachineFault."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(USER)
    except KeyError as error:
        raise MachineFault(
            f"{program} refuses to run as root, and this machine has no user {USER}",
            remedy=f"add the user {USER}, or run tlstax as an ordinary user",
        ) from error


def entering(who: pwd.struct_passwd | None) -> list[str]:
    """What goes before the command line of a program that runs as this user; nothing for None.

    It dies with the laboratory all the same: another user's process would go on, so that it is told again
    (prctl(2), PR_SET_PDEATHSIG). With the secure bit, access(2) heeds what the user is allowed
    (capabilities(7)): initdb asks it.
    """
    if who is None:
        return []
    kept = _kept_capability()
    return [
        processes.tool("setpriv"),
        f"--reuid={who.pw_uid}",
        f"--regid={who.pw_gid}",
        "--clear-groups",
        "--securebits=+no_setuid_fixup",
        f"--inh-caps=-all{kept}",
        f"--ambient-caps=-all{kept}",
        f"--bounding-set=-all{kept}",
        "--pdeathsig=KILL",
        "--",
    ]


def _kept_capability() -> str:
    """What is kept, as setpriv(1) takes it behind what is given up; empty where there is none."""
    status = Path("/proc/self/status").read_text("ascii", errors="replace")
    bounding = next(line.split()[1] for line in status.splitlines() if line.startswith("CapBnd:"))
    allowed = int(bounding, 16)
    return next((f",+{name}" for name, number in CAPABILITIES.items() if allowed & 1 << number), "")


def give_away(directory: Path, who: pwd.struct_passwd | None) -> None:
    """Let this user own a directory with all that is in it; nothing for None."""
    if who is not None:
        for path in (directory, *directory.rglob("*")):
            os.chown(path, who.pw_uid, who.pw_gid, follow_symlinks=False)
