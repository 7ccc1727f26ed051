"""Finding and reading the files of a data set, so that what goes wrong is said in one way.

Everything a reader touches goes through here: a missing folder, bytes that are no text, two
photos of one name all leave as a :class:`~likewise.errors.DatasetError` that names the file.
"""

from __future__ import annotations

import filecmp
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from likewise.errors import DatasetError
from likewise_lab.evaluation.folders import files_below as files_below
from likewise_lab.evaluation.folders import is_hidden as is_hidden
from likewise_lab.evaluation.folders import is_picture as is_picture


def need_folder(path: str | os.PathLike[str], layout: str) -> Path:
    """The folder, or a refusal that says which layout was expected."""
    folder = Path(path)
    if not folder.is_dir():
        state = "is not a folder" if folder.exists() else "is not there"
        raise DatasetError(f"{folder} {state}; expected {layout}")
    return folder


def need_file(path: Path, layout: str) -> Path:
    """The file, or a refusal that says which layout was expected."""
    if not path.is_file():
        raise DatasetError(f"{path} is not there; expected {layout}")
    return path


def photos_by_name(root: Path) -> dict[str, Path]:
    """The pictures below a folder by name without suffix, which must be unique."""
    photos: dict[str, Path] = {}
    for path in files_below(root):
        if not is_picture(path.name):
            continue
        other = photos.setdefault(path.stem, path)
        if other is not path:
            raise DatasetError(
                f"two pictures are called {path.stem}: {other} and {path}; "
                "one photo a name expected"
            )
    return photos


class Catalogue:
    """The files below a folder by bare name: official archives get unpacked in many ways."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._paths: dict[str, list[Path]] = {}
        for path in files_below(root):
            self._paths.setdefault(path.name, []).append(path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def find(self, name: str) -> Path | None:
        """The file of that name; copies are fine if they are the same byte for byte."""
        paths = self._paths.get(name, [])
        for other in paths[1:]:
            if not filecmp.cmp(paths[0], other, shallow=False):
                raise DatasetError(
                    f"two different files are called {name}: {paths[0]} and {other}; "
                    "give the folder of one of them as root"
                )
        return paths[0] if paths else None

    def need(self, name: str, layout: str) -> Path:
        """The file of that name, or a refusal that says what it is for."""
        path = self.find(name)
        if path is None:
            raise DatasetError(f"no {name} anywhere below {self.root}; expected {layout}")
        return path


def read_bytes(path: Path) -> bytes:
    """The content of a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read ({error.strerror})") from error


def read_text(path: Path) -> str:
    """The content of a text file; a byte order mark is dropped."""
    content = read_bytes(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DatasetError(f"{path}, line {line}: not UTF-8 text") from error


def read_lines(path: Path) -> list[tuple[int, str]]:
    """(line number, text) of the lines that are not blank, numbers from 1, text stripped."""
    numbered = ((n, line.strip()) for n, line in enumerate(read_text(path).split("\n"), 1))
    return [(n, line) for n, line in numbered if line]


def whole_number(text: str, where: str, low: int, high: int | None = None) -> int:
    """An integer of plain digits in [low, high], or a refusal that shows what stood there."""
    value = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
    if value is None or value < low or (high is not None and value > high):
        wanted = f"{low} or more" if high is None else f"{low} to {high}"
        raise DatasetError(f"{where}: {text[:40]!r} where a whole number, {wanted}, was expected")
    return value


def first_missing(numbers: Sequence[int], start: int = 0) -> int | None:
    """The first number missing from a run start, start + 1, …; None if the run has no gap."""
    for expected, number in enumerate(sorted(numbers), start):
        if number != expected:
            return expected
    return None
