"""A server of its own, as far as the catalog can tell: commands as JSON lines in, answers out."""

from __future__ import annotations

import json
import sys
from typing import Any

from likewise.collection.collection import Collection
from likewise.errors import LikewiseError
from tests.product.collection.loop_cases import SPACES, weights


def answers(col: Collection) -> dict[str, Any]:
    """All that somebody can ask: rankings with scores to the last bit, weights, tags."""
    return {
        "rankings": {
            f"{by} {row.id}": [(hit.id, hit.score) for hit in col.search(row.id, k=20, by=by)]
            for by in ("default", *SPACES, *(name for name in col.profiles if name != "default"))
            for row in list(col.images())[:4]
        },
        "weights": {space: weights(col, space=space).tolist() for space in SPACES},
        "tags": {row.id: sorted(col.tags.of(row.id)) for row in col.images()},
    }


def say(said: Any) -> None:
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def do(col: Collection, what: str, *said: Any) -> Any:
    if what == "judge":
        query, liked, disliked, profile = said
        return col.judge(query, liked, disliked, profile=profile).number
    if what == "undo":
        return col.undo()
    if what == "tag":
        return col.tag(*said)
    if what == "untag":
        return col.untag(*said)
    if what == "copy":
        return col.profiles.copy(*said)
    if what == "lease":
        with col._store.lease("a long job"):
            say("held")
            sys.stdin.readline()
        return "let go"
    assert what == "answers", what
    return answers(col)


def main() -> None:
    col: Collection | None = None
    for line in sys.stdin:
        what, *rest = json.loads(line)
        try:
            if what == "open":
                if col is not None:
                    col.close()
                col, said = Collection.open(rest[0]), "open"
            else:
                assert col is not None
                said = do(col, what, *rest)
        except LikewiseError as error:
            said = {"error": type(error).__name__, "message": str(error)}
        say(said)


if __name__ == "__main__":
    main()
