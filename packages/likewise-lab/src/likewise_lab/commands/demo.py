"""The command ``demo``: a collection of planted views, searched, taught and measured."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.options import Json, stoppable
from likewise.cli.output import echo_json, echo_table, plural, print_line, progress_bar, span
from likewise.cli.pages import render
from likewise.errors import LikewiseError

if TYPE_CHECKING:
    from likewise.learning.learned_directions import Move
    from likewise_lab.demo import DemoResult


_MARKS = {True: ("right", "✓"), False: ("wrong", "✗"), None: ("", "")}


def demo(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="Your own pictures; default: planted views."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the collection and the page.")] = Path(
        "demo"
    ),
    views: Annotated[int, typer.Option(min=2, help="Planted views of each scene.")] = 16,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Rebuild the collection, even if it exists.")
    ] = False,
    json_: Json = False,
) -> None:
    """Build a collection, search it, print quality and speed, write a page of results."""
    from likewise_lab.demo import run

    def tell(text: str) -> None:
        print_line(text, err=json_)

    start = time.perf_counter()
    with stoppable("run the same command again to continue"):
        with progress_bar() as report:
            result = run(
                out, folder=folder, n_views=views, fresh=fresh, say=tell, report=report
            )  # fmt: skip
        page = out / "index.html"
        try:
            page.write_text(demo_page(result), encoding="utf-8")
            if result.lesson is not None:
                _write_learned(result, out / "learned.html")
        except OSError as error:
            raise LikewiseError(f"{page} cannot be written: {error.strerror}") from error
    spent = time.perf_counter() - start
    if json_:
        echo_json(
            {
                "page": str(page),
                "collection": str(result.collection),
                "pictures": result.pictures,
                "added": result.added,
                "add_seconds": round(result.seconds, 3),
                "seconds": round(spent, 3),
                "search_ms": dict(result.search_ms),
                "new_picture_ms": result.new_picture_ms,
                "mAP": dict(result.means),
                "mAP_by_kind": {kind: dict(values) for kind, values in result.by_kind.items()},
                "lesson": _lesson_record(result),
                "typed": [
                    {
                        "text": one.query.text,
                        "why": one.query.why,
                        "likes": len(one.query.liked),
                        "found_before": one.query.found[0],
                        "found_after": one.query.found[1],
                    }
                    for one in result.typed
                ],
                "hint": result.hint or None,
            }
        )
        return
    _print_demo(result, spent)
    _next_steps(result, page, out)


def demo_page(result: DemoResult) -> str:
    """Return the demo's page: figures, and queries with what was found for them."""
    from likewise_lab.demo.demo import SHOWN_WORST
    from likewise_lab.demo.lesson import CLICKS, LOOKED_AT

    truth = bool(result.means)
    return render(
        "demo.html",
        package="likewise_lab",
        title="Likewise on planted views" if truth else "Likewise on your pictures",
        result=result,
        lesson=result.lesson,
        truth=truth,
        times=", ".join(f"{ms:.1f} ms by {by}" for by, ms in result.search_ms.items()),
        marks=_MARKS,
        looked_at=LOOKED_AT,
        clicks=CLICKS,
        worst=min(SHOWN_WORST, len(result.asked)),
        kinds=sorted(result.by_kind.items(), key=lambda item: -sum(item[1].values())),
    )


def _write_learned(result: DemoResult, path: Path) -> None:
    """Write the page of what the demo's judgements taught."""
    from likewise.cli.learned_page import learned_page
    from likewise.collection.collection import Collection

    assert result.lesson is not None
    with Collection.open(result.collection) as col:
        found = col.profiles.report(result.lesson.profile)
        text = learned_page(found, str(result.collection), _belongs)
        path.write_text(text, encoding="utf-8")


def _belongs(move: Move) -> bool:
    """Return whether a moved picture has the query's theme, by the names of planted views."""
    from likewise_lab.demo.themes import theme_of

    return theme_of(Path(move.picture.path).stem) == theme_of(Path(move.query.path).stem)


def _lesson_record(result: DemoResult) -> dict[str, Any] | None:
    lesson = result.lesson
    if lesson is None:
        return None
    return {
        "judgements": len(lesson.judged),
        "clicks": lesson.clicks,
        "others": lesson.gain()._asdict(),
        "others_by_theme": {name: lesson.gain([name])._asdict() for name in lesson.groups},
        "others_never_clicked": lesson.unseen._asdict(),
        "elsewhere": lesson.elsewhere._asdict(),
    }


def _print_demo(result: DemoResult, spent: float) -> None:
    print_line("")
    if result.added:
        rate = result.added / result.seconds
        by = " by one worker" if result.means else ""
        print_line(
            f"{plural(result.added, 'picture')} added in {span(result.seconds)} "
            f"({rate:.1f} per second{by}, with all that search, tags and typed words need)"
        )
    else:
        print_line(f"{plural(result.pictures, 'picture')}, all added by an earlier run")
    times = ", ".join(f"{ms:.1f} ms by {by}" for by, ms in result.search_ms.items())
    print_line(f"a search takes {times}; with a new picture {result.new_picture_ms:.0f} ms")
    print_line("")
    if result.means:
        names = list(result.means)
        kinds = sorted(result.by_kind.items(), key=lambda item: -sum(item[1].values()))
        rows: list[list[object]] = [
            [kind, *(f"{values[name]:.3f}" for name in names)] for kind, values in kinds
        ]
        rows.append(["all", *(f"{result.means[name]:.3f}" for name in names)])
        heads = ["mAP, same photograph, by kind of query", *names]
        echo_table(heads, rows, right=" " + "r" * len(names))
        print_line("")
    _print_typed(result)
    _print_lesson(result)
    print_line(f"All done in {span(spent)}.")


def _print_lesson(result: DemoResult) -> None:
    """Print what clicks did for queries that were not judged."""
    lesson = result.lesson
    if lesson is None:
        return
    n, clicks = plural(len(lesson.judged), "judgement"), plural(lesson.clicks, "click")
    print_line(f"Then {n} ({clicks}) on what belongs together, one a photograph of these themes.")
    print_line("mAP of the queries that were not judged:")
    gains = [(f"  {name}", lesson.gain([name])) for name in lesson.groups]
    gains += [
        ("all of these themes", lesson.gain()),
        ("  only pictures never clicked", lesson.unseen),
        ("photographs of no theme", lesson.elsewhere),
    ]
    echo_table(
        ["", "queries", "before", "after"],
        [
            [name, gain.queries, f"{gain.before:.3f}", f"{gain.after:.3f}"]
            for name, gain in gains
            if gain.queries
        ],
        right=" rrr",
    )
    print_line("")


def _print_typed(result: DemoResult) -> None:
    """Print how many of the first answers to typed words are right."""
    if result.hint:
        print_line(result.hint)
        print_line("")
    if not result.typed:
        return
    rows: list[list[object]] = [
        [
            one.query.text,
            one.query.why.removeprefix("looks like: "),
            f"{one.query.found[0]:.0%}",
            # Nothing can be improved where all was right at once.
            f"{one.query.found[1]:.0%}" if one.query.found[0] < 1 else "",
        ]
        for one in result.typed
    ]
    heads = ["typed (no tag, no label)", "reads it as", "right", "after 3 likes"]
    echo_table(heads, rows, right="  rr")
    print_line("")


def _next_steps(result: DemoResult, page: Path, out: Path) -> None:
    place = _short(result.collection)
    example = result.asked[0].row.path
    print_line("")
    print_line("What to do next:")
    print_line(f"  open {page}")
    if result.lesson is not None:
        print_line(f"  open {out / 'learned.html'}: what was learned from the judgements")
    print_line(f"  .venv/bin/likewise open {place}        # in the browser: search, judge, undo")
    print_line(f'  .venv/bin/likewise search -C {place} "a cat"')
    print_line(
        f"  .venv/bin/likewise search -C {place} {_short(Path(example))} "
        f"--sheet {out / 'search.html'}"
    )
    print_line("  .venv/bin/likewise add ~/Pictures        # your own, into photos.lw")


def _short(path: Path) -> str:
    """Return a path as it is typed in the current folder."""
    import shlex

    here = Path.cwd()
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))
