"""The pages of the methods and the code cite each other, and the examples of the pages run.

A formula of a page in ``docs/methods`` has a ``\\tag{n}``, an erratum a row ``| E1 | ...``.
Docstrings and comments cite "docs/methods/siso.md, (7)" or "docs/methods/solis.md, E1".
"""

from __future__ import annotations

import ast
import doctest
import io
import pkgutil
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

from likewise.vision.text.status import text_model_status

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(set((DOCS / "methods").glob("*.md")) - {DOCS / "methods" / "README.md"})
# Rival methods, whose formulas the pages have as well, are benchmarks.
SOURCES = [*ROOT.glob("src/likewise"), *ROOT.glob("packages/*/src/*"), ROOT / "benchmarks"]
CODE = sorted(path for folder in SOURCES for path in folder.rglob("*.py"))
OTHER_CODE = sorted(
    path for folder in ("tests", "tools") for path in (ROOT / folder).rglob("*.py")
    if "node_modules" not in path.parts and path != Path(__file__)
)  # fmt: skip

_PLACE = r"(?:\(\d+\)|[A-Z]\d+)"
_CITATION = re.compile(
    rf"docs/methods/([a-z0-9-]+)\.md(?:, ({_PLACE}(?:(?:, | and | to ){_PLACE})*))?"
)
_NUMBER = re.compile(r"(?<![\w)])\((\d{1,2})\)")


@cache
def prose(path: Path) -> str:
    """Comments and docstrings of a file, in one line."""
    source = path.read_text()
    found = [
        token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    ]
    found += [
        node.value.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    return " ".join(" ".join(found).split())


@cache
def formulas(page: Path) -> list[int]:
    blocks = re.findall(r"```math\n(.*?)```", page.read_text(), flags=re.DOTALL)
    return [int(tag) for block in blocks for tag in re.findall(r"\\tag\{(\d+)\}", block)]


@cache
def errata(page: Path) -> list[str]:
    return re.findall(r"^\| ([A-Z]\d+) \|", page.read_text(), flags=re.MULTILINE)


def places(said: str) -> set[str]:
    """What "(2) and (4) to (6)" or "F3" names, one by one.

    >>> sorted(places("(2) and (4) to (6)"))
    ['(2)', '(4)', '(5)', '(6)']
    """
    found = set(re.findall(_PLACE, said))
    for first, last in re.findall(r"\((\d+)\) to \((\d+)\)", said):
        found |= {f"({n})" for n in range(int(first), int(last) + 1)}
    return found


@cache
def citations(path: Path) -> dict[str, set[str]]:
    """The pages a file cites, and which places of each.

    In a file that cites one page, numbers that stand alone are numbers of that page.
    """
    found: dict[str, set[str]] = {}
    text = prose(path)
    for page, said in _CITATION.findall(text):
        found.setdefault(page, set()).update(places(said))
    if len(found) == 1:
        alone = re.findall(rf"{_NUMBER.pattern}(?: to \(\d+\))?", text)
        ranges = re.findall(r"\(\d+\) to \(\d+\)", text)
        own = next(iter(found.values()))
        own |= {f"({n})" for n in alone}
        own.update(*(places(said) for said in ranges))
    return found


def name_of(path: Path) -> str:
    folder = next(one for one in SOURCES if path.is_relative_to(one))
    parts = path.relative_to(folder.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_there_is_a_page_for_every_method() -> None:
    assert [page.stem for page in PAGES] == [
        "concepts", "ordinal", "psc", "s3ml", "siso", "solis", "staying", "words",
    ]  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page: Path) -> None:
    if page.stem == "words" and not text_model_status().available:
        pytest.skip("the sentence model is not installed")
    done = doctest.testfile(str(page), module_relative=False)
    assert done.attempted >= 2
    assert done.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_formulas_and_errata_are_numbered_in_order(page: Path) -> None:
    numbers, wrong = formulas(page), errata(page)
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 6
    assert [int(one[1:]) for one in wrong] == list(range(1, len(wrong) + 1))
    # Every display has its number, and GitHub and the site both read fences only.
    assert page.read_text().count("```math") == len(numbers)
    assert "$$" not in page.read_text()


def test_code_cites_what_is_there() -> None:
    wrong = []
    for path in CODE + OTHER_CODE:
        for page, cited in citations(path).items():
            there = DOCS / "methods" / f"{page}.md"
            known = (
                {f"({n})" for n in formulas(there)} | set(errata(there))
                if there in PAGES
                else set()
            )
            if there not in PAGES or not cited <= known:
                wrong.append(f"{path.relative_to(ROOT)}: {page}.md, {sorted(cited - known)}")
    assert not wrong, "\n".join(wrong)


def test_code_cites_no_document_outside_the_repository() -> None:
    wrong = []
    for path in CODE + OTHER_CODE:
        text = prose(path)
        cited = re.findall(r"(?<![\w/.*-])(?:[\w.-]+/)+[a-z][\w-]*\.md\b", text)
        cited = [one for one in cited if not (ROOT / one).is_file()]
        cited += re.findall(r"\bspec\b|\b[Tt]he specification\b|\bpapers/", text)
        wrong += [f"{path.relative_to(ROOT)}: {one}" for one in cited]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_formula_is_cited_by_code(page: Path) -> None:
    cited = set().union(*(citations(path).get(page.stem, set()) for path in CODE))
    lonely = [n for n in formulas(page) if f"({n})" not in cited]
    assert not lonely, f"no code cites {lonely} of {page.name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_where_its_formulas_are(page: Path) -> None:
    """The last table names modules that exist and that cite the formulas of their row."""
    rows = re.findall(
        r"^\| (\(.*?) \| (`(?:likewise|benchmarks).*?) \|$", page.read_text(), flags=re.MULTILINE
    )
    assert set().union(*(places(said) for said, _ in rows)) == {f"({n})" for n in formulas(page)}
    for said, where in rows:
        names = re.findall(r"`([\w.]+)`", where)
        cited: set[str] = set()
        for name in names:
            inside = [p for p in CODE if f"{name_of(p)}.".startswith(f"{name}.")]
            assert inside, f"{page.name} names {name}, which is not there"
            assert any(page.stem in citations(p) for p in inside), f"{name} does not cite the page"
            cited = cited.union(*(citations(p).get(page.stem, set()) for p in inside))
        assert places(said) <= cited, f"{names} do not cite {sorted(places(said) - cited)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_cites_what_is_there(page: Path) -> None:
    """Numbers in its text are its own formulas; what a paper printed has the paper's numbers."""
    text = re.sub(r"```math\n.*?```", "", page.read_text(), flags=re.DOTALL)
    text = re.sub(r"^(\| [A-Z]\d+ \|) .*? \| ", r"\1 ", text, flags=re.MULTILINE)
    text = re.sub(r"\$.*?\$", "", text, flags=re.DOTALL)
    cited = {int(n) for n in _NUMBER.findall(text)}
    assert cited <= set(formulas(page)), sorted(cited - set(formulas(page)))
    for name in re.findall(r"`((?:likewise\w*|benchmarks)(?:\.\w+)+)`", text):
        assert pkgutil.resolve_name(name) is not None
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert (page.parent / target).is_file(), f"{page.name} links to {target}"
