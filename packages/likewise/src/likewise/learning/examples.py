"""A picture shown as an example of what was learned."""

from __future__ import annotations

from dataclasses import dataclass

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Example:
    """A picture; ``box`` (x, y, width, height) is where in it, as shares of its sides.

    None where the whole picture is meant: the space knows no places.
    """

    image: int
    path: str
    box: Box | None = None
