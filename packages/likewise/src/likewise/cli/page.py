"""The shell of every page Likewise writes: one file, no script, light and dark, phone to desk.

Pictures are embedded as small JPEGs made from pixels alone, so that no metadata of the original
(place, camera, owner) travels with the page.  Everything else that is not ours is escaped.
"""

from __future__ import annotations

import base64
import html
import io
from dataclasses import dataclass

from likewise.errors import ImageError

# Nothing but embedded pictures and the style below may load, whatever a file name contains.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_QUALITY = 82

STYLE = """
:root { color-scheme: light dark; --paper: #f6f4ef; --card: #fffdf9; --ink: #1e1c19;
  --soft: #625e55; --line: #dcd8ce; --accent: #a24a06; --good: #1c7a45; --bad: #b3362a;
  --well: #e8e5dd;
  --serif: ui-serif, "Iowan Old Style", Charter, "Bitstream Charter", Georgia, Cambria,
    "Liberation Serif", serif; }
@media (prefers-color-scheme: dark) { :root { --paper: #141312; --card: #1d1b19; --ink: #edeae4;
  --soft: #a8a297; --line: #36322c; --accent: #f2a54a; --good: #58c98b; --bad: #f28b78;
  --well: #26231f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 84rem; padding: 2rem 1.25rem 3rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1, h2, h3 { font-family: var(--serif); font-weight: 500; letter-spacing: -.005em; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p { margin: .4rem 0; max-width: 46rem; } a { color: inherit; }
.soft, footer { color: var(--soft); } footer { margin-top: 3rem; font-size: .85rem; }
code { font: .92em ui-monospace, monospace; background: var(--well); border-radius: .25rem;
  padding: .05rem .3rem; overflow-wrap: anywhere; }
ol.hits { list-style: none; margin: 1rem 0 0; padding: 0; display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(13.5rem, 100%), 1fr)); }
ol.hits.pairs { grid-template-columns: repeat(auto-fill, minmax(min(26rem, 100%), 1fr)); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .7rem;
  overflow: hidden; margin: 0; display: flex; flex-direction: column; }
.view { background: var(--well); aspect-ratio: 4 / 3; position: relative; overflow: hidden; }
.view img, .view svg { position: absolute; inset: 0; width: 100%; height: 100%;
  object-fit: contain; display: block; }
.pairs .view { aspect-ratio: auto; padding: .5rem; } .pairs .view img { position: static; }
.pairs .view svg { position: static; height: auto; max-height: 22rem; }
.gone { padding: 1rem; display: grid; place-items: center; text-align: center;
  font-size: .85rem; color: var(--soft); }
.facts { padding: .6rem .8rem .75rem; font-size: .84rem; line-height: 1.4; }
.facts b { overflow-wrap: anywhere; } .facts .where { color: var(--soft); font-size: .78rem;
  overflow-wrap: anywhere; }
.score { display: flex; justify-content: space-between; align-items: baseline; gap: .5rem;
  font-variant-numeric: tabular-nums; } .score .rank { color: var(--soft); }
.bar { height: 3px; border-radius: 2px; background: var(--line); margin: .3rem 0 .45rem; }
.bar i { display: block; height: 100%; border-radius: 2px; background: var(--accent); }
.query { display: grid; grid-template-columns: minmax(0, 22rem) minmax(0, 1fr); gap: 1.4rem;
  align-items: start; margin-top: 1.2rem; }
.query .card { border: 2px solid var(--accent); }
dl { display: grid; grid-template-columns: auto 1fr; gap: .15rem 1rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: .8rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem 1.1rem .28rem 0; border-bottom: 1px solid var(--line); text-align: left; }
td + td, th + th { text-align: right; } tfoot td { font-weight: 600; border-bottom: 0; }
.key { display: inline-block; width: .75em; height: .75em; border-radius: .2em;
  border: 3px solid; vertical-align: -.05em; margin-right: .2em; }
.row { border-top: 1px solid var(--line); padding: 1rem 0; }
.row h3 { font-size: .95rem; margin: 0 0 .5rem; } .row h4 { font-size: .8rem; margin: .7rem 0 .3rem;
  color: var(--soft); font-weight: 500; }
.strip { display: grid; gap: .55rem; grid-template-columns: repeat(9, minmax(0, 1fr)); }
.strip figure { margin: 0; min-width: 0; } .strip .view { border-radius: .45rem;
  border: 3px solid transparent; } .strip .asked .view { border-color: var(--accent); }
.strip .right .view { border-color: var(--good); } .strip .wrong .view { border-color: var(--bad); }
.strip figcaption { font-size: .72rem; line-height: 1.3; margin-top: .2rem; overflow-wrap: anywhere;
  color: var(--soft); } .right figcaption b { color: var(--good); }
.wrong figcaption b { color: var(--bad); } .asked figcaption b { color: var(--accent); }
@media (max-width: 60rem) { .strip { grid-template-columns: repeat(5, minmax(0, 1fr)); } }
@media (max-width: 40rem) { body { padding: 1.2rem .9rem 2rem; } h1 { font-size: 1.35rem; }
  .query { grid-template-columns: 1fr; } .strip { grid-template-columns: repeat(3, 1fr); }
  ol.hits { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .7rem; }
  ol.hits.pairs { grid-template-columns: 1fr; } th, td { padding-right: .8rem; } }
"""


@dataclass(frozen=True)
class Thumbnail:
    """A small embedded picture, or the reason why there is none."""

    uri: str
    width: int
    height: int
    problem: str = ""


def thumbnail(path: str, side: int) -> Thumbnail:
    """The picture at ``path``, small, as a data URI."""
    from PIL import Image

    from likewise.collection.decoding import decoders

    try:
        pixels = decoders().pixels(path, side, None)
    except ImageError as error:
        return Thumbnail("", 4, 3, error.reason)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=_QUALITY, optimize=True)
    text = base64.b64encode(buffer.getvalue()).decode("ascii")
    return Thumbnail(f"data:image/jpeg;base64,{text}", pixels.shape[1], pixels.shape[0])


def view(thumb: Thumbnail, name: str) -> str:
    """A thumbnail in its frame."""
    if thumb.problem:
        return f'<div class="view gone">cannot be shown: {escape_html(thumb.problem)}</div>'
    return (
        f'<div class="view"><img src="{thumb.uri}" width="{thumb.width}" '
        f'height="{thumb.height}" alt="{escape_html(name)}"></div>'
    )


def escape_html(text: object) -> str:
    """Text that can stand anywhere in a page; undecodable bytes of file names become signs."""
    plain = str(text).encode("utf-8", "replace").decode("utf-8")
    return html.escape(plain, quote=True)


def document(title: str, body: str) -> str:
    """A whole page."""
    from likewise import __version__

    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{escape_html(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n"
        f"<footer>Made by Likewise {escape_html(__version__)}.</footer>\n</body>\n</html>\n"
    )
