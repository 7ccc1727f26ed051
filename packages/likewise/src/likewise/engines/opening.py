"""Open the engine of an address; a plug-in provides each scheme (``docs/plugins.md``)."""

from __future__ import annotations

from likewise.engines.errors import EngineMissing
from likewise.engines.protocol import Engine
from likewise.errors import InvalidInput
from likewise.plugins import ENGINES, SYNC, PluginMissing, load, points_of


def open_engine(address: str, *, attempts: int = 5, timeout: int = 30) -> Engine:
    """Open the engine at an address, without a request to it yet.

    Parameters
    ----------
    address : str
        ``qdrant://host:6333/name``, ``qdrants://…`` for TLS, or ``qdrant-edge:///folder``.  It
        holds no key: that is read from ``LIKEWISE_QDRANT_API_KEY``.
    attempts : int, default=5
        How often a request that failed is made.
    timeout : int, default=30
        Seconds a request may take where the address does not say.

    Returns
    -------
    Engine
        To be closed by the caller.

    See Also
    --------
    Engine : what it offers.
    """
    scheme, sign, _ = address.partition("://")
    wrong = f"{address!r} is no address of an engine; one like qdrant://host:6333/name expected"
    if not sign or scheme == SYNC:
        raise InvalidInput(wrong)
    try:
        opener = load(ENGINES, scheme)
    except PluginMissing as error:
        if error.package is None:
            schemes = sorted({*points_of(ENGINES)} - {SYNC})
            known = ", ".join(f"{one}://" for one in schemes) or "none"
            raise InvalidInput(f"{wrong}; installed are {known}") from None
        raise EngineMissing(f"{address} cannot be opened: {error}") from error
    opened: Engine = opener(address, attempts=attempts, timeout=timeout)
    return opened
