"""The extension points: five groups of entry points, and the loader that every user of them shares.

A package extends Likewise by one entry point in its metadata and nothing else; ``docs/plugins.md``
has an example of each.  A plug-in is imported when it is first needed.  One that cannot be imported
is reported by name and skipped; ``likewise admin plugins`` lists all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from likewise.errors import LikewiseError

SPACES = "likewise.spaces"
ENGINES = "likewise.engines"
CATALOGS = "likewise.catalogs"
COMMANDS = "likewise.commands"
DESCRIBERS = "likewise.describers"
SYNC = "sync"
"""The name in ``likewise.engines`` that is no scheme: the class that keeps engines up to date."""


class Group(NamedTuple):
    """What the name and the value of an entry point are, and where the contract stands."""

    name: str
    value: str
    contract: str


GROUPS = {
    SPACES: Group("the feature of a recipe", "a subclass of Space", "likewise.spaces.base.Space"),
    ENGINES: Group(
        "the scheme of an address, as in qdrant://",
        "a function that opens an Engine, whose stores are RowStores",
        "likewise.engines.protocol.Engine",
    ),
    CATALOGS: Group(
        "the scheme of an address, as in postgresql://",
        "a CatalogPlugin, which opens catalogs and moves them",
        "likewise.catalog.locations.CatalogPlugin",
    ),
    COMMANDS: Group(
        "a command, a group of commands, or an option such as --scheduler",
        "a function for typer, a typer.Typer, or what the option calls",
        "typer",
    ),
    DESCRIBERS: Group(
        "the describer's name", "a subclass of Describer", "likewise.describers.Describer"
    ),
}
_OURS = {
    "likewise-cluster[qdrant]": {ENGINES: {"qdrant", "qdrants", "qdrant-edge"}},
    "likewise-cluster[postgres]": {CATALOGS: {"postgresql", "postgres"}},
    "likewise-cluster[dask]": {COMMANDS: {"--scheduler"}},
    "likewise-cluster": {
        ENGINES: {SYNC},
        COMMANDS: {"admin.push", "admin.engine", "admin.move", "--against"},
    },
    "likewise-lab": {COMMANDS: {"demo", "evaluate.dataset", "models.classify"}},
}
"""What packages of this repository provide, to name the one that is not installed."""


class PluginError(LikewiseError):
    """A plug-in that cannot be used."""


class PluginMissing(PluginError):
    """No installed package provides this plug-in; ``package`` would, where it is one of ours."""

    def __init__(self, name: str, package: str | None, installed: Iterable[str]) -> None:
        known = ", ".join(sorted(installed)) or "none"
        remedy = f"installed are {known}" if package is None else f"pip install '{package}'"
        super().__init__(f"{name!r} is not installed; {remedy}")
        self.package = package


class PluginBroken(PluginError):
    """A plug-in that cannot be imported, or that two packages provide."""


@dataclass(frozen=True)
class Plugin:
    """An installed plug-in; ``error`` says why it cannot be used."""

    group: str
    name: str
    package: str
    value: str
    error: str | None = None


def points_of(group: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the entry points of a group by name; several where packages clash."""
    return _find_points(group, tuple(sys.path))


@lru_cache(maxsize=16)
def _find_points(group: str, path: tuple[str, ...]) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Read the metadata of installed packages once for each ``sys.path``; it is slow."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=group):
        if point not in found.get(point.name, ()):
            found[point.name] = (*found.get(point.name, ()), point)
    return found


def package_of(point: EntryPoint) -> str:
    """Return the name of the package that provides an entry point."""
    return point.value.partition(":")[0] if point.dist is None else point.dist.name


def package_for(group: str, name: str) -> str | None:
    """Return the package of this repository that provides a plug-in, as pip installs it."""
    ours = (package for package, names in _OURS.items() if name in names.get(group, ()))
    return next(ours, None)


def find(group: str, name: str) -> EntryPoint:
    """Return the entry point of a plug-in without importing it.

    Raises :class:`PluginMissing`, with the package to install where it is one of ours, or
    :class:`PluginBroken`.
    """
    found = points_of(group).get(name, ())
    if not found:
        raise PluginMissing(name, package_for(group, name), points_of(group))
    if len(found) > 1:
        packages = ", ".join(map(package_of, found))
        raise PluginBroken(f"several packages provide {name!r}: {packages}; uninstall all but one")
    return found[0]


def load(group: str, name: str) -> Any:
    """Import a plug-in; raises what :func:`find` raises, and :class:`PluginBroken`."""
    point = find(group, name)
    try:
        return point.load()
    except Exception as error:
        raise PluginBroken(
            f"plug-in {name!r} of {package_of(point)} ({point.value}) cannot be loaded: "
            f"{type(error).__name__}: {error}; repair or uninstall it"
        ) from error


def load_all(group: str, *, options: bool = False) -> tuple[dict[str, Any], list[Plugin]]:
    """Import every plug-in of a group: what was loaded by name, and what was skipped.

    ``options`` includes names such as ``--scheduler``, which the list of commands does not need.
    """
    loaded: dict[str, Any] = {}
    skipped = []
    for name, found in sorted(points_of(group).items()):
        if name.startswith("-") and not options:
            continue
        try:
            loaded[name] = load(group, name)
        except PluginError as error:
            skipped += [Plugin(group, name, package_of(p), p.value, str(error)) for p in found]
    return loaded, skipped


def list_plugins() -> list[Plugin]:
    """Return every installed plug-in with its state; imports all of them."""
    listed = []
    for group in GROUPS:
        loaded, skipped = load_all(group, options=True)
        points = {name: found[0] for name, found in points_of(group).items() if name in loaded}
        listed += [Plugin(group, n, package_of(p), p.value) for n, p in sorted(points.items())]
        listed += skipped
    return listed
