"""Facts of pictures in memory, and which pictures a ``where`` lets through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from likewise.engines.protocol import Facts, Ids, Where, moment_of


class FactTable:
    """Who has a tag, who lies in a folder: looked up, not scanned."""

    def __init__(self) -> None:
        self._facts: dict[int, Facts] = {}
        self._tagged: dict[str, set[int]] = {}
        self._inside: dict[str, set[int]] = {}
        self._moments: tuple[Ids, Ids] | None = None

    def __len__(self) -> int:
        return len(self._facts)

    def __contains__(self, image: int) -> bool:
        return image in self._facts

    def __getitem__(self, image: int) -> Facts:
        return self._facts[image]

    def ids(self) -> Iterator[int]:
        """Every picture, ascending."""
        return iter(sorted(self._facts))

    def put(self, image: int, facts: Facts) -> None:
        """Facts of a picture, in the place of those it had."""
        self.remove(image)
        self._facts[image] = facts
        for tag in facts.tags:
            self._tagged.setdefault(tag, set()).add(image)
        for folder in facts.all_folders():
            self._inside.setdefault(folder, set()).add(image)
        self._moments = None

    def remove(self, image: int) -> None:
        """Forget a picture, where it is known."""
        facts = self._facts.pop(image, None)
        if facts is None:
            return
        for table, keys in ((self._tagged, facts.tags), (self._inside, facts.all_folders())):
            for key in keys:
                # A tag may be named twice.
                table.get(key, set()).discard(image)
                if not table.get(key, True):
                    del table[key]
        self._moments = None

    def passing(self, where: Where | None) -> Ids | None:
        """Ids that pass, ascending; None where all do."""
        if where is None or where.is_everything:
            return None
        sets: list[Iterable[int]] = [self._tagged.get(tag, set()) for tag in where.tags]
        if where.folders:
            sets.append(set().union(*(self._inside.get(one, set()) for one in where.folders)))
        if where.after is not None or where.before is not None:
            sets.append(self._dated(where.after, where.before))
        if where.only is not None:
            sets.append(where.only)
        first, *others = sets or [self._facts.keys()]
        passing = (set(first).intersection(*others) & self._facts.keys()) - where.but
        return np.array(sorted(passing), np.int64)

    def _dated(self, after: str | None, before: str | None) -> list[int]:
        if self._moments is None:
            dated = [
                (moment, image)
                for image, facts in self._facts.items()
                if (moment := facts.moment) is not None
            ]
            both = np.array(sorted(dated), np.int64).reshape(-1, 2)
            self._moments = (both[:, 0], both[:, 1])
        moments, ids = self._moments
        first = 0 if after is None else int(np.searchsorted(moments, moment_of(after)))
        last = len(ids) if before is None else int(np.searchsorted(moments, moment_of(before)))
        found: list[int] = ids[first:last].tolist()
        return found
