"""What belongs together in the demo: themes of several photographs, as a person would sort them.

A network holds views of one photograph together without being told, but it cannot know that
somebody keeps bricks, grass and gravel in one folder.  Themes are such a notion: everybody sees
what is meant, most of it is missed before anybody judges, and the truth is known.  They were set
down from what the photographs show.  Photographs of no theme stay alone, and nobody judges them.
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
"""Themes, each with the planted scenes of it."""


def scene_of(view: str) -> str:
    """The scene of a planted view, by its name."""
    return view.rsplit("-", 2)[0]


def theme_of(view: str) -> str:
    """The theme of a planted view; the scene itself where it has none."""
    scene = scene_of(view)
    return next((theme for theme, scenes in THEMES.items() if scene in scenes), scene)


def theme_queries(views: Iterable[str]) -> list[RetrievalQuery]:
    """Every view in turn, which asks for all others of its theme."""
    return leave_one_out({view: theme_of(view) for view in views})


def judged_views(queries: Iterable[RetrievalQuery]) -> list[str]:
    """The queries somebody judges: one of each scene that has a theme, the photograph itself."""
    return [
        query.name
        for query in queries
        if query.group in THEMES and query.query.rsplit("-", 2)[1] == "00"
    ]
