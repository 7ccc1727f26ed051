"""Whatever happens, what is learned is the fold over the lines of the log that survive.

Hypothesis tries sequences of everything a person or a crash can do; after each step weights and
verdicts of every profile are compared with :mod:`tests.product.collection.loop_reference`, to the
bit. ``make trust`` tries many more (``LIKEWISE_TRUST_ROUNDS``).
"""

from __future__ import annotations

import os
import shutil
from datetime import timedelta
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

from likewise.collection.collection import Collection
from likewise.learning import log as log_lines
from likewise.learning import profile_states, replay
from likewise_methods.spaces import local_metric
from likewise_methods.spaces.local_metric import LocalMetric
from tests import trials
from tests.methods.spaces.reference import ask
from tests.product.collection.loop_cases import SPACES, N, copied, forgotten, outside, rows
from tests.product.collection.loop_reference import Log
from tests.product.private import states_of

EXAMPLES = max(int(os.environ.get("LIKEWISE_TRUST_ROUNDS", "0")) // 2, 12)
# Pictures that get a vector of their own only later.
LATE = (N - 1, N)

some = st.sets(st.integers(1, N), max_size=3)
which = st.integers(0, 40)


class Loop(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.home = Path(mkdtemp(prefix="likewise-machine-"))
        self.root = copied(self.home)
        self.every, profile_states.CHECKPOINT_EVERY = profile_states.CHECKPOINT_EVERY, 2
        # Whatever is more than that is folded beside, in stretches of two.
        self.at_once, self.stretch = profile_states.AT_ONCE, replay.STRETCH
        replay.STRETCH = 2
        # N0 is chosen from four lessons on, so that a machine of some dozen steps sees it chosen.
        self.choose_from, local_metric.CHOOSE_FROM = local_metric.CHOOSE_FROM, 4
        self.clock, self.ahead = log_lines.now, timedelta(0)
        log_lines.now = lambda: self.clock() + self.ahead
        self.here = set(range(1, N + 1))
        self.profiles = ["default"]
        self.dropped: list[Collection] = []
        self.col = Collection.open(self.root)
        self.col.spaces.add("late", {"feature": "own", "kind": "sparse"})
        self.col.spaces.add_vectors("late", range(1, N - 1), rows(N - 2, seed=1))
        dense = np.asarray(rows(seed=3).toarray(), np.float32)
        self.col.spaces.add("plain", {"feature": "own"})
        self.col.spaces.add_vectors("plain", range(1, N + 1), dense)
        self.col.spaces.add("fit", {"feature": "fitted", "source": "plain", "first": 5})
        self.other = Collection.open(self.root)
        self.codes: dict[tuple[str, int], dict[int, bytes]] = {}
        self.retrained = False

    # -- what people do -----------------------------------------------------------------------

    @rule(
        query=st.integers(1, N + 3),
        liked=some,
        disliked=some,
        shown=st.none() | st.permutations(range(1, N + 1)),
        profile=which,
        pause=st.booleans(),
    )
    def judge(self, query, liked, disliked, shown, profile, pause) -> None:
        liked = (liked & self.here) - {query}
        disliked = (disliked & self.here) - liked - {query}
        if not liked | disliked or (query <= N and query not in self.here):
            return
        if pause:
            self.ahead += timedelta(hours=1)
        number = self.col.judge(
            query if query <= N else outside(query - N - 1),
            sorted(liked),
            sorted(disliked),
            shown=None if shown is None else [i for i in shown if i in self.here],
            profile=self._profile(profile),
        ).number
        line = self.col.log.entries(self._profile(profile))[-1]
        assert (line.number, line.stands) == (number, True)
        assert set(line.liked) == liked
        assert set(line.disliked) == disliked

    @rule(three=st.permutations(range(1, N + 1)), profile=which)
    def compare(self, three, profile) -> None:
        anchor, nearer, farther = [i for i in three if i in self.here][:3]
        self.col.compare(anchor, nearer, farther, profile=self._profile(profile), at_once=True)

    @rule(profile=which, pick=which, last=st.booleans())
    def undo(self, profile, pick, last) -> None:
        name = self._profile(profile)
        standing = [x for x in Log(self.root).judgements(name) if not last or x.kind == "judge"]
        if not standing:
            return
        if last:
            assert self.col.undo(profile=name) == standing[-1].number
        else:
            number = standing[pick % len(standing)].number
            assert self.col.undo(number, profile=name) == number

    @rule(profile=which, pick=which)
    def roll_back(self, profile, pick) -> None:
        name = self._profile(profile)
        positions = [0, *(line.number for line in self.col.log.entries(name))]
        self.col.profiles.roll_back(positions[pick % len(positions)], profile=name)

    @precondition(lambda self: len(self.profiles) < 4)
    @rule(source=which)
    def copy(self, source) -> None:
        name = f"p{len(self.profiles)}"
        self.col.profiles.copy(self._profile(source), name)
        self.profiles.append(name)

    @precondition(lambda self: 1 < len(self.profiles) < 5)
    @rule(one=which, other=which)
    def merge(self, one, other) -> None:
        sources = {self._profile(one), self._profile(other)}
        if len(sources) == 2:
            name = f"m{len(self.profiles)}"
            self.col.profiles.merge(sorted(sources), name)
            self.profiles.append(name)

    # -- what happens to a collection ------------------------------------------------------------

    @precondition(lambda self: len(self.here) > N - 4)
    @rule(pick=which)
    def remove(self, pick) -> None:
        image = sorted(self.here)[pick % len(self.here)]
        self.col.remove(image)
        self.here.discard(image)

    @rule()
    def late_vectors(self) -> None:
        ids = [i for i in LATE if i in self.here]
        if ids:
            self.col.spaces.add_vectors("late", ids, rows(len(ids), seed=2))

    @rule()
    def refresh(self) -> None:
        self.col.refresh()

    @precondition(lambda self: not self.retrained)
    @rule(seed=st.integers(1, 3))
    def retrain(self, seed) -> None:
        self.col.retrain(workers=0, seed=seed)
        self.retrained = True

    @rule()
    def reopen(self) -> None:
        self.col.close()
        self.col = Collection.open(self.root)

    @rule()
    def kill(self) -> None:
        """The process dies: nothing is closed, all memory is lost."""
        self.dropped.append(self.col)
        self.col = Collection.open(self.root)

    @rule()
    def forget(self) -> None:
        forgotten(self.col)

    @rule(items=st.sampled_from([0, 3, 500]))
    def patience(self, items) -> None:
        """How many items a search waits for before it goes on with the state of before."""
        profile_states.AT_ONCE = items

    @rule()
    def another_process(self) -> None:
        self.col, self.other = self.other, self.col

    # -- what must be true ----------------------------------------------------------------------

    def _profile(self, pick: int) -> str:
        return self.profiles[pick % len(self.profiles)]

    @invariant()
    def equals_the_fold(self) -> None:
        self._check(self.col)

    def _check(self, col: Collection) -> None:
        log = Log(self.root)
        for profile in self.profiles:
            history = states_of(col).history(profile)
            assert [item.number for item in history.items] == log.surviving(profile)
            expected = log.verdicts(profile)
            for query in log.subjects.values():
                found = history.verdicts(query)
                assert (found.liked, found.disliked) == expected.get(query, (set(), set()))
            for name in (*SPACES, "late"):
                space = col.spaces[name]
                wanted = log.weights(profile, name, space.generation, space.width)
                # An answer is right or says that it is not.
                answer = states_of(col).state_now(profile, space)
                assert answer.behind or np.array_equal(answer.state.weights, wanted)
                found = states_of(col).wait_for_state(profile, space).weights
                assert np.array_equal(found, wanted)
                now, behind = states_of(col).weights_now(profile, space)
                assert not behind
                assert now is None or np.array_equal(now, wanted)
            self._check_pairs(col, log, profile)
        for key, codes in self.codes.items():
            # A generation that is gone took its codes with it; within one they never change.
            assert key not in log.codes or codes.items() <= log.codes[key].items()
        self.codes = dict(log.codes)

    def _check_pairs(self, col: Collection, log: Log, profile: str) -> None:
        """The metric of judged pairs: near the plain formulas, and the same bits in any order."""
        space = col.spaces["fit"]
        assert space.generation
        metric = states_of(col).metric(profile, space)
        lessons = log.pairs(profile, "fit", space.generation)
        assert len(lessons) == (0 if metric is None else len(metric))
        if metric is None:
            return
        again = LocalMetric(space.width, metric.scale)
        for one in sorted(lessons, key=lambda one: one.query.tobytes()):
            alike = np.array(sorted(one.alike, key=lambda row: row.tobytes())).reshape(
                -1, space.width
            )
            unlike = np.array(sorted(one.unlike, key=lambda row: row.tobytes()))
            unlike = unlike.reshape(-1, space.width)
            again.add(one.number, one.query, alike, unlike, one.weight, one.session)
        for row in (lessons[0].query, np.ones(space.width, np.float32)):
            made = metric.ask(row)
            assert np.array_equal(made, again.ask(row))
            wanted = ask(lessons, row, metric.scale, metric.used_prior())
            assert np.allclose(made, wanted, atol=1e-4)

    def teardown(self) -> None:
        try:
            self._check(self.other)
            forgotten(self.other)
            self._check(self.other)
            assert self.other.verify() == []
        finally:
            profile_states.CHECKPOINT_EVERY = self.every
            profile_states.AT_ONCE, replay.STRETCH = self.at_once, self.stretch
            local_metric.CHOOSE_FROM = self.choose_from
            log_lines.now = self.clock
            for col in (self.col, self.other, *self.dropped):
                col.close()
            shutil.rmtree(self.home)
        trials.count(trials.HISTORIES)


Loop.TestCase.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=25,
    deadline=None,
    derandomize="LIKEWISE_TRUST_ROUNDS" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
TestLoop = Loop.TestCase
