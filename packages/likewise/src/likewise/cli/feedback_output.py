"""Format judgements and learned profiles, as text and as JSON records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from likewise.cli.output import plural, print_line, printable, progress_bar

if TYPE_CHECKING:
    from likewise.collection.collection import Collection
    from likewise.learning.judge import Judgement
    from likewise.learning.learned_directions import Direction, Example, Move
    from likewise.learning.learned_report import LearnedReport, LearnedWord
    from likewise.learning.log import LogLine
    from likewise.search.similarities import Figures


def describe_line(line: LogLine) -> str:
    """Describe a line of the log."""
    said = _describe_kind(line)
    return f"{said}, by {line.who}" if line.who and line.who != line.person else said


def _describe_kind(line: LogLine) -> str:
    if line.kind == "undo":
        return f"undid judgement {line.about}"
    if line.kind == "takeback":
        return f"took back {plural(line.answers, 'judgement')} of {line.person}"
    if line.kind == "rollback":
        return f"went back to version {line.about}"
    if line.kind == "merge" and line.answers:
        return f"took in {plural(line.answers, 'answer')} of {line.person or 'yours'}"
    if line.kind == "merge":
        return f"took in what another profile had learned by version {line.about}"
    if line.kind == "weights":
        return "what was learned elsewhere was imported"
    query = "a picture outside the collection" if line.query is None else f"picture {line.query}"
    if line.text is not None:
        query = f"{line.text!r}" if line.query is None else f"{query} with {line.text!r}"
    if line.kind == "compare" and line.liked and line.disliked:
        said = f"{query} is nearer to {line.liked[0]} than to {line.disliked[0]}"
        return f"{said}, says {line.person}" if line.person else said
    said = f"about {query}: {describe_pictures(line.liked, line.disliked)}"
    if line.contradicts:
        said += f"; contradicts {', '.join(map(str, line.contradicts))}"
    return said


def describe_pictures(liked: tuple[int, ...], disliked: tuple[int, ...]) -> str:
    """Describe the pictures of a judgement."""
    parts = []
    if liked:
        parts.append(f"liked {', '.join(map(str, liked))}")
    if disliked:
        parts.append(f"disliked {', '.join(map(str, disliked))}")
    return "; ".join(parts) or "pictures no longer in the collection"


def format_time(made: str) -> str:
    """Format a time of the log, to the minute."""
    return made[:16].replace("T", " ")


def summarize_profile(found: LearnedReport) -> list[str]:
    """Describe the figures of a profile in sentences."""
    figures = found.figures
    said = [plural(figures.judgements, "judgement") + " not undone"]
    if found.space is None:
        said.append(
            f"it ranks by {' + '.join(found.spaces)}, which has no words; only the judged "
            "queries themselves change"
        )
        return said
    if figures.judgements:
        said.append(describe_agreement(figures))
    if figures.units == "directions":
        said.append(
            f"{figures.changed:.1%} of the {found.width:,} directions of space {found.space} "
            f"changed: {found.n_gained:,} count more, {found.n_lost:,} less"
        )
        return said
    if found.start == 0:
        said.append(
            f"sparse: {found.n_gained:,} of the {found.width:,} words of space {found.space} have "
            "a weight, the others none"
        )
        return said
    said.append(
        f"{figures.changed:.1%} of the {found.width:,} words of space {found.space} changed: "
        f"{found.n_gained:,} gained, {found.n_lost:,} lost"
    )
    if figures.sparsity:
        said.append(f"{figures.sparsity:.1%} of the words have no weight")
    return said


def describe_agreement(figures: Figures) -> str:
    """Describe how often a profile was right, compared with no learning."""
    right, plain = figures.agreement or 0.0, figures.agreement_plain or 0.0
    if figures.interval is None or figures.gain is None:
        return (
            f"too few judgements to measure accuracy: "
            f"{plural(figures.needed, 'more is', 'more are')} needed"
        )
    low, high = figures.interval
    verdict = {
        "better": f"better by {100 * figures.gain.low:.0f} to {100 * figures.gain.high:.0f} points",
        "worse": f"worse by {-100 * figures.gain.high:.0f} to {-100 * figures.gain.low:.0f} points",
    }.get(figures.verdict, "no clear difference yet")
    told = "by other judgements alone" if figures.units == "directions" else "before being told"
    return (
        f"accuracy {right:.1%} ({low:.0%} to {high:.0%}), {told}; {plain:.1%} without learning: "
        f"{verdict} ({plural(figures.gains.n, 'judgement')} tested)"
    )


def describe_times(value: float) -> str:
    """Describe how many times a direction counts; below 0 it counts against being alike
    (docs/methods/staying.md, (14): between -3 and 4 times).

    >>> describe_times(1.834), describe_times(0.4), describe_times(-1.12)
    ('counts 1.83 times', 'counts 0.40 times', 'counts 1.12 times against being alike')
    """
    if value <= -0.005:
        return f"counts {-value:.2f} times against being alike"
    return f"counts {abs(value):.2f} times"


def describe_place(place: int | None) -> str:
    """Describe a rank among the hits; None means after all that were examined."""
    from likewise.learning.learned_directions import DEPTH

    return f"after {DEPTH:,}" if place is None else f"{place:,}"


def line_record(line: LogLine) -> dict[str, Any]:
    """Return a line of the log as a JSON record."""
    return {
        "number": line.number, "profile": line.profile, "kind": line.kind, "made": line.made,
        "session": line.session, "stands": line.stands, "query": line.query,
        "liked": list(line.liked), "disliked": list(line.disliked), "about": line.about,
        "contradicts": list(line.contradicts), "text": line.text,
        "person": line.person, "answers": line.answers,
    }  # fmt: skip


def judgement_record(made: Judgement) -> dict[str, Any]:
    """Return a new judgement as the JSON record of its line in the log."""
    return {
        "number": made.number, "profile": made.profile, "kind": "judge", "made": made.made,
        "session": made.session, "stands": True, "query": made.query,
        "liked": list(made.liked), "disliked": list(made.disliked), "about": None,
        "contradicts": list(made.contradicts), "text": made.text,
    }  # fmt: skip


def _word_record(word: LearnedWord) -> dict[str, Any]:
    return {
        "word": word.word, "weight": word.weight, "change": word.change,
        "pictures": word.pictures,
        "examples": [{**_picture_record(e), "box": e.box} for e in word.examples],
    }  # fmt: skip


def _picture_record(example: Example) -> dict[str, Any]:
    return {"id": example.image, "path": example.path}


def _direction_record(direction: Direction) -> dict[str, Any]:
    return {
        "value": direction.value,
        "one_end": [_picture_record(e) for e in direction.one_end],
        "other_end": [_picture_record(e) for e in direction.other_end],
    }


def _move_record(move: Move) -> dict[str, Any]:
    return {
        "query": _picture_record(move.query), "picture": _picture_record(move.picture),
        "before": move.before, "after": move.after,
    }  # fmt: skip


def learned_record(found: LearnedReport) -> dict[str, Any]:
    """Return what was learned as a JSON record."""
    return {
        "profile": found.profile, "version": found.position, "space": found.space,
        "width": found.width, "figures": vars(found.figures),
        "gained": [_word_record(word) for word in found.gained],
        "lost": [_word_record(word) for word in found.lost],
        "directions": [_direction_record(one) for one in found.directions],
        "moved": [_move_record(move) for move in found.moved],
        "curve": [vars(point) for point in found.curve],
        "log": [line_record(line) for line in found.log],
    }  # fmt: skip


def offer_sparse(figures: Figures) -> None:
    """Print the hint that a profile of words can be made sparse, once it has learned enough."""
    from likewise.learning.sparse_profiles import ENOUGH

    if figures.units == "words" and figures.triplets >= ENOUGH and figures.sparsity == 0:
        print_line(
            f"There are {figures.triplets:,} triplets: 'likewise models learn --sparse' can make a "
            "compact profile from them."
        )


def settle(col: Collection, profile: str) -> None:
    """Wait until all judgements are learned, with a progress bar."""
    if col.profiles.behind(profile):
        with progress_bar() as report:
            col.profiles.settle(profile, report=report)


def report_behind(behind: int) -> None:
    """Print a note if a search does not use the newest judgements yet."""
    if behind:
        print_line(
            f"Note: {plural(behind, 'judgement')} of the profile are not learned yet; this is the "
            "previous ranking. 'likewise models learn --from log' learns them now",
            err=True,
        )


def report_unavailable(away: str | None) -> None:
    """Print a note if part of the pictures could not be searched."""
    if away:
        print_line(f"Note: {printable(away)}", err=True)
