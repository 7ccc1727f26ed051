"""The rounds of SISO for slots in step: one scan, one expansion and one walk for all of them.

Between two scans a query does what ``Slot`` of ``likewise_methods.siso.solver.rounds`` does on the
processor, with one number per slot instead of one object (docs/methods/siso.md, (5) to (8)).  All
queries of a batch begin together: a new one among queries with large working sets would cost as
much as they do.  A query that a device cannot finish is given up here and solved on the processor:
a scan cannot separate its columns at gamma, or its support is nearly dependent.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from likewise_cuda.batch import Batch, Facts
from likewise_cuda.operations import Found, Operations
from likewise_methods.siso.objective import relative_gap
from likewise_methods.siso.solver.dictionary import Floats, Ids
from likewise_methods.siso.solver.homotopy import DONE, PAUSED
from likewise_methods.siso.solver.rounds import QueryCode, Settings

# A correlation beyond gamma by less than this share is rounding, not a violation.
_SLACK = 1e-10
# While gamma falls: the largest factor of one round (first and later), the smallest, and the share
# of the new columns that should enter the support.
EARLY, DROP, LEAST = 0.35, 0.7, 0.8
ENTER = 0.2
# Columns that may enter in one walk while gamma falls, in multiples of the new columns: after that,
# the next scan has better ones.
ENTRIES = 2
# Columns listed by a scan, in multiples of those that may join.
POOL = 2
# The tableau is rebuilt if correlations of the support are this far from the level (as a share).
# The next walk corrects smaller errors, as it begins at the actual correlations.
_STALE = 1e-4
_TRIES = 3
# Rounds after which a query is left to the processor.
_PATIENCE = 150
# With fewer than this share of the slots active, the others are removed.
_CROWDED = 0.85


@dataclass(eq=False)
class Slots:
    """Numbers of the active queries, one a slot; ``query`` is -1 in finished slots."""

    query: Ids
    gamma: Floats
    level: Floats
    ratio: Floats
    best: Floats
    rounds: Ids
    pivots: Ids
    tries: Ids
    stale: NDArray[np.bool_]

    @classmethod
    def begin(cls, queries: Ids) -> Slots:
        """Return slots for new queries; gamma comes with the first scan."""
        n = len(queries)
        rounds, pivots, tries = (np.zeros(n, np.int64) for _ in range(3))
        return cls(
            query=queries.copy(), gamma=np.full(n, np.nan), level=np.full(n, np.nan),
            ratio=np.full(n, EARLY), best=np.full(n, np.inf), rounds=rounds, pivots=pivots,
            tries=tries, stale=np.zeros(n, bool),
        )  # fmt: skip


def run(
    operations: Operations, Y: Floats, gamma: Floats | None, settings: Settings, slots: int
) -> list[QueryCode | None]:
    """Return codes of all rows of Y; None for a query that is given up."""
    solved: list[QueryCode | None] = [None] * len(Y)
    # Nothing to reconstruct: the code is zero for any gamma.
    for query in np.flatnonzero(~Y.any(axis=1)):
        own = 0.0 if gamma is None else float(gamma[query])
        nothing = np.zeros(0, np.int64), np.zeros(0)
        solved[query] = QueryCode(*nothing, own, 0.0, 0, 0, 0, True)
    queries = np.flatnonzero(Y.any(axis=1))
    # Batches of one size: a small last one would leave the device idle.
    for some in np.array_split(queries, max(1, -(-len(queries) // slots))):
        if len(some):
            _Rounds(operations, Y, gamma, settings, some, solved).all()
    return solved


class _Rounds:
    """The rounds of one batch; results are written to ``solved``."""

    def __init__(
        self, operations: Operations, Y: Floats, gamma: Floats | None, settings: Settings,
        queries: Ids, solved: list[QueryCode | None],
    ) -> None:  # fmt: skip
        self.operations, self.settings, self.solved = operations, settings, solved
        self.given = None if gamma is None else gamma[queries]
        self.expand = min(settings.expand, operations.n)
        self.batch = Batch(operations, Y[queries], self.expand, settings.nonnegative)
        self.at = Slots.begin(queries)
        self.facts = self.batch.facts(np.ones(len(queries)))
        self.most_rr = 1.01 * self.facts.rr

    def all(self) -> None:
        while len(on := np.flatnonzero(self.at.query >= 0)):
            if len(on) <= _CROWDED * len(self.at.query):
                self._keep(on)
            self._round(self.facts)

    def _keep(self, slots: Ids) -> None:
        """Remove finished queries from what is computed for all slots."""
        self.batch.keep(slots)
        at = self.at
        self.at = Slots(**{field.name: getattr(at, field.name)[slots] for field in fields(at)})
        self.facts = Facts(*(one[slots] for one in self.facts))
        self.most_rr = self.most_rr[slots]
        self.given = None if self.given is None else self.given[slots]

    def _release(self, slots: Ids, gap: Floats, converged: NDArray[np.bool_]) -> None:
        at = self.at
        for (ids, x), slot in zip(self.batch.codes(slots), slots, strict=True):
            rounds, pivots = int(at.rounds[slot]), int(at.pivots[slot])
            self.solved[at.query[slot]] = QueryCode(
                ids, x, float(at.gamma[slot]), float(gap[slot]), rounds, rounds, pivots,
                bool(converged[slot]),
            )  # fmt: skip
        at.query[slots] = -1

    def _round(self, facts: Facts) -> None:
        at, batch, settings = self.at, self.batch, self.settings
        on = at.query >= 0
        new = on & np.isnan(at.gamma)
        found, most = self._scan(facts, on, new)
        at.rounds[on] += 1
        self._first(new, most, found.bound)
        on = at.query >= 0
        last = on & (at.level == at.gamma)
        self._judge(last & ~new, facts, most, found.bound)
        on, last = at.query >= 0, last & (at.query >= 0)
        if not on.any():
            return
        if (stale := np.flatnonzero(at.stale & on)).size:
            # Rebuild the tableau; dependent columns leave x.
            batch.rebuild(stale)
            batch.refresh()
            at.stale[stale] = False
        fell = self._fell(facts)
        batch.make_room(int(facts.support.max()))
        above = np.where(last, at.gamma * (1 + _SLACK), 0.5 * at.level)
        above[~on] = np.inf
        batch.expand_with(found.ids, found.c, above, ~last | fell)
        target = np.maximum(at.gamma, at.ratio * at.level)
        target = np.where((target < 1.2 * at.gamma) | last, at.gamma, target)
        entries = np.where(last, 1 << 30, ENTRIES * self.expand)
        level = np.where(on, at.level, 1.0)
        steps = batch.walk(level, np.where(on, target, 1.0), entries, on)
        batch.refresh()
        before, support = at.level.copy(), facts.support
        at.level = np.where(on, target + steps.left * (at.level - target), at.level)
        # After a complete walk the level is exactly the target.
        at.level[on & (steps.state == DONE)] = target[on & (steps.state == DONE)]
        at.pivots += np.where(on, steps.pivots, 0)
        self.facts = batch.facts(np.where(on, at.level, 1.0))
        stuck = (steps.state != DONE) & (steps.state != PAUSED)
        at.stale = on & (stuck | ((steps.state == DONE) & (self.facts.wrong > _STALE * at.level)))
        self._pace(on & ~last, before, self.facts.support - support)
        # No optimum has a residual longer than y; NaN fails this test too.
        sane = self.facts.rr <= self.most_rr
        self._give_up(on & (~sane | (at.rounds >= min(_PATIENCE, settings.max_rounds + 1))))

    def _scan(
        self, facts: Facts, on: NDArray[np.bool_], new: NDArray[np.bool_]
    ) -> tuple[Found, Floats]:
        """Scan; return the columns found, and the largest correlation listed, for all slots."""
        at, xp = self.at, self.operations.xp
        doubt = self.operations.doubt * np.sqrt(facts.rr)
        last = on & (at.level == at.gamma)
        floor = np.where(last, at.gamma - doubt, 0.5 * at.level)
        floor = np.where(new, 0.0, floor)
        some = np.flatnonzero(on)
        pool = min(POOL * self.expand, self.operations.n)
        every = len(some) == len(on)
        R, members = self.batch.R, self.batch.ids
        there = self.operations.to(some)
        if not every:
            R, members = R[there], members[there]
        found = self.operations.scan(
            R, floor[some], last[some], members, pool, self.settings.nonnegative
        )
        most = np.zeros(len(on))
        most[some] = self.operations.back(self.batch.size(found.c).max(axis=1))
        bound = np.zeros(len(on))
        bound[some] = found.bound
        if every:
            return Found(found.ids, found.c, bound), most
        ids, c = xp.full((len(on), pool), -1, np.int64), xp.zeros((len(on), pool))
        ids[there], c[there] = found.ids, found.c
        return Found(ids, c, bound), most

    def _first(self, new: NDArray[np.bool_], most: Floats, bound: Floats) -> None:
        """Set gamma from the largest correlation; finish where nothing correlates."""
        at = self.at
        some = np.flatnonzero(new)
        if not len(some):
            return
        # An unlisted column may correlate more (noise, or many copies).
        unsure = bound[some] > most[some] * (1 + 1e-9)
        self._give_up_at(some[unsure])
        some = some[~unsure]
        own = self.settings.alpha * most[some] if self.given is None else self.given[some]
        at.gamma[some], at.level[some] = own, np.maximum(most[some], own)
        # Where no column reaches gamma the code is zero, and optimal.
        none = some[most[some] <= own]
        self._release(none, np.zeros(len(at.query)), np.ones(len(at.query), bool))

    def _judge(self, last: NDArray[np.bool_], facts: Facts, most: Floats, bound: Floats) -> None:
        """Compute the gap over all columns; finish queries, or give up undecidable ones."""
        at, settings = self.at, self.settings
        gap = np.full(len(last), np.inf)
        for i in np.flatnonzero(last):
            largest = max(facts.inside[i], most[i], bound[i], at.gamma[i])
            gap[i] = relative_gap(
                float(facts.yr[i]), float(facts.rr[i]), float(facts.l1[i]), float(largest),
                float(at.gamma[i]), settings.nonnegative,
            )  # fmt: skip
        converged = gap <= settings.tol
        # The certificate is final; so is the end of the rounds a caller allowed.
        ended = last & (converged | (at.rounds >= settings.max_rounds))
        self._release(np.flatnonzero(ended), gap, converged)
        idle = last & ~ended & (most <= at.gamma * (1 + _SLACK))
        # No listed column violates: either an unlisted one may, or the working set is not solved
        # well enough.
        at.tries[idle] += 1
        at.stale |= idle & (at.tries > 1)
        self._give_up(idle & ((bound > at.gamma * (1 + _SLACK)) | (at.tries > _TRIES)))

    def _fell(self, facts: Facts) -> NDArray[np.bool_]:
        """Prevent cycles at the final gamma: columns leave only if the objective fell."""
        at = self.at
        now = 0.5 * facts.rr + at.gamma * facts.l1
        last = at.level == at.gamma
        fell = now < at.best * (1 - 1e-12)
        at.best = np.where(last, np.fmin(at.best, now), at.best)
        return np.asarray(fell)

    def _pace(self, who: NDArray[np.bool_], before: Floats, entered: Floats) -> None:
        """Go down as far next time as should bring a good share of k columns into the support."""
        at = self.at
        power = np.clip(ENTER * self.expand / np.maximum(entered, 1), 0.5, 2.0)
        least = np.where(3 * self.facts.support < self.expand, EARLY, DROP)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.clip((at.level / before) ** power, least, LEAST)
        at.ratio = np.where(who, ratio, at.ratio)

    def _give_up(self, who: NDArray[np.bool_]) -> None:
        self._give_up_at(np.flatnonzero(who & (self.at.query >= 0)))

    def _give_up_at(self, slots: Ids) -> None:
        """Leave queries to the processor; ``solved`` stays None."""
        self.at.query[slots] = -1
