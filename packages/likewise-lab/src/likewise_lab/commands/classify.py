"""Commands that label pictures: ``classify train`` and ``classify predict``."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated, Any

import typer

from likewise.cli.options import Json, Usage, Workers, stoppable
from likewise.cli.output import echo_json, echo_table, plural, print_line, printable, progress_bar

classify = typer.Typer(
    no_args_is_help=True, help="Classify pictures, with labels learned from folders."
)

_SKIPPED = 8


class Labels(enum.StrEnum):
    """Where labels come from."""

    folders = "folders"


@classify.command("train")
def train(
    source: Annotated[
        Path, typer.Argument(help="A folder with one folder for each label, or a collection.")
    ],
    model: Annotated[
        Path, typer.Option("--model", "-m", help="The file to write.", metavar="FILE")
    ] = Path("classifier.lwm"),
    labels: Annotated[
        Labels, typer.Option(help="Where labels come from: the names of the folders.")
    ] = Labels.folders,
    words: Annotated[
        int, typer.Option(min=2, help="Words in each of the two codebooks; more is slower.")
    ] = 64,
    held_out: Annotated[
        float, typer.Option(help="Share of each label's pictures held out to test it.")
    ] = 0.25,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    workers: Workers = None,
    json_: Json = False,
) -> None:
    """Train a classifier on pictures in folders, and test it on a held-out part.

    likewise models classify train animals/ -m animals.lwm learns the labels cat, dog, ... from the
    folders animals/cat, animals/dog, ...; for a collection, from the folders its pictures are in.
    """
    from likewise_lab.classification import training

    if not 0 < held_out < 1:
        raise Usage(f"--held-out {held_out}: a share between 0 and 1 expected")
    if not model.absolute().parent.is_dir():
        raise Usage(f"--model {model}: there is no folder {model.parent}")
    assert labels is Labels.folders
    with stoppable("nothing was written"), progress_bar() as report:
        classifier, outcome = training.train(
            training.find_labelled(source.expanduser()),
            n_words=words,
            held_out=held_out,
            workers=workers,
            seed=seed,
            report=report,
        )
        classifier.save(model)
    if json_:
        echo_json({"model": str(model), **_outcome_record(outcome)})
        return
    _print_outcome(outcome)
    print_line(f"Wrote {model}; try: likewise models classify predict {model} PICTURE")


@classify.command("predict")
def predict(
    model: Annotated[Path, typer.Argument(help="What 'classify train' wrote.", metavar="MODEL")],
    pictures: Annotated[
        list[Path], typer.Argument(help="Pictures to classify.", metavar="IMAGE...")
    ],
    top: Annotated[int, typer.Option(min=1, help="Number of labels for each.")] = 1,
    json_: Json = False,
) -> None:
    """Predict the labels of pictures; exit code 1 if any cannot be read."""
    from likewise.collection.decoding import decoders
    from likewise.errors import ImageError
    from likewise.spaces.base import DECODE_SIDE
    from likewise_lab.classification.classifier import Classifier

    classifier = Classifier.open(model)
    found: list[dict[str, Any]] = []
    for path in pictures:
        said: dict[str, Any] = {"picture": str(path)}
        try:
            guesses = classifier.predict(decoders().pixels(path, DECODE_SIDE, None), top)
            said["labels"] = [{"label": one.label, "score": one.score} for one in guesses]
        except ImageError as error:
            said["problem"] = error.reason
        found.append(said)
        if not json_:
            _print_labels(said)
    if json_:
        echo_json(found)
    if any("problem" in said for said in found):
        raise typer.Exit(1)


def _print_labels(said: dict[str, Any]) -> None:
    path = printable(said["picture"])
    if "problem" in said:
        print_line(f"likewise: {path}: {said['problem']}", err=True)
        return
    named = ", ".join(f"{one['label']} ({one['score']:+.2f})" for one in said["labels"])
    print_line(f"{path}: {named}")


def _outcome_record(outcome: Any) -> dict[str, Any]:
    return {
        "pictures": outcome.pictures,
        "held_out": outcome.held_out,
        "accuracy": outcome.accuracy,
        "labels": {
            label: {"right": right, "of": of} for label, (right, of) in outcome.by_label.items()
        },
        "skipped": [{"path": path, "reason": reason} for path, reason in outcome.skipped],
    }


def _print_outcome(outcome: Any) -> None:
    for path, reason in outcome.skipped[:_SKIPPED]:
        print_line(f"left out: {printable(path)}: {reason}", err=True)
    if len(outcome.skipped) > _SKIPPED:
        print_line(f"and {len(outcome.skipped) - _SKIPPED:,} more left out", err=True)
    rows = [
        (label, f"{right} of {of}", f"{100 * right / of:.0f} %")
        for label, (right, of) in outcome.by_label.items()
    ]
    echo_table(("label", "right", ""), rows, right=" rr")
    chance = 100 / len(outcome.labels)
    print_line(
        f"{100 * outcome.accuracy:.1f} % right on {plural(outcome.held_out, 'picture')} held out "
        f"(mean of the labels; chance is {chance:.1f} %), trained on {outcome.pictures:,}"
    )
