"""Commands about comparisons: ask questions in the terminal, import and export answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.feedback import Profile
from likewise.cli.feedback_output import settle
from likewise.cli.options import DEFAULT, Json, Where, open_collection, stoppable
from likewise.cli.output import echo_json, echo_table, plural, print_line, printable, progress_bar
from likewise.errors import InvalidInput, LikewiseError

if TYPE_CHECKING:
    from likewise.collection.collection import Collection
    from likewise.learning.models.questions import ComparisonQuestion
    from likewise.learning.pending_answers import PendingAnswers

comparisons = typer.Typer(no_args_is_help=True, help="Comparisons: a is nearer to b than to c.")

By = Annotated[
    str | None, typer.Option("--by", metavar="WHO", help="Name of the person who compares.")
]
_AT_ONCE = 10
"""Questions that are chosen at a time; the answers decide what is asked next."""
_KEYS = {
    "l": "left", "left": "left", "1": "left", "\x1b[d": "left", "\x1bod": "left",
    "r": "right", "right": "right", "2": "right", "\x1b[c": "right", "\x1boc": "right",
    "s": "skip", "skip": "skip", " ": "skip", "\x1b[b": "skip", "\x1bob": "skip",
    "q": "quit", "quit": "quit", "\x1b": "quit", "\x04": "quit",
}  # fmt: skip


def compare(
    n: Annotated[int, typer.Option("-n", min=1, help="Number of questions.")] = 20,
    by: By = None,
    sheet: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the questions with their pictures to an HTML page."
        ),
    ] = None,
    space: Annotated[
        str | None, typer.Option(metavar="NAME", help="Dense space the questions come from.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Random seed; default: different questions each time.")
    ] = None,
    profile: Profile = "default",
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Answer which of two pictures is nearer to a third; 'learn --map' makes a map of the answers.

    Keys: l or the left arrow, r or the right arrow, s to skip, q to quit.  If standard input
    is not a terminal, one answer per line is read.
    """
    answered: list[dict[str, Any]] = []
    skipped = 0
    with stoppable("answers given so far are kept"), open_collection(collection) as col:
        name = col.profiles.version(profile).profile
        asked = _questions(col, n, name, space, seed, sheet, json_)
        for number, ask in enumerate(asked, 1):
            answer = _answer(col, number, n, ask, json_)
            if answer == "quit":
                break
            if answer == "skip":
                skipped += 1
                continue
            near, far = (ask.left, ask.right) if answer == "left" else (ask.right, ask.left)
            line = col.compare(ask.anchor, near, far, profile=name, person=by)
            answered.append({"number": line, "anchor": ask.anchor, "nearer": near, "farther": far})
        total = len(col.comparisons.all(profile=name))
        waits = sum(one.answers for one in col.comparisons.waiting(name))
    if json_:
        echo_json(
            {
                "profile": name,
                "answered": answered,
                "skipped": skipped,
                "standing": total,
                "waiting": waits,
            }
        )
        return
    print_line(
        f"{plural(len(answered), 'comparison')} written to the log, {skipped:,} skipped; "
        f"{total:,} not undone"
    )
    if answered:
        print_line("Draw a map from them with: likewise models learn --map")
    if waits:
        print_line(
            f"{waits:,} of them wait and change no ranking; {name} learns them with: "
            "likewise models comparisons take-in"
        )


@comparisons.command("waiting")
def waiting_(
    profile: Profile = "default", collection: Where = DEFAULT, json_: Json = False
) -> None:
    """List answers that are not used yet: they change no ranking until you accept them."""
    with open_collection(collection) as col:
        found = col.comparisons.waiting(profile)
    if json_:
        echo_json([_waiting_record(one) for one in found])
        return
    if not found:
        print_line("No answers are waiting.")
        return
    rows = [(one.profile, one.person or "you", f"{one.answers:,}") for one in found]
    echo_table(("profile of answers", "by", "answers"), rows, right="  r")


@comparisons.command("take-in")
def take_in(
    answers: Annotated[
        str | None, typer.Argument(help="Profile of answers; default: all that are waiting.")
    ] = None,
    profile: Profile = "default",
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Apply waiting answers to a profile; 'models profile rollback' undoes that."""
    with open_collection(collection) as col:
        name, before = col.profiles.version(profile)[:2]
        taken = col.comparisons.take_in(answers, profile=name)
        settle(col, name)
    if json_:
        echo_json({"profile": name, "before": before, "taken": [_waiting_record(o) for o in taken]})
        return
    for one in taken:
        print_line(f"{name} took in {plural(one.answers, 'answer')} of {one.person or 'yours'}")
    print_line(f"To undo this: likewise models profile rollback {before}")


def _waiting_record(one: PendingAnswers) -> dict[str, Any]:
    return {"profile": one.profile, "by": one.person, "answers": one.answers}


@comparisons.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="CSV: anchor, nearer, farther; or Salmon's.")],
    by: By = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also import comparisons that are there already.")
    ] = False,
    profile: Profile = "default",
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Import comparisons from a CSV file; if any line is bad, nothing is imported.

    A comparison the same person made before, and did not undo, is skipped: a file imported twice
    counts once.
    """
    from likewise.cli.comparison_files import read_comparisons, without_known

    kept = "comparisons written so far are kept; run the same command again to add the rest"
    with stoppable(kept), open_collection(collection) as col:
        name = col.profiles.version(profile).profile
        found = read_comparisons(file, col.id_of, lambda: _names(col))
        rows = [row._replace(by=by.strip()) for row in found] if by else found
        if not again:
            standing = col.comparisons.all(profile=name)
            rows = without_known(rows, [one[1:5] for one in standing])
        with progress_bar() as report:
            for (who, source), some in groupby(rows, key=lambda row: (row.by, row.source)):
                triplets = [row[:3] for row in some]
                col.profiles.learn_triplets(
                    triplets, profile=name, source=source, person=who, report=report
                )
    people = sorted({row.by or "" for row in rows})
    skipped = len(found) - len(rows)
    if json_:
        echo_json({"profile": name, "written": len(rows), "skipped": skipped, "by": people})
        return
    named = [who for who in people if who]
    said = f", made by {plural(len(named), 'person', 'people')}" if named else ""
    print_line(f"{plural(len(rows), 'comparison')} written to the log of {name}{said}")
    if skipped:
        were = "was" if skipped == 1 else "were"
        print_line(f"{skipped:,} {were} there already and skipped; --again imports them as well")


@comparisons.command("export", hidden=True)
def export(
    file: Annotated[Path, typer.Argument(help="CSV file to write; - is standard output.")],
    salmon: Annotated[
        bool, typer.Option("--salmon", help="Columns as in Salmon: head, winner, loser, puid.")
    ] = False,
    ids: Annotated[bool, typer.Option("--ids", help="Ids of pictures instead of paths.")] = False,
    profile: Profile = "default",
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Write the comparisons (without undone ones) to a CSV file."""
    from likewise.cli.comparison_files import format_comparisons

    rows: list[tuple[str, str, str, str, str]] = []
    left_out = 0
    with open_collection(collection) as col:
        said = col.comparisons.all(profile=profile)
        known = col.pictures.rows({i for one in said for i in one[1:4] if i is not None})
        for one in said:
            if one.anchor is None or one.nearer is None or one.farther is None:
                left_out += 1
                continue
            names = [
                str(i) if ids else known[i].path for i in (one.anchor, one.nearer, one.farther)
            ]
            rows.append((names[0], names[1], names[2], one.person or "", one.source))
    text = format_comparisons(rows, salmon=salmon)
    if str(file) == "-":
        typer.echo(text, nl=False)
        return
    try:
        file.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise LikewiseError(f"{file} cannot be written: {error.strerror}") from error
    if json_:
        echo_json({"file": str(file), "comparisons": len(rows), "left_out": left_out})
        return
    gone = f"; {left_out:,} name pictures no longer in the collection" if left_out else ""
    print_line(f"{file}: {plural(len(rows), 'comparison')}{gone}")


@comparisons.command("report", hidden=True)
def report_(
    space: Annotated[
        str | None, typer.Option(metavar="NAME", help="Dense space to try a map in.")
    ] = None,
    profile: Profile = "default",
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Show how well comparisons agree: with a map learned without them, and with each other."""
    from dataclasses import asdict

    with stoppable("nothing was changed"), open_collection(collection) as col:
        found = col.comparisons.report(space=space, profile=profile)
    if json_:
        said = asdict(found)
        said["annotators"] = [{"by": one.pop("person"), **one} for one in said["annotators"]]
        said["between"] = [one._asdict() for one in found.between]
        echo_json(said)
        return
    if not found.comparisons:
        print_line("There are no comparisons yet: likewise models compare.")
        return
    print_line(
        f"{plural(found.comparisons, 'comparison')} of {plural(found.pictures, 'picture')}; "
        f"{plural(found.repeated, 'question')} answered more than once, "
        f"{found.contradicted:,} of them both ways"
    )
    if found.agreement is not None and found.agreement_plain is not None:
        print_line(
            f"A map learned without them agrees with {found.agreement:.1%}, space {found.space} "
            f"alone with {found.agreement_plain:.1%}"
        )
    rows = [
        (
            one.person or "(no name)", f"{one.comparisons:,}", _share(one.agreement),
            f"{one.repeated:,}", _share(one.agreement_repeated),
        )
        for one in found.annotators
    ]  # fmt: skip
    echo_table(("by", "comparisons", "agreement", "repeated", "as others"), rows, right=" rrrr")
    for pair in found.between:
        one, other = pair.one or "(no name)", pair.other or "(no name)"
        asked = plural(pair.questions, "question")
        print_line(f"{one} and {other}: {asked}, {pair.agreement:.1%} answered the same")


def _questions(
    col: Collection,
    n: int,
    profile: str,
    space: str | None,
    seed: int | None,
    sheet: Path | None,
    aside: bool,
) -> Iterator[ComparisonQuestion]:
    """Yield questions in batches; earlier answers decide which come next."""
    asked: set[tuple[int, ...]] = set()
    left, step = n, 0
    while left > 0:
        # Nothing is learned from a skipped question, so it could be chosen again.
        chosen = None if seed is None and step == 0 else (seed or 0) + 7919 * step
        found = [
            ask
            for ask in col.comparisons.suggest(
                min(_AT_ONCE, left), profile=profile, space=space, seed=chosen
            )
            if (ask.anchor, *sorted((ask.left, ask.right))) not in asked
        ]
        if not found:
            return
        if sheet is not None:
            _write(col, found, sheet, n - left)
            print_line(f"Open {sheet}", err=aside)
        for ask in found:
            asked.add((ask.anchor, *sorted((ask.left, ask.right))))
            yield ask
        left -= len(found)
        step += 1


def _answer(col: Collection, number: int, of: int, ask: ComparisonQuestion, aside: bool) -> str:
    """Ask a question and return the answer; with ``aside`` print it on standard error."""
    rows = col.pictures.rows(ask)
    paths = [printable(rows[i].path) if i in rows else "gone" for i in ask]
    head = f"Question {number} of {of}: which is nearer to picture {ask.anchor}?  {paths[0]}"
    print_line(head, err=aside)
    print_line(f"  left   {ask.left:>7}  {paths[1]}", err=aside)
    print_line(f"  right  {ask.right:>7}  {paths[2]}", err=aside)
    while True:
        print_line("  l(eft), r(ight), s(kip), q(uit): ", nl=False, err=aside)
        key = _key()
        answer = _KEYS.get(key)
        print_line(answer or "", err=aside)
        if answer is not None:
            return answer
        if not sys.stdin.isatty():
            raise InvalidInput(
                f"answer {number} is {key!r}; left, right, skip or quit expected (or l, r, s, q)"
            )


def _key() -> str:
    """Read one key in a terminal, else one line; the end of the input quits."""
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        return line.strip().lower() if line else "q"
    import click

    try:
        return click.getchar().lower()
    except EOFError:
        return "q"


def _write(col: Collection, asked: list[ComparisonQuestion], path: Path, before: int) -> None:
    from likewise.cli.pages import compare_page

    text = compare_page([tuple(col.image(i) for i in ask) for ask in asked], before)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise LikewiseError(f"{path} cannot be written: {error.strerror}") from error


def _names(col: Collection) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row in col.images():
        found.setdefault(Path(row.path).name, []).append(row.id)
    return found


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"
