"""Plain values are read as typer reads them, and what is not plain is left to it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
import typer.core
from typer.testing import CliRunner

from likewise.cli import plain_values
from likewise.cli.plain_values import read_plain_values

PLACE = plain_values._PLACE

pytestmark = pytest.mark.skipif(
    not hasattr(typer.core, PLACE), reason="this typer reads its values in another place"
)

app = typer.Typer()


@app.command()
def show(
    where: Path,
    names: Annotated[list[str] | None, typer.Argument()] = None,
    text: str | None = None,
    number: int = 3,
    few: Annotated[int, typer.Option(min=1, max=5)] = 2,
    clamped: Annotated[int, typer.Option(min=1, max=5, clamp=True)] = 2,
    weight: Annotated[float, typer.Option(min=0, max=1)] = 0.5,
    ids: Annotated[list[int] | None, typer.Option()] = None,
    there: Annotated[Path | None, typer.Option(exists=True)] = None,
    parsed: Annotated[int, typer.Option(parser=lambda said: len(str(said)))] = 0,
    yes: bool = False,
) -> None:
    """Prints what it was given, with the kinds."""
    for name, value in sorted(locals().items()):
        typer.echo(f"{name} {value!r}")


LINES = [
    ["a"], ["a", "b", "c d"], ["a", "--text", ""], ["a", "--text", "ü"], ["a", "--number", "-7"],
    ["a", "--number", "x"], ["a", "--number", "1.5"], ["a", "--number", " 4 "],
    ["a", "--number", "9" * 30], ["a", "--number", "1_0"], ["a", "--number", "٣"],
    ["a", "--few", "5"], ["a", "--few", "6"], ["a", "--few", "0"], ["a", "--clamped", "9"],
    ["a", "--weight", ".25"], ["a", "--weight", "2"], ["a", "--weight", "nan"],
    ["a", "--ids", "1", "--ids", "2"], ["a", "--ids", "1", "--ids", "y"], ["a", "--yes"],
    ["a", "--there", "no/such/file"], ["a", "--there", "."], ["a", "--parsed", "word"],
    [""], ["~/x/../y"], [],
]  # fmt: skip


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_plain_values_are_read_as_typer_does(
    line: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same values of the same kinds, the same words where something is wrong."""
    usual: Any = getattr(typer.core, PLACE)
    # A command of an earlier test may have put the reader there.
    usual = getattr(usual, "usual", usual)
    monkeypatch.setattr(typer.core, PLACE, usual)
    before = CliRunner().invoke(app, line)
    read_plain_values()
    assert getattr(typer.core, PLACE) is not usual
    after = CliRunner().invoke(app, line)
    assert (after.exit_code, after.output) == (before.exit_code, before.output)


def test_the_reader_is_put_there_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typer.core, PLACE, getattr(typer.core, PLACE))
    read_plain_values()
    first = getattr(typer.core, PLACE)
    read_plain_values()
    assert getattr(typer.core, PLACE) is first


def test_another_typer_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(typer.core, PLACE)
    read_plain_values()
    assert not hasattr(typer.core, PLACE)
