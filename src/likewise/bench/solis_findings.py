"""What did and did not reproduce, stated from the figures of this run and never by heart."""

# ruff: noqa: I001 - the harness pins threads before numerical libraries are loaded
from __future__ import annotations

from likewise.bench import harness  # noqa: F401

from typing import Any

from likewise.bench.solis_protocol import METHODS


def findings(tables: dict[str, Any], panels: dict[str, Any]) -> list[str]:
    """One sentence a claim, with the numbers of every collection beside it."""
    return [
        _claim(
            "Paper: every SOLIS from zeros beats TF-IDF.",
            tables,
            lambda t: (_least(t, [f"SOLIS {m}" for m in METHODS]), "TF-IDF"),
            "the worst of the four minus TF-IDF",
        ),
        _claim(
            "Paper: AFB and ADA are at least as good as TG and DA.",
            tables,
            lambda t: (_least(t, ["SOLIS afb", "SOLIS ada"]), _most(t, ["SOLIS tg", "SOLIS da"])),
            "the worse of AFB, ADA minus the better of TG, DA",
        ),
        _claim(
            "Paper: AFB and ADA beat OASIS.",
            tables,
            lambda t: (_least(t, ["SOLIS afb", "SOLIS ada"]), "OASIS"),
            "the worse of AFB, ADA minus OASIS",
        ),
        _claim(
            "Paper: AFB and ADA beat LMNN.",
            tables,
            lambda t: (_least(t, ["SOLIS afb", "SOLIS ada"]), "LMNN"),
            "the worse of AFB, ADA minus LMNN",
        ),
        _claim(
            "Paper: AFB and ADA beat QPAO.",
            tables,
            lambda t: (_least(t, ["SOLIS afb", "SOLIS ada"]), "QPAO"),
            "the worse of AFB, ADA minus QPAO",
        ),
        _claim(
            "Ours: starting from ones beats starting from zeros (ADA).",
            tables,
            lambda _: ("SOLIS ada, from ones", "SOLIS ada"),
            "from ones minus from zeros",
        ),
        _claim(
            "Ours: fusing with TF-IDF beats the weights alone (ADA).",
            tables,
            lambda _: ("SOLIS ada, fused with TF-IDF", "SOLIS ada"),
            "fused minus alone",
        ),
        _claim(
            "The honest yardstick: the best of all weight learners beats Rocchio.",
            tables,
            lambda t: (_most(t, _weights(t)), _most(t, _named(t, "Rocchio"))),
            "best weights minus best Rocchio, same positives",
        ),
        _claim(
            "The same against a linear SVM.",
            tables,
            lambda t: (_most(t, _weights(t)), "linear SVM"),
            "best weights minus SVM",
        ),
        _sparsity(panels),
    ]


def _claim(claim: str, tables: dict[str, Any], pair: Any, what: str) -> str:
    """``pair`` names the two methods compared; a gap below two standard errors decides nothing."""
    held, unsure, parts = 0, 0, []
    for title, table in tables.items():
        gap, error = (100 * value for value in table.gap(*pair(table)))
        # One draw has no error to speak of: nothing is known then.
        within = not abs(gap) >= 2 * error
        held += gap > 0 and not within
        unsure += within
        parts.append(f"{title} {gap:+.1f} ± {error:.1f}" + (" (within error)" if within else ""))
    if held == len(tables):
        verdict = "holds"
    elif unsure == len(tables):
        verdict = "within error"
    else:
        verdict = f"holds on {held} of {len(tables)}" if held else "does not hold"
        verdict += f", within error on {unsure}" if unsure else ""
    return f"{claim} Here: {verdict} ({what}, points of mAP: {', '.join(parts)})."


def _sparsity(panels: dict[str, Any]) -> str:
    """Order of sparsity at the same share of lambda_max."""
    parts = []
    for title, (rows, _) in panels.items():
        at = {
            r["method"]: r["of touched %"]
            for r in rows
            if r["word_cost"] == "none" and r["l1 / lambda_max"] == 0.01
        }
        order = sorted(METHODS, key=lambda m: at[m])
        parts.append(f"{title} " + " < ".join(f"{m.upper()} {at[m]:.0f}" for m in order))
    return (
        "Paper: TG is least sparse, ADA most, AFB sparser than DA.  Here, % of touched words at "
        "l1 = 0.01 lambda_max and the chosen steps: " + "; ".join(parts) + "."
    )


def _least(table: Any, names: list[str]) -> str:
    return min(names, key=table.mean)


def _most(table: Any, names: list[str]) -> str:
    return max(names, key=table.mean)


def _named(table: Any, beginning: str) -> list[str]:
    return [name for name in table.found if name.startswith(beginning)]


def _weights(table: Any) -> list[str]:
    return [*_named(table, "SOLIS"), "OASIS", "QPAO", "LEGO", "LMNN"]
