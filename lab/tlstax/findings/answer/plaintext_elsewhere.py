"""What plaintext would cost where nobody may log in without TLS: as it was measured on another server."""

from __future__ import annotations

from tlstax.findings.model.predict import costs, in_the_clear
from tlstax.findings.model.shipped import shipped_parts, stand_in
from tlstax.plan.stand_ins import stand_in_for
from tlstax.records.external import ExternalServer
from tlstax.records.trial import StoredRun
from tlstax.study.mixes import Mix
from tlstax.study.server_words import key_of

SELECT_BYTES, MANY = 120, 1000
"""The answer to a point select, and statements on a connection that is kept."""


def of_plaintext(stored: StoredRun) -> tuple[str, ...]:
    """Of each server that rules it out a sentence that says why, and what is known of it elsewhere."""
    return tuple(_why_none(own, stored) for own in stored.header.external if own.no_plaintext)


def _why_none(external: ExternalServer, stored: StoredRun) -> str:
    why = f"plaintext was not measured: {external.no_plaintext}"
    servers = (one for one in stored.header.specimens if one.kind == "server")
    own = next((one for one in servers if external.server in {None, one.name}), None)
    specimen = None if own is None else stand_in_for(own.version)
    if specimen is None:
        return why
    version = "1.2" if str(stored.header.study.baseline.get("tls")) == "1.2" else "1.3"
    return f"{why}; {_elsewhere(specimen, version)}"


def _elsewhere(specimen: str, version: str) -> str:
    """What TLS costs beside plaintext by the parts that come with tlstax, of the server that is nearest."""
    parts = shipped_parts(stand_in(specimen))
    model = parts.calibrated()
    one = Mix(tls="1.2" if version == "1.2" else "1.3", statements=1, answer_bytes=SELECT_BYTES)
    many = one.but(statements=MANY)

    def cpu_us(mix: Mix) -> float:
        return costs(model, mix, 0.0).server_cpu_us.point

    kept = (cpu_us(many) - cpu_us(one)) / (cpu_us(in_the_clear(many)) - cpu_us(in_the_clear(one)))
    made = cpu_us(one) / cpu_us(in_the_clear(one))
    return (
        f"measured elsewhere, on a private {parts.server} with a certificate of {key_of(one.certificate)} "
        f"({parts.processor}): TLS {version} costs the server about {kept - 1:+.0%} CPU a point select and "
        f"×{made:.1f} a new connection, compared with plaintext (`tlstax run --server {specimen}` measures "
        "that on this machine)"
    )
