"""Metrics, protocols and confidence intervals for retrieval and annotation."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_methods.evaluation.datasets import LabelledImages as LabelledImages
    from likewise_methods.evaluation.datasets import RetrievalQuery as RetrievalQuery
    from likewise_methods.evaluation.datasets import RetrievalSet as RetrievalSet
    from likewise_methods.evaluation.intervals import UNTESTED as UNTESTED
    from likewise_methods.evaluation.intervals import Interval as Interval
    from likewise_methods.evaluation.intervals import Spread as Spread
    from likewise_methods.evaluation.intervals import mean_interval as mean_interval
    from likewise_methods.evaluation.intervals import wilson as wilson
    from likewise_methods.evaluation.metrics import average_precision as average_precision
    from likewise_methods.evaluation.metrics import precision_at as precision_at
    from likewise_methods.evaluation.metrics import recall_at as recall_at
    from likewise_methods.evaluation.metrics import relevance as relevance
    from likewise_methods.evaluation.metrics import sparsity as sparsity
    from likewise_methods.evaluation.metrics import triplet_error as triplet_error
    from likewise_methods.evaluation.protocols import RetrievalScores as RetrievalScores
    from likewise_methods.evaluation.protocols import evaluate as evaluate
    from likewise_methods.evaluation.protocols import leave_one_out as leave_one_out
    from likewise_methods.evaluation.protocols import positives_in_turn as positives_in_turn

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "datasets": [
            "LabelledImages",
            "RetrievalQuery",
            "RetrievalSet",
        ],
        "intervals": ["Interval", "Spread", "UNTESTED", "mean_interval", "wilson"],
        "metrics": [
            "average_precision",
            "precision_at",
            "recall_at",
            "relevance",
            "sparsity",
            "triplet_error",
        ],
        "protocols": ["RetrievalScores", "evaluate", "leave_one_out", "positives_in_turn"],
    },
)
