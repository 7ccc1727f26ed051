"""The one error of this room: an index on disk that cannot be trusted."""

from __future__ import annotations

from likewise_methods.errors import LikewiseError


class DamagedIndex(LikewiseError):
    """A saved index is not what was written: ``path`` names the file, ``found`` the fault."""

    def __init__(self, path: str, found: str) -> None:
        super().__init__(path, found)
        self.path = path
        self.found = found

    def __str__(self) -> str:
        return f"{self.path}: {self.found}; restore it from a copy, or build the index again"
