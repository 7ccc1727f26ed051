"""Sparse online learning of similarity from triplets (SOLIS), OASIS, LEGO, QPAO."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_methods.solis.expansion import QueryRule as QueryRule
    from likewise_methods.solis.expansion import expand as expand
    from likewise_methods.solis.expansion import own_share as own_share
    from likewise_methods.solis.judging import DELTA as DELTA
    from likewise_methods.solis.judging import ETA as ETA
    from likewise_methods.solis.judging import JUDGEMENT_REACH as JUDGEMENT_REACH
    from likewise_methods.solis.judging import L1 as L1
    from likewise_methods.solis.judging import LIMIT as LIMIT
    from likewise_methods.solis.judging import MARGIN as MARGIN
    from likewise_methods.solis.judging import N_RANDOM as N_RANDOM
    from likewise_methods.solis.judging import RANDOM_WEIGHT as RANDOM_WEIGHT
    from likewise_methods.solis.judging import SESSION_REACH as SESSION_REACH
    from likewise_methods.solis.judging import judgement_triplets as judgement_triplets
    from likewise_methods.solis.judging import lesson as lesson
    from likewise_methods.solis.judging import profile_learner as profile_learner
    from likewise_methods.solis.judging import within_reach as within_reach
    from likewise_methods.solis.lego import LEGO as LEGO
    from likewise_methods.solis.oasis import OASIS as OASIS
    from likewise_methods.solis.qpao import QPAO as QPAO
    from likewise_methods.solis.rows import PEAK as PEAK
    from likewise_methods.solis.solis import SOLIS as SOLIS
    from likewise_methods.solis.solis import posting_cost as posting_cost
    from likewise_methods.solis.triplets import triplets_from_labels as triplets_from_labels
    from likewise_methods.solis.triplets import triplets_from_pairs as triplets_from_pairs
    from likewise_methods.solis.tuning import Trial as Trial
    from likewise_methods.solis.tuning import Tuning as Tuning
    from likewise_methods.solis.tuning import default_grid as default_grid
    from likewise_methods.solis.tuning import tune as tune

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "expansion": ["QueryRule", "expand", "own_share"],
        "judging": [
            "DELTA",
            "ETA",
            "JUDGEMENT_REACH",
            "L1",
            "LIMIT",
            "MARGIN",
            "N_RANDOM",
            "RANDOM_WEIGHT",
            "SESSION_REACH",
            "judgement_triplets",
            "lesson",
            "profile_learner",
            "within_reach",
        ],
        "lego": ["LEGO"],
        "oasis": ["OASIS"],
        "qpao": ["QPAO"],
        "rows": ["PEAK"],
        "solis": ["SOLIS", "posting_cost"],
        "triplets": [
            "triplets_from_labels",
            "triplets_from_pairs",
        ],
        "tuning": ["Trial", "Tuning", "default_grid", "tune"],
    },
)
