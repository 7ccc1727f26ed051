"""Docstrings are plain text with ``literals``, roles and numpydoc sections; the rest is escaped.

They are written for people who read the source: ``|w|_1`` means a norm there and not a
substitution, an indented block is a formula, and "(1)" is a number and not a list.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

# Left as they are: ``literals`` and :roles:`of things`.
_MARKED = re.compile(r"(``.+?``|:[\w:]+:`[^`]+`)", flags=re.DOTALL)
_SPECIAL = re.compile(r"([\\*|`]|_(?![^\W_]))")
_COUNTED = re.compile(r"^(\s*)(\(\w{1,3}\)|\w[.)])(?=\s)")
# Pages that docstrings cite are pages of the site.
_CITED = re.compile(r"\bdocs/((?:methods/|results/)?[\w-]+)\.md\b")
_FIELD = re.compile(r"^\*{0,2}\w[\w, *]* : ")


def escape(text: str) -> str:
    """Text in which nothing but literals and roles has a meaning."""
    parts = _MARKED.split(text)
    for i in range(0, len(parts), 2):
        parts[i] = _CITED.sub(r":doc:`docs/\1.md </\1>`", _SPECIAL.sub(r"\\\1", parts[i]))
    return "".join(parts)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def plain(lines: list[str]) -> list[str]:
    """The same docstring as numpydoc and docutils should read it."""
    made: list[str] = []
    section = False
    at = 0
    while at < len(lines):
        line = lines[at]
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if following and set(following.strip()) == {"-"} and line.strip():
            section = line.strip() not in ("Notes", "Examples", "References", "See Also")
            made += [line, following]
            at += 2
        elif line.lstrip().startswith(">>>"):
            while at < len(lines) and lines[at].strip():
                made.append(lines[at])
                at += 1
        elif section and _FIELD.match(line):
            name, _, kind = line.partition(" : ")
            made.append(f"{name} : {escape(kind)}")
            at += 1
        elif not section and line.startswith("    ") and (not made or not made[-1].strip()):
            # A formula, or a table: as it stands.
            made += ["::", ""]
            while at < len(lines) and (lines[at].startswith("    ") or not lines[at].strip()):
                made.append(lines[at])
                at += 1
            made.append("")
        else:
            # A literal may go over the end of a line: paragraphs are escaped whole.
            first = at
            while at < len(lines) and lines[at].strip() and _indent(lines[at]) == _indent(line):
                if at > first and (
                    lines[at].lstrip().startswith(">>>")
                    or (section and _FIELD.match(lines[at]))
                    or (
                        at + 1 < len(lines)
                        and lines[at + 1].strip()
                        and set(lines[at + 1].strip()) == {"-"}
                    )
                ):
                    break
                at += 1
            at = max(at, first + 1)
            text = escape("\n".join(lines[first:at])).split("\n")
            made += [_COUNTED.sub(r"\1\\\2", one) for one in text]
    return made


def process(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = plain(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    # Before numpydoc, which has the usual 500.
    app.connect("autodoc-process-docstring", process, priority=400)
    return {"parallel_read_safe": True}
