"""The commands teach, undo, log, learn, compact and learned."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.feedback_output import (
    describe_agreement,
    describe_line,
    describe_pictures,
    describe_place,
    describe_times,
    format_time,
    judgement_record,
    learned_record,
    line_record,
    offer_sparse,
    settle,
    summarize_profile,
)
from likewise.cli.options import DEFAULT, Json, Usage, Where, open_collection, picture, stoppable
from likewise.cli.output import day, echo_json, echo_table, plural, print_line, progress_bar, size
from likewise.cli.search import _region as region_of
from likewise.errors import LikewiseError

if TYPE_CHECKING:
    from likewise.learning.learned_report import LearnedReport
    from likewise.search.rank import Hit
    from likewise.search.similarities import Figures

Profile = Annotated[
    str, typer.Option(metavar="NAME", help="Name of the profile; default: the one in use.")
]
_KEPT = "comparisons written so far are kept; 'likewise models log' shows them"
_WRITTEN = "what is in the log stays there ('likewise models log'), and the rest is learned later"


class Labels(enum.StrEnum):
    """Where ``learn --from`` takes the class of a picture from."""

    tags = "tags"
    folders = "folders"


def teach(
    query: Annotated[
        str | None, typer.Argument(help="A picture, or the id of one.", metavar="[IMAGE|ID]")
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(metavar="WORDS", help="The words that were searched for."),
    ] = None,
    liked: Annotated[
        list[str] | None,
        typer.Option(
            "--like",
            "--liked",
            metavar="IMAGE|ID",
            help="A picture like the query; may be repeated, or 3,5.",
        ),
    ] = None,
    disliked: Annotated[
        list[str] | None,
        typer.Option(
            "--dislike",
            "--disliked",
            metavar="IMAGE|ID",
            help="A picture unlike the query; may be repeated.",
        ),
    ] = None,
    shown_: Annotated[
        list[str] | None,
        typer.Option(
            "--shown",
            metavar="IMAGE|ID",
            help="The hits shown, best first: those above a liked one count as unlike.",
        ),
    ] = None,
    region: Annotated[
        str | None,
        typer.Option(metavar="X,Y,W,H", help="The region of the query that was searched for."),
    ] = None,
    profile: Profile = "default",
    k: Annotated[int, typer.Option("-k", min=1, help="Number of hits shown afterwards.")] = 10,
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Teach which pictures are like the query and which are not; the ranking changes at once.

    The query may be a picture outside the collection, or words: likewise teach --text
    "snowy mountains" --like 3,5 --dislike 8.
    """
    part = region_of(region)
    if not (liked or disliked):
        raise Usage("nothing to learn; give --like or --dislike")
    if query is None and text is None:
        raise Usage("what was searched for? give a picture, the id of one, or --text")
    with stoppable(_WRITTEN), open_collection(collection, query) as col:
        asked = None if query is None else picture(query)
        good, bad = _pictures(liked), _pictures(disliked)
        offered = _pictures(shown_) if shown_ else None
        made = col.judge(asked, good, bad, text=text, shown=offered, profile=profile, region=part)
        settle(col, made.profile)
        hits = col.search(asked, k, text=text, by=made.profile, region=part)
        rows = col.pictures.rows(hit.id for hit in hits)
        figures = col.profiles.figures(made.profile)
    if json_:
        echo_json({**judgement_record(made), "hits": [_hit(hit) for hit in hits]})
        return
    said = describe_pictures(made.liked, made.disliked)
    print_line(f"Judgement {made.number} in profile {made.profile}: {said}")
    for earlier in made.contradicts:
        print_line(f"It contradicts judgement {earlier}; the later one counts.")
    print_line(f"Now most similar ('likewise models undo {made.number}' undoes this):")
    echo_table(
        ("score", "id", "size", "date", "path"),
        [
            (f"{hit.score:.4f}", hit.id, f"{rows[hit.id].width} x {rows[hit.id].height}",
             day(rows[hit.id].date, rows[hit.id].date_source), hit.path)
            for hit in hits
            if hit.id in rows
        ],
        right="rr",
    )  # fmt: skip
    offer_sparse(figures)


def undo(
    number: Annotated[
        int | None, typer.Argument(help="The judgement; default: the last one not undone.")
    ] = None,
    profile: Profile = "default",
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Undo a judgement."""
    with stoppable(_WRITTEN), open_collection(collection) as col:
        undone = col.undo(number, profile=profile)
        settle(col, profile)
        version = col.profiles.version(profile)
    if json_:
        echo_json({"undone": undone, "profile": version.profile, "version": version.position})
    else:
        print_line(f"Judgement {undone} of profile {version.profile} is undone")


def log(
    limit: Annotated[int, typer.Option(min=1, help="Number of lines, the newest.")] = 20,
    profile: Profile = "default",
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """List the log of a profile: judgements, what was undone, and what still counts."""
    with open_collection(collection) as col:
        name = col.profiles.version(profile).profile
        lines = col.log.entries(name)
    newest = lines[-limit:]
    if json_:
        echo_json([line_record(line) for line in newest])
        return
    if not lines:
        print_line(f"The log of profile {name} is empty.")
        return
    if len(newest) < len(lines):
        print_line(f"{plural(len(lines) - len(newest), 'earlier line')} (--limit shows more)")
    echo_table(
        ("version", "when", "session", "counts", "what"),
        [
            (line.number, format_time(line.made), line.session, "yes" if line.stands else "no",
             describe_line(line))
            for line in newest
        ],
        right="r r",
    )  # fmt: skip


def learn(
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FILE.csv|labels|log",
            help="Triplets (anchor, nearer, farther), labels of the pictures, or the log again.",
        ),
    ] = None,
    sparse: Annotated[
        bool, typer.Option("--sparse", help="Create a compact profile from the whole log.")
    ] = False,
    into: Annotated[
        str | None, typer.Option("--into", metavar="NAME", help="Name of the compact profile.")
    ] = None,
    metric: Annotated[
        bool, typer.Option("--metric", help="Learn a metric from the pairs in the log.")
    ] = False,
    map_: Annotated[
        bool, typer.Option("--map", help="Draw a map from the comparisons in the log.")
    ] = False,
    space: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Dense space for --metric or --map; default: deep-dense, else holistic.",
        ),
    ] = None,
    named: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Its name; default: metric or map."),
    ] = None,
    labels: Annotated[
        Labels | None,
        typer.Option(help="What the labels are: of --from labels (default folders), or --map."),
    ] = None,
    n_triplets: Annotated[
        int, typer.Option("-n", min=1, help="Number of triplets drawn from labels.")
    ] = 2_000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for drawing them.")] = 0,
    profile: Profile = "default",
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Learn from triplets in a file, from labels or the log: a profile, a metric or a map.

    Nothing is learned from a file with a bad line; bad lines are named.  --metric and --map create
    a similarity of their own for 'search --by'.
    """
    if metric or map_:
        if metric and map_:
            raise Usage("--metric and --map are two things; ask for one at a time")
        if source is not None or sparse or into is not None:
            raise Usage("--metric and --map learn from the log; not with --from, --sparse, --into")
        if labels is not None and metric:
            raise Usage("--labels belongs to --map or --from labels; pairs come from the log")
        from likewise.cli.models import learn_model

        kind, chosen = "metric" if metric else "map", labels.value if labels else None
        learn_model(kind, named, space, chosen, profile, seed, collection, json_)
        return
    if space is not None or named is not None:
        raise Usage("--space and --name belong to --metric or --map")
    if source is None and not sparse:
        raise Usage(
            "name what to learn from: --from FILE.csv, labels or log, --sparse, --metric or --map"
        )
    if into is not None and not sparse:
        raise Usage("--into names the profile that --sparse makes")
    said: dict[str, Any] = {}
    with stoppable(_KEPT), open_collection(collection) as col:
        name = col.profiles.version(profile).profile
        with progress_bar() as report:
            if source == "log":
                col.profiles.relearn(profile=name)
            elif source == "labels":
                kind = (labels or Labels.folders).value
                said["written"] = col.profiles.learn_labels(
                    kind, n_triplets=n_triplets, seed=seed, profile=name, report=report
                )
            elif source is not None:
                from likewise.cli.comparison_files import read_triplets

                triplets = read_triplets(Path(source), col.id_of)
                said["written"] = col.profiles.learn_triplets(triplets, profile=name, report=report)
            outcome = None
            if sparse:
                made = into or f"{name}-sparse"
                outcome = col.profiles.learn_sparse(made, profile=name, report=report)
        figures = col.profiles.figures(name)
        said = {"profile": name, **said, **vars(figures)}
        if outcome is not None:
            said["sparse"] = {"profile": made, **vars(outcome)}
    if json_:
        echo_json(said)
    else:
        _print_outcome(said, figures, source)
    if outcome is not None and not outcome.made:
        raise typer.Exit(1)


def compact(
    profile: Annotated[str, typer.Argument(help="A profile that 'learn --sparse' made.")],
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Shrink the index a sparse profile searches to the words it gives weight to."""
    stopped = "the profile searches the full index as before"
    with stoppable(stopped), open_collection(collection) as col, progress_bar() as report:
        found = col.profiles.compact(profile, report=report)
    if json_:
        echo_json({"profile": profile, **vars(found)})
        return
    print_line(f"Searches by {profile} now read a smaller index:")
    rows = [
        ("lists", size(found.bytes_before), size(found.bytes_after),
         _change(found.bytes_before, found.bytes_after)),
        ("postings", f"{found.postings_before:,}", f"{found.postings_after:,}",
         _change(found.postings_before, found.postings_after)),
        ("CPU per search", f"{found.ms_before:.2f} ms", f"{found.ms_after:.2f} ms",
         _change(found.ms_before, found.ms_after)),
    ]  # fmt: skip
    echo_table(("", "before", "after", "change"), rows, right=" rrr")


def learned(
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write it as an HTML page.")
    ] = None,
    top: Annotated[
        int, typer.Option(min=1, help="Number of words, directions and moves each way.")
    ] = 6,
    examples: Annotated[int, typer.Option(min=0, help="Number of examples of each.")] = 4,
    profile: Profile = "default",
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Show what a profile has learned: words or directions, moved pictures, versions."""
    with stoppable("nothing was changed"), open_collection(collection) as col:
        with progress_bar() as report:
            # Finding examples is slow, and the text shows none.
            n = examples if html is not None or json_ else 0
            found = col.profiles.report(profile, top=top, examples=n, report=report)
        place = col.root.name
    if html is not None:
        from likewise.cli.learned_page import learned_page

        try:
            html.write_text(learned_page(found, place), encoding="utf-8")
        except OSError as error:
            raise LikewiseError(f"{html} cannot be written: {error.strerror}") from error
    if json_:
        echo_json(learned_record(found))
        return
    _print_learned(found)
    if html is not None:
        print_line(f"Open {html}")


def _change(before: float, after: float) -> str:
    return f"{after / before - 1:+.0%}" if before else ""


def _print_outcome(said: dict[str, Any], figures: Figures, source: str | None) -> None:
    name = said["profile"]
    if "written" in said:
        print_line(f"{plural(said['written'], 'comparison')} written to the log of {name}")
    if source == "log":
        print_line(f"Replayed the whole log of {name}; the result is unchanged")
    if figures.judgements:
        standing = plural(figures.judgements, "judgement")
        print_line(f"{standing} not undone; {describe_agreement(figures)}")
    outcome = said.get("sparse")
    if outcome is None:
        return
    if not outcome["made"]:
        print_line(f"No sparse profile was made: {outcome['reason']}")
        return
    print_line(
        f"Profile {outcome['profile']} keeps {outcome['kept_words']:,} of {outcome['width']:,} "
        f"words; {outcome['agreement']:.1%} of held-out triplets are right "
        f"({outcome['agreement_before']:.1%} before)"
    )
    print_line(f"Shrink its index with: likewise admin compact {outcome['profile']}")


def _print_learned(found: LearnedReport) -> None:
    print_line(f"Profile {found.profile}, version {found.position}:")
    for text in summarize_profile(found):
        print_line(f"  {text}")
    rows = [
        (f"{word.change:+.3f}", f"{word.weight:.3f}", word.word, f"{word.pictures:,}")
        for word in (*found.gained, *reversed(found.lost))
    ]
    if rows:
        print_line("")
        echo_table(("change", "weight", "word", "pictures"), rows, right="rrrr")
    if found.directions:
        print_line("")
        print_line("Directions that count otherwise now (--html shows the pictures at their ends):")
        print_line(f"  {', '.join(describe_times(one.value) for one in found.directions)}")
    if found.moved:
        print_line("")
        print_line("Pictures that moved most, by what was said about other pictures too:")
        echo_table(
            ("before", "now", "picture", "when asked about"),
            [
                (describe_place(move.before), describe_place(move.after),
                 Path(move.picture.path).name, Path(move.query.path).name)
                for move in found.moved
            ],
            right="rr",
        )  # fmt: skip


def _hit(hit: Hit) -> dict[str, Any]:
    return {"id": hit.id, "path": hit.path, "score": hit.score}


def _pictures(given: list[str] | None) -> list[int | str]:
    """Split options that list pictures: one picture each, or ids with commas."""
    found: list[int | str] = []
    for text in given or []:
        ids = text.split(",")
        if len(ids) > 1 and all(p.isascii() and p.isdigit() for p in ids):
            found += [text] if Path(text).exists() else map(picture, ids)
        else:
            found.append(picture(text))
    return found
