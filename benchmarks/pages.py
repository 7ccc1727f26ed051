"""Result pages: sentences by hand, tables by the benchmark.

A page in ``docs/results/`` is written by a person.  What a run replaces stands between two lines::

    <!-- table: mAP by space -->          or  <!-- run -->, the circumstances of the run
    <!-- end -->

Everything outside of such blocks is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

RUN = "run"
_END = "<!-- end -->"
_TABLE = "table: "


class PageError(ValueError):
    """A page whose markers cannot be understood; it was left as it is."""


def marker(name: str) -> str:
    """The line that begins the block of a table, or of :data:`RUN`."""
    return f"<!-- {name if name == RUN else _TABLE + name} -->"


def blocks(text: str) -> dict[str, tuple[int, int]]:
    """Where each block's own lines are: name -> (first line, line of its end), counted from 0."""
    found: dict[str, tuple[int, int]] = {}
    name, start = None, 0
    for i, line in enumerate(text.splitlines()):
        if not line.startswith("<!--"):
            continue
        if line == _END:
            if name is None:
                raise PageError(f"line {i + 1}: {_END} without a beginning")
            found[name] = start, i
            name = None
            continue
        if name is not None:
            raise PageError(f"line {i + 1}: {line} before the {_END} of {marker(name)}")
        inner = line.removeprefix("<!-- ").removesuffix(" -->")
        name = inner.removeprefix(_TABLE)
        if line != marker(name) or (inner == name and name != RUN):
            raise PageError(
                f"line {i + 1}: {line} is no marker; there are {marker(RUN)}, "
                f"{marker('NAME')} and {_END}"
            )
        if name in found:
            raise PageError(f"line {i + 1}: a second {line}")
        start = i + 1
    if name is not None:
        raise PageError(f"{marker(name)} has no {_END}")
    return found


def renewed(text: str, title: str, new: Mapping[str, Sequence[str]]) -> str:
    """The page with the lines of these blocks, by name.

    A block that is not there yet is appended under a heading of its name (:data:`RUN`: put below
    the title); one that is not named stays as it was.  An empty text becomes a page.
    """
    old = blocks(text)
    lines = text.splitlines() or [f"# {title}"]
    # From the end, so that line numbers further up stay right.
    for name, (first, end) in sorted(old.items(), key=lambda item: -item[1][0]):
        if name in new:
            lines[first:end] = new[name]
    for name, made in new.items():
        if name in old:
            continue
        if name == RUN:
            lines[1:1] = ["", marker(RUN), *made, _END]
        else:
            lines += ["", f"## {name}", "", marker(name), *made, _END]
    return "\n".join(lines) + "\n"
