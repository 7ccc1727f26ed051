"""The loop once more, as plainly as it can be said: raw rows of the log in, weights out.

Nothing here is shared with the package but the numbers of the rule: what survives is found by
recursion over the lines of the log, weights are dense arrays, every triplet is one numpy line.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import defaultdict
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from likewise.learning import history
from likewise_methods.solis.judging import DELTA, ETA, JUDGEMENT_REACH, LIMIT, MARGIN, SESSION_REACH
from tests.methods.spaces.reference import Lesson


class Said(NamedTuple):
    """A judgement that stands, as it stands."""

    number: int
    session: int
    query: int
    liked: list[int]
    disliked: list[int]
    negatives: list[int]
    weight: float
    kind: str = "judge"


class Log:
    """The lines of the log and the codes, read straight from the file."""

    def __init__(self, root: Path) -> None:
        with closing(sqlite3.connect(root / "catalog.sqlite")) as c:
            self.profiles = {
                name: (parent, position)
                for name, parent, position in c.execute(
                    "SELECT name, parent, parent_position FROM profiles"
                )
            }
            self.lines: dict[str, list[tuple[int, str, float, dict[str, Any]]]] = defaultdict(list)
            for number, profile, kind, made, body in c.execute(
                "SELECT number, profile, kind, made, body FROM log ORDER BY number"
            ):
                moment = datetime.fromisoformat(made).timestamp()
                self.lines[profile].append((number, kind, moment, json.loads(body)))
            self.codes: dict[tuple[str, int], dict[int, bytes]] = defaultdict(dict)
            for subject, space, generation, vector in c.execute(
                "SELECT subject, space, generation, vector FROM codes"
            ):
                self.codes[space, generation][subject] = vector
            self.subjects = dict(c.execute("SELECT key, id FROM subjects"))
            self.images = {key: i for i, key in c.execute("SELECT id, hash FROM images")}

    def surviving(self, profile: str, position: int | None = None) -> list[int]:
        """Numbers of the judgements that stand after a position of a profile's log."""
        lines = [x for x in self.lines[profile] if position is None or x[0] <= position]
        if not lines:
            parent, copied_at = self.profiles[profile]
            return [] if parent is None else self.surviving(parent, copied_at)
        number, kind, _, body = lines[-1]
        if kind == "rollback":
            return self.surviving(profile, body["position"])
        before = self.surviving(profile, number - 1)
        if kind == "undo":
            return [n for n in before if n != body["judgement"]]
        if kind == "merge":
            return sorted({*before, *self.surviving(body["profile"], body["position"])})
        return [*before, number]

    def judgements(self, profile: str) -> list[Said]:
        """What stands, each less the verdicts that a later one contradicts."""
        every = {x[0]: x for lines in self.lines.values() for x in lines}
        alive = [every[n] for n in self.surviving(profile)]
        found: list[Said] = []
        session, last = 0, -1e99
        for at, (number, kind, moment, body) in enumerate(alive):
            session = number if moment - last >= history.SESSION_GAP else session
            last = moment
            later = [
                x[3]
                for x in alive[at + 1 :]
                if x[3]["query"] == body["query"] and x[1] == kind == "judge"
            ]
            loved = {p for x in later for p in x["liked"]}
            hated = {p for x in later for p in x["disliked"]}
            found.append(
                Said(
                    number,
                    session,
                    body["query"],
                    sorted(p for p in body["liked"] if p not in hated),
                    sorted(p for p in body["disliked"] if p not in loved),
                    sorted(set(body.get("negatives", ())) - self._loved(alive, body["query"])),
                    body.get("weight", 1.0),
                    kind,
                )
            )
        return found

    @staticmethod
    def _loved(alive: list[tuple[int, str, float, dict[str, Any]]], query: int) -> set[int]:
        """Pictures liked for a query in the end: these were never passed over."""
        loved: set[int] = set()
        for _, kind, _, body in alive:
            if kind == "judge" and body["query"] == query:
                loved = (loved | set(body["liked"])) - set(body["disliked"])
        return loved

    def verdicts(self, profile: str) -> dict[int, tuple[set[int], set[int]]]:
        """Query to (liked, disliked), for queries something stands about."""
        found: dict[int, tuple[set[int], set[int]]] = {}
        for said in self.judgements(profile):
            if said.kind != "judge":
                continue  # a comparison is no verdict on either picture
            liked, disliked = found.setdefault(said.query, (set(), set()))
            liked |= set(said.liked)
            disliked |= set(said.disliked)
        return found

    def weights(self, profile: str, space: str, generation: int, width: int) -> np.ndarray:
        rows = {
            subject: dense_row(blob, width)
            for subject, blob in self.codes[space, generation].items()
        }
        return fold(self.judgements(profile), rows, width, self.codes[space, generation])

    def pairs(self, profile: str, space: str, generation: int) -> list[Lesson]:
        """What stands as a dense space hears it: rows of query, alike and unlike, and a weight."""
        rows = {
            subject: np.frombuffer(blob, "<f4")
            for subject, blob in self.codes[space, generation].items()
        }
        found = []
        for said in self.judgements(profile):
            liked = [rows[s] for s in said.liked if s in rows]
            # Drawn by chance (a weight below 1) is no lesson here.
            passed = said.negatives if said.weight == 1.0 else []
            named = said.disliked if said.disliked or not liked else passed
            unlike = [rows[s] for s in named if s in rows]
            silent = said.query not in rows or (said.liked and not liked)
            if silent or not liked + unlike:
                continue
            query = rows[said.query]
            found.append(Lesson(said.number, query, liked, unlike, 1.0, said.session))
        return found


def dense_row(blob: bytes, width: int) -> np.ndarray:
    n = len(blob) // 8
    row = np.zeros(width)
    row[np.frombuffer(blob, "<u4", n)] = np.frombuffer(blob, "<f4", n, 4 * n)
    return row


def triplets(
    said: Said, rows: dict[int, np.ndarray], codes: dict[int, bytes]
) -> list[tuple[np.ndarray, ...]]:
    """(anchor, nearer, farther) of the triplets a judgement teaches, in their order."""
    if said.query not in rows:
        return []
    liked_ones = sorted((s for s in said.liked if s in rows), key=lambda s: codes[s])
    liked = [rows[s] for s in liked_ones]
    if said.liked and not liked:
        return []
    named = said.disliked if said.disliked or not liked else said.negatives
    others = sorted((s for s in named if s in rows), key=lambda s: codes[s])
    negatives = [rows[s] for s in others]
    anchor = query = rows[said.query]
    if not liked:
        # Its own positive has a gap of nearly 1; a shorter anchor brings it below the margin.
        anchor = (query.astype(np.float32) * np.float32(MARGIN)).astype(np.float64)
    every = [(anchor, a, b) for a in liked or [query] for b in negatives]
    if not every:
        return []
    content = b"".join(codes[s] for s in (said.query, *liked_ones, *others))
    seed = int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")
    rng = np.random.default_rng(seed)
    return [every[i] for i in rng.choice(len(every), min(len(every), LIMIT), replace=False)]


def fold(
    judgements: list[Said], rows: dict[int, np.ndarray], width: int, codes: dict[int, bytes]
) -> np.ndarray:
    """Adaptive forward-backward from ones, dense, with the two caps written out."""
    offset, squares = np.zeros(width), np.zeros(width)
    session, at_start = 0, np.ones(width)
    for said in judgements:
        taught = triplets(said, rows, codes)
        if not taught:
            continue
        if said.session != session:
            session, at_start = said.session, offset + 1.0
        found = offset + 1.0
        for anchor, nearer, farther in taught:
            z = anchor * (nearer - farther)
            if (offset + 1.0) @ z >= MARGIN:
                continue
            # A shorter anchor weighs as much more as it is shorter.
            alone = nearer is rows[said.query]
            g = (said.weight / MARGIN if alone else said.weight) * z
            squares += g * g
            offset = np.maximum(offset + ETA / (DELTA + np.sqrt(squares)) * g, -1.0)
        now = offset + 1.0
        low = np.maximum(found - JUDGEMENT_REACH, at_start - SESSION_REACH)
        high = np.minimum(found + JUDGEMENT_REACH, at_start + SESSION_REACH)
        held = np.clip(now, low, high)
        offset = np.where(held != now, np.maximum(held - 1.0, -1.0), offset)
    return offset + 1.0
