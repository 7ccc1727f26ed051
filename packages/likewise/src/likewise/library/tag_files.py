"""Tags from a CSV or JSON file: tolerant in what it reads, exact in its error messages.

CSV: a picture and its tags a line, separated by comma, semicolon, tab or bar; further columns are
further tags.  A heading is recognised; without one the character after the name of a picture is the
delimiter.  JSON: {path: [tags]}, or a list of {"path": …, "tags": […]}.  A picture that is named
twice has the tags of both.  The output of ``likewise export`` can be read.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from likewise.catalog import tag_tables
from likewise.catalog.store import Store
from likewise.catalog.tag_tables import FILE, clean
from likewise.errors import CollectionError, InvalidInput

MAX_BYTES = 512 << 20
_PICTURE = ("path", "file", "filename", "file_name", "sourcefile", "picture", "image", "photo")
_TAGS = ("tags", "tag", "keywords", "keyword", "labels", "label", "subject", "class")
_ID = "id"
_DELIMITERS = ",;\t|"
_LOOKED_AT = 50
# Spreadsheets write the delimiter in the first line.
_SEP = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
_AFTER_NAME = re.compile(r'.*?\.\w{2,5}"?\s*?([,;\t|])')


class Entry(NamedTuple):
    """One picture with its tags in a file."""

    where: str
    picture: str | int
    tags: list[str]


@dataclass
class TagImport:
    """The result of an import.

    Attributes
    ----------
    pictures, tags : int
        Pictures that got tags, and how many tags.
    refused : int
        Tags that a person had refused.
    unknown : list of (str, str)
        (place in the file, picture) that are not in the collection.

    See Also
    --------
    TagRow : the tags there are.
    """

    pictures: int = 0
    tags: int = 0
    refused: int = 0
    unknown: list[tuple[str, str]] = field(default_factory=list)


def import_tags(store: Store, path: Path, *, replace: bool = False) -> TagImport:
    """Import a file in one transaction; unknown pictures are listed.

    ``replace``: its tags replace those of earlier files for the same pictures.
    """
    finder = _Finder(store, path.parent)
    entries = list(read_entries(path, lambda name: isinstance(finder.find(name), int)))
    result = TagImport()
    said: dict[int, list[str]] = {}
    for entry in entries:
        image = finder.find(entry.picture)
        if isinstance(image, int):
            said.setdefault(image, []).extend(entry.tags)
        else:
            result.unknown.append((entry.where, image))
    said = {image: list(dict.fromkeys(tags)) for image, tags in said.items()}
    with store.write(durable=True) as c:
        if replace:
            tag_tables.replace_source(c, FILE, said)
        else:
            tag_tables.put_sources(c, FILE, [(i, tag) for i, tags in said.items() for tag in tags])
        refused = tag_tables.refused_of_many(store, said)
    result.pictures = len(said)
    result.tags = sum(map(len, said.values()))
    result.refused = sum(len(refused.get(i, set()) & set(tags)) for i, tags in said.items())
    return result


# -- files ----------------------------------------------------------------------------------


def read_entries(path: Path, known: Callable[[str], bool]) -> Iterator[Entry]:
    """Yield the entries of a JSON or CSV file; ``known`` recognises names of pictures."""
    text = _text(path)
    if path.suffix.lower() == ".json" or text.lstrip()[:1] in ("{", "["):
        return _json(path, text)
    return _csv(path, text, known)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise CollectionError(f"{path} has more than {MAX_BYTES:,} bytes; split it")
        raw = path.read_bytes()
    except OSError as error:
        raise CollectionError(f"{path} cannot be read: {error.strerror}") from error
    try:
        # Spreadsheets write UTF-16 with a byte order mark, and UTF-8 with and without one.
        marked = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
        return raw.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise InvalidInput(f"{path}, line {line}: not UTF-8; save it as UTF-8") from error


def _csv(path: Path, text: str, known: Callable[[str], bool]) -> Iterator[Entry]:
    delimiter, top = _delimiter(text, known)
    table = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    columns: _Columns | None = None
    line = 0
    try:
        while True:
            line = table.line_num + 1
            cells = next(table, None)
            if cells is None:
                return
            if line <= top or not any(cell.strip() for cell in cells):
                continue
            if columns is None:
                columns, headed = _columns(cells)
                if headed:
                    continue
            where = f"line {line}"
            yield columns.entry(f"{path}, {where}", where, cells, delimiter)
    except csv.Error as error:
        why = "a quote is opened and not closed" if "end of data" in str(error) else str(error)
        raise InvalidInput(f"{path}, line {line}: {why}") from error


def _delimiter(text: str, known: Callable[[str], bool]) -> tuple[str, int]:
    """Return (the delimiter, how many lines at the top only declare it)."""
    first, *more = [*_some_lines(text), (1, "")]
    said = _SEP.fullmatch(first[1])
    if said is not None:
        return said[1], first[0]
    for sign in _DELIMITERS:
        if sign in first[1] and _columns(_cells(first[1], sign))[1]:
            return sign, 0
    # Without a heading: the delimiter for which the first cells are pictures.  Counting would fail,
    # as a cell of tags may hold more separators than the line has columns.
    lines = [line for _, line in (first, *more)]
    found = {
        sign: sum(sign in line and known(_cells(line, sign)[0].strip()) for line in lines)
        for sign in _DELIMITERS
    }
    if any(found.values()):
        return max(_DELIMITERS, key=lambda sign: found[sign]), 0
    after = next(filter(None, map(_AFTER_NAME.match, lines)), None)
    if after is not None:
        return after[1], 0
    return max(_DELIMITERS, key=first[1].count), 0


def _some_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number, line) of the first lines that are not empty."""
    seen = 0
    for number, line in enumerate(io.StringIO(text, newline=""), 1):
        if line.strip() and seen < _LOOKED_AT:
            seen += 1
            yield number, line.strip("\r\n")
        elif seen >= _LOOKED_AT:
            return


def _cells(line: str, delimiter: str) -> list[str]:
    """Return the cells of one line, at least one."""
    return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), None) or [""]


class _Columns(NamedTuple):
    """Where a table has the picture and its tags; None: all columns after the picture."""

    picture: int
    by_id: bool
    tags: tuple[int, ...] | None

    def entry(self, at: str, where: str, cells: Sequence[str], delimiter: str) -> Entry:
        named = cells[self.picture].strip() if self.picture < len(cells) else ""
        if not named:
            raise InvalidInput(f"{at}: it names no picture")
        places = self.tags or range(self.picture + 1, len(cells))
        texts = [cells[i] for i in places if i < len(cells)]
        if any("\n" in text or "\r" in text for text in texts):
            raise InvalidInput(f"{at}: a tag spans several lines; is a quote not closed?")
        try:
            tags = [clean(tag) for text in texts for tag in split_tags(text, delimiter)]
        except InvalidInput as error:
            raise InvalidInput(f"{at}: {error}") from error
        if not tags and self.tags is None and len(cells) < 2:
            raise InvalidInput(f"{at}: one column; a picture and its tags expected")
        return Entry(where, _number(at, named) if self.by_id else named, tags)


def _columns(cells: Sequence[str]) -> tuple[_Columns, bool]:
    """Return the columns by the heading, and whether there is one."""
    names = [cell.strip().lstrip("\ufeff").lower() for cell in cells]
    pictures = [i for i, name in enumerate(names) if name in _PICTURE]
    tags = tuple(i for i, name in enumerate(names) if name in _TAGS)
    if pictures and tags:
        return _Columns(pictures[0], False, tags), True
    if _ID in names and tags:
        return _Columns(names.index(_ID), True, tags), True
    if pictures and pictures[0] == 0:
        return _Columns(0, False, None), True
    return _Columns(0, False, None), False


def split_tags(text: str, delimiter: str = ",") -> list[str]:
    """Return the tags of one cell.

    >>> split_tags("sea; boat"), split_tags('["a, b", "c"]'), split_tags("New York")
    (['sea', 'boat'], ['a, b', 'c'], ['New York'])
    """
    plain = text.strip()
    if plain.startswith("["):
        try:
            found = json.loads(plain)
        except ValueError:
            found = None
        if isinstance(found, list) and all(isinstance(tag, str) for tag in found):
            return found
    for sign in (";", "|", ","):
        if sign != delimiter and sign in plain:
            return [part.strip() for part in plain.split(sign) if part.strip()]
    return [plain] if plain else []


def _json(path: Path, text: str) -> Iterator[Entry]:
    try:
        found = json.loads(text, object_pairs_hook=_Object)
    except ValueError as error:
        line = getattr(error, "lineno", 0)
        raise InvalidInput(f"{path}, line {line}: no JSON ({error})") from error
    except RecursionError as error:
        raise InvalidInput(f"{path}: nested too deeply") from error
    if isinstance(found, _Object):
        for name, tags in found.pairs:
            where = f"entry {name!r}"
            yield Entry(where, name, _tags(f"{path}, {where}", tags))
        return
    if not isinstance(found, list):
        raise InvalidInput(f"{path}: {{path: [tags]}} or a list of entries expected")
    for number, one in enumerate(found, 1):
        where = f"entry {number}"
        if not isinstance(one, _Object):
            raise InvalidInput(f'{path}, {where}: {{"path": …, "tags": […]}} expected')
        lower = {key.lower(): value for key, value in one.pairs}
        if len(lower) < len(one.pairs):
            raise InvalidInput(f"{path}, {where}: a name occurs twice ({', '.join(lower)})")
        picture = next((lower[key] for key in _PICTURE if key in lower), None)
        if picture is None and _ID in lower:
            picture = _number(f"{path}, {where}", lower[_ID])
        if isinstance(picture, bool) or not isinstance(picture, str | int) or picture == "":
            raise InvalidInput(f'{path}, {where}: no "path" (or "id")')
        tags = next((lower[key] for key in _TAGS if key in lower), None)
        yield Entry(where, picture, _tags(f"{path}, {where}", tags))


class _Object:
    """A JSON object with all its names, including duplicates."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs


def _number(at: str, value: Any) -> int:
    """Return an id, which some programs write as text."""
    text = str(value).strip()
    if isinstance(value, bool) or not (text.isascii() and text.isdigit() and len(text) < 19):
        raise InvalidInput(f"{at}: {value!r} is no id; a whole number expected")
    return int(text)


def _tags(at: str, value: Any) -> list[str]:
    if isinstance(value, str):
        value = split_tags(value, "\0")
    if not isinstance(value, list):
        raise InvalidInput(f"{at}: tags are {value!r}; a list of names expected")
    try:
        return [clean(tag) for tag in value]
    except InvalidInput as error:
        raise InvalidInput(f"{at}: {error}") from error


# -- pictures -------------------------------------------------------------------------------


class _Finder:
    """Find pictures by id, path, or the end of a path."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._folder = os.path.abspath(folder)
        self._ids = store.ids()
        self._paths = dict(tag_tables.picture_files(store))
        self._by_name: dict[str, list[str]] = {}
        for path in self._paths:
            self._by_name.setdefault(os.path.basename(path), []).append(path)

    def find(self, named: str | int) -> int | str:
        """Return the picture, or a text that says what is wrong with its name."""
        if isinstance(named, int):
            return named if named in self._ids else f"{named}"
        plain = named.replace("\\", "/") if os.sep == "/" and "/" not in named else named
        expanded = os.path.expanduser(plain)
        for start in (self._folder, os.getcwd()):
            image = self._paths.get(os.path.abspath(os.path.join(start, expanded)))
            if image is not None:
                return image
        end = os.sep + os.path.normpath(plain).lstrip("./\\")
        same = [p for p in self._by_name.get(os.path.basename(plain), ()) if p.endswith(end)]
        images = {self._paths[path] for path in same}
        if len(images) == 1:
            return images.pop()
        return f"{named} ({len(images)} pictures have this name)" if images else named
