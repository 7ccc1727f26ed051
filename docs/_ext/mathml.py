"""Formulas as MathML, made when the site is built: no script, nothing from another host.

``\\tag{7}`` becomes the number at the right margin, and the place that ``#eq-7`` names.
"""

from __future__ import annotations

import html
import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

_LOG = logging.getLogger(__name__)
_TAG = re.compile(r"\\tag\{(\w+)\}")
# What the converter does not know it writes down as it stands.
_UNKNOWN = re.compile(r"<m[ino][^>]*>(\\[^<]*)<")
# Bars are no operators with room around them, and a prime is raised enough by itself.
_BETTER = [
    (re.compile(r"<mo>&#x0007C;</mo>"), '<mo stretchy="false" lspace="0" rspace="0">|</mo>'),
    (re.compile(r"<mi>&#x02016;</mi>"), '<mo stretchy="false" lspace="0" rspace="0">&#x2016;</mo>'),
    (
        re.compile(r"<msup>(<(m[ino])[^>]*>[^<]*</\2>)<mi>&#x02032;</mi></msup>"),
        r'\1<mo lspace="0" rspace="0">&#x2032;</mo>',
    ),
]


def _mathml(node: nodes.Element, display: str) -> str:
    source = " ".join(_TAG.sub("", node.astext()).split())
    try:
        made = convert(source, display=display)
    except Exception as error:  # The converter raises whatever it likes.
        _LOG.warning("a formula cannot be read (%s): %s", error, source, location=node)
        return f"<code>{html.escape(source)}</code>"
    if unknown := _UNKNOWN.findall(made):
        _LOG.warning("a formula has unknown commands %s: %s", unknown, source, location=node)
    for pattern, better in _BETTER:
        made = pattern.sub(better, made)
    return str(made)


def visit_math(self: Any, node: nodes.math) -> None:
    self.body.append(_mathml(node, "inline"))
    raise nodes.SkipNode


def visit_displaymath(self: Any, node: nodes.math_block) -> None:
    tag = _TAG.search(node.astext())
    number = f'<a class="number" href="#eq-{tag[1]}">({tag[1]})</a>' if tag else ""
    place = f' id="eq-{tag[1]}"' if tag else ""
    self.body.append(f'<div class="formula"{place}>{_mathml(node, "block")}{number}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True}
