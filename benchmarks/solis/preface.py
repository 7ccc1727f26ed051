"""What a reader of the SOLIS tables should know first: verdicts, and what they rest on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.solis.findings import Claim
from benchmarks.solis.methods import GAINS, RIVALS, SHARES
from benchmarks.solis.tuning import Tuned


def preface(claims: Sequence[Claim], facts: Sequence[str], tuned: dict[str, Tuned]) -> list[str]:
    """Paragraphs: claims sorted by what became of them, facts, and what the figures rest on."""
    sorts: list[tuple[str, Callable[[Claim], bool]]] = [
        ("Reproduced, or held, on every collection:", lambda c: c.held == c.total),
        ("Held on some collections only:", lambda c: 0 < c.held < c.total),
        ("Not decided anywhere, all gaps are within error:", lambda c: c.unsure == c.total),
        ("Did not hold on any collection:", lambda c: not c.held and c.unsure < c.total),
    ]
    made = ["## What did and did not reproduce"]
    for heading, wanted in sorts:
        found = [c for c in claims if wanted(c)]
        if found:
            lines = [f"- {c.text}" + _how_many(c) for c in found]
            made.append(heading + "\n\n" + "\n".join(lines))
    made.append("Gaps and errors of every claim are at the end.  Also:")
    made.append("\n".join(f"- {fact}" for fact in facts))
    made.append("## What the figures rest on")
    made.append("\n".join(f"- {line}" for line in _rest_on(tuned)))
    return made


def _how_many(c: Claim) -> str:
    if c.held == c.total or c.unsure == c.total:
        return ""
    against = c.total - c.held - c.unsure
    parts = [f"holds on {c.held}"] if c.held else []
    parts += [f"the reverse on {against}"] if against else []
    parts += [f"within error on {c.unsure}"] if c.unsure else []
    return f"  ({', '.join(parts)} of {c.total})"


def _rest_on(tuned: dict[str, Tuned]) -> list[str]:
    ladders = ", ".join(
        f"{name} {ladder.values[0]:g} to {ladder.values[-1]:g}"
        for name, (ladder, _) in RIVALS.items()
    )
    ends = [f"{title}: {line}" for title, t in tuned.items() if (line := at_ends(t))]
    return [
        "Every method, rivals and yardsticks included, is tuned the same way: by mean AP on three "
        "validation draws a group whose seeds are not among those reported, over a window that is "
        "widened while the choice lies at its edge.  Ladders: l1 "
        f"{SHARES.values[0]:g} to {SHARES.values[-1]:g} lambda_max and gain of the step "
        f"{GAINS.values[0]:g} to {GAINS.values[-1]:g} for SOLIS; {ladders} "
        "(C, C, eta, iterations: 1,000 lets LMNN converge).  SOLIS has two parameters to tune, "
        "the rivals one.",
        "Choices at the end of a ladder (0 for l1 and 1 iteration of LMNN are natural ends): "
        + ("; ".join(ends) if ends else "none")
        + ".",
        "Validation draws take other pictures of the same few groups, so they share pictures with "
        "the draws reported: tuning is fair between methods, and a little kind to all of them.",
        "Errors are over draws of the same groups; another city or other classes would differ by "
        "more.  mAP of different tables cannot be compared: retrieval sets differ.",
    ]


def at_ends(tuned: Tuned) -> str:
    """The choices that lie at the end of a ladder, in words; empty where none does."""
    parts = []
    kinds = (("", tuned.zeros), (" from ones", tuned.ones), (" with word_cost", tuned.costly))
    for kind, found in kinds:
        for method, choice in found.items():
            names = [("l1", "step")[axis] for axis in choice.edge]
            if names:
                values = ", ".join(
                    f"{n} {choice.best[axis]:g}" for n, axis in zip(names, choice.edge, strict=True)
                )
                parts.append(f"{method}{kind} ({values})")
    single = {**tuned.rivals, **{f"fused {m}": c for m, c in tuned.times.items()}}
    single |= tuned.yardsticks
    parts += [f"{name} ({c.best[0]:g})" for name, c in single.items() if c.edge]
    return ", ".join(parts)
