"""The demo's themes: groups of photographs that belong together.

A network finds views of one photograph without teaching, but not that bricks, grass and gravel
belong together.  Themes are chosen by what the photographs show.  Photographs without a theme are
not judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from likewise_methods.evaluation import RetrievalQuery, leave_one_out

THEMES: Mapping[str, Sequence[str]] = {
    "surfaces": ("brick", "grass", "gravel"),
    "space": ("astronaut", "hubble_deep_field", "moon", "rocket"),
    "under a lens": ("cell", "ihc", "retina"),
    "writing": ("page", "text"),
}
"""Themes, each with its planted scenes."""


def scene_of(view: str) -> str:
    """Return the scene of a planted view, by its name."""
    return view.rsplit("-", 2)[0]


def theme_of(view: str) -> str:
    """Return the theme of a planted view; its scene where it has no theme."""
    scene = scene_of(view)
    return next((theme for theme, scenes in THEMES.items() if scene in scenes), scene)


def theme_queries(views: Iterable[str]) -> list[RetrievalQuery]:
    """Return a query of each view for all others of its theme."""
    return leave_one_out({view: theme_of(view) for view in views})


def judged_views(queries: Iterable[RetrievalQuery]) -> list[str]:
    """Return the names of the queries to judge: the original of each scene with a theme."""
    return [
        query.name
        for query in queries
        if query.group in THEMES and query.query.rsplit("-", 2)[1] == "00"
    ]
