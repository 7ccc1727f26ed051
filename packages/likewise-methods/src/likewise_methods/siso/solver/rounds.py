"""The rounds of SISO for a queue of queries: slots are filled, scanned together, and emptied.

``Slot`` holds the work of one query between two scans; ``working_set`` solves its lasso,
``dictionary`` scans.  docs/methods/siso.md, (5) to (7), explains why the rounds end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise_methods.siso.solver.dictionary import Dictionary, Floats, Ids, mark
from likewise_methods.siso.solver.working_set import WorkingSet

Search = Callable[[Floats, int], NDArray[np.int64]]

# A correlation beyond gamma by less than this share is round-off, not a violation.
_SLACK = 1e-10
# While gamma falls: the largest factor of one step (first and later) and the smallest, and the
# share of the new columns that should enter the support.
EARLY, DROP, LEAST = 0.2, 0.7, 0.8
ENTER = 0.3
# A scan lists the best columns above NEAR times the level: a share of all, at least POOL times
# ``expand``.  Looking at the list again costs about a tenth of a scan.
NEAR, LISTED, POOL = 0.8, 1 / 256, 3
# Listed columns above FAR times the level join the working set in portions of ``expand``, and their
# correlations are computed again in between.  This ends after LOOKS times, or when the level is so
# far below the end of the list (DEEP) that unlisted columns are probably better.
PORTIONS, FAR, DEEP, LOOKS = 2, 0.5, 0.65, 20
# While the support is small and the level is ABOVE times gamma, a mistake costs little: a scan then
# sees PART rows only, different ones each time.
PART, SMALL, ABOVE = 25_000, 50, 4


@dataclass(frozen=True)
class Settings:
    """Options that all queries of a call share."""

    alpha: float
    tol: float
    expand: int
    nonnegative: bool
    solver: str
    certify: bool
    max_rounds: int
    batch: int


@dataclass(frozen=True, eq=False)
class QueryCode:
    """The code of one query, and the report on it."""

    ids: Ids
    values: Floats
    gamma: float
    gap: float
    rounds: int
    scans: int
    pivots: int
    converged: bool


class Slot:
    """A place in the batch, and the query that has it now."""

    def __init__(self, dictionary: Dictionary, settings: Settings) -> None:
        self.dictionary, self.settings = dictionary, settings
        self.members = np.zeros(dictionary.n // 8 + 1, np.uint8)
        self.set = WorkingSet(
            dictionary.width, dictionary.n, solver=settings.solver, nonnegative=settings.nonnegative
        )
        self.query = -1

    def take(self, query: int, y: Floats, gamma: float | None, start: Any) -> None:
        """Start a query; ``start`` is a CSR row or None."""
        self.query, self.given, self.start = query, gamma, start
        self.gamma = np.nan
        self.rounds = self.scans = self.tries = 0
        self.gap, self.done, self.converged = np.nan, False, False
        self.best, self.ratio = np.inf, EARLY
        self.unseen = np.inf
        self.gone: set[int] = set()
        self.sticky: set[int] = set()
        # The first scan is complete: gamma needs the largest correlation of all.
        self.whole = True
        self.set.begin(y)
        if not y.any():
            # Nothing to reconstruct: the code is zero for any gamma.
            self.gamma = gamma or 0.0
            self._finish(0.0, True)

    def release(self) -> QueryCode:
        ids, values = self.set.code()
        pivots = int(self.set.size[2])
        mark(self.members, self.set.ids[: self.set.w], False)
        query = QueryCode(
            ids, values, self.gamma, self.gap, self.rounds, self.scans, pivots, self.converged
        )
        self.query = -1
        return query

    def _finish(self, gap: float, converged: bool) -> None:
        self.gap, self.converged, self.done = gap, converged, True

    def early(self) -> bool:
        """Return whether a part of the dictionary will do: gamma is far and the support small."""
        far = self.scans > 0 and self.set.level > ABOVE * self.gamma
        return far and self.set.support < SMALL

    def floor(self) -> float:
        """Return the correlation up to which the next scan need not list columns."""
        if self.scans == 0:
            return 0.0
        return NEAR * self.set.level

    def after_scan(self, ids: Ids, values: Floats, floor: float, complete: bool) -> None:
        """Use a scan, of all columns if ``complete``.

        ``ids`` are the columns outside with the largest correlations; no other exceeds ``floor``.
        """
        first = self.scans == 0
        self.rounds += 1
        self.scans += complete
        self._new_list(floor, floor if complete else np.inf)
        over = self.rounds >= self.settings.max_rounds
        if first:
            signed = self.dictionary.correlations(ids, self.set.r)
            if floor > (1 + 1e-9) * float(self._size(signed).max(initial=0.0)):
                # An unlisted column may correlate more (float32 noise, or many copies), which
                # would make gamma wrong.
                ids, _ = self._precisely()
                signed = self.dictionary.correlations(ids, self.set.r)
            self._first(self._size(signed))
            if self.done or self.set.w:
                return
        elif self.set.level == self.gamma or over:
            # Float64 from here on: every unlisted column is below the floor.
            signed = self.dictionary.correlations(ids, self.set.r)
            gap = self._gap(signed)
            if gap > self.settings.tol and not self._violates(signed):
                # float32 cannot decide: so many columns are close to gamma (mostly copies) that
                # some were not listed, or the working set is not solved.
                ids, beyond = self._precisely()
                gap = self.set.gap(self.gamma, beyond)
                ids = ids[~self._inside(ids)]
                signed = self.dictionary.correlations(ids, self.set.r)
                # Columns that the scan listed and this list lacks are unseen from now on.
                self.unseen = max(self.unseen, self.gamma * (1 + _SLACK))
            if gap <= self.settings.tol or over:
                self._finish(gap, gap <= self.settings.tol)
                return
            if not self._violates(signed):
                # Only the working set itself is not solved well enough.
                self.tries += 1
                if self.tries > 3:
                    self._finish(gap, False)
                    return
                self.set.polish()
        else:
            signed = values
        # After a search has found nothing, scans continue: late residuals are nearly orthogonal to
        # all columns, where indexes work badly.
        self.whole = self.scans > 1
        self._absorb(ids, signed)

    def after_search(self, ids: Ids) -> None:
        """Use the columns that a search suggested, judged by their exact correlations."""
        self.rounds += 1
        ids = np.unique(ids[ids >= 0])
        ids = ids[~self._inside(ids)]
        signed = self.dictionary.correlations(ids, self.set.r)
        if self.set.level == self.gamma and not self._violates(signed):
            # A search without results proves nothing; a scan does.
            if self.settings.certify:
                self.whole = True
            else:
                self._finish(np.nan, True)
            return
        if self.rounds >= self.settings.max_rounds:
            self._finish(np.nan, False)
            return
        # Nothing is known of the columns that were not found.
        self._new_list(self.set.level, np.inf)
        self._absorb(ids, signed)

    def _new_list(self, least: float, unseen: float) -> None:
        """Store what a new list ends with and what no other column exceeds.

        From now on keep the columns that leave the working set, as neither of the two has them.
        """
        self.least, self.unseen = least, unseen
        self.r = self.set.r.copy()
        self.left: list[Ids] = []

    def _precisely(self) -> tuple[Ids, float]:
        """Return the columns that correlate most, and the largest correlation, in float64."""
        k = _list_length(self.dictionary, self.settings)
        return self.dictionary.scan_precisely(self.set.r, k, self.settings.nonnegative)

    def _violates(self, signed: Floats) -> bool:
        return bool((self._size(signed) > self.gamma * (1 + _SLACK)).any())

    def _gap(self, signed: Floats) -> float:
        """Return the relative gap by what is known of all columns.

        That is the correlations of those listed, and a bound on the others that also holds for
        residuals after that of the scan.

        References
        ----------
        docs/methods/siso.md, (27).
        """
        left = np.concatenate([np.zeros(0, np.int64), *self.left])
        left = left[~self._inside(left)]
        known = np.concatenate([signed, self.dictionary.correlations(left, self.set.r)])
        beyond = self.unseen + float(np.linalg.norm(self.set.r - self.r))
        largest = max(float(self._size(known).max(initial=0.0)), beyond, self.gamma)
        return self.set.gap(self.gamma, largest)

    def _inside(self, ids: Ids) -> NDArray[np.bool_]:
        return np.asarray((self.members[ids >> 3] >> (ids & 7).astype(np.uint8)) & 1 == 1)

    def _size(self, c: Floats) -> Floats:
        return c if self.settings.nonnegative else np.abs(c)

    def _first(self, c: Floats) -> None:
        """Set gamma from the largest correlation; finish where nothing correlates."""
        most = float(c.max(initial=0.0))
        self.gamma = self.settings.alpha * most if self.given is None else self.given
        if most <= 0.0 or most <= self.gamma:
            self._finish(self.set.gap(self.gamma, most) if self.gamma > 0 else 0.0, True)
            return
        self.set.level = most
        if self.start is not None and self._better_than_zero(self.start.data):
            ids = np.asarray(self.start.indices, np.int64)
            rows = self.dictionary.rows(ids)
            self.set.admit(ids, rows, rows @ self.set.r, np.zeros(0, np.int64))
            mark(self.members, ids, True)
            self.set.start_from(np.asarray(self.start.data, np.float64))
            self.set.level = self.gamma
            self._solve(self.gamma, 1 << 30)

    def _better_than_zero(self, x: Floats) -> bool:
        """Return whether a start helps: gamma |x|_1 alone must not exceed P(0)."""
        l1 = float(np.abs(x).sum())
        return 0 < self.gamma * l1 <= 0.5 * float(self.set.y @ self.set.y)

    def _absorb(self, ids: Ids, signed: Floats) -> None:
        """Expand and solve repeatedly over one list, as long as it may hold the best columns."""
        for _ in range(LOOKS):
            self._expand(ids, signed)
            if DEEP * self.least > self.set.level > self.gamma:
                return
            signed = self.dictionary.correlations(ids, self.set.r)
            signed[self._inside(ids)] = 0.0
            if self.set.level == self.gamma and not self._violates(signed):
                gap = self._gap(signed)
                if gap <= self.settings.tol:
                    self._finish(gap, True)
                return

    def _expand(self, ids: Ids, signed: Floats) -> None:
        """Let the best columns in, in place of the worst without a coefficient; then solve."""
        c = self._size(signed)
        last = self.set.level == self.gamma
        new = c > (self.gamma * (1 + _SLACK) if last else FAR * self.set.level)
        at, old = self.set.outside()
        both = np.concatenate([old, c[new]])
        k = -(-self.settings.expand // PORTIONS)
        least = np.partition(both, -k)[-k] if len(both) > k else -np.inf
        new &= c >= least
        free = at[old < least]
        if last:
            free = self._may_go(free)
        came = ids[new]
        gone = self.set.admit(came, self.dictionary.rows(came), signed[new], free)
        mark(self.members, gone, False)
        mark(self.members, came, True)
        self.left.append(gone)
        if last:
            self._remember(gone, came)
        level, support = self.set.level, self.set.support
        target = max(self.gamma, self.ratio * level)
        if target < 1.2 * self.gamma or last:
            target = self.gamma
        self._solve(target, 1 << 30 if last else 2 * k)
        if not last:
            # Next time, go down as far as should bring a good share of k columns into the support.
            entered = max(self.set.support - support, 1)
            power = min(max(ENTER * k / entered, 0.5), 2.0)
            least = EARLY if 3 * self.set.support < k else DROP
            self.ratio = min(max((self.set.level / level) ** power, least), LEAST)

    def _solve(self, target: float, most_entries: int) -> None:
        self.set.solve(target, most_entries, 1e-4 * self.settings.tol * target)

    def _may_go(self, free: Ids) -> Ids:
        """Prevent cycles at the final gamma.

        Columns leave only if the objective fell, and a column that left and came back stays.
        """
        now = self.set.objective(self.gamma)
        fell = now < self.best * (1 - 1e-12)
        self.best = min(self.best, now)
        if not fell:
            return free[:0]
        if self.sticky:
            free = free[[int(i) not in self.sticky for i in self.set.ids[free]]]
        return free

    def _remember(self, gone: Ids, came: Ids) -> None:
        self.sticky.update(self.gone.intersection(came.tolist()))
        self.gone.update(gone.tolist())


def run(
    dictionary: Dictionary,
    Y: Floats,
    gamma: Floats | None,
    start: Any,
    search: Search | None,
    settings: Settings,
) -> list[QueryCode]:
    """Solve all rows of Y, ``settings.batch`` at a time."""
    solved: dict[int, QueryCode] = {}
    slots = [Slot(dictionary, settings) for _ in range(settings.batch)]
    waiting = iter(range(len(Y)))
    part, parts = 0, max(1, dictionary.n // PART)
    while len(solved) < len(Y):
        for slot in slots:
            while slot.query < 0 and (query := next(waiting, -1)) >= 0:
                own = None if gamma is None else float(gamma[query])
                slot.take(query, Y[query], own, None if start is None else start[[query]])
                if slot.done:
                    solved[query] = slot.release()
        busy = [slot for slot in slots if slot.query >= 0]
        scanning = [s for s in busy if search is None or s.whole]
        early = [s for s in scanning if s.early()] if parts > 1 else []
        part = (part + 1) % parts
        _scan(dictionary, [s for s in scanning if s not in early], settings)
        _scan(dictionary, early, settings, part, parts)
        if search is not None:
            _search(search, [s for s in busy if not s.whole and not s.done], settings)
        for slot in busy:
            if slot.done:
                query = slot.query
                solved[query] = slot.release()
    return [solved[query] for query in range(len(Y))]


def _list_length(dictionary: Dictionary, settings: Settings) -> int:
    """Return how many columns a scan lists for a query."""
    return max(POOL * settings.expand, int(LISTED * dictionary.n))


def _scan(
    dictionary: Dictionary, slots: list[Slot], settings: Settings, part: int = 0, parts: int = 1
) -> None:
    if not slots:
        return
    R = np.stack([slot.set.r for slot in slots])
    members = np.stack([slot.members for slot in slots])
    doubt = dictionary.doubt(R)
    floor = np.array([slot.floor() for slot in slots]) - doubt
    k = _list_length(dictionary, settings)
    found = dictionary.scan(R, floor, k, members, settings.nonnegative, part, parts)
    for b, slot in enumerate(slots):
        slot.after_scan(*found.of(b), float(found.floor[b] + doubt[b]), parts == 1)


def _search(search: Search, slots: list[Slot], settings: Settings) -> None:
    if not slots:
        return
    R = np.stack([slot.set.r for slot in slots])
    R /= np.maximum(np.linalg.norm(R, axis=1, keepdims=True), 1e-300)
    # Members come first in the answer, so ask for as many more.
    k = settings.expand + max(slot.set.support for slot in slots)
    ids = search(R, k)
    if not settings.nonnegative:
        ids = np.concatenate([ids, search(-R, k)], axis=1)
    for b, slot in enumerate(slots):
        slot.after_search(ids[b])
