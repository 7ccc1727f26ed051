"""The embedded demo: planted views in, mean average precision and a page to look at out.

It needs no download and no collection: every view is a query in turn against all others, ranked
by the cosine of their holistic vectors, so the truth is known and the figures can be checked.
"""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from likewise.evaluation.datasets import RetrievalQuery
from likewise.evaluation.planted import write_planted
from likewise.evaluation.protocols import evaluate
from likewise.features.holistic import Holistic
from likewise.images import decode

_SHOWN_QUERIES = 12
_SHOWN_HITS = 8

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #2a9d5c; --bad: #c8553d; }
body { font: 16px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem;
       padding: 0 1rem; }
h1 { margin-bottom: .2rem; } p { max-width: 46rem; }
table { border-collapse: collapse; margin: 1rem 0 2rem; }
td, th { padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line); text-align: left; }
td + td { text-align: right; font-variant-numeric: tabular-nums; }
section { display: grid; grid-template-columns: repeat(auto-fill, minmax(7.4rem, 1fr)); gap: .6rem;
          padding: 1rem 0; border-top: 1px solid var(--line); }
figure { margin: 0; } figcaption { font-size: .78rem; overflow-wrap: anywhere; }
img { width: 100%; height: 6.2rem; object-fit: cover; border-radius: .4rem;
      border: 3px solid transparent; box-sizing: border-box; }
.query img { border-color: #3b7ddd; } .good img { border-color: var(--good); }
.bad img { border-color: var(--bad); }
"""


@dataclass(frozen=True)
class DemoResult:
    """Where the page is, and the mAP it shows: overall and by kind of view."""

    page: Path
    mean_average_precision: float
    by_kind: dict[str, float]


def run(out: Path, *, n_views: int = 16, say: Callable[[str], object] = print) -> DemoResult:
    """Write the views below ``out``, search them, write ``out/index.html``."""
    say("Planting views of the photographs that scikit-image and scikit-learn ship ...")
    data = write_planted(out / "pictures", n_views=n_views)
    names = list(data.paths)
    row_of = {name: row for row, name in enumerate(names)}
    start = time.process_time()
    vectors = np.stack([Holistic().extract(decode(data.paths[name])) for name in names])
    spent = 1000 * (time.process_time() - start) / len(names)
    say(f"{len(names)} pictures, {spent:.1f} ms CPU each to decode and describe.")

    def ranked(query: RetrievalQuery) -> list[str]:
        scores = vectors @ vectors[row_of[query.query]]
        return [names[i] for i in np.argsort(-scores, kind="stable")]

    scores = evaluate(data.queries, ranked)
    kinds: dict[str, list[float]] = {}
    for name, value in scores.average_precisions.items():
        kinds.setdefault(name.rsplit("-", 1)[1], []).append(value)
    by_kind = {kind: float(np.mean(values)) for kind, values in kinds.items()}
    say(f"mAP {scores.mean:.3f} over {len(data.queries)} queries; by how the query was made:")
    for kind, value in sorted(by_kind.items(), key=lambda item: -item[1]):
        say(f"  {kind:12s} {value:.3f}")
    page = out / "index.html"
    page.write_text(_page(data.queries, ranked, vectors, row_of, scores.mean, by_kind), "utf-8")
    return DemoResult(page, scores.mean, by_kind)


def _page(
    queries: Sequence[RetrievalQuery],
    ranked: Callable[[RetrievalQuery], list[str]],
    vectors: NDArray[np.float32],
    row_of: dict[str, int],
    mean: float,
    by_kind: dict[str, float],
) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(kind)}<td>{value:.3f}"
        for kind, value in sorted(by_kind.items(), key=lambda item: -item[1])
    )
    # Prime strides walk through scenes and kinds alike.
    chosen = [queries[i * 29 % len(queries)] for i in range(min(_SHOWN_QUERIES, len(queries)))]
    sections = []
    for query in chosen:
        hits = [name for name in ranked(query) if name != query.query][:_SHOWN_HITS]
        figures = [_figure(query.query, "query", "query")]
        for name in hits:
            score = float(vectors[row_of[name]] @ vectors[row_of[query.query]])
            kind = "good" if name in query.positives else "bad"
            figures.append(_figure(name, kind, f"{score:.3f}"))
        sections.append(f"<section>{''.join(figures)}</section>")
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width'><title>Likewise demo</title>"
        f"<style>{_STYLE}</style><h1>Likewise: planted views</h1>"
        f"<p>{len(queries)} pictures of known scenes, each searched among all others by the "
        f"428-D holistic vector. Mean average precision {mean:.3f}. Blue is the query, green a "
        "view of the same scene, red another scene; below each hit its cosine.</p>"
        f"<table><tr><th>how the query was made<th>mAP{rows}</table>{''.join(sections)}</html>\n"
    )


def _figure(name: str, kind: str, text: str) -> str:
    shown = html.escape(name)
    return (
        f"<figure class={kind}><img src='pictures/{shown}.jpg' alt='{shown}' loading=lazy>"
        f"<figcaption>{text}<br>{shown}</figcaption></figure>"
    )
