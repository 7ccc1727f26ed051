"""What guests have been shown: the only pictures they may look at, and how many more there may be.

A link to answer questions is no key to the collection.  Without a bound, whoever has one could ask
for other questions until every picture had been in one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from likewise.errors import CollectionBusy
from likewise.learning.shares import Share

AT_FIRST = 150
"""Pictures a guest may see before the first answer: some fifty questions that may be skipped."""
EACH_ANSWER = 9
"""And for every answer: three questions more."""
QUESTIONS = 8
"""Questions a guest gets at a time, at most."""


class ShownPictures:
    """By guest: pictures of the questions that were asked since the server began."""

    def __init__(self) -> None:
        self._shown: dict[str, set[int]] = {}
        self._lock = threading.Lock()

    def show(self, guest: Share, images: Iterable[int], answers: int) -> None:
        """These are about to be shown; refused beyond what so many answers have earned."""
        with self._lock:
            known = self._shown.setdefault(guest.digest, set())
            wanted = known | set(images)
            if len(wanted) > max(AT_FIRST + EACH_ANSWER * answers, len(known)):
                raise CollectionBusy("you skipped many questions; answer some, then go on")
            known |= wanted

    def may_see(self, guest: Share, image: int) -> bool:
        with self._lock:
            return image in self._shown.get(guest.digest, ())
