"""Describers of a collection: turn them on and off, run them in workers, store their facts.

Each picture is a separate task for each describer, after the picture itself is committed, so a
failing describer costs only its facts.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from likewise.catalog import fact_table as table
from likewise.catalog.content import read_content
from likewise.catalog.jobs import Pace, Progress, Report, silent
from likewise.catalog.store import Store
from likewise.catalog.word_index import fold, spread
from likewise.describers import Fact, check_facts, open_describer
from likewise.errors import ImageError, LikewiseError, UnknownName
from likewise.images.decode import decode, shrink
from likewise.ingest.pool import Failure, Workers, n_workers, picture_seconds, run
from likewise.ingest.remote_paths import Needs, RemotePaths
from likewise.plugins import DESCRIBERS, PluginBroken, PluginError, find, points_of

_BATCH = 32
_TIMES = 3
"""Processor time for a picture, as a multiple of that of describing it by rows."""
_GIVE_UP = 3
"""Crashes and timeouts in a row after which a describer is stopped until the next add."""


class _Task(NamedTuple):
    """One picture for one describer; ``path`` is empty if only the describer is checked."""

    describer: str
    image: int = 0
    path: str = ""

    def needs(self) -> Needs:
        return Needs(self.path or None)

    def at(self, there: RemotePaths) -> _Task:
        return self._replace(path=there.path(self.path))

    def bring_back(self, answer: _Answer) -> _Answer:
        return answer


class _Answer(NamedTuple):
    """The facts of a picture, or a problem; ``failure`` if a worker ended."""

    image: int
    version: str = ""
    facts: Sequence[Fact] = ()
    problem: str | None = None
    failure: str | None = None


class Describers:
    """The describers of a collection: what is installed, what is turned on, what they found."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def installed(self) -> list[str]:
        """Return the describers that packages on this machine provide."""
        return sorted(points_of(DESCRIBERS))

    def active(self) -> Mapping[str, table.DescriberState]:
        """Return the describers that are turned on, and the progress of each."""
        names = table.describer_names(self._store)
        return {name: table.describer_state(self._store, name) for name in names}

    def add(
        self, name: str, *, workers: Workers | None = None, report: Report = silent
    ) -> table.DescriberState:
        """Turn a describer on and run it on every picture; each add runs it on new ones.

        A repeated call tries pictures again that failed or that another version described.
        """
        store = self._store
        with store.lease("describer add"):
            find(DESCRIBERS, name)
            checked = _check(name, n_workers(workers, 1))
            if checked.problem is not None:
                raise PluginBroken(checked.problem)
            with store.write(durable=True) as c:
                table.put_describer(c, name)
                table.forget_failures(c, name, checked.version)
            problem = _fill(store, name, workers, report)
        if problem is not None:
            raise PluginBroken(problem)
        return table.describer_state(store, name)

    def drop(self, name: str) -> None:
        """Turn a describer off and delete its facts."""
        with self._store.lease("describer drop"):
            if name not in table.describer_names(self._store):
                raise UnknownName(f"no describer {name!r} is turned on")
            with self._store.write(durable=True) as c:
                table.drop_describer(c, name)

    def problems(self, name: str) -> dict[str, int]:
        """Return why pictures have no facts of a describer, and how many, most first."""
        return table.describer_problems(self._store, name)

    def facts(self, image: int) -> list[table.FactRow]:
        """Return the facts of a picture."""
        return table.facts_of(self._store, [image]).get(image, [])


def fill_facts(store: Store, *, workers: Workers | None, report: Report) -> list[tuple[str, str]]:
    """Run each describer on the pictures it has not tried; return (describer, problem) pairs."""
    found = []
    for name in table.describer_names(store):
        problem = _fill(store, name, workers, report)
        if problem is not None:
            found.append((f"describer {name}", problem))
    return found


def _fill(store: Store, name: str, workers: Workers | None, report: Report) -> str | None:
    """Run one describer; return why it stopped early."""
    paths = store.paths(table.images_without_facts(store, name))
    tasks = [
        _Task(name, image, path)
        for image, path in paths.items()
        if path and os.access(path, os.R_OK)
    ]
    if not tasks:
        return None
    count = n_workers(workers, len(tasks))
    checked = _check(name, count)
    if checked.problem is not None:
        return checked.problem
    batch: list[_Answer] = []
    in_a_row, pace = 0, Pace()

    def put() -> None:
        with store.write() as c:
            for one in batch:
                version = one.version or checked.version
                words = {word for fact in one.facts for word in fold(spread(fact.text)).split()}
                table.put_facts(c, name, version, one.image, one.facts, words, one.problem)
        batch.clear()

    try:
        with closing(_run(tasks, count)) as answers:
            for done, one in enumerate(answers, 1):
                in_a_row = in_a_row + 1 if one.failure is not None else 0
                if one.failure != "killed":  # the system killed it: tried again
                    batch.append(one)
                if len(batch) >= _BATCH:
                    put()
                report(
                    Progress(f"running describer {name}", done, len(tasks), rate=pace.rate(done))
                )
                if in_a_row == _GIVE_UP and done < len(tasks):
                    return (
                        f"stopped after {_GIVE_UP} pictures in a row failed "
                        f"(the last: {one.problem})"
                    )
    finally:
        put()
    return None


def _run(tasks: list[_Task], workers: Workers) -> Generator[_Answer, None, None]:
    yield from run(_work, tasks, workers, _failed, seconds=_TIMES * picture_seconds())


def _check(name: str, workers: Workers) -> _Answer:
    """Return a describer's version, or why it cannot run."""
    try:
        find(DESCRIBERS, name)
    except PluginError as error:
        return _Answer(0, problem=str(error))
    (answer,) = _run([_Task(name)], workers)
    return answer


def _work(task: _Task) -> _Answer:
    """In a worker: read a picture and describe it."""
    try:
        describer = open_describer(task.describer)
        version = describer.version
        if not task.path:
            missing = describer.missing()
            problem = None if missing is None else f"describer {task.describer!r} needs {missing}"
            return _Answer(0, version, problem=problem)
        side = int(describer.max_side)
        picture = decode(read_content(task.path), max_side=side)
        facts = check_facts(describer.describe(shrink(picture.pixels, side)))
        return _Answer(task.image, version, facts)
    except ImageError as error:
        return _Answer(task.image, problem=error.reason)
    except LikewiseError as error:
        return _Answer(task.image, problem=str(error))
    except Exception as error:
        # Code of another package: any error costs the facts of one picture.
        return _Answer(task.image, problem=f"{type(error).__name__}: {error}"[:500])


def _failed(task: _Task, failure: Failure) -> _Answer:
    return _Answer(task.image, problem=str(failure), failure=failure.kind)
