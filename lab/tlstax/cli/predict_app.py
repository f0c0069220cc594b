"""The command that computes costs from parts that were measured: `predict`, and its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from tlstax.cli.command import With, command
from tlstax.cli.options import Json

predict_app = typer.Typer()


VALIDATING = With("validate")


@dataclass(frozen=True)
class PredictOptions:
    """The options of `tlstax predict` as they were typed; `run` names the run whose parts are used."""

    connects: Annotated[
        str | None, typer.Option(help="Connections a second, such as 200/s; without, one is looked at.")
    ] = None
    queries: Annotated[int, typer.Option(min=1, help="Statements on each connection.")] = 1
    bytes: Annotated[str, typer.Option("--bytes", help="Bytes of each answer, such as 120 or 2k.")] = "120"
    rtt_ms: Annotated[float, typer.Option(help="Round trip time between client and server.")] = 0.0
    tls: Annotated[str, typer.Option(help="1.3, 1.2 or off; 1.3-direct at PostgreSQL.")] = "1.3"
    certificate: Annotated[str, typer.Option(help="The server's key, such as rsa-4096 or ec-p256.")] = (
        "rsa-2048"
    )
    chain: Annotated[
        int, typer.Option(help="How many certificates the server sends: its own, and those up to the root.")
    ] = 1
    client_certificate: Annotated[
        str, typer.Option(help="on where clients prove themselves by a certificate, else off.")
    ] = "off"
    group: Annotated[
        str, typer.Option(help="The clients' first group: P-256, or default for what the client puts first.")
    ] = "P-256"
    resumption: Annotated[str, typer.Option(help="on where clients resume sessions, else off.")] = "off"
    auth: Annotated[
        str,
        typer.Option(help="The plugin or method of the clients' account, or default for the server's own."),
    ] = "default"
    path: Annotated[
        str, typer.Option(help="With --tls off: what carries the bytes, such as stunnel or haproxy-tls.")
    ] = "direct"
    compression: Annotated[
        str, typer.Option(help="The protocol's own, of answers that it halves: zlib or zstd, else off.")
    ] = "off"
    protocol: Annotated[
        str, typer.Option(help="How statements travel: text, or prepared once a connection (PostgreSQL).")
    ] = "text"
    server: Annotated[
        str | None, typer.Option(help="Which server's costs, such as mysql-8.0.33 or postgresql-18.")
    ] = None
    run: Annotated[
        str | None,
        typer.Option(help="The run of components or postgres-components that it is computed from."),
    ] = None
    calibration: Annotated[
        bool,
        typer.Option(
            "--calibration/--no-calibration",
            help="Without a run of the parts' study: measure for half a minute, once, or answer at once.",
        ),
    ] = True
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Measure that half minute again, and use it.")
    ] = False
    validate: Annotated[
        bool, typer.Option("--validate", help="Measure mixes drawn at random, and show how far off it is.")
    ] = False
    mixes: Annotated[int, typer.Option(help="With --validate: how many are drawn."), VALIDATING] = 24
    budget: Annotated[str, typer.Option(help="With --validate: how long to measure."), VALIDATING] = "10m"
    seed: Annotated[int | None, typer.Option(help="With --validate: draw the same again."), VALIDATING] = None
    near: Annotated[
        bool,
        typer.Option("--near", help="With --validate: no distances, so that all else is measured longer."),
        VALIDATING,
    ] = False
    json: Json = False


@command(predict_app)
def predict(options: PredictOptions) -> int:
    """What a way of using a server would cost, and what would be cheaper: computed from measured parts."""
    from tlstax.cli.predict_command import predict_command, validate_command

    return validate_command(options) if options.validate else predict_command(options)
