"""Every learner of the room passes the generic list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from likewise_methods.solis.lego import LEGO
from likewise_methods.solis.oasis import OASIS
from likewise_methods.solis.qpao import QPAO
from likewise_methods.solis.solis import SOLIS
from tests.methods.checks import Check, checks_of

COST = np.random.default_rng(0).uniform(0, 2, 40)
LEARNERS: dict[str, Any] = {
    "tg": SOLIS("tg", l1=0.001, eta=8.0),
    "tg theta": SOLIS("tg", l1=0.001, eta=8.0, theta=2.0, clock="loss", word_cost=COST),
    "da": SOLIS("da", l1=0.002, gamma=0.02),
    "da printed": SOLIS("da", l1=0.002, gamma=0.02, rho=0.01, clock="printed", start="ones"),
    "afb": SOLIS("afb", l1=0.001, eta=2.0, delta=0.01),
    "afb ones": SOLIS("afb", l1=0.001, eta=2.0, delta=0.0, start="ones", nonnegative=True),
    "ada": SOLIS("ada", l1=0.002, eta=2.0, delta=0.01),
    "ada skipping": SOLIS("ada", l1=0.002, eta=2.0, delta=0.01, skip_empty=True, word_cost=COST),
    "OASIS": OASIS(C=3.0),
    "OASIS full": OASIS(C=3.0, form="full"),
    "LEGO": LEGO(eta=0.2, low=0.8, high=1.2),
    "LEGO full": LEGO(eta=0.2, low=0.8, high=1.2, form="full"),
    "QPAO": QPAO(C=1.0),
}


# Few iterations are enough for what is checked here.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("learner", "check"),
    [
        pytest.param(learner, check, id=f"{name}-{check.__name__}")
        for name, learner in LEARNERS.items()
        for check in checks_of(learner)
    ],
)
def test_check(learner: Any, check: Check) -> None:
    check(clone(learner))
