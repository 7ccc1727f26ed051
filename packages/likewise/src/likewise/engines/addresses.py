"""Addresses of engines, as people write them, and the engines behind them.

``qdrant://host:6333/name`` is a server, ``qdrants://…`` the same by TLS, ``qdrant-edge:///folder``
Qdrant's engine in this process.  ``?grpc=6334`` asks the server by gRPC, ``?timeout=60`` gives a
request a minute.  The API key never stands in an address, where a list of processes would show
it: it comes from ``LIKEWISE_QDRANT_API_KEY``.
"""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from likewise.engines.protocol import RowKind
from likewise.engines.retries import Retries
from likewise.errors import InvalidInput
from likewise_cluster.engines.points import Points
from likewise_cluster.engines.qdrant import QdrantRows
from likewise_methods.validation import whole

KEY = "LIKEWISE_QDRANT_API_KEY"
_EXPECTED = "qdrant://host:6333/name, qdrants://host:6333/name or qdrant-edge:///folder"


class Engine:
    """A place that holds the rows of a collection, each generation of a space in its own store.

    Parameters
    ----------
    points : Points
        The connection; :func:`open_engine` makes it of an address.

    See Also
    --------
    open_engine : opens one.
    """

    def __init__(self, points: Points) -> None:
        self.address = points.address
        self._points = points

    def names(self) -> dict[str, RowKind]:
        """The stores there are; a sparse one does not say its width."""
        return self._points.names()

    def store(
        self,
        name: str,
        kind: RowKind,
        *,
        owner: str = "",
        exact: bool = False,
        create: bool = True,
    ) -> QdrantRows:
        """A store by name.

        Parameters
        ----------
        name : str
            Of the store.
        kind : RowKind
            What rows it takes.
        owner : str, default=""
            Marks the pictures of this store; another's are refused.
        exact : bool, default=False
            Whether dense rows are compared one by one, and not along the engine's graph.
        create : bool, default=True
            Whether it is made where there is none; else that is refused.

        Returns
        -------
        QdrantRows
        """
        return QdrantRows(self._points, name, kind, owner=owner, exact=exact, create=create)

    def close(self) -> None:
        """Let go of files and connections."""
        self._points.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_engine(
    address: str, *, retries: Retries | None = None, timeout: int | None = None
) -> Engine:
    """The engine at an address; a server is asked nothing yet.

    Parameters
    ----------
    address : str
        ``qdrant://host:6333/name``, ``qdrants://…`` for TLS, or ``qdrant-edge:///folder``.  A key
        never stands in it: it comes from ``LIKEWISE_QDRANT_API_KEY``.
    retries : Retries, optional
        How often, and for how long, a server that is away is asked again.
    timeout : int, optional
        Seconds a request may take where the address does not say; 30 by default.

    Returns
    -------
    Engine
        To be closed by who opened it.

    See Also
    --------
    ship : brings rows to a store of it.
    """
    parts = urlsplit(address)
    if parts.scheme == "qdrant-edge":
        from likewise_cluster.engines.edge import EdgePoints

        if parts.netloc or len(parts.path) < 2 or parts.query:
            raise InvalidInput(f"{address!r} names no folder; qdrant-edge:///folder expected")
        return Engine(EdgePoints(Path(parts.path)))
    if parts.scheme not in ("qdrant", "qdrants"):
        raise InvalidInput(f"{address!r} is no address of an engine; {_EXPECTED} expected")
    return Engine(_server(address, parts, retries, timeout))


def _server(address: str, parts: Any, retries: Retries | None, usual: int | None) -> Points:
    from likewise_cluster.engines.server import TIMEOUT, ServerPoints, connect

    name = parts.path.strip("/")
    if not parts.hostname or not name or "/" in name:
        raise InvalidInput(f"{address!r} names no host and collection; {_EXPECTED} expected")
    if parts.username or parts.password:
        raise InvalidInput(f"an address holds no key (anybody could read it); set {KEY} instead")
    options = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    unknown = set(options) - {"grpc", "timeout"}
    if unknown:
        raise InvalidInput(
            f"{address!r}: {sorted(unknown)[0]!r} is no option; grpc and timeout are"
        )
    timeout = _number(options.get("timeout"), "timeout") or usual or TIMEOUT
    secure = parts.scheme == "qdrants"
    key = os.environ.get(KEY) or None
    if key and not secure and not _is_here(parts.hostname):
        raise InvalidInput(
            f"{KEY} would travel readable by {parts.scheme}://; use qdrants://, or unset it"
        )
    port = parts.port or 6333
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    client = connect(
        f"http{'s' if secure else ''}://{host}:{port}",
        api_key=key,
        timeout=timeout,
        grpc_port=_number(options.get("grpc"), "grpc"),
    )
    said = f"{parts.scheme}://{host}:{port}/{name}"
    return ServerPoints(client, name, said, retries=retries)


def _number(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    return whole(int(text) if text.isdecimal() else text, name)


def _is_here(host: str) -> bool:
    """Whether a host is this machine, so that nobody listens in between."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
