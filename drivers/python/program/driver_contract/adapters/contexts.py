"""An `ssl.SSLContext` as a job asks for one, for a driver that takes no word on TLS versions itself."""

from __future__ import annotations

import ssl

from driver_contract.failure import bad_job
from driver_contract.job import Tls

VERSIONS = {
    "1.0": ssl.TLSVersion.TLSv1,
    "1.1": ssl.TLSVersion.TLSv1_1,
    "1.2": ssl.TLSVersion.TLSv1_2,
    "1.3": ssl.TLSVersion.TLSv1_3,
}


def context_of(tls: Tls) -> ssl.SSLContext:
    """A context for all connections. Raises Failure (bad_job) where a file cannot be read."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = tls.verify == "identity"
    context.verify_mode = ssl.CERT_NONE if tls.verify == "none" else ssl.CERT_REQUIRED
    context.minimum_version = VERSIONS[tls.versions[0]]
    context.maximum_version = VERSIONS[tls.versions[-1]]
    try:
        if tls.ca_file is not None:
            context.load_verify_locations(tls.ca_file)
        if tls.certificate_file is not None:
            context.load_cert_chain(tls.certificate_file, tls.key_file)
    except OSError as error:
        raise bad_job(f"tls: a file of the job cannot be read ({error.strerror or error})") from None
    return context
