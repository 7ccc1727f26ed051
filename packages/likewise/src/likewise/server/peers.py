"""Whose program asks: the user behind a connection that comes from this machine.

The address that a browser is started with stands among its arguments, where every user of the
machine can read it.  So the ticket in it opens for programs of the server's own user only.  Linux
tells whose a connection is; elsewhere, and where the other end is not in its table (a tunnel, a
container), nothing is known, and a ticket is good as it is.
"""

from __future__ import annotations

import ipaddress
import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

_TABLES = {4: Path("/proc/net/tcp"), 6: Path("/proc/net/tcp6")}


def asks_another_user(client: Any, server: Any) -> bool:
    """Whether a request is known to come from a program of another user of this machine."""
    found = user_of(client, server)
    return found is not None and found != os.getuid()


def user_of(client: Any, server: Any) -> int | None:
    """The user whose program holds the other end of a connection; None if it is unknown.

    ``client`` and ``server`` are (address, port) as the server sees them.
    """
    with suppress(OSError, ValueError, TypeError, struct.error):
        ends = _in_table(*client[:2]), _in_table(*server[:2])
        version = ipaddress.ip_address(client[0]).version
        for line in _TABLES[version].read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if (fields[1], fields[2]) == ends:
                return int(fields[7])
    return None


def _in_table(address: str, port: int) -> str:
    """An end of a connection as the system writes it: words in the machine's own order."""
    packed = ipaddress.ip_address(address).packed
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return f"{''.join(f'{word:08X}' for word in words)}:{port:04X}"
