"""Typed words on the command line: what is a picture and what is text, and answers with reasons."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.cli.feedback_output import report_behind, report_unavailable
from likewise.cli.options import Usage, picture
from likewise.cli.output import day, echo_json, echo_table, print_line, printable

if TYPE_CHECKING:
    from likewise.collection.collection import Collection
    from likewise.search.rank import Hits

_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}")


def read_minus_words(arguments: list[str]) -> list[str]:
    """Arguments with ``search -people`` read as words: a word with a minus is not an option.

    Options of one dash are ``-C`` and ``-k`` with a number.
    """
    if arguments[:1] != ["search"]:
        return arguments
    made = list(arguments)
    # What follows an option is its value and read as it stands; only the first may be the query.
    if len(made) > 1 and re.fullmatch(r"-(?![C-]|k[\d=]|k$).+", made[1]):
        made[1] = f"--text={made[1]}"
    return made


def picture_or_text(query: str | None, text: str | None) -> tuple[int | str | None, str | None]:
    """What is asked: a picture (an id, a file), words, or both.

    Words are what is no file, no id and does not look like the name of a file; ``--text`` says
    that something is words, whatever it looks like.
    """
    if query is None:
        if text is None:
            raise Usage("nothing to search for; give a picture, the id of one, or words")
        return None, text
    if text is not None or not _is_text(query):
        return picture(query), text
    return None, query


def _is_text(query: str) -> bool:
    if isinstance(picture(query), int):
        return False
    try:
        # A word may be the name of a folder too; only a file can be asked about.
        if not query.strip() or Path(query).expanduser().is_file():
            return not query.strip()
    except (OSError, ValueError, RuntimeError):
        return True  # no name that a file could have
    # A mistyped path must not become a search for something else.
    separated = os.sep in query or (os.altsep is not None and os.altsep in query)
    named = _SUFFIX.fullmatch(Path(query).suffix) is not None and " " not in query.strip()
    return not (separated or named or query.startswith("~"))


def print_typed(col: Collection, hits: Hits, asked: dict[str, Any], *, json_: bool) -> None:
    """The answer to typed words, each picture with its reasons."""
    rows = col.pictures.rows(hit.id for hit in hits)
    if json_:
        echo_json(
            {
                **asked,
                "hint": hits.hint,
                "behind": hits.behind,
                "away": hits.away,
                "hits": [
                    {
                        "id": hit.id, "path": hit.path, "score": hit.score,
                        "format": rows[hit.id].format, "width": rows[hit.id].width,
                        "height": rows[hit.id].height, "date": rows[hit.id].date,
                        "date_source": rows[hit.id].date_source,
                        "reasons": [
                            {"key": reason.key, "text": str(reason)} for reason in hit.reasons
                        ],
                    }
                    for hit in hits
                    if hit.id in rows
                ],
            }
        )  # fmt: skip
        return
    if not hits:
        print_line("No hits." if len(col) else "The collection is empty.")
    else:
        echo_table(
            ("score", "id", "date", "path", "why"),
            [
                (f"{hit.score:.4f}", hit.id,
                 day(rows[hit.id].date, rows[hit.id].date_source), printable(hit.path),
                 printable("; ".join(map(str, hit.reasons))))
                for hit in hits
                if hit.id in rows
            ],
            right="rr",
        )  # fmt: skip
    report_behind(hits.behind)
    report_unavailable(hits.away)
    if hits.hint:
        print_line(f"Note: {hits.hint}", err=True)
