"""Visual words on oxford1k: distortion and CPU time of k-means, and what the words are worth.

Peers are scikit-learn's MiniBatchKMeans and faiss's exact k-means, on the same descriptors in the
same process.  Nobody grades himself: the distortion of each is recomputed exactly from the words
it returned, on held-out descriptors.  Then tf-idf retrieval with our words, trapezoid AP.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans

from benchmarks import harness
from benchmarks.readers.oxford import read_oxford
from benchmarks.readers.records import data_root
from benchmarks.vocabulary.adding import adding
from benchmarks.vocabulary.exact_kmeans import exact_kmeans
from likewise.images.decode import decode
from likewise.vision.local import SIFT
from likewise_methods.coding.bow import BagOfWords, Weighting, count
from likewise_methods.coding.vocabulary import Vocabulary
from likewise_methods.evaluation.datasets import RetrievalQuery, RetrievalSet
from likewise_methods.evaluation.protocols import evaluate, positives_in_turn
from likewise_methods.neighbours.container import DamagedFile, open_arrays, save_arrays
from likewise_methods.neighbours.exact import Exact

Floats = NDArray[np.float32]
Row = dict[str, object]

HELD_OUT = 20_000
ROUNDS = 20
PER_WORD = 40
LANDMARK_POSITIVES = 14
ADDING = "Adding the space words, CPU ms a picture"
WEIGHTINGS: tuple[Weighting, ...] = ("tf", "tf-idf", "tf-idf2", "sqrt-tf-idf")


def descriptors(data: RetrievalSet) -> tuple[Floats, NDArray[np.int64]]:
    """RootSIFT of all pictures, one after another by name, and where each begins; cached."""
    recipe = SIFT()
    kind = f"descriptors of {data.name}, {len(data)} pictures, {recipe}"
    path = harness.cache_dir() / f"{data.name}-rootsift.arrays"
    try:
        _, arrays = open_arrays(path, kind)
    except (FileNotFoundError, DamagedFile):
        names = sorted(data.paths)
        found = [recipe.extract(decode(data.paths[name]).pixels).descriptors for name in names]
        starts = np.concatenate([[0], np.cumsum([len(f) for f in found])]).astype(np.int64)
        save_arrays(path, kind, {}, {"X": np.concatenate(found), "starts": starts})
        _, arrays = open_arrays(path, kind)
    return arrays["X"], arrays["starts"]


def ours(X: Floats, n_words: int, seed: int) -> Floats:
    """Our approximate k-means over all of ``X``."""
    made = Vocabulary(n_words, sample=len(X), n_iter=ROUNDS, random_state=seed, assignment="exact")
    return made.fit(X).words_


def mini_batch(X: Floats, n_words: int, seed: int) -> Floats:
    """scikit-learn's, random starting words like the others, its own stopping rule.

    Above 10,000 words one pass over the descriptors: its rule would take hours.
    """
    kmeans = MiniBatchKMeans(
        n_words,
        batch_size=10_000,
        max_iter=100 if n_words <= 10_000 else 1,
        init="random",
        n_init=1,
        compute_labels=False,
        random_state=seed,
    )
    return np.asarray(kmeans.fit(X).cluster_centers_, np.float32)


def timed(train: Callable[[], Floats], held_out: Floats) -> tuple[float, float]:
    """CPU seconds, and the mean squared distance of held-out descriptors to the nearest word."""
    start = time.process_time()
    words = train()
    seconds = time.process_time() - start
    error = distortion(words, held_out)
    print(f"{len(words):,} words, {seconds:.1f} s, distortion {error:.5f}", file=sys.stderr)
    return seconds, error


def distortion(words: Floats, held_out: Floats) -> float:
    """Exact, from the words alone."""
    return float(Exact("l2").build(words).search(held_out, 1)[1].mean(dtype=np.float64))


def clustering(X: Floats, n_words: int, seed: int, *, extrapolate: bool) -> list[Row]:
    """Rows of the three ways at one size; ``extrapolate`` measures one exact round only."""
    order = np.random.default_rng(seed).permutation(len(X))
    held_out = X[np.sort(order[:HELD_OUT])]
    train = X[np.sort(order[HELD_OUT : HELD_OUT + PER_WORD * n_words])]
    rounds = 1 if extrapolate else ROUNDS
    exact_s, exact_d = timed(
        lambda: exact_kmeans(train, n_words, n_iter=rounds, random_state=seed), held_out
    )
    runs = [("faiss exact" + (", one round" if extrapolate else ""), exact_s, exact_d)]
    if extrapolate:
        # A round is one assignment of all descriptors; faiss's set-up is negligible beside it.
        runs.append((f"faiss exact, {ROUNDS} rounds (extrapolated)", ROUNDS * exact_s, np.nan))
    runs.append(("likewise", *timed(lambda: ours(train, n_words, seed), held_out)))
    peer = "scikit-learn MiniBatchKMeans" + (", one pass" if extrapolate else "")
    runs.append((peer, *timed(lambda: mini_batch(train, n_words, seed), held_out)))
    full_s = ROUNDS * exact_s if extrapolate else exact_s
    return [
        {
            "words": n_words,
            "descriptors": len(train),
            "method": name,
            "CPU s": seconds,
            "times faster than exact": full_s / seconds if "one round" not in name else "",
            "held-out distortion": "" if np.isnan(error) else round(error, 5),
            "against exact": ""
            if extrapolate or np.isnan(error)
            else f"{100 * (error / exact_d - 1):+.2f} %",
        }
        for name, seconds, error in runs
    ]


def retrieval(
    data: RetrievalSet, X: Floats, starts: NDArray[np.int64], n_words: int, seed: int
) -> list[Row]:
    """mAP of each weighting on the landmarks with enough positives, every positive a query."""
    vocabulary = Vocabulary(n_words, sample=len(X), random_state=seed).fit(X)
    start = time.process_time()
    words = vocabulary.quantise(X)
    micros = (time.process_time() - start) / len(X) * 1e6
    counts = count(np.split(words, starts[1:-1]), n_words)
    names = sorted(data.paths)
    queries = positives_in_turn(data, at_least=LANDMARK_POSITIVES)
    weighted = {name: BagOfWords(name).fit_transform(counts) for name in WEIGHTINGS}
    scores: dict[str, Any] = {n: (rows @ rows.T).toarray() for n, rows in weighted.items()}
    # SOLIS's way to say "idf squared": weights over tf-idf rows, w_j = idf_j^2.
    bag = BagOfWords().fit(counts)
    rows = weighted["tf-idf"]
    scores["tf-idf rows, weights idf^2"] = ((rows * bag.idf_**2) @ rows.T).toarray()
    made: list[Row] = []
    for name, table in scores.items():
        found = evaluate(queries, _ranking(names, table), trapezoid=True)
        made.append(
            {
                "words": n_words,
                "weighting": name,
                "mAP": round(found.mean, 4),
                "mean of landmarks": round(found.mean_of_groups, 4),
                **{group: round(value, 3) for group, value in sorted(found.by_group.items())},
                "non-zeros a picture": round(rows.nnz / len(names)),
                "assignment us": round(micros, 1),
            }
        )
    return made


def _ranking(
    names: Sequence[str], table: NDArray[np.float32]
) -> Callable[[RetrievalQuery], list[str]]:
    place = {name: i for i, name in enumerate(names)}

    def search(query: RetrievalQuery) -> list[str]:
        order = np.argsort(-table[place[query.query]], kind="stable")
        return [names[i] for i in order]

    return search


def main() -> int:
    """Run and write docs/results/features.md; ``--full`` adds 100,000 words to the clustering."""
    options = harness.arguments(__doc__ or "")
    root = data_root()
    if root is None or not (root / "oxford1k").is_dir():
        print("bench-vocabulary needs oxford1k in LIKEWISE_DATA or ../shared/data; nothing done")
        return 0
    data = read_oxford(root / "oxford1k")
    X, starts = descriptors(data)
    # Compilation is not what is measured.
    Vocabulary(200, random_state=0, n_iter=2).fit(X[:2000])
    report = harness.Report(
        "vocabulary",
        "Visual words: clustering and retrieval on oxford1k",
        f"{len(X):,} RootSIFT descriptors of {len(data):,} pictures"
        + (", full size" if options.full else ", default size (clustering at 1k and 10k words)"),
        {
            "seed": options.seed,
            "rounds": ROUNDS,
            "descriptors a word": f"at most {PER_WORD}",
        },
        page="features",
    )
    sizes = (1_000, 10_000, 100_000) if options.full else (1_000, 10_000)
    made: list[Row] = []
    for n_words in sizes:
        made += clustering(X, n_words, options.seed, extrapolate=n_words > 10_000)
    report.add("Clustering", made)
    made = []
    for n_words in (10_000, 100_000):
        made += retrieval(data, X, starts, n_words, options.seed)
    report.add("Retrieval, leave-one-out over positives, trapezoid AP", made)
    report.write()  # what is measured is kept, whatever happens to the rest
    report.add(ADDING, [adding("oxford1k", [data.paths[name] for name in sorted(data.paths)])])
    report.write()
    return 0
