"""The grid finds what a plain loop finds."""

from __future__ import annotations

import numpy as np
import pytest

from likewise_methods.errors import InvalidInput
from likewise_methods.solis.oasis import OASIS
from likewise_methods.solis.qpao import QPAO
from likewise_methods.solis.solis import SOLIS
from likewise_methods.solis.tuning import default_grid, tune
from tests.methods.solis.data import collection, triplets_of

X, LABELS = collection(60, 80)
TRAIN, HELD = triplets_of(LABELS, 400, seed=1), triplets_of(LABELS, 300, seed=2)


@pytest.mark.parametrize("method", ["tg", "da", "afb", "ada"])
def test_equals_a_plain_loop(method: str) -> None:
    seen: list[tuple[int, int]] = []
    found = tune(X, TRAIN, HELD, learner=SOLIS(method), n_jobs=2,
                 progress=lambda done, total: seen.append((done, total)))  # fmt: skip
    assert seen == [(i, 30) for i in range(1, 31)]
    for trial in found.trials:
        learner = SOLIS(method, **trial.parameters).fit(X, TRAIN)  # type: ignore[arg-type]
        assert trial.accuracy == learner.score(X, HELD)
        assert (trial.sparsity, trial.changed) == (learner.sparsity_, learner.changed_)
    assert found.best.accuracy == max(t.accuracy for t in found.trials)
    assert found.learner.score(X, HELD) == found.best.accuracy
    sparsities = [t.sparsity for t in found.frontier]
    accuracies = [t.accuracy for t in found.frontier]
    assert sparsities == sorted(sparsities, reverse=True)
    assert accuracies == sorted(accuracies)
    assert found.best.accuracy == accuracies[-1]
    assert len(found.show().splitlines()) == 31
    assert found.show().count(">") == 1


def test_tolerance_buys_sparsity() -> None:
    exact, loose = (tune(X, TRAIN, HELD, tolerance=t) for t in (0.0, 0.05))
    assert loose.best.sparsity >= exact.best.sparsity
    assert loose.best.accuracy >= exact.best.accuracy - 0.05


def test_other_learners_and_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    found = tune(X, TRAIN, HELD, learner=OASIS(), grid={"C": [0.01, 1.0]}, progress=True)
    assert len(found.trials) == 2
    assert "2 of 2" in capsys.readouterr().err
    with pytest.raises(InvalidInput, match="no default grid"):
        tune(X, TRAIN, HELD, learner=OASIS())
    with pytest.raises(InvalidInput, match="grid is empty"):
        tune(X, TRAIN, HELD, grid={"l1": []})
    with pytest.raises(InvalidInput, match="QPAO"):
        tune(X, TRAIN, HELD, learner=QPAO())  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="l1 is -1"):
        tune(X, TRAIN, HELD, grid={"l1": [-1.0]})
    with pytest.raises(InvalidInput, match="empty"):
        tune(X, TRAIN, np.zeros((0, 3), int))
    assert set(default_grid(X, TRAIN, SOLIS("da"))) == {"l1", "gamma"}
