"""All texts of the page are in one file; index.html repeats a few of them for the first paint."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from likewise.server.routes_page import PAGE

TEXTS = PAGE / "texts.js"
MODULES = [path for path in sorted(PAGE.glob("*.js")) if path.name not in {"texts.js", "types.js"}]

_COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'])//[^\n]*", re.DOTALL)
_ATTRIBUTE = re.compile(
    r"""(?:"aria-label"|"aria-description"|title|placeholder|alt|label):\s*["`][^"`$]*[A-Za-z]{2}"""
)
_SENTENCE = re.compile(r"""["`][A-Z][a-z]+ [^"`\n]*[a-z][^"`\n]*["`]""")
_CHILD = re.compile(r"""(?:\}|\)), "[A-Z][a-z][^"]*"[,)]""")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_view_holds_no_text_of_its_own(path: Path) -> None:
    code = _COMMENT.sub("", path.read_text(encoding="utf-8"))
    found = [m.group() for kind in (_ATTRIBUTE, _SENTENCE, _CHILD) for m in kind.finditer(code)]
    assert found == [], f"texts belong into {TEXTS.name}"


def test_the_first_paint_says_what_the_texts_say() -> None:
    page = (PAGE / "index.html").read_text(encoding="utf-8")
    shell = re.search(r"\n  shell: \{(.*?)\n  \},", TEXTS.read_text(encoding="utf-8"), re.DOTALL)
    assert shell is not None
    texts = dict(re.findall(r'^    (\w+): "(.*)",$', shell.group(1), re.MULTILINE))
    written = re.findall(r'data-text="(\w+)">([^<]*)<', page)
    for mark, name in (("label", "aria-label"), ("title", "title"), ("placeholder", "placeholder")):
        written += re.findall(rf'data-{mark}="(\w+)" {name}="([^"]*)"', page)
    assert len(written) == len(re.findall(r"data-(?:text|label|title|placeholder)=", page)) > 10
    for key, text in written:
        assert texts[key] == text, key
