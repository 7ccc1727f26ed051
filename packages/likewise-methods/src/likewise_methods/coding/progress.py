"""The bar that a coder shows while it learns, or the caller's own function in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[int, int, float], None]
"""Told of rounds done, of how many, and the value they brought."""


@contextmanager
def reporting(
    progress: bool | Report, total: int, what: str, value: str
) -> Iterator[Report | None]:
    """The function that shows progress, for as long as the bar (if any) is open."""
    if not isinstance(progress, bool):
        yield progress
        return
    if not progress:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total)

        def show(done: int, _: int, now: float) -> None:
            bar.update(task, completed=done, description=f"{what}, {value} {now:.4g}")

        yield show
