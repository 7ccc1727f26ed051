"""The parameters of an annotator: what each may be."""

from __future__ import annotations

from typing import Any

from likewise_methods.validation import check_seed, is_whole, number, one_of, refuse, truth, whole

SEARCHES = ("exact", "lsh", "hnsw")
SCORES = ("signed", "positive")


def check_parameters(model: Any) -> None:
    """Refuse parameters of a SparseAnnotator that make no sense."""
    one_of(model.search, "search", SEARCHES)
    one_of(model.scores, "scores", SCORES)
    number(model.alpha, "alpha", above=0, below=1)
    number(model.tol, "tol", above=0, below=1)
    whole(model.expand, "expand")
    if not is_whole(model.n_jobs, 1) and not is_whole(model.n_jobs, -1, -1):
        raise refuse("n_jobs", model.n_jobs, "a whole number of at least 1, or -1 for all cores,")
    truth(model.certify, "certify")
    truth(model.nonnegative, "nonnegative")
    check_seed(model.random_state)
