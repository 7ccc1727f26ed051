"""Workers of ``likewise add`` are started early where there is certainly work for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from likewise.cli import pictures as commands
from likewise.ingest import pool


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []
    monkeypatch.setattr(pool, "prestart", lambda count, modules: found.append(count))
    return found


def folder_of(place: Path, count: int) -> Path:
    for number in range(count):
        name = place / "some" / str(number % 3) / f"{number}.jpg"
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_bytes(b"")
    return place / "some"


def test_for_many_pictures_of_a_new_collection(tmp_path: Path, started: list[int]) -> None:
    commands._prestart_workers(tmp_path / "new.lw", [folder_of(tmp_path, 60)])
    assert started == [pool.default_workers()]


def test_not_for_a_few_pictures(tmp_path: Path, started: list[int]) -> None:
    commands._prestart_workers(tmp_path / "new.lw", [folder_of(tmp_path, 20), tmp_path / "missing"])
    assert started == []


def test_not_where_all_may_be_known(tmp_path: Path, started: list[int]) -> None:
    (tmp_path / "old.lw").mkdir()
    commands._prestart_workers(tmp_path / "old.lw", [folder_of(tmp_path, 60)])
    assert started == []


def test_a_machine_that_starts_none_is_told_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(count: int, modules: tuple[str, ...]) -> None:
        raise pool.WorkersCannotStart("no")

    monkeypatch.setattr(pool, "prestart", refuse)
    commands._prestart_workers(tmp_path / "new.lw", [folder_of(tmp_path, 60)])
