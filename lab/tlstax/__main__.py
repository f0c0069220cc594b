"""`python -m tlstax`: the command line, guarded."""

from __future__ import annotations

import sys

from tlstax.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
