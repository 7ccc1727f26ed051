"""Addresses of Qdrant, and the engines they open.

``qdrant://host:6333/name`` is a server, ``qdrants://…`` the same over TLS, and
``qdrant-edge:///folder`` Qdrant's engine in this process.  ``?grpc=6334`` uses gRPC,
``?timeout=60`` gives a request a minute.  The API key is read from ``LIKEWISE_QDRANT_API_KEY``,
because a list of processes would show it in an address.
"""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
from urllib.parse import SplitResult, parse_qs, urlsplit

from likewise.errors import InvalidInput
from likewise_cluster.engines.points import Points
from likewise_cluster.engines.qdrant import QdrantEngine
from likewise_cluster.engines.retries import Retries
from likewise_methods.validation import whole

KEY = "LIKEWISE_QDRANT_API_KEY"
_EXPECTED = "qdrant://host:6333/name, qdrants://host:6333/name or qdrant-edge:///folder"


def open_qdrant(
    address: str, *, attempts: int = 5, timeout: int = 30, retries: Retries | None = None
) -> QdrantEngine:
    """Open a Qdrant engine by its address, for the entry points of ``likewise.engines``.

    ``retries`` replaces ``attempts``; ``timeout`` counts where the address does not say.
    """
    parts = urlsplit(address)
    if parts.scheme == "qdrant-edge":
        from likewise_cluster.engines.edge import EdgePoints

        if parts.netloc or len(parts.path) < 2 or parts.query:
            raise InvalidInput(f"{address!r} names no folder; qdrant-edge:///folder expected")
        return QdrantEngine(EdgePoints(Path(parts.path)))
    if parts.scheme not in ("qdrant", "qdrants"):
        raise InvalidInput(f"{address!r} is no address of Qdrant; {_EXPECTED} expected")
    return QdrantEngine(_open_server(address, parts, retries or Retries(attempts), timeout))


def _open_server(address: str, parts: SplitResult, retries: Retries, timeout: int) -> Points:
    from likewise_cluster.engines.server import ServerPoints, connect

    name = parts.path.strip("/")
    if not parts.hostname or not name or "/" in name:
        raise InvalidInput(f"{address!r} names no host and collection; {_EXPECTED} expected")
    if parts.username or parts.password:
        raise InvalidInput(
            f"an address holds no key (other users could read it); set {KEY} instead"
        )
    options = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    unknown = set(options) - {"grpc", "timeout"}
    if unknown:
        raise InvalidInput(
            f"{address!r}: {sorted(unknown)[0]!r} is no option; grpc and timeout are"
        )
    secure = parts.scheme == "qdrants"
    key = os.environ.get(KEY) or None
    if key and not secure and not _is_local(parts.hostname):
        raise InvalidInput(
            f"{KEY} would be sent unencrypted by {parts.scheme}://; use qdrants://, or unset it"
        )
    port = parts.port or 6333
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    client = connect(
        f"http{'s' if secure else ''}://{host}:{port}",
        api_key=key,
        timeout=_number(options.get("timeout"), "timeout") or timeout,
        grpc_port=_number(options.get("grpc"), "grpc"),
    )
    return ServerPoints(client, name, f"{parts.scheme}://{host}:{port}/{name}", retries=retries)


def _number(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    return whole(int(text) if text.isdecimal() else text, name)


def _is_local(host: str) -> bool:
    """Return whether a host is this machine, so that no network is in between."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
