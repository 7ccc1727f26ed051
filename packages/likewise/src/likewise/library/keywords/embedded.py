"""Keywords inside a picture: from the packets of bytes its file carries to tags by source."""

from __future__ import annotations

from likewise.catalog.tag_tables import usable
from likewise.images.decode import Packets
from likewise.library.keywords import iptc, xmp


def embedded_keywords(found: Packets) -> tuple[dict[str, list[str]], str | None]:
    """(source to tags, what could not be read) of the packets of one picture."""
    said: dict[str, list[str]] = {}
    problem = None
    if found.xmp:
        try:
            said["xmp"] = usable(xmp.keywords(found.xmp))
        except xmp.UnusableXmp as error:
            problem = f"its XMP cannot be read: {error}"
    if found.iptc:
        said["iptc"] = usable(iptc.keywords(found.iptc))
    return {source: tags for source, tags in said.items() if tags}, problem
