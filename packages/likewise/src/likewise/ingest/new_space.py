"""Create a space: put it into the catalog, copy its files, make a row for every picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from likewise.catalog import changes as change
from likewise.catalog.changes import RUNNING, backfill_of, put_backfill
from likewise.catalog.jobs import Report
from likewise.catalog.store import Store
from likewise.errors import CannotDescribe, LikewiseError
from likewise.ingest import pool
from likewise.ingest.backfill import fill_gaps, settle_backfill
from likewise.ingest.describe import UNDESCRIBED
from likewise.ingest.generations import describe_all, start_generation
from likewise.ingest.growth import learn_space
from likewise.ingest.pool import Workers, n_workers
from likewise.spaces.base import Recipe, Space
from likewise.spaces.registry import find_kind, new_space, open_space, open_spaces, validate_recipe

WITHOUT_NETWORK = ("words", "holistic")
"""What a collection starts with where there is no network, or when all are asked for."""


def first_recipes(
    words: Recipe | None, deep: bool | None, all_spaces: bool
) -> dict[str, dict[str, Any]]:
    """Return the recipes of the spaces a new collection starts with, by name.

    By default those of one pass through the network, where it can run: they rank better than words
    and holistic vectors at a tenth of the time.  ``deep`` requires or excludes the network,
    ``words`` is a recipe for visual words, and ``all_spaces`` adds ``WITHOUT_NETWORK``.
    """
    from likewise.vision.deep.network import can_run

    if deep is None:
        can_run()  # a library that cannot be imported counts as missing from then on
    _, whole = validate_recipe({**find_kind("words").default_recipe(), **(words or {})})
    plain = {"words": whole, "holistic": find_kind("holistic").default_recipe()}
    found: dict[str, dict[str, Any]] = {}
    for name in ("deep", "deep-dense"):
        recipe = find_kind(name).default_recipe()
        space = new_space(Path(), name, recipe)
        if deep:
            space.load()
        if space.is_available() if deep is None else deep:
            found[name] = recipe
    look = new_space(Path(), "look", find_kind("look").default_recipe())
    if look.takes_rows_of in found:
        found["look"] = look.bind(_preview(found))
    wanted = all_spaces or words is not None or not found
    return {**plain, **found} if wanted else found


def _preview(recipes: Mapping[str, Recipe]) -> dict[str, Space]:
    """Return spaces of a collection that does not exist yet."""
    made = {name: new_space(Path(), name, recipe) for name, recipe in recipes.items()}
    return {name: replace(one, width=one.fixed_width() or 0) for name, one in made.items()}


def put_first_spaces(store: Store, recipes: dict[str, dict[str, Any]]) -> None:
    """Store the spaces of a new collection; those that learn nothing get a generation."""
    made = [new_space(store.root, name, recipe) for name, recipe in recipes.items()]
    with store.write(durable=True) as c:
        for space in made:
            change.put_space(c, space.name, space.row_format.name, space.recipe)
    for space in made:
        width = space.fixed_width()
        if width is not None:
            start_generation(store, space.name, width)


def create_space(
    store: Store, name: str, recipe: Recipe, *, workers: Workers | None, report: Report
) -> None:
    """Create a space and its rows; the caller holds the lease.

    ``recipe`` is complete.  A space whose rows cannot be made is removed again.
    """
    planned = new_space(store.root, name, recipe)
    planned = replace(planned, recipe=planned.bind(open_spaces(store)))
    planned.load()
    if planned.has_trial:
        _try_out(planned, workers)
    whole, files = planned.adopt_files()
    width = new_space(store.root, name, whole).fixed_width()
    with store.write(durable=True) as c:
        change.put_space(c, name, planned.row_format.name, whole)
        put_backfill(c, name, RUNNING)
        if width is not None:
            change.switch_generation(c, name, 1, width=width, n_pictures=0, files=files)
    _fill_or_drop(store, name, workers=workers, report=report)


def _try_out(planned: Space, workers: Workers | None) -> None:
    """Run untrusted code once in a local worker: at worst that worker ends."""

    def failed(_: Space, failure: pool.Failure) -> LikewiseError:
        return CannotDescribe(f"space {planned.name!r} cannot be tried out: a trial {failure}")

    n = 0 if workers == 0 else 1
    (refused,) = pool.run(_trial, [planned], n, failed, try_slow_again=False)
    if refused is not None:
        raise refused


def _trial(planned: Space) -> LikewiseError | None:
    """Try a space in a worker; return our errors."""
    try:
        planned.try_out()
    except LikewiseError as error:
        return error
    return None


def is_unfinished(store: Store, name: str, recipe: Recipe) -> bool:
    """Return whether a job died while making a space by this recipe; the caller holds the lease.

    The recipe in the catalog is longer for a kind that copies files or is bound to another space.
    """
    lacks, row = backfill_of(store, name), store.spaces()[name]
    same = all(row.recipe.get(key) == value for key, value in recipe.items() if key != "path")
    return lacks is not None and lacks.state == RUNNING and same


def finish_space(store: Store, name: str, *, workers: Workers | None, report: Report) -> None:
    """Make the missing rows of a space whose job died; the caller holds the lease."""
    if store.spaces()[name].generation:
        fill_gaps(store, workers=workers, report=report)
    else:
        _fill_or_drop(store, name, workers=workers, report=report)


def _fill_or_drop(store: Store, name: str, *, workers: Workers | None, report: Report) -> None:
    try:
        _fill(store, name, workers=workers, report=report)
    except Exception:
        # A space whose rows cannot be made would fail in every later add.
        with store.write(durable=True) as c:
            change.drop_space(c, name)
        raise
    settle_backfill(store, name)


def _fill(store: Store, name: str, *, workers: Workers | None, report: Report) -> None:
    space = open_space(store.root, store.spaces()[name])
    count = n_workers(workers, store.n_images())
    if not (space.describes_pictures or space.must_learn):
        return
    space.load()
    if space.must_learn:
        learn_space(store, space, workers=count, report=report)
        return
    pictures = [(row.id, row.path) for row in store.every_image() if row.path]
    problems = describe_all(store, space, pictures, count, report)
    found = [reason for reason in problems if reason.startswith(UNDESCRIBED)]
    if found and sum(problems[reason] for reason in found) == len(pictures):
        # Every later add would fail on this space as well.
        raise CannotDescribe(f"no picture gets a vector in space {name!r}: {found[0]}")
