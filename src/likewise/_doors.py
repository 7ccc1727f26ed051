"""The one table of lazy doors: which public name of which room lives in which file.

A room's ``__init__`` calls :func:`doors` and nothing else, so that importing a room costs
nothing; a file is imported when somebody first asks for a name in it (PEP 562).  The same names
stand under ``TYPE_CHECKING`` in each ``__init__``, for type checkers and for readers; a test
keeps both lists equal.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

DOORS: dict[str, dict[str, str]] = {
    "likewise": {
        "BagOfWords": "coding.bow",
        "Collection": "collection.collection",
        "DatasetError": "errors",
        "FisherVector": "coding.fisher",
        "Hit": "collection.search.rank",
        "ImageError": "errors",
        "InvalidInput": "errors",
        "InvertedIndex": "index.inverted",
        "KernelMap": "ordinal.kernel_map",
        "LEGO": "similarity.lego",
        "LLC": "coding.locality",
        "LMNN": "similarity.lmnn",
        "LRML": "metric.lrml",
        "LikewiseError": "errors",
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
        "Behind": "tags.suggest",
        "Collection": "collection",
        "CollectionBusy": "errors",
        "CollectionError": "errors",
        "Compacted": "feedback.compact",
        "ComparisonReport": "models.comparing",
        "DamagedCollection": "errors",
        "Explanation": "search.explain",
        "Figures": "search.similarities",
        "Hit": "search.rank",
        "LogLine": "feedback.profiles",
        "MapPoints": "models.modelling",
        "Model": "store.models",
        "Progress": "jobs",
        "Similarity": "search.similarities",
        "SparseOutcome": "feedback.lessons",
        "Suggestion": "tags.suggest",
        "TagImport": "keywords.tag_files",
        "TagRow": "store.tags",
        "TagRun": "tags.bulk",
        "TagWord": "tags.log",
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
    "likewise.evaluation": {
        "AnnotationScores": "metrics",
        "Comparisons": "datasets",
        "FeatureTable": "datasets",
        "LabelledImages": "datasets",
        "PlantedView": "planted",
        "RetrievalQuery": "datasets",
        "RetrievalScores": "protocols",
        "RetrievalSet": "datasets",
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
        "DamagedWeights": "deep_errors",
        "DeepCells": "deep",
        "DeepDense": "deep",
        "DeepMissing": "deep_errors",
        "DeepSparse": "deep",
        "DenseSIFT": "local",
        "Holistic": "holistic",
        "LocalFeatures": "local",
        "OnnxModel": "deep_onnx",
        "Preparation": "deep_runtime",
        "SIFT": "local",
        "UnusableModel": "deep_errors",
        "bin_names": "holistic",
        "colour_moments": "holistic",
        "edge_histogram": "holistic",
        "root_sift": "local",
        "wavelet_texture": "holistic",
    },
    "likewise.similarity": {
        "Conflicts": "triplets",
        "IdfWeights": "fixed",
        "LEGO": "lego",
        "LMNN": "lmnn",
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
        "RidgeAnnotator": "baselines.ridge",
        "SVMAnnotator": "baselines.svm",
        "SparseAnnotator": "annotator",
    },
    "likewise.metric": {
        "Euclidean": "base",
        "LRML": "lrml",
        "Mahalanobis": "base",
        "S3ML": "s3ml",
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
