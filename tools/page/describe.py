"""Print the server's OpenAPI description; the types of the page's JSON are made from it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from likewise.collection.collection import Collection
from likewise.server.access import Access
from likewise.server.app import make_app


def description() -> str:
    """The description as JSON; it is the same for every collection."""
    with TemporaryDirectory() as folder:
        root = Path(folder) / "empty.lw"
        Collection.create(root, deep=False).close()
        _, app = make_app(root, Access(frozenset()))
        try:
            return json.dumps(app.openapi(), indent=1)
        finally:
            app.state.service.close()


if __name__ == "__main__":
    sys.stdout.write(description())
