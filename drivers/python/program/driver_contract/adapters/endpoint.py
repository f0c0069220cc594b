"""Where to and as whom, in the keyword arguments that all drivers of PEP 249 share."""

from __future__ import annotations

from driver_contract.driver import Settings
from driver_contract.job import Job


def endpoint_of(job: Job) -> Settings:
    """The server's place and the account, and nothing else."""
    settings: Settings = {"user": job.user, "password": job.password}
    if job.database is not None:
        settings["database"] = job.database
    if job.socket_path is not None:
        return settings | {"unix_socket": job.socket_path}
    return settings | {"host": job.host, "port": job.port}
