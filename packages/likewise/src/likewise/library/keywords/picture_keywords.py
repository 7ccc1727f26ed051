"""Keywords inside pictures: they belong to the content and are read once, when it is added."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from likewise.catalog import tag_tables
from likewise.catalog.jobs import Progress, Report
from likewise.catalog.store import Store
from likewise.catalog.tag_tables import IPTC, XMP
from likewise.errors import ImageError
from likewise.images.decode import Packets, decode, packets
from likewise.library.keywords.embedded import embedded_keywords

_BATCH = 500
_PNG = b"\x89PNG\r\n\x1a\n"
_TEXTS = (b"iTXt", b"zTXt", b"tEXt", b"eXIf")


@dataclass
class KeywordsFound:
    """What a look at keywords found; ``problems`` are files that could not be read."""

    said: dict[int, set[str]] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)

    @property
    def pictures(self) -> int:
        """Pictures that have keywords."""
        return sum(map(bool, self.said.values()))

    @property
    def tags(self) -> int:
        """Keywords of all pictures, each counted once a picture."""
        return sum(map(len, self.said.values()))

    def __add__(self, other: KeywordsFound) -> KeywordsFound:
        said = {i: self.said.get(i, set()) | other.said.get(i, set()) for i in self.said}
        return KeywordsFound({**other.said, **said}, self.problems + other.problems)


def reread_keywords(store: Store, report: Report) -> KeywordsFound:
    """Keywords inside every picture of the collection, for those added before they were read."""
    result = KeywordsFound()
    total = store.n_images()
    found: dict[str, dict[int, list[str]]] = {XMP: {}, IPTC: {}}

    def write_batch() -> None:
        with store.write() as c:
            for source, said in found.items():
                tag_tables.replace_source(c, source, said)
        for said in found.values():
            said.clear()

    for done, row in enumerate(store.every_image(), 1):
        try:
            said, problem = embedded_keywords(_read_packets(row.path))
        except ImageError as error:
            # A disk that is not there has not taken the keywords back.
            result.problems.append((row.path, error.reason))
            continue
        if problem is not None:
            result.problems.append((row.path, problem))
            continue
        for source in (XMP, IPTC):
            found[source][row.id] = said.get(source, [])
        result.said[row.id] = {tag for tags in said.values() for tag in tags}
        report(Progress("reading keywords", done, total, problems=len(result.problems)))
        if done % _BATCH == 0:
            write_batch()
    write_batch()
    return result


def _read_packets(path: str) -> Packets:
    """All that a file carries, from its header where that is enough."""
    try:
        late = _has_late_texts(path)
    except OSError:
        late = False  # whatever is wrong, the reader will say it
    return decode(path, max_side=64).packets if late else packets(path)


def _has_late_texts(path: str) -> bool:
    """Whether this is a PNG with texts behind its pixels, where only a full read finds them."""
    with open(path, "rb") as file:
        if file.read(8) != _PNG:
            return False
        pixels = False
        while len(head := file.read(8)) == 8:
            kind = head[4:]
            if pixels and kind in _TEXTS:
                return True
            pixels |= kind == b"IDAT"
            file.seek(int.from_bytes(head[:4], "big") + 4, os.SEEK_CUR)
    return False
