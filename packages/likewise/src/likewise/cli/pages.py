"""Pages that Likewise writes as one HTML file, from the Jinja templates in ``templates``.

Pictures are embedded as small JPEGs made from pixels alone, so that no metadata of the original
(place, camera, owner) travels with the page.  The templates escape every value, and the page's own
policy allows nothing to load but its pictures and styles.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.cli.output import plural
from likewise.errors import ImageError

if TYPE_CHECKING:
    from jinja2 import Environment

    from likewise.catalog.store import ImageRow

_QUALITY = 82


@dataclass(frozen=True)
class Thumbnail:
    """A small embedded picture, or the reason why there is none."""

    uri: str
    width: int
    height: int
    problem: str = ""


@lru_cache(maxsize=512)
def thumbnail(path: str, side: int) -> Thumbnail:
    """Return the picture at ``path``, small, as a data URI."""
    from PIL import Image

    from likewise.collection.decoding import decoders

    try:
        pixels = decoders().pixels(path, side, None)
    except ImageError as error:
        return Thumbnail("", 4, 3, error.reason)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=_QUALITY, optimize=True)
    return Thumbnail(jpeg_uri(buffer.getvalue()), pixels.shape[1], pixels.shape[0])


def jpeg_uri(jpeg: bytes) -> str:
    """Return a JPEG as a data URI."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode('ascii')}"


def render(template: str, *, package: str = "likewise.cli", **values: Any) -> str:
    """Fill a template of a package; undecodable bytes of file names become question marks.

    A template of another package can use those of ``likewise.cli``.
    """
    from likewise import __version__

    text = _environment(package).get_template(template).render(version=__version__, **values)
    return text.encode("utf-8", "replace").decode("utf-8")


@cache
def _environment(package: str) -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("likewise.cli")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "plural": plural,
        "name": lambda path: Path(path).name,
        "distance_from_one": lambda value: abs(value - 1),
    }
    made.globals["thumbnail"] = thumbnail
    return made


def compare_page(questions: Sequence[Sequence[ImageRow]], before: int = 0) -> str:
    """Return a page of questions in the order in which the terminal asks them."""
    return render("compare.html", title="Which is nearer?", questions=questions, before=before)
