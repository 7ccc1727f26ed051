"""How often something was tried.

``make trust`` names a file (``LIKEWISE_TRUST_TRIALS``) to which every trial adds a line; of these
:mod:`benchmarks.trust.trials` makes a table.  ``LIKEWISE_TRUST_ROUNDS`` says
how many rounds it asks for.
"""

from __future__ import annotations

import os

KILLS = "kill -9"
DISK_ERRORS = "injected I/O errors"
PICTURES = "mutated pictures"
WITHOUT_RIGHT = "unauthorised requests"
DRAWN = "fuzzed requests"
FLIPS = "flipped bits of a catalog"
HISTORIES = "random histories, each against a reference"
BACKUPS = "backups restored and compared"

ROUNDS = int(os.environ.get("LIKEWISE_TRUST_ROUNDS", "0"))


def count(what: str, n: int = 1) -> None:
    """So many trials more of a kind."""
    path = os.environ.get("LIKEWISE_TRUST_TRIALS")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{what}\t{n}\n")
