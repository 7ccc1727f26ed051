"""Does what a person teaches stay?  The space, and what judgements do for queries nobody judged."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks import harness
from benchmarks.s3ml.peers import interpreter
from benchmarks.staying import data, figure
from benchmarks.staying.cost import cost_rows
from benchmarks.staying.data import COMPONENTS, Floats, Pictures
from benchmarks.staying.learning import (
    BEST_S3ML,
    HARM_AT,
    LOCAL,
    METHODS,
    NEARNESSES,
    PRIORS,
    S3ML,
    SPACE,
    TRIED_AT,
    Outcome,
    measure,
)
from benchmarks.staying.protocol import ASKED, COUNTS, FIRST_SEED, precision, ranked
from likewise_methods.evaluation.metrics import precision_at
from likewise_methods.spaces import local_metric
from likewise_methods.spaces.fitted import unit

Row = dict[str, object]
TITLE = "Learning that stays: a space that fits, and judgements that serve later queries"
DRAWS = {"oxford1k": 8, "corel1k": 4, "planted views": 4}
"""Small sets are quick and vary more from draw to draw; the others have three."""
GOALS = {"caltech101": (0.5, 2.0), "cifar10": (2.0, 2.0), "corel1k": (0.0, 0.0)}
"""Points that 100 judgements should gain: at least, and better."""
_BLOCK = 512


# -- the space ---------------------------------------------------------------------------------


def space_row(pictures: Pictures) -> Row:
    """mAP and P@10 of every picture of a class asked in turn, without any judgement."""
    dense = unit(pictures.activations.astype(np.float64))
    kinds = {
        "deep": pictures.deep,
        "all activations": dense,
        f"PCA-{COMPONENTS}": pictures.reduced,
        "fitted space": pictures.rows,
    }
    row: Row = {
        "set": pictures.name,
        "pictures": len(pictures),
        "queries": int((pictures.labels >= 0).sum()),
    }
    found = {name: both_measures(pictures, X) for name, X in kinds.items()}
    for at, measure_name in enumerate(("mAP", "P@10")):
        for name, values in found.items():
            row[f"{measure_name}, {name}"] = f"{100 * values[at]:.1f}"
    return row


def both_measures(pictures: Pictures, X: Floats) -> tuple[float, float]:
    """mAP and P@10 by inner product."""
    asked = np.flatnonzero(pictures.labels >= 0)
    everything = np.ones(len(pictures), bool)
    maps, tens = [], []
    for start in range(0, len(asked), _BLOCK):
        some = asked[start : start + _BLOCK]
        scores = X[some] @ X.T
        scores = np.asarray(scores.toarray() if hasattr(scores, "toarray") else scores)
        for query, row in zip(some.tolist(), scores, strict=True):
            maps.append(precision(pictures, query, row, everything))
            tens.append(precision_at(ranked(pictures, query, row, everything), 10))
    return float(np.mean(maps)), float(np.mean(tens))


# -- what judgements teach ---------------------------------------------------------------------


def learning_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """mAP (%) by method and number of judgements, mean over draws."""
    made = []
    for outcome in outcomes:
        for method in METHODS:
            by_count = outcome.maps[method]
            if not by_count:  # a peer that is not installed
                continue
            row: Row = {"set": outcome.name, "method": method}
            row["draws"] = max(map(len, by_count.values()), default=0)
            for count in (0, *COUNTS):
                values = by_count.get(count)
                row[str(count)] = f"{np.mean(values):.1f}" if values else ""
            made.append(row)
    return made


def goal_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """The local metric at 100 judgements, beside the goal and S3ML on the same draws."""
    made = []
    for outcome in outcomes:
        gains = outcome.gain(LOCAL, TRIED_AT, SPACE)
        least, wanted = GOALS.get(outcome.name, (0.0, 0.0))
        mean = float(gains.mean())
        said = "reached" if mean >= wanted else "only the least" if mean >= least else "below"
        row: Row = {"set": outcome.name, "draws": len(gains), "gain": points(gains)}
        row["worst draw"] = f"{gains.min():+.1f}"
        row["goal"] = f"{wanted:+g}" + (f" (at least {least:+g})" if least < wanted else "")
        row["verdict"] = said
        for method in (S3ML, BEST_S3ML):
            row[f"minus {method}"] = points(gains - outcome.gain(method, TRIED_AT, SPACE))
        made.append(row)
    return made


def points(values: Floats) -> str:
    """Mean over draws and its standard error."""
    if len(values) < 2:
        return f"{np.mean(values):+.1f}"
    return f"{np.mean(values):+.1f} ±{np.std(values, ddof=1) / np.sqrt(len(values)):.1f}"


def harm_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """Change of mAP in points: mean over draws, worst draw in brackets."""
    return [
        {
            "set": outcome.name,
            "judged": name,
            **{str(n): _worst(by_count.get(n)) for n in HARM_AT},
        }
        for outcome in outcomes
        for name, by_count in outcome.harm.items()
    ]


def _worst(values: Sequence[float] | None) -> str:
    return f"{np.mean(values):+.1f} ({min(values):+.1f})" if values else ""


def chosen_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """N0 as the judgements chose it, draw by draw."""
    counts = [n for n in COUNTS if n >= local_metric.CHOOSE_FROM]
    return [
        {
            "set": outcome.name,
            **{str(n): ", ".join(f"{v:g}" for v in outcome.chosen.get(n, [])) for n in counts},
        }
        for outcome in outcomes
    ]


def settings_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """Change of mAP with other constants, 100 judgements, mean over draws."""
    names = [f"N0 {v:g}" for v in PRIORS] + [f"power {v}" for v in NEARNESSES]
    whose = {"all": "all classes judged", "others": "half judged: the others"}
    return [
        {
            "set": outcome.name,
            "queries": title,
            **{
                name: f"{np.mean(outcome.settings[f'{key}, {name}'][TRIED_AT]):+.2f}"
                for name in names
            },
        }
        for outcome in outcomes
        if outcome.settings
        for key, title in whose.items()
    ]


def agreement_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """Per cent, mean over draws."""
    return [
        {
            "set": outcome.name,
            "judgements": count,
            **{
                name: round(float(np.mean(by_count[count])), 1)
                for name, by_count in outcome.agreement.items()
            },
        }
        for outcome in outcomes
        for count in sorted({n for by_count in outcome.agreement.values() for n in by_count})
    ]


# -- the page ----------------------------------------------------------------------------------


def write(parts: Sequence[str], *, full: bool = False) -> None:
    """Measure these parts (``space``, ``learning``) and renew their tables."""
    started = time.process_time()
    size = "full size" if full else "default size"
    report = harness.Report("staying", TITLE, size, parameters(full))
    sets = list(data.sets(report.left_out))
    if "space" in parts:
        report.add("space", [space_row(pictures) for pictures in sets])
    if "learning" in parts:
        asked = 4 * ASKED if full else ASKED
        outcomes = []
        for pictures in sets:
            begun = time.process_time()
            seeds = range(FIRST_SEED, FIRST_SEED + draws(pictures.name, full))
            outcomes.append(measure(pictures, seeds, asked, tune=pictures.name in data.TUNED))
            spent = time.process_time() - begun
            print(f"{pictures.name}: {spent:.0f} CPU s", file=sys.stderr, flush=True)
        if interpreter() is None:
            report.left_out.append("LMNN over whole rows: metric-learn is not installed")
        for heading, rows in tables(outcomes).items():
            report.add(heading, rows)
        if sets:
            report.add("cost", cost_rows(sets[0]))
        figure.draw(outcomes)
    report.parameters["CPU minutes"] = round((time.process_time() - started) / 60, 1)
    report.write()


def tables(outcomes: Sequence[Outcome]) -> Mapping[str, list[Row]]:
    """All tables about judgements, by heading."""
    return {
        "goals": goal_rows(outcomes),
        "learning": learning_rows(outcomes),
        "harm": harm_rows(outcomes),
        "settings: N0 as chosen": chosen_rows(outcomes),
        "settings: other constants": settings_rows(outcomes),
        "agreement": agreement_rows(outcomes),
    }


def draws(name: str, full: bool) -> int:
    return DRAWS.get(name, 3) * (3 if full else 1)


def parameters(full: bool) -> dict[str, object]:
    return {
        "seeds from": FIRST_SEED,
        "queries a draw, at most": 4 * ASKED if full else ASKED,
        "N0": f"{local_metric.PRIOR:g} at least",
        "power": local_metric.NEARNESS,
    }
