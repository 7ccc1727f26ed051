"""Named keys where the catalog is in PostgreSQL: moved there and back, and one truth for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from likewise.catalog.key_table import Actor, acting
from likewise.collection.collection import Collection
from tests.cluster.postgres.cases import ENGINES, moved
from tests.cluster.postgres.server import Server
from tests.product.collection.loop_cases import copied


def test_a_move_there_and_back_keeps_keys(server: Server, tmp_path: Path) -> None:
    root = copied(tmp_path)
    with Collection.open(root) as col:
        made = col.keys.add("ada", "judge")
        gone = col.keys.add("bob", "manage")
        col.keys.revoke("bob")
        with acting(Actor(made.key.id, "ada")):
            col.judge(1, [2], [3])
            col.tag(4, "sea")
        due = list(col.keys)
    Collection.move(root, server.address())
    for _ in range(2):
        with Collection.open(root) as col:
            assert list(col.keys) == due
            assert col.keys.of_secret(made.secret) == made.key
            assert col.keys.of_secret(gone.secret) is None
            assert col.verify() == []
        if col.root.joinpath("catalog.sqlite").is_file():
            break
        Collection.move(root, "sqlite")
    else:
        raise AssertionError("it never came back")


@pytest.mark.parametrize("engine", ENGINES)
def test_closing_and_taking_back(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    root = (
        moved(request.getfixturevalue("server"), tmp_path)
        if engine == "postgres"
        else copied(tmp_path)
    )
    with Collection.open(root) as one, Collection.open(root) as two:
        ada = one.keys.add("ada", "judge")
        assert two.keys.of_secret(ada.secret) == ada.key
        assert two.keys.of_id(ada.key.id) == ada.key
        order = [hit.id for hit in two.search(1, by="words")]
        with acting(Actor(ada.key.id, "ada")):
            two.judge(1, [order[-1]], [order[0]])
            two.tags.change([1, 2], ["seen"])
        one.keys.note_use(ada.key)
        assert two.keys["ada"].used is not None
        one.keys.revoke("ada")
        # What another server asks next is refused: nothing is remembered of a key.
        assert two.keys.of_secret(ada.secret) is None
        assert two.keys.of_id(ada.key.id) is None
        done = one.keys.take_back(ada.key.id)
        assert (done.judgements, done.tags) == (1, 1)
        assert two.tags.of(1) == []
        two.actions.undo(done.action)
        assert one.tags.of(1) == ["seen"]
        assert [line.stands for line in one.log.entries() if line.kind == "judge"] == [True]
        assert one.verify() == []
