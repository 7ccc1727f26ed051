"""Pages that are made of the code: the reference of every public name, the commands, and the HTTP
interface.

Public is what a package's ``lazy_exports`` table lists.  A name that several packages export is
described once, in the package with the shortest name other than ``likewise``.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

from command_page import command_page
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
FRONT = "likewise"
PACKAGES = sorted(
    ".".join(path.relative_to(ROOT / "packages").parts[2:-1])
    for path in ROOT.glob("packages/*/src/**/__init__.py")
    if "lazy_exports(" in path.read_text()
)
# The command line has a page of its own.
PUBLIC = {
    package: importlib.import_module(package).__all__
    for package in PACKAGES
    if package != "likewise.cli"
}
# Only in the package ``likewise``.
OWN = {"__version__"}
STOP = (
    "BaseEstimator, TransformerMixin, ABC, tuple, Exception, BaseException, dict, list, object, "
    "Protocol, Mapping, Sequence, ValueError, RuntimeError, Enum, str, int"
)


def thing(room: str, name: str) -> Any:
    return getattr(__import__(room, fromlist=[name]), name)


def homes() -> dict[tuple[str, str], str]:
    """Where each public name of each room is described: "room.name"."""
    rooms = sorted((room for room in PUBLIC if room != FRONT), key=lambda r: (r.count("."), r))
    first: dict[int, str] = {}
    found: dict[tuple[str, str], str] = {}
    for room in [*rooms, FRONT]:
        for name in PUBLIC[room]:
            made = thing(room, name)
            plain = isinstance(made, (int, float, str, tuple, frozenset, dict, list))
            where = f"{room}.{name}"
            found[room, name] = where if plain else first.setdefault(id(made), where)
    return found


def directive(where: str) -> list[str]:
    room, _, name = where.rpartition(".")
    made = thing(room, name)
    if inspect.isclass(made):
        return [
            f".. autoclass:: {where}", "   :members:", f"   :inherited-members: {STOP}",
            "   :undoc-members:" if issubclass(made, tuple) else "", "",
        ]  # fmt: skip
    if callable(made):
        return [f".. autofunction:: {where}", ""]
    return [f".. autodata:: {where}", ""]


def first_sentence(text: str | None) -> str:
    said = " ".join((text or "").strip().split("\n\n")[0].split())
    parts = re.split(r"(``.+?``|:[\w:]+:`[^`]+`)", said)
    for i, part in enumerate(parts):
        # Roles are reduced to their words: a table has no room for more.
        parts[i] = (
            re.sub(r"^:[\w:]+:`~?([^`]+)`$", r"`\1`", part).replace("|", "\\|")
            if i % 2
            else re.sub(r"([\\|*_$`\[\]])", r"\\\1", part).replace("<", "&lt;")
        )
    return "".join(parts)


def role(where: str, shown: str) -> str:
    """A link to where a name is described."""
    room, _, name = where.rpartition(".")
    made = thing(room, name)
    kind = "class" if inspect.isclass(made) else "func" if callable(made) else "data"
    if inspect.isclass(made) and issubclass(made, BaseException):
        kind = "exc"
    return f"{{py:{kind}}}`{shown} <{where}>`"


def room_page(room: str, found: dict[tuple[str, str], str]) -> str:
    module = __import__(room, fromlist=["x"])
    lines = [f"# {room}", "", first_sentence(module.__doc__), "", "| name | |", "|---|---|"]
    for name in sorted(set(PUBLIC[room]) - OWN):
        made = thing(room, name)
        said = first_sentence(made.__doc__) if callable(made) else ""
        lines.append(f"| {role(found[room, name], name)} | {said} |")
    own = [name for name in sorted(PUBLIC[room]) if found[room, name] == f"{room}.{name}"]
    for name in own:
        if name not in OWN:
            lines += ["", "```{eval-rst}", *directive(f"{room}.{name}"), "```"]
    return "\n".join([*lines, ""])


def index_page() -> str:
    lines = [
        "# Reference", "",
        "Every public name by package. A package imports nothing until a name is used. A name",
        "that several packages export is described once. [Commands](cli.md) and the interface over",
        "[HTTP](http.md) have pages of their own.",
        "", "```{toctree}", ":maxdepth: 1", "", "http", *sorted(PUBLIC), "```", "",
    ]  # fmt: skip
    return "\n".join(lines)


# -- the HTTP interface ---------------------------------------------------------------------


def kind_of(schema: dict[str, Any]) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#schema-{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(kind_of(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        return f"list of {kind_of(schema.get('items', {}))}"
    return str(schema.get("type", "anything"))


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def http_page(api: dict[str, Any]) -> str:
    lines = [
        "# The HTTP interface", "",
        "Made from the description that a server gives of itself at `/api/openapi.json`.",
        "How to start one and who may ask it: [the server](../server.md).", "", "## Routes", "",
    ]  # fmt: skip
    for path, ways in sorted(api["paths"].items()):
        for way, said in ways.items():
            lines += [f"### {way.upper()} {path}", ""]
            lines += [cell(said.get("description") or said.get("summary") or ""), ""]
            rows = [
                f"| `{one['name']}` | {one['in']} | {kind_of(one.get('schema', {}))} | "
                f"{'yes' if one.get('required') else ''} | {cell(one.get('description', ''))} |"
                for one in said.get("parameters", [])
            ]
            if rows:
                lines += [
                    "| parameter | in | kind | required | |",
                    "|---|---|---|---|---|",
                    *rows,
                    "",
                ]
            for content, body in said.get("requestBody", {}).get("content", {}).items():
                lines += [f"Body (`{content}`): {kind_of(body.get('schema', {}))}", ""]
            for code, answer in sorted(said.get("responses", {}).items()):
                kinds = [kind_of(c.get("schema", {})) for c in answer.get("content", {}).values()]
                said_of = f": {', '.join(kinds)}" if kinds else ""
                lines.append(f"- {code} {cell(answer.get('description', ''))}{said_of}")
            lines.append("")
    lines += ["## Schemas", ""]
    for name, schema in sorted(api.get("components", {}).get("schemas", {}).items()):
        lines += [
            f"(schema-{name.lower()})=",
            f"### {name}",
            "",
            cell(schema.get("description", "")),
            "",
        ]
        rows = [
            f"| `{field}` | {kind_of(one)} "
            f"| {'yes' if field in schema.get('required', []) else ''} "
            f"| {cell(one.get('description', ''))} |"
            for field, one in schema.get("properties", {}).items()
        ]
        if rows:
            lines += ["| field | kind | required | |", "|---|---|---|---|", *rows, ""]
    return "\n".join(lines)


def write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def make_pages(app: Sphinx, config: Any) -> None:
    folder = Path(app.srcdir) / "api"
    found = homes()
    write(folder / "index.md", index_page())
    for room in PUBLIC:
        write(folder / f"{room}.md", room_page(room, found))
    sys.path.insert(0, str(ROOT / "tools" / "page"))
    from describe import description

    write(folder / "http.md", http_page(json.loads(description())))
    from likewise.cli.app import whole_app

    write(folder / "cli.md", command_page(whole_app()))


# Pages of the repository's root that the site has under another name.
ELSEWHERE = {
    "../THIRD_PARTY.md": "project/third-party.md",
    "../SECURITY.md": "project/security.md",
    "../CONTRIBUTING.md": "project/contributing.md",
    "../CHANGELOG.md": "project/changelog.md",
}


def redirect(app: Sphinx, page: str, source: list[str]) -> None:
    """Links of guides out of their folder lead to the page that the site has."""
    if "/" not in page:
        for target, here in ELSEWHERE.items():
            source[0] = source[0].replace(f"]({target})", f"]({here})")


def skip(
    app: Sphinx, what: str, name: str, member: Any, skipped: bool, options: Any
) -> bool | None:
    """What scikit-learn gives every estimator is described there."""
    inner = getattr(member, "__wrapped__", member)
    theirs = str(getattr(inner, "__module__", "")).startswith("sklearn")
    routed = name.endswith("_request") or name in ("get_metadata_routing", "set_output")
    return True if theirs or routed else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", make_pages)
    app.connect("source-read", redirect)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
