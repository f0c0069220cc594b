"""Keys of our own for SSH, in OpenSSH's format."""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519


def new_ssh_key(file: Path) -> str:
    """Make an Ed25519 key: the private one in `file` (mode 0600), the public one beside it and given back."""
    key = ed25519.Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as private_file:
        private_file.write(private)
    file.with_suffix(".pub").write_bytes(public + b"\n")
    return public.decode("ascii")
