"""What of the S3ML paper did and did not reproduce, stated from the figures of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.s3ml.retrieval import by_concept
from benchmarks.s3ml.uci import PEERS, interval

Gaps = list[tuple[str, float, float]]
PRINTED = "S3ML, paper's settings"
PRINTED_S2 = "S2ML, paper's settings"


def findings(parts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """One line a claim."""
    errors = _arrays(parts["uci"].get("errors", {}))
    precision = _arrays(parts["retrieval"].get("precision", {}))
    lines = []
    if errors:
        lines += _classification(errors)
        lines += _failures(parts["uci"].get("failures", {}), errors)
    if precision:
        lines += _retrieval(precision)
    return lines


def _arrays(given: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        name: {method: np.array(values, float) for method, values in methods.items()}
        for name, methods in given.items()
    }


def _classification(errors: dict[str, dict[str, Any]]) -> list[str]:
    def lower(ours: str, other: str) -> Gaps:
        return [
            (name, *interval(100 * (e[other] - e[ours])))
            for name, e in errors.items()
            if other in e and not np.isnan(e[other]).all()
        ]

    return [
        *(
            said(f"Paper: S3ML has a lower error than {other}.", lower("S3ML", other))
            for other in ("Euclidean", "Mahalanobis", "LMNN", "ITML", "SDML", "LRML")
        ),
        said("Ours: S3ML has a lower error than NCA.", lower("S3ML", "NCA")),
        said("Paper: S3ML improves significantly over S2ML.", lower("S3ML", "S2ML")),
        said(
            "Paper, with its own settings: S3ML improves significantly over S2ML.",
            lower(PRINTED, PRINTED_S2),
        ),
        said("Paper, with its own settings: S3ML beats Euclid.", lower(PRINTED, "Euclidean")),
        said("Ours: our defaults beat the paper's settings.", lower("S3ML", PRINTED)),
        said(
            "Ours: choosing the prior by the features' variances beats the identity (on raw sets "
            "the peers get raw features).",
            lower("S3ML", "S3ML, prior identity"),
        ),
        _goal(errors),
        *_why(errors),
    ]


def _goal(errors: dict[str, dict[str, Any]]) -> str:
    """At or below the best peer on each, and where not, who is better and by how much."""
    behind, ahead = [], 0
    for name, e in errors.items():
        rivals = ("Euclidean", "Mahalanobis", "LRML", *PEERS)
        means = {m: np.nanmean(e[m]) for m in rivals if m in e and not np.isnan(e[m]).all()}
        best = min(means, key=lambda m: float(means[m]))
        gap, reach = interval(100 * (e[best] - e["S3ML"]))
        if gap >= 0:
            ahead += 1
        else:
            inside = ", within error" if -gap <= reach else ""
            behind.append(f"{name} ({best} lower by {-gap:.2f} ± {reach:.2f}{inside})")
    text = f"Goal, at or below the best rival's error: reached on {ahead} of {len(errors)}"
    text += f"; missed on {', '.join(behind)}." if behind else "."
    missing = {name: [m for m in PEERS if m not in e] for name, e in errors.items()}
    unknown = [f"{name} ({', '.join(which)})" for name, which in missing.items() if which]
    return text + (f" Not all rivals were measured: without {'; '.join(unknown)}." * bool(unknown))


LIGHT = "S3ML, dissimilar 0.05"


def _why(errors: dict[str, dict[str, Any]]) -> list[str]:
    """What the weight of the dissimilar pairs has to do with being behind."""
    gains = [
        f"{name} {np.nanmean(100 * e['S3ML']):.2f} to {np.nanmean(100 * e[LIGHT]):.2f}"
        for name, e in errors.items()
        if LIGHT in e
    ]
    if not gains:
        return []
    return [
        f"With a quarter of the weight on dissimilar pairs ({LIGHT}, picked in view of these sets "
        f"and so no fair rival) the errors are: {'; '.join(gains)}. Where that helps, the default "
        "weight, chosen on other data, is what holds S3ML back. Where it does not (Car), no "
        "setting we tried did: pairs of a class say along which directions it is wide, and the "
        "classes of Car seem to be a matter of combinations of its ordinal features, which methods "
        "that look at neighbours (NCA, LMNN) fit more directly."
    ]


def _failures(
    failures: Mapping[str, Mapping[str, int]], errors: dict[str, dict[str, Any]]
) -> list[str]:
    told = []
    for method in ("S3ML", *PEERS):
        asked = sum(len(e[method]) for e in errors.values() if method in e)
        failed = sum(f.get(method, 0) for f in failures.values())
        if asked:
            told.append(f"{method} {failed} of {asked}")
    return [f"Draws in which the first settings gave no metric: {', '.join(told)}."]


def _retrieval(precision: dict[str, dict[str, Any]]) -> list[str]:
    def higher(other: str) -> Gaps:
        return [
            (name, *by_concept(100 * (p["S3ML"] - p[other])))
            for name, p in precision.items()
            if other in p and not np.isnan(p[other]).all()
        ]

    return [
        *(
            said(f"Paper: S3ML retrieves better than {other}.", higher(other))
            for other in ("Euclidean", "Mahalanobis", "ITML", "SDML", "LRML")
        ),
        said("Ours: S3ML retrieves better than S2ML.", higher("S2ML")),
        "Retrieval by colour moments of Caltech: they say little about its objects, and a fifth of "
        "20 pictures of a concept makes six similar pairs; we think that is why nobody gains much.",
    ]


def said(claim: str, gaps: Gaps) -> str:
    """The claim, on how many sets it held, failed or was not decided, and the gaps."""
    if not gaps:
        return f"{claim} Here: not measured."
    held = sum(gap > reach for _, gap, reach in gaps)
    lost = sum(gap < -reach for _, gap, reach in gaps)
    unsure = len(gaps) - held - lost
    if held == len(gaps):
        verdict = "holds everywhere"
    else:
        verdict = f"holds on {held} of {len(gaps)}"
        verdict += f", within error on {unsure}" if unsure else ""
        verdict += f", the opposite on {lost}" if lost else ""
        # What the paper says can fail to reproduce; what we ask is only answered.
        if claim.startswith("Paper"):
            verdict = f"did not reproduce as claimed: {verdict}"
    told = ", ".join(f"{name} {gap:+.2f} ± {reach:.2f}" for name, gap, reach in gaps)
    return f"{claim} Here: {verdict} (points: {told})."
