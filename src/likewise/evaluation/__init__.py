"""Yardsticks: metrics, protocols, data sets and the pictures planted for tests and demo."""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.evaluation.datasets import Comparisons as Comparisons
    from likewise.evaluation.datasets import FeatureTable as FeatureTable
    from likewise.evaluation.datasets import LabelledImages as LabelledImages
    from likewise.evaluation.datasets import RetrievalQuery as RetrievalQuery
    from likewise.evaluation.datasets import RetrievalSet as RetrievalSet
    from likewise.evaluation.datasets import data_root as data_root
    from likewise.evaluation.metrics import AnnotationScores as AnnotationScores
    from likewise.evaluation.metrics import annotation_at as annotation_at
    from likewise.evaluation.metrics import average_precision as average_precision
    from likewise.evaluation.metrics import average_precision_at as average_precision_at
    from likewise.evaluation.metrics import flat_cost as flat_cost
    from likewise.evaluation.metrics import label_map as label_map
    from likewise.evaluation.metrics import mean_average_precision as mean_average_precision
    from likewise.evaluation.metrics import precision_at as precision_at
    from likewise.evaluation.metrics import recall_at as recall_at
    from likewise.evaluation.metrics import relevance as relevance
    from likewise.evaluation.metrics import sparsity as sparsity
    from likewise.evaluation.metrics import triplet_error as triplet_error
    from likewise.evaluation.planted import PlantedView as PlantedView
    from likewise.evaluation.planted import planted_views as planted_views
    from likewise.evaluation.planted import write_planted as write_planted
    from likewise.evaluation.protocols import RetrievalScores as RetrievalScores
    from likewise.evaluation.protocols import evaluate as evaluate
    from likewise.evaluation.protocols import leave_one_out as leave_one_out
    from likewise.evaluation.protocols import positives_in_turn as positives_in_turn
    from likewise.evaluation.retrieval import Ranker as Ranker
    from likewise.evaluation.retrieval import Task as Task
    from likewise.evaluation.retrieval import read_task as read_task

__getattr__, __dir__, __all__ = doors(__name__)
