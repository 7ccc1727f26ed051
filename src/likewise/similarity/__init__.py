"""Learners of similarity from triplets: SOLIS, its rivals, and where triplets come from."""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.similarity.expansion import QueryRule as QueryRule
    from likewise.similarity.expansion import expand as expand
    from likewise.similarity.fixed import IdfWeights as IdfWeights
    from likewise.similarity.fixed import posting_cost as posting_cost
    from likewise.similarity.judging import judgement_triplets as judgement_triplets
    from likewise.similarity.judging import profile_learner as profile_learner
    from likewise.similarity.lego import LEGO as LEGO
    from likewise.similarity.lmnn import LMNN as LMNN
    from likewise.similarity.local_metric import Lesson as Lesson
    from likewise.similarity.local_metric import LocalMetric as LocalMetric
    from likewise.similarity.oasis import OASIS as OASIS
    from likewise.similarity.qpao import QPAO as QPAO
    from likewise.similarity.solis import SOLIS as SOLIS
    from likewise.similarity.triplets import Conflicts as Conflicts
    from likewise.similarity.triplets import count_conflicts as count_conflicts
    from likewise.similarity.triplets import protocol_triplets as protocol_triplets
    from likewise.similarity.triplets import triplets_from_labels as triplets_from_labels
    from likewise.similarity.triplets import triplets_from_pairs as triplets_from_pairs
    from likewise.similarity.tuning import Trial as Trial
    from likewise.similarity.tuning import Tuning as Tuning
    from likewise.similarity.tuning import default_grid as default_grid
    from likewise.similarity.tuning import tune as tune

__getattr__, __dir__, __all__ = doors(__name__)
