"""Why a picture answers to typed words, said so that a person can strike a reason out.

A reason has a kind and a value; its key is ``kind:value``.  A search ``without`` a key goes on as
if that evidence were not there: ``tag:garden`` strikes one tag out, ``tag`` all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from likewise.errors import InvalidInput

SENTENCES = {
    "liked": "liked for: {value}",
    "tag": "tagged {value}",
    "date": "date: {value}",
    "folder": "folder {value}",
    "file": "file name {value}",
    "camera": "camera {value}",
    "fact": "in the picture: {value}",
    "suggested": "suggested: {value}",
    "near": "tag by meaning: {value} (typed: {typed})",
    "looks": "looks like: {value}",
    "like": "like {value}",
}
"""How each kind of reason is said, the most certain first."""


@dataclass(frozen=True)
class Reason:
    """One reason; ``typed`` is the word that it answers to."""

    kind: str
    value: str
    typed: str = ""

    @property
    def key(self) -> str:
        """What strikes it out."""
        # What a picture looks like is one judgement of the network, whatever names it is told by.
        return self.kind if self.kind in ("looks", "like", "liked") else f"{self.kind}:{self.value}"

    def __str__(self) -> str:
        return SENTENCES[self.kind].format(value=self.value, typed=self.typed)


class Struck:
    """Reasons that a person struck out."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        if isinstance(keys, str) or not isinstance(keys, Iterable):
            raise InvalidInput(f"without is {keys!r}; a list of keys of reasons expected")
        self.keys = frozenset(keys)
        for key in self.keys:
            if not isinstance(key, str) or key.partition(":")[0] not in SENTENCES:
                raise InvalidInput(
                    f"without has {key!r}; KIND or KIND:VALUE expected, KIND one of "
                    f"{', '.join(SENTENCES)}"
                )

    def kind(self, kind: str) -> bool:
        """Whether all reasons of a kind are struck out."""
        return kind in self.keys

    def value(self, kind: str, value: str) -> bool:
        """Whether this very reason is struck out."""
        return kind in self.keys or f"{kind}:{value}" in self.keys

    def values(self, kind: str) -> frozenset[str]:
        """The values of a kind that are struck out one by one."""
        return frozenset(key.partition(":")[2] for key in self.keys if key.startswith(f"{kind}:"))
