"""The commands ``search`` and ``duplicates``."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.catalog.filters import absolute
from likewise.cli.feedback_output import report_behind, report_unavailable
from likewise.cli.maintenance import default_of
from likewise.cli.options import (
    DEFAULT,
    Json,
    Usage,
    Where,
    ends_at_once,
    open_collection,
    pairs,
    picture,
    stoppable,
    value_of,
)
from likewise.cli.output import day, echo_json, echo_table, plural, print_line, printable
from likewise.errors import ImageError, LikewiseError, UnknownPicture

if TYPE_CHECKING:
    from likewise.catalog.store import ImageRow
    from likewise.collection.collection import Collection
    from likewise.search.explain import Explainer, Explanation, HeatMap
    from likewise.search.rank import Hit, Hits

_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}")
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d)?)?)?)?")
_TOP_WORDS = 10
_NAMED = 12
"""Folders that a message names."""


@dataclass(frozen=True)
class PageQuery:
    """What the page of a search says about its query."""

    path: str
    by: str
    pictures: int
    collection: str
    region: tuple[float, float, float, float] | None
    where: Mapping[str, Any]
    frame: tuple[int, int]
    """Width and height of the query; places and region are in its pixels."""


@dataclass(frozen=True)
class Answer:
    """A hit with its row of the catalog, and its explanation if one was asked for."""

    hit: Hit
    row: ImageRow
    why: Explanation | None = None


def search(
    query: Annotated[
        str | None,
        typer.Argument(help="A picture, the id of one, or words.", metavar="[IMAGE|ID|WORDS]"),
    ] = None,
    collection: Where = DEFAULT,
    also: Annotated[
        list[str] | None,
        typer.Option(
            metavar="IMAGE|ID",
            help="One more picture: find pictures like all of them (repeatable).",
        ),
    ] = None,
    colour: Annotated[
        list[str] | None,
        typer.Option(metavar="#RRGGBB", help="A colour to look for (repeatable)."),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(metavar="WORDS", help="Words, alone or with a picture; -word excludes."),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="A reason to ignore, such as tag:garden, file or looks."),
    ] = None,
    weight: Annotated[
        float, typer.Option(min=0, max=1, help="Weight of the picture when words are given too.")
    ] = 0.5,
    k: Annotated[int, typer.Option("-k", min=1, help="Number of hits.")] = 20,
    by: Annotated[
        str, typer.Option(help="A similarity ('likewise models similarity list').")
    ] = "default",
    region: Annotated[
        str | None, typer.Option(metavar="X,Y,W,H", help="Search with this part of the picture.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Only pictures with this folder, camera (a part of the name will do), tag, "
            "format, after, before, stars>=3, favourite, album or metadata; tag may be repeated.",
        ),
    ] = None,
    above: Annotated[
        float | None, typer.Option(help="Show only hits with at least this score.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show which places of the pictures match.")
    ] = False,
    sheet: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the query and its hits to an HTML page."),
    ] = None,
    json_: Json = False,
) -> None:
    """Find the most similar pictures, or those that words describe.

    Words look into tags, names, dates and cameras, and for pictures that look as meant:
    likewise search "snowy mountains"; likewise search 42 --text "with people";
    likewise search "beach summer 2019 -people".  A number is the id of a picture, unless --text
    says that it is words: likewise search --text 2019.
    """
    part = _region(region)
    wanted = _conditions(where)
    if colour:
        if query is not None or text is not None or also:
            raise Usage("--colour goes alone or with --where")
        _search_colours(collection, colour, k, wanted, json_=json_)
        return
    one, words = _picture_or_text(query, text)
    if also:
        _search_together(collection, one, also, words, k, by, wanted, above, json_=json_)
        return
    if words is not None and (explain or sheet is not None):
        raise Usage("--explain and --sheet work for pictures, not words; words show their reasons")
    if words is None and without:
        raise Usage("--without goes with words; a picture alone has no reasons")
    with ends_at_once(), open_collection(collection, one) as col:
        _check_known(col, wanted)
        if words is not None:
            found = col.search(
                one, k, text=words, by=by, where=wanted or None, region=part, above=above,
                without=without or (), weight=weight,
            )  # fmt: skip
            used = default_of(col) if by == "default" else by
            _print_typed(col, found, {"query": one, "text": words, "by": used}, json_=json_)
            return
        assert one is not None
        if isinstance(one, int):
            _check_id(col, one)
        resolved = col.searcher.resolve(one, region=part)
        explainer = col.searcher.explainer(one, by, part, resolved) if explain else None
        hits = col.search(resolved, k, by=by, where=wanted or None, above=above)
        asked = _describe_query(col, one, by, part, wanted)
        answers = _answers(col, hits, explainer)
    if sheet is not None:
        _write(sheet, asked, answers)
    if json_:
        made = [_record(a) for a in answers]
        said = {"behind": hits.behind, "away": hits.away}
        echo_json({"query": asked.path, "by": asked.by, **said, "hits": made})
        return
    _print(answers, asked)
    report_behind(hits.behind)
    report_unavailable(hits.away)
    if sheet is not None:
        print_line(f"Open {sheet}")


def _search_together(
    collection: Path | None,
    first: int | str | None,
    also: list[str],
    words: str | None,
    k: int,
    by: str,
    wanted: dict[str, Any],
    above: float | None,
    *,
    json_: bool,
) -> None:
    """Search for pictures similar to several pictures together."""
    if first is None or words is not None:
        raise Usage("--also goes with a picture; words go with one picture only")
    asked = [first, *map(picture, also)]
    with stoppable("nothing was changed"), open_collection(collection, first) as col:
        _check_known(col, wanted)
        hits = col.search(asked, k, by=by, where=wanted or None, above=above)
    _list(hits, {"query": asked, "by": by}, json_=json_)


def _search_colours(
    collection: Path | None, colours: list[str], k: int, wanted: dict[str, Any], *, json_: bool
) -> None:
    with stoppable("nothing was changed"), open_collection(collection) as col:
        _check_known(col, wanted)
        hits = col.colours.search(colours, k, where=wanted or None)
    _list(hits, {"colours": colours}, json_=json_)


def _list(hits: Hits, asked: dict[str, Any], *, json_: bool) -> None:
    if json_:
        found = [{"id": hit.id, "path": hit.path, "score": hit.score} for hit in hits]
        echo_json({**asked, "behind": hits.behind, "away": hits.away, "hits": found})
        return
    report_behind(hits.behind)
    report_unavailable(hits.away)
    for hit in hits:
        print_line(f"{hit.score:.4f}  {hit.id:>6}  {printable(hit.path)}")
    if not hits:
        print_line("No hits.")


def duplicates(
    collection: Where = DEFAULT,
    threshold: Annotated[
        float | None,
        typer.Option(help="Pictures with at least this score are linked; default: by the space."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Compare by the scores of a space instead of by pixels."),
    ] = None,
    hide_rest: Annotated[
        bool,
        typer.Option(
            "--hide-rest",
            help="Hide all but the first of each group ('likewise library hide --show').",
        ),
    ] = False,
    json_: Json = False,
) -> None:
    """List groups of pictures that are nearly the same, the one to keep first.

    Copies are found by their pixels: saved again, resized, mirrored, cropped by up to a tenth.  The
    one to keep has the most pixels; of those the oldest; of those the largest file.
    """
    with stoppable("nothing was changed"), open_collection(collection) as col:
        groups = col.duplicates(threshold=threshold, space=by)
        rest = {hit.id for group in groups for hit in group} - {group[0].id for group in groups}
        hidden = len(col.library.hide(sorted(rest)).before) if hide_rest and rest else 0
    if json_:
        echo_json([[{"id": h.id, "path": h.path, "score": h.score} for h in g] for g in groups])
        return
    for number, group in enumerate(groups, 1):
        print_line(f"group {number}: {plural(len(group), 'picture')}")
        for hit in group:
            print_line(f"  {hit.score:.4f}  {hit.id:>6}  {printable(hit.path)}")
    print_line(plural(len(groups), "group") if groups else "No near-duplicates.")
    if hide_rest:
        print_line(f"{plural(hidden, 'picture')} hidden")


def _region(text: str | None) -> tuple[float, float, float, float] | None:
    if text is None:
        return None
    try:
        x, y, w, h = (float(side) for side in text.split(","))
    except ValueError:
        raise Usage(f"--region {text!r}: four numbers x,y,w,h expected") from None
    if not all(map(math.isfinite, (x, y, w, h))):
        raise Usage(f"--region {text!r}: finite numbers expected")
    return x, y, w, h


_SHORT = {"favourite": "favourite=true", "hidden": "hidden=true"}
"""Filters that need no value."""


def _conditions(given: list[str] | None) -> dict[str, Any]:
    """Read the ``--where`` options and check their dates."""
    found: dict[str, Any] = {}
    given = [_SHORT.get(text, text.replace("stars>=", "stars=", 1)) for text in given or []]
    tags = [text for text in given or [] if text.startswith("tag=")]
    if tags:
        found["tag"] = [_tag(text.removeprefix("tag=")) for text in tags]
    for key, text in pairs([t for t in given or [] if t not in tags], "--where").items():
        if key in ("after", "before"):
            if not _DATE.fullmatch(text):
                raise Usage(f"--where {key}={text}: a date such as 2024-05-31 expected")
            found[key] = text.replace(" ", "T")
        elif key in ("album", "camera", "folder", "format"):
            found[key] = text
        else:
            found[key] = value_of(text)
    return found


def _check_id(col: Collection, number: int) -> None:
    """Refuse an unknown id; a year such as 2019 is probably meant as a word."""
    try:
        col.id_of(number)
    except UnknownPicture as error:
        raise UnknownPicture(
            f"{error}; to search for the words: likewise search --text {number}"
        ) from None


def _check_known(col: Collection, wanted: dict[str, Any]) -> None:
    """Refuse tags and folders that no picture has: they are probably mistyped."""
    if "tag" in wanted:
        col.tags.check_known(wanted["tag"])
    folder = wanted.get("folder")
    if folder is None:
        return
    there = col.pictures.folders()
    meant = [Path(path) for path in col.pictures.find_folders(folder)]
    if not any(path in (Path(one), *Path(one).parents) for one in there for path in meant):
        names = sorted({Path(one).name for one in there})
        some = ", ".join(map(printable, names[:_NAMED])) + (" …" if len(names) > _NAMED else "")
        raise LikewiseError(f"no folder with pictures is called {folder!r}; there are {some}")


def _tag(text: str) -> str:
    """Return a tag as text; ``value_of`` may have read it as a number or a truth value."""
    plain = value_of(text) if text.startswith('"') else text
    if not isinstance(plain, str) or not plain.strip():
        raise Usage(f"--where tag={text}: a tag expected")
    return " ".join(plain.split())


def _describe_query(
    col: Collection,
    query: int | str,
    by: str,
    region: tuple[float, float, float, float] | None,
    where: dict[str, Any],
) -> PageQuery:
    from likewise.images.decode import probe

    if by == "default":
        by = default_of(col)
    if isinstance(query, int):
        # The file may be deleted; the catalog has all that is needed.
        row = col.image(query)
        path, frame = row.path, (row.width, row.height)
    else:
        info = probe(query)
        path, frame = query, (info.width, info.height)
    return PageQuery(
        path=str(absolute(path)),
        by=by,
        pictures=len(col),
        collection=col.root.name,
        region=region,
        where=where,
        frame=frame,
    )


def _answers(col: Collection, hits: list[Hit], explainer: Explainer | None) -> list[Answer]:
    answers = []
    rows = col.pictures.rows(hit.id for hit in hits)
    for hit in hits:
        if hit.id not in rows:
            continue  # removed since it was found
        why = None
        # A file deleted since must not prevent the explanation of the others.
        with suppress(ImageError):
            if explainer is not None:
                why = explainer.explain(hit.id, _TOP_WORDS)
        answers.append(Answer(hit, rows[hit.id], why))
    return answers


def _write(path: Path, asked: PageQuery, answers: list[Answer]) -> None:
    from likewise.cli.search_page import search_page

    try:
        path.write_text(search_page(asked, answers), encoding="utf-8")
    except OSError as error:
        raise LikewiseError(f"{path} cannot be written: {error.strerror}") from error


def _record(answer: Answer) -> dict[str, Any]:
    hit, row = answer.hit, answer.row
    record: dict[str, Any] = {
        "id": hit.id,
        "path": hit.path,
        "score": hit.score,
        "format": row.format,
        "width": row.width,
        "height": row.height,
        "date": row.date,
        "date_source": row.date_source,
    }
    if answer.why and answer.why.in_query is not None:
        record["explained_by"] = answer.why.space
        record["explained_score"] = answer.why.score
        record["in_query"] = _heat_record(answer.why.in_query)
        record["in_hit"] = _heat_record(answer.why.in_hit)
    elif answer.why:
        record["shared_words"] = answer.why.n_shared
        record["words_score"] = answer.why.score
        record["words"] = [
            {
                "word": word.word,
                "contribution": word.contribution,
                "in_query": word.in_query.tolist(),
                "in_hit": word.in_hit.tolist(),
            }
            for word in answer.why.words
        ]
    return record


def _heat_record(heat: HeatMap | None) -> dict[str, Any] | None:
    if heat is None:
        return None
    return {
        "cells": heat.cells.tolist(),
        "box": list(heat.box),
        "rest": heat.rest,
        "areas": {area.name: area.share for area in heat.areas()},
    }


def _print(answers: list[Answer], asked: PageQuery) -> None:
    if not answers:
        print_line("No hits." if asked.pictures else "The collection is empty.")
        return
    heads = ["score", "id", "size", "date", "path"]
    rows: list[list[object]] = [
        [
            f"{a.hit.score:.4f}", a.hit.id, f"{a.row.width} x {a.row.height}",
            day(a.row.date, a.row.date_source), a.hit.path,
        ]
        for a in answers
    ]  # fmt: skip
    first = next((answer.why for answer in answers if answer.why), None)
    if first is not None:
        by_place = first.in_query is not None
        words = "shared words, the largest with their places in query and hit"
        heads.insert(2, "alike where (query | hit)" if by_place else words)
        for row, answer in zip(rows, answers, strict=True):
            row.insert(2, _alike_where(answer) if by_place else _shared_words(answer))
    echo_table(heads, rows, right="rr")


def _alike_where(answer: Answer) -> str:
    """Describe a heat map in words: the parts of the picture that match best."""
    from likewise.cli.search_page import areas_in_words

    why = answer.why
    if why is None:
        return ""
    return " | ".join(areas_in_words(heat) for heat in (why.in_query, why.in_hit))


def _shared_words(answer: Answer) -> str:
    why = answer.why
    if why is None:
        return ""
    most = [
        f"{word.word} +{word.contribution:.3f} ({len(word.in_query)}/{len(word.in_hit)})"
        for word in why.words[:3]
    ]
    return f"{why.n_shared}: " + ", ".join(most)


def _picture_or_text(query: str | None, text: str | None) -> tuple[int | str | None, str | None]:
    """Return the picture (an id or a file) and the words of a query; one of them may be None.

    Words are what is no file and no id and does not look like a file name.  ``--text`` always
    means words.
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
        # A word may also be the name of a folder; only a file can be a query.
        if not query.strip() or Path(query).expanduser().is_file():
            return not query.strip()
    except (OSError, ValueError, RuntimeError):
        return True  # not a possible file name
    # A mistyped path must not become a search for something else.
    separated = os.sep in query or (os.altsep is not None and os.altsep in query)
    named = _SUFFIX.fullmatch(Path(query).suffix) is not None and " " not in query.strip()
    return not (separated or named or query.startswith("~"))


def _print_typed(col: Collection, hits: Hits, asked: dict[str, Any], *, json_: bool) -> None:
    """Print the results of a search for words, each with its reasons."""
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
