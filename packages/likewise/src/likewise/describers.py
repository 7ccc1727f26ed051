"""Describers: plug-ins that compute something per picture besides rows, such as text or faces.

A package brings a describer by an entry point of the group ``likewise.describers``: its name is the
describer's ``name``, its value the class.  Workers import and run it; this process does not, so a
describer that crashes or hangs costs only its own facts.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from likewise.errors import InvalidInput
from likewise.plugins import DESCRIBERS, PluginBroken, load

MAX_FACTS = 1_000
"""Facts of one picture, at most."""
MAX_TEXT = 2_000
"""Characters of one fact, at most."""


class Fact(NamedTuple):
    """One thing found in a picture.

    Attributes
    ----------
    text : str
        What was found; typed searches find the picture by its words.
    score : float, default=1.0
        How certain it is, from 0 to 1.
    box : tuple of four floats, optional
        Where it is: (left, top, right, bottom), each a share of the picture's side.

    See Also
    --------
    Describer : finds facts.
    """

    text: str
    score: float = 1.0
    box: tuple[float, ...] | None = None


class Describer(ABC):
    """The base class of describers: a name, a version and one method.

    Attributes
    ----------
    name : str
        The name of the entry point.
    version : str
        Stored with each picture; when it changes, ``likewise admin describers add`` describes all
        pictures again.
    max_side : int
        Pictures are shrunk so that the longer side is at most this.

    See Also
    --------
    Fact : what it finds.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    max_side: ClassVar[int] = 2048

    def missing(self) -> str | None:
        """Return what must be installed first; None when it can run here.

        Returns
        -------
        str or None
        """
        return None

    @abstractmethod
    def describe(self, pixels: Any) -> Iterable[Fact]:
        """Return the facts of a picture.

        Parameters
        ----------
        pixels : uint8 array of shape (height, width, 3)
            Upright RGB.

        Returns
        -------
        iterable of Fact
        """


@lru_cache(maxsize=8)
def open_describer(name: str) -> Describer:
    """Import and create a describer; any fault of it becomes :class:`PluginBroken`."""
    made = load(DESCRIBERS, name)()
    wrong = None
    if not isinstance(made, Describer):
        wrong = "is no subclass of Describer"
    elif getattr(made, "name", None) != name:
        wrong = f"has the name {getattr(made, 'name', None)!r}"
    elif not isinstance(getattr(made, "version", None), str):
        wrong = "has no version"
    if wrong is not None:
        raise PluginBroken(f"describer {name!r} {wrong}; repair or uninstall it")
    found: Describer = made
    return found


def check_facts(found: Iterable[Fact]) -> list[Fact]:
    """Return facts as they are stored; :class:`InvalidInput` names the first wrong one."""
    kept = []
    for one in found:
        if not isinstance(one, tuple | list) or not 1 <= len(one) <= 3:
            raise InvalidInput(f"a fact is {str(one)[:80]!r}; Fact(text, score, box) expected")
        text, score, box = Fact(*one)
        if not isinstance(text, str) or len(text) > MAX_TEXT:
            raise InvalidInput(
                f"text is {str(text)[:80]!r}; at most {MAX_TEXT} characters expected"
            )
        score = float(score)
        if not 0 <= score <= 1:
            raise InvalidInput(f"score is {score}; a number from 0 to 1 expected")
        if box is not None:
            box = tuple(float(side) for side in box)
            if len(box) != 4 or not all(math.isfinite(side) for side in box):
                raise InvalidInput(f"box is {box}; (left, top, right, bottom) expected")
        if clean := " ".join(text.encode("utf-8", "replace").decode().replace("\0", " ").split()):
            kept.append(Fact(clean, score, box))
        if len(kept) > MAX_FACTS:
            raise InvalidInput(f"more than {MAX_FACTS} facts of one picture")
    return kept
