"""Writes what comes with tlstax of a server's parts anew, from a run of `components`: `setup/renew-parts`."""

from __future__ import annotations

import sys
from pathlib import Path

from tlstax.cli.exit import guarded
from tlstax.cli.kept import open_store
from tlstax.cli.streams import show
from tlstax.support.errors import UserMistake
from tlstax.support.text import enumerated
from tlstax.topics.prediction import other_machines as shipped
from tlstax.topics.prediction.model import STUDY

FOLDER = Path(shipped.__file__).parent


def renew(run: str, remark: str = "", folder: Path = FOLDER) -> Path:
    """Write the file of each server that this run measured and whose parts come with tlstax; the last one.

    UserMistake where the run is not a complete one of the study, or of another server.
    """
    with open_store() as store:
        stored = store.load(run)
    if (stored.header.study.name, stored.status) != (STUDY, "complete"):
        raise UserMistake(
            f"run {stored.header.run} is no complete one of the study {STUDY}",
            remedy=f"run `./tlstax study run {STUDY}` on a machine that does nothing else",
        )
    servers = [str(level) for level in stored.header.study.levels_of().get("server", ())]
    wanted = [server for server in servers if server in shipped.SHIPPED]
    if not wanted:
        raise UserMistake(
            f"run {stored.header.run} measured {enumerated(servers)}",
            remedy=f"parts of {enumerated(shipped.SHIPPED)} come with tlstax",
        )
    for server in wanted:
        parts = shipped.shipped_of(stored, server, remark)
        parts.calibrated()
        file = folder / shipped.file_of(server)
        file.write_text(parts.text(), encoding="utf-8")
        show(f"{file.name}: {len(parts.mixes)} mixes of {server} on {parts.processor}, run {parts.run}\n")
    return file


if __name__ == "__main__":
    given, *remark = sys.argv[1:]
    sys.exit(guarded(lambda: renew(given, " ".join(remark))))
