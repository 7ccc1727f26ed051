"""Teach concepts and measure what was learned: ``python -m benchmarks.concepts``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks import figures, harness
from benchmarks.concepts.learners import Ours, QueryPart, Regression
from benchmarks.concepts.protocol import PAGE, ROUNDS, Learner, Task, run, task_of
from benchmarks.readers.folders import read_folders
from benchmarks.readers.records import data_root
from benchmarks.staying.data import read
from likewise.errors import DatasetError
from likewise_methods.concepts import ConceptLearner, NeighbourGraph

SETS = ("caltech101", "corel1k", "cifar10")
SIZES = (10_000, 50_000)
Make = Callable[[int], Learner]


def ways(task: Task) -> dict[str, tuple[Make, float]]:
    """What is compared, and the share of wrong answers it gets."""
    pictures = task.pictures
    fitted = ConceptLearner().fit(pictures.rows)
    return {
        "ours, worth asking": (lambda d: Ours(fitted, "worth asking", d), 0.0),
        "logistic regression, nearest 1/2": (lambda d: Regression(pictures, "nearest 1/2", d), 0.0),
        "ours, first page": (lambda d: Ours(fitted, "first page", d), 0.0),
        "logistic regression, first page": (lambda d: Regression(pictures, "first page", d), 0.0),
        "the query part of a search, first page": (lambda d: QueryPart(pictures), 0.0),
        "ours, worth asking, 1 in 10 wrong": (lambda d: Ours(fitted, "worth asking", d), 0.1),
        "logistic regression, 1 in 10 wrong": (
            lambda d: Regression(pictures, "nearest 1/2", d), 0.1,
        ),
    }  # fmt: skip


def learning(report: harness.Report, draws: int) -> None:
    """Measure average precision of unasked pictures, by set, concept and method."""
    means: list[dict[str, object]] = []
    each: list[dict[str, object]] = []
    for name in SETS:
        try:
            root = data_root()
            classes = read_folders(root / name).classes if name == "caltech101" and root else []
            task = task_of(name, read(name), list(classes))
        except DatasetError as error:
            report.left_out.append(str(error))
            continue
        for way, (make, wrong) in ways(task).items():
            found = np.array(
                [
                    [run(task, make, truth, draw, wrong) for draw in range(draws)]
                    for truth in task.concepts.values()
                ]
            )
            curve = 100 * found.mean(axis=(0, 1))
            # Concepts are given; what varies is the draw.
            error_of = 100 * found[:, :, -1].mean(axis=0).std(ddof=1) / np.sqrt(draws)
            row: dict[str, object] = {"set": name, "way": way}
            row |= {f"{PAGE * (i + 1)} answers": round(float(curve[i]), 1) for i in range(ROUNDS)}
            means.append(row | {"standard error": round(float(error_of), 1)})
            each += [
                {"set": name, "way": way, "concept": concept,
                 "24 answers": round(100 * float(one[:, 1].mean()), 1),
                 "60 answers": round(100 * float(one[:, -1].mean()), 1)}
                for concept, one in zip(task.concepts, found, strict=True)
            ]  # fmt: skip
            sys.stdout.write(f"{name} {way}: {curve.round(1).tolist()}\n")
    report.add("Average precision by number of answers", means)
    report.add("By concept", each)


def cost(report: harness.Report) -> None:
    """Measure the CPU time from an answer to the next questions; compare a scikit-learn loop."""
    from sklearn.linear_model import LogisticRegression

    rows: list[dict[str, object]] = []
    for n in SIZES:
        rng = np.random.default_rng(0)
        centres = rng.normal(size=(200, 128)).astype(np.float32)
        X = centres[rng.integers(0, 200, n)] + rng.normal(size=(n, 128)).astype(np.float32)
        start = time.process_time()
        learner = ConceptLearner().fit(X, graph=NeighbourGraph.build(X))
        fit = time.process_time() - start
        at = rng.choice(n, 120, replace=False)
        said = X[at] @ centres[0] > 0
        ours, plain = [], []
        for count in range(24, 120, 12):
            learner.partial_fit(at[:count][said[:count]], at[:count][~said[:count]])
            start = time.process_time()
            learner.ask(PAGE)
            ours.append(time.process_time() - start)
            start = time.process_time()
            model = LogisticRegression(max_iter=1_000).fit(X[at[:count]], said[:count])
            p = model.predict_proba(X)[:, 1]
            np.argsort(np.abs(p - 0.5), kind="stable")[:PAGE]
            plain.append(time.process_time() - start)
        rows.append(
            {"pictures": n, "fit, CPU s": round(fit, 2),
             "answer to questions, CPU s": round(float(np.median(ours)), 3),
             "scikit-learn's loop, CPU s": round(float(np.median(plain)), 3)}
        )  # fmt: skip
    report.add("From an answer to the next twelve questions", rows)


def draw(report: harness.Report) -> None:
    """Average precision against the number of answers, caltech101."""
    (_, rows), *_ = report.sections
    plt = figures.pyplot()
    drawn, axes = plt.subplots(figsize=(6.4, 3.6))
    answers = [PAGE * (i + 1) for i in range(ROUNDS)]
    for row in rows:
        if row["set"] == "caltech101" and "wrong" not in str(row["way"]):
            axes.plot(answers, [row[f"{a} answers"] for a in answers], "o-", label=row["way"])
    axes.set(xlabel="answers", ylabel="average precision, %", xticks=answers)
    axes.legend(fontsize=7)
    drawn.tight_layout()
    figures.save(drawn, "concepts.svg")


def main() -> int:
    options = harness.arguments_with_parts(__doc__ or "", ("learning", "cost"))
    draws = 40 if options.full else 10
    size = f"{draws} draws of each concept, {'paper' if options.full else 'default'} size"
    report = harness.Report("concepts", "Teach a concept", size, {"seed": options.seed})
    if "learning" in options.parts:
        learning(report, draws)
        try:
            draw(report)
        except ImportError:
            report.left_out.append("the figure (matplotlib is not installed)")
    if "cost" in options.parts:
        cost(report)
    report.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
