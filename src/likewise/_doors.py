"""The one table of lazy doors: which public name of which room lives in which file.

A room's ``__init__`` calls :func:`doors` and nothing else, so that importing a room costs
nothing; a file is imported when somebody first asks for a name in it (PEP 562).  The same names
stand under ``TYPE_CHECKING`` in each ``__init__``, for type checkers and for readers; a test
keeps both lists equal.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

# When this package was first imported; a source written later is not the one that runs.
OPENED = time.time()

DOORS: dict[str, dict[str, str]] = {
    "likewise": {
        "BagOfWords": "coding.bow",
        "Collection": "collection.collection",
        "DatasetError": "errors",
        "FisherVector": "coding.fisher",
        "FittedSpace": "metric.fitted",
        "Hit": "collection.search.rank",
        "ImageError": "errors",
        "InvalidInput": "errors",
        "InvertedIndex": "index.inverted",
        "Judgement": "collection.feedback.judge",
        "KernelMap": "ordinal.kernel_map",
        "LEGO": "similarity.lego",
        "LLC": "coding.locality",
        "LMNN": "similarity.lmnn",
        "LRML": "metric.lrml",
        "LikewiseError": "errors",
        "LocalMetric": "similarity.local_metric",
        "MaxPooling": "coding.pooling",
        "OASIS": "similarity.oasis",
        "OrdinalEmbedding": "ordinal.embedding",
        "ProductSparseCoder": "coding.product",
        "QPAO": "similarity.qpao",
        "S3ML": "metric.s3ml",
        "SOLIS": "similarity.solis",
        "SparseAnnotator": "annotation.annotator",
        "SparseCoder": "coding.sparse",
        "SpatialPyramid": "coding.pyramid",
        "VLAD": "coding.aggregate",
        "VQ": "coding.hard",
        "Vocabulary": "coding.vocabulary",
        "Whitening": "coding.whitening",
        "__version__": "_version",
        "decode": "images",
        "probe": "images",
    },
    "likewise.coding": {
        "BagOfWords": "bow",
        "FisherVector": "fisher",
        "LLC": "locality",
        "MaxPooling": "pooling",
        "ProductSparseCoder": "product",
        "SparseCoder": "sparse",
        "SpatialPyramid": "pyramid",
        "VLAD": "aggregate",
        "VQ": "hard",
        "Vocabulary": "vocabulary",
        "Whitening": "whitening",
        "count": "bow",
    },
    "likewise.collection": {
        "AddResult": "ingest.add",
        "Collection": "collection",
        "CollectionBusy": "errors",
        "CollectionError": "errors",
        "Compaction": "feedback.compact",
        "ComparisonQuestion": "models.questions",
        "ComparisonRecord": "models.comparisons",
        "ComparisonReport": "models.comparison_report",
        "DamagedCollection": "errors",
        "Explanation": "search.explain",
        "Figures": "search.similarities",
        "Hit": "search.rank",
        "Judgement": "feedback.judge",
        "LearnedReport": "feedback.learned_report",
        "LogLine": "feedback.log",
        "MapPoints": "models.models",
        "Model": "store.model_table",
        "NoPlaces": "errors",
        "Progress": "jobs",
        "Share": "feedback.shares",
        "Similarity": "search.similarities",
        "SparseOutcome": "feedback.lessons",
        "Suggestion": "tags.suggest",
        "SupportingPicture": "tags.suggest",
        "TagImport": "keywords.tag_files",
        "TagLogLine": "tags.tag_log",
        "TagRow": "store.tag_tables",
        "TagRun": "tags.bulk",
        "UnknownName": "errors",
        "UnknownPicture": "errors",
        "Version": "feedback.profiles",
        "XmpExport": "keywords.xmp_export",
    },
    "likewise.collection.spaces": {
        "LearnedGeneration": "base",
        "Places": "base",
        "Space": "base",
        "Survey": "base",
    },
    "likewise.cli": {
        "main": "app",
    },
    "likewise.demo": {
        "DemoHit": "demo",
        "DemoQuery": "demo",
        "DemoResult": "demo",
        "Lesson": "lesson",
        "run": "demo",
        "teach": "lesson",
    },
    "likewise.evaluation": {
        "AnnotationScores": "metrics",
        "Comparisons": "datasets",
        "FeatureTable": "datasets",
        "LabelledImages": "datasets",
        "PlantedView": "planted",
        "Ranker": "retrieval",
        "RetrievalQuery": "datasets",
        "RetrievalScores": "protocols",
        "RetrievalSet": "datasets",
        "Task": "retrieval",
        "annotation_at": "metrics",
        "average_precision": "metrics",
        "average_precision_at": "metrics",
        "data_root": "datasets",
        "evaluate": "protocols",
        "flat_cost": "metrics",
        "label_map": "metrics",
        "leave_one_out": "protocols",
        "mean_average_precision": "metrics",
        "planted_views": "planted",
        "positives_in_turn": "protocols",
        "precision_at": "metrics",
        "read_task": "retrieval",
        "recall_at": "metrics",
        "relevance": "metrics",
        "sparsity": "metrics",
        "triplet_error": "metrics",
        "write_planted": "planted",
    },
    "likewise.evaluation.readers": {
        "read_corel1k": "corel",
        "read_folders": "folders",
        "read_holidays": "holidays",
        "read_ilsvrc2010": "ilsvrc",
        "read_material_appearance": "comparisons",
        "read_mulan": "mulan",
        "read_music_aset400": "comparisons",
        "read_nuswide": "nuswide",
        "read_nuswide_labels": "nuswide",
        "read_nuswide_lite": "nuswide",
        "read_oxford": "oxford",
        "read_triplets": "comparisons",
        "read_uci_car": "uci",
        "read_zappos": "comparisons",
        "survey": "report",
    },
    "likewise.index": {
        "DamagedIndex": "errors",
        "InvertedIndex": "inverted",
    },
    "likewise.neighbours": {
        "DamagedFile": "container",
        "Exact": "exact",
        "HNSW": "hnsw",
        "IVF": "ivf",
        "LSH": "lsh",
        "Neighbours": "protocol",
        "NotBuilt": "protocol",
        "collision_probability": "lsh",
        "recall": "lsh",
    },
    "likewise.features": {
        "DamagedWeights": "deep.errors",
        "DeepCells": "deep.recipes",
        "DeepDense": "deep.recipes",
        "DeepMissing": "deep.errors",
        "DeepSparse": "deep.recipes",
        "DenseSIFT": "local",
        "Holistic": "holistic",
        "LocalFeatures": "local",
        "OnnxModel": "deep.onnx_model",
        "Preparation": "deep.runtime",
        "SIFT": "local",
        "UnusableModel": "deep.errors",
        "bin_names": "holistic",
        "colour_moments": "holistic",
        "edge_histogram": "holistic",
        "root_sift": "local",
        "wavelet_texture": "holistic",
    },
    "likewise.features.deep": {
        "DamagedWeights": "errors",
        "DeepCells": "recipes",
        "DeepDense": "recipes",
        "DeepMissing": "errors",
        "DeepSparse": "recipes",
        "OnnxModel": "onnx_model",
        "Preparation": "runtime",
        "UnusableModel": "errors",
    },
    "likewise.solvers": {
        "Dictionary": "lassos.scan",
        "SparseInverse": "sparse_inverse.selection",
        "UnboundedProblem": "sparse_inverse.bounds",
        "lasso": "lassos.engine",
        "nonnegative_codes": "product.words",
        "product_codes": "product.codes",
        "sparse_inverse_covariance": "sparse_inverse.selection",
    },
    "likewise.solvers.lassos": {
        "Codes": "engine",
        "Dictionary": "scan",
        "certify": "certificate",
        "lasso": "engine",
    },
    "likewise.solvers.ordinal": {
        "Loss": "problem",
        "Problem": "problem",
        "Record": "problem",
        "Solution": "problem",
        "solve_batch": "batch",
        "solve_convex": "convex",
        "solve_lbfgs": "batch",
        "solve_online": "online",
        "solve_svrg": "svrg",
        "squares": "problem",
    },
    "likewise.solvers.product": {
        "ProductPaths": "codes",
        "Task": "codes",
        "WordPaths": "words",
        "certify": "certificate",
        "nonnegative_codes": "words",
        "objectives": "certificate",
        "product_codes": "codes",
    },
    "likewise.solvers.sparse_inverse": {
        "Problem": "problem",
        "SparseInverse": "selection",
        "UnboundedProblem": "bounds",
        "sparse_inverse_covariance": "selection",
    },
    "likewise.similarity": {
        "Conflicts": "triplets",
        "IdfWeights": "fixed",
        "LEGO": "lego",
        "LMNN": "lmnn",
        "Lesson": "local_metric",
        "LocalMetric": "local_metric",
        "OASIS": "oasis",
        "QPAO": "qpao",
        "QueryRule": "expansion",
        "SOLIS": "solis",
        "Trial": "tuning",
        "Tuning": "tuning",
        "count_conflicts": "triplets",
        "default_grid": "tuning",
        "expand": "expansion",
        "judgement_triplets": "judging",
        "posting_cost": "fixed",
        "profile_learner": "judging",
        "protocol_triplets": "triplets",
        "triplets_from_labels": "triplets",
        "triplets_from_pairs": "triplets",
        "tune": "tuning",
    },
    "likewise.annotation": {
        "EGSSC": "baselines.egssc",
        "KNNAnnotator": "baselines.knn",
        "LNP": "baselines.lnp",
        "LSMPLike": "baselines.lsmp",
        "LinearAnnotator": "linear",
        "MixedAnnotator": "mixed",
        "RidgeAnnotator": "baselines.ridge",
        "SVMAnnotator": "baselines.svm",
        "SparseAnnotator": "annotator",
    },
    "likewise.metric": {
        "Euclidean": "base",
        "FittedSpace": "fitted",
        "LRML": "lrml",
        "Mahalanobis": "base",
        "S3ML": "s3ml",
    },
    "likewise.metric.propagation": {
        "affinities": "methods",
        "scatter": "methods",
        "scatter_and_counts": "methods",
    },
    "likewise.ordinal": {
        "CKL": "losses",
        "GNMDS": "losses",
        "KernelMap": "kernel_map",
        "OrdinalEmbedding": "embedding",
        "STE": "losses",
        "TSTE": "losses",
        "cross_validate": "validating",
        "suggest_comparisons": "suggesting",
    },
}


def doors(room: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a room, from its rows of the table."""
    table = DOORS[room]

    def __getattr__(name: str) -> Any:
        home = table.get(name)
        if home is None:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{room}.{home}"), name)
        # Found once, kept: the next access does not come through here.
        setattr(sys.modules[room], name, value)
        return value

    def __dir__() -> list[str]:
        return sorted({*table, *vars(sys.modules[room])})

    return __getattr__, __dir__, sorted(table)


class Later:
    """A module that is imported when somebody first uses something in it.

    For libraries that take a tenth of a second or more and that many files mention but few calls
    need.  Not for modules that kernels use, nor for our own: those have doors.  A file writes

        if TYPE_CHECKING:
            import scipy.sparse as sp
        else:
            sp = Later("scipy.sparse")

    so that type checkers, and the tests of who may import what, see an import.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)
