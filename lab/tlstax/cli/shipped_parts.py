"""Writes what comes with tlstax of a server's parts anew, from a run of `components`: `setup/renew-parts`."""

from __future__ import annotations

import sys
from pathlib import Path

from tlstax.cli.exit import guarded
from tlstax.cli.streams import show
from tlstax.records.trial import StoredRun
from tlstax.store import open_store
from tlstax.study import load_study
from tlstax.support.errors import UserMistake
from tlstax.support.text import enumerated
from tlstax.topics.prediction import other_machines as shipped
from tlstax.topics.prediction.model import READ, ROUND_TRIPS, STUDIES, MeasuredMix, mixes_of

FOLDER = Path(shipped.__file__).parent

DIGITS = 6
"""Significant ones of what is kept: more than any of it is known to."""


def renew(run: str, remark: str = "", folder: Path = FOLDER) -> Path:
    """Write the file of each server that this run measured and whose parts come with tlstax; the last one.

    UserMistake where the run is not a complete one of the study, or of another server.
    """
    with open_store() as store:
        stored = store.load(run)
    if stored.header.study.name not in STUDIES.values() or stored.status != "complete":
        studies = [f"`./tlstax study run {study}`" for study in STUDIES.values()]
        raise UserMistake(
            f"run {stored.header.run} is no complete one of the studies {enumerated(STUDIES.values())}",
            remedy=f"run {' or '.join(studies)} on a machine that does nothing else",
        )
    servers = [str(level) for level in stored.header.study.levels_of().get("server", ())]
    wanted = [server for server in servers if server in shipped.SHIPPED]
    if not wanted:
        raise UserMistake(
            f"run {stored.header.run} measured {enumerated(servers)}",
            remedy=f"parts of {enumerated(shipped.SHIPPED)} come with tlstax",
        )
    for server in wanted:
        parts = shipped_of(stored, server, remark)
        parts.calibrated()
        file = folder / shipped.file_of(server)
        file.write_text(parts.text(), encoding="utf-8")
        show(f"{file.name}: {len(parts.mixes)} mixes of {server} on {parts.processor}, run {parts.run}\n")
    return file


def shipped_of(stored: StoredRun, server: str, remark: str) -> shipped.ShippedParts:
    """What a run of `components` measured of this server. MachineFault where it cannot be read."""
    header = stored.header
    named = {(own.kind, own.name if own.kind == "server" else ""): own.version for own in header.specimens}
    default = load_study(header.study.name).levels_of()
    return shipped.ShippedParts(
        run=header.run,
        at=header.started_at,
        tlstax_version=header.tlstax_version,
        server=server,
        server_version=named["server", server],
        tls_library=named.get(("tls_library", ""), ""),
        processor=header.machine.cpu_model,
        cores=header.machine.cores,
        virtualization=header.machine.virtualization,
        distribution=header.machine.distribution,
        remark=remark,
        factors={
            name: tuple(levels)
            for name, levels in header.study.levels_of().items()
            if levels != default.get(name)
        },
        mixes=tuple(map(_shipped, mixes_of(stored, server))),
    )


def _shipped(own: MeasuredMix) -> MeasuredMix:
    """The mix with what is read of it alone, and with no more digits than are known."""
    values = {
        name: float(f"{value:.{DIGITS}g}")
        for name, value in own.values.items()
        if name in {*READ, ROUND_TRIPS} and value > 0
    }
    return MeasuredMix(mix=own.mix, connections=own.connections, blocks=own.blocks, values=values)


if __name__ == "__main__":
    given, *remark = sys.argv[1:]
    sys.exit(guarded(lambda: renew(given, " ".join(remark))))
