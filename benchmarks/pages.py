"""Update the generated blocks of a results page.

A page in ``docs/results/`` is written by hand.  A benchmark replaces only what stands between two
markers::

    <!-- table: mAP by space -->      or   <!-- run: deep -->, the size and machine of a report
    <!-- end -->

A block that is not on the page is not added: every table is in the CSV file next to the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_END = "<!-- end -->"
_KINDS = ("table: ", "run: ")


class PageError(ValueError):
    """A page has markers that do not match; the page was not changed."""


def marker(key: str) -> str:
    """Return the line that begins a block, such as ``table: mAP by space`` or ``run: deep``."""
    return f"<!-- {key} -->"


def blocks(text: str) -> dict[str, tuple[int, int]]:
    """Return the lines of every block: key -> (first line, line of its end), counted from 0."""
    found: dict[str, tuple[int, int]] = {}
    key, start = None, 0
    for i, line in enumerate(text.splitlines()):
        if not line.startswith("<!--"):
            continue
        if line == _END:
            if key is None:
                raise PageError(f"line {i + 1}: {_END} without a beginning")
            found[key] = start, i
            key = None
            continue
        if key is not None:
            raise PageError(f"line {i + 1}: {line} before the {_END} of {marker(key)}")
        key = line.removeprefix("<!-- ").removesuffix(" -->")
        if line != marker(key) or not key.startswith(_KINDS):
            raise PageError(
                f"line {i + 1}: {line} is no marker; there are {marker('run: REPORT')}, "
                f"{marker('table: NAME')} and {_END}"
            )
        if key in found:
            raise PageError(f"line {i + 1}: a second {line}")
        start = i + 1
    if key is not None:
        raise PageError(f"{marker(key)} has no {_END}")
    return found


def update(text: str, new: Mapping[str, Sequence[str]]) -> str:
    """Replace the lines of the blocks that are both on the page and in ``new``."""
    lines = text.splitlines()
    # From the end, so that line numbers further up stay right.
    for key, (first, end) in sorted(blocks(text).items(), key=lambda item: -item[1][0]):
        if key in new:
            lines[first:end] = new[key]
    return "\n".join(lines) + "\n"


def draft(title: str, new: Mapping[str, Sequence[str]]) -> str:
    """Make a page of a title and these blocks, for a report that has no page yet."""
    lines = [f"# {title}"]
    for key, made in new.items():
        kind, _, name = key.partition(": ")
        lines += ["", f"## {name}"] if kind == "table" else []
        lines += ["", marker(key), *made, _END]
    return "\n".join(lines) + "\n"
