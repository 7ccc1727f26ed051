"""``likewise link``: a fresh address for a server that runs; or the end of all sessions."""

from __future__ import annotations

import io
from typing import Annotated

import typer

from likewise.cli.finding import find_collection, is_collection
from likewise.cli.options import DEFAULT, Json, Where, tell_found
from likewise.cli.output import echo_json, say
from likewise.errors import LikewiseError


def link(
    collection: Where = DEFAULT,
    revoke: Annotated[
        bool,
        typer.Option("--revoke", help="Sign every browser out first; links of guests stay."),
    ] = False,
    json_: Json = False,
) -> None:
    """Print a new address that signs a browser in at the running server; it works once.

    Where the server was told to listen on the network (--host), an address for other machines
    too, and a QR code of it for a phone.
    """
    from likewise.server.running import running_servers
    from likewise.server.sessions import TICKET_LASTS, Sessions

    found = find_collection(collection)
    if not is_collection(found.path):
        raise LikewiseError(f"there is no collection {found.path}; -C names another")
    tell_found(found)
    servers = running_servers(found.path)
    if not (servers or revoke):
        raise LikewiseError(
            f"no server of {found.path} runs; 'likewise serve -C {found.path}' starts one, and "
            "browsers that were signed in still are"
        )
    sessions = Sessions(found.path)
    if not sessions.lasting:
        raise LikewiseError(
            f"{found.path} is read-only, so that its server keeps no sessions; start it again for "
            "a new address"
        )
    if revoke:
        sessions.renew()
    here = servers[0].url(sessions.ticket(servers[0].run)) if servers else None
    others = servers[0].names if servers else ()
    phone = servers[0].url(sessions.ticket(servers[0].run), others[0]) if others else None
    if json_:
        port, pid = (servers[0].port, servers[0].pid) if servers else (None, None)
        said = {"url": here, "phone": phone, "port": port, "pid": pid, "revoked": revoke}
        echo_json({"collection": str(found.path), **said})
        return
    if revoke:
        say("Every browser is signed out. Links of guests and the key of programs stay.")
    if here is not None:
        say(f"Open {here}")
        once = f"works once, within {TICKET_LASTS // 60} minutes"
        if phone is None:
            say(f"(the address {once})")
        else:
            say(f"On a phone or another machine of this network: {phone}")
            for line in _drawn(phone):
                # Light on dark whatever the terminal's colours are: some readers insist on it.
                typer.echo(typer.style(line, fg="bright_white", bg="black"))
            say(f"(each address {once}; the way between the machines is not encrypted)")


def _drawn(text: str) -> list[str]:
    """A QR code of blocks, two rows a line."""
    import segno

    out = io.StringIO()
    segno.make(text, error="l", micro=False).terminal(out, compact=True)
    return out.getvalue().splitlines()
