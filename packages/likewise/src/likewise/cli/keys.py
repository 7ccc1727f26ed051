"""The commands ``keys`` (access for people and programs) and ``link`` (sign a browser in)."""

from __future__ import annotations

import io
from dataclasses import asdict
from typing import Annotated, Literal

import typer

from likewise.cli.feedback_output import format_time
from likewise.cli.finding import find_collection, is_collection
from likewise.cli.options import DEFAULT, Json, Where, open_collection, report_found
from likewise.cli.output import echo_json, echo_table, plural, print_line, printable
from likewise.errors import LikewiseError

keys = typer.Typer(
    no_args_is_help=True, help="Keys for other people and programs, each with a role."
)

Name = Annotated[str, typer.Argument(help="Its name, or its number in 'likewise admin keys list'.")]


@keys.command()
def add(
    name: Annotated[
        str, typer.Argument(help="The person or program: 1 to 40 characters; the log shows it.")
    ],
    role: Annotated[
        Literal["look", "judge", "manage"],
        typer.Option(
            help="look: search and see; judge: also judge, tag, rate and keep albums; manage: all."
        ),
    ],
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Make a key for one person or program; it is shown only once.

    They sign in with it in the browser, or send it as 'Authorization: Bearer KEY'.
    """
    with open_collection(collection) as col:
        made = col.keys.add(name, role)
    if json_:
        echo_json({"key": made.secret, **asdict(made.key)})
        return
    print_line(made.secret)
    print_line(
        f"(the key of {printable(made.key.name)}, who may {_MAY[made.key.role]}. It is shown only "
        f"once: the server keeps a hash. 'likewise admin keys revoke' closes it.)",
        err=True,
    )


_MAY = {"look": "look", "judge": "look, judge and tag", "manage": "do everything"}


@keys.command("list")
def list_(
    collection: Where = DEFAULT,
    every: Annotated[bool, typer.Option("--all", help="Include revoked keys.")] = False,
    json_: Json = False,
) -> None:
    """List keys: name, role, maker, and when each was made and last used."""
    with open_collection(collection) as col:
        found = [one for one in col.keys if every or one.revoked is None]
    if json_:
        echo_json([asdict(one) for one in found])
        return
    if not found:
        print_line("There are no keys. 'likewise admin keys add NAME --role look' makes one.")
        return
    rows = [
        (one.id, one.name, one.role, format_time(one.made), one.maker,
         format_time(one.used) if one.used else "never")
        + ((format_time(one.revoked) if one.revoked else "",) if every else ())
        for one in found
    ]  # fmt: skip
    heads = ("number", "name", "role", "made", "by", "last used") + (("revoked",) if every else ())
    echo_table(heads, rows, right="r")


@keys.command()
def revoke(name: Name, collection: Where = DEFAULT, json_: Json = False) -> None:
    """Revoke a key at once: it and the browsers signed in with it are refused from now on.

    Judgements and tags made with it stay; 'likewise admin keys take-back' undoes them.
    """
    with open_collection(collection) as col:
        gone = col.keys.revoke(name)
    if json_:
        echo_json(asdict(gone))
        return
    print_line(f"The key of {printable(gone.name)} no longer works at any server.")


@keys.command()
def take_back(name: Name, collection: Where = DEFAULT, json_: Json = False) -> None:
    """Undo all judgements, comparisons and tags made with a key, as one action.

    'likewise library actions undo' restores it. The key itself goes on working.
    """
    with open_collection(collection) as col:
        done = col.keys.take_back(name)
    if json_:
        echo_json(
            {
                "action": done.action, "key": asdict(done.key), "judgements": done.judgements,
                "tags": done.tags,
            }
        )  # fmt: skip
        return
    print_line(
        f"Undid {plural(done.judgements, 'judgement')} and "
        f"{plural(done.tags, 'tag change')} of {printable(done.key.name)} "
        f"(action {done.action}; 'likewise library actions undo {done.action}' restores them)"
    )


def link(
    collection: Where = DEFAULT,
    revoke: Annotated[
        bool,
        typer.Option("--revoke", help="Sign every browser out first; links of guests stay."),
    ] = False,
    json_: Json = False,
) -> None:
    """Print a new address that signs a browser in at the running server; it works once.

    If the server listens on the network (--host), also print an address for other machines,
    with a QR code for a phone.
    """
    from likewise.server.sessions import TICKET_LASTS, Sessions, running_servers

    found = find_collection(collection)
    if not is_collection(found.path):
        raise LikewiseError(f"there is no collection {found.path}; -C names another")
    report_found(found)
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
        print_line("Every browser is signed out. Links of guests and the key of programs stay.")
    if here is not None:
        print_line(f"Open {here}")
        once = f"works once, within {TICKET_LASTS // 60} minutes"
        if phone is None:
            print_line(f"(the address {once})")
        else:
            print_line(f"On a phone or another machine of this network: {phone}")
            for line in _drawn(phone):
                # Fixed colours: some readers need dark modules on light ground.
                typer.echo(typer.style(line, fg="bright_white", bg="black"))
            print_line(f"(each address {once}; the way between the machines is not encrypted)")


def _drawn(text: str) -> list[str]:
    """Draw a QR code with block characters, two rows in a line."""
    import segno

    out = io.StringIO()
    segno.make(text, error="l", micro=False).terminal(out, compact=True)
    return out.getvalue().splitlines()
