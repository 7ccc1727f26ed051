"""Mulan multi-label data sets: ARFF tables, and an XML file that says which columns are labels.

The labels may stand anywhere among the attributes; the XML decides, and its order is the order of
the columns of ``Y``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal
from xml.parsers import expat

import numpy as np
from scipy import sparse

from benchmarks.readers.arff import Arff, read_arff
from benchmarks.readers.files import need_folder, read_bytes
from benchmarks.readers.records import FeatureTable
from likewise.errors import DatasetError, InvalidInput

LAYOUT = (
    "NAME.xml beside NAME-train.arff and NAME-test.arff, or one NAME.arff; each may be called "
    "…-sparse.arff instead"
)
_NAMESPACE = "http://mulan.sourceforge.net/labels"


def read_mulan(
    root: str | os.PathLike[str],
    *,
    name: str | None = None,
    form: Literal["auto", "sparse", "dense"] = "auto",
) -> FeatureTable:
    """Read ``NAME.xml`` with ``NAME-{train,test}.arff`` (or ``NAME.arff``) in one folder.

    Train and test parts become one table with ``split``; a folder with neither gives the whole
    file and no split.  One part alone is read too.

    Parameters
    ----------
    root : path
        The folder.
    name : str, optional
        NAME; by default that of the one table there is.
    form : {"auto", "sparse", "dense"}, default="auto"
        Of a table that is there both as ``NAME-test.arff`` and ``NAME-test-sparse.arff``, "auto"
        takes the sparse one; the others take only that kind.

    Returns
    -------
    FeatureTable
        ``X`` is float32 and ``Y`` uint8, both CSR if any file was sparse.

    See Also
    --------
    read_nuswide : many pictures, 81 concepts.
    """
    if form not in ("auto", "sparse", "dense"):
        raise InvalidInput(f"form={form!r}; one of 'auto', 'sparse', 'dense' expected")
    base = need_folder(root, LAYOUT)
    descriptions = sorted(p for p in base.glob("*.xml") if not p.name.startswith("."))
    if len(descriptions) != 1:
        raise DatasetError(f"{len(descriptions)} .xml files in {base}; expected {LAYOUT}")
    labels = read_label_names(descriptions[0])
    files = _tables(base, descriptions[0].stem, form)
    tables = [(part, path, read_arff(path)) for part, path in files.items()]
    _, first_path, first = tables[0]
    for _, path, table in tables[1:]:
        if table.names != first.names:
            raise DatasetError(f"{path} and {first_path} do not declare the same attributes")
    is_label = set(labels)
    missing = is_label - set(first.names)
    if missing:
        raise DatasetError(
            f"{descriptions[0]}: label {min(missing)!r} is not an attribute of {first_path}"
        )
    column = {attribute: i for i, attribute in enumerate(first.names)}
    features = [attribute for attribute in first.names if attribute not in is_label]
    stacked = _stack_rows([table for _, _, table in tables])
    Y = stacked[:, [column[label] for label in labels]]
    if not np.isin(Y.data if sparse.issparse(stacked) else Y, (0, 1)).all():
        raise DatasetError(f"{first_path}: a label column holds something other than 0 and 1")
    split = [part for part, _, table in tables for _ in range(table.values.shape[0]) if part]
    return FeatureTable(
        name=name or base.name,
        X=stacked[:, [column[feature] for feature in features]],
        Y=Y.astype(np.uint8),
        features=features,
        labels=labels,
        split=split,
    )


def _tables(base: Path, stem: str, form: str) -> dict[str, Path]:
    """The ARFF files to read, by part; the part is "" for a whole file."""
    endings = {"auto": ("-sparse.arff", ".arff"), "sparse": ("-sparse.arff",), "dense": (".arff",)}

    def pick(prefix: str) -> Path | None:
        candidates = (base / (prefix + ending) for ending in endings[form])
        return next((path for path in candidates if path.is_file()), None)

    parts = {part: path for part in ("train", "test") if (path := pick(f"{stem}-{part}"))}
    if parts:
        return parts
    whole = pick(stem)
    if whole is None:
        kind = "" if form == "auto" else f"{form} "
        raise DatasetError(f"no {kind}ARFF files called {stem}… in {base}; expected {LAYOUT}")
    return {"": whole}


def _stack_rows(tables: list[Arff]) -> Any:
    """All rows as one matrix that can give any columns quickly."""
    values = [table.values for table in tables]
    if any(sparse.issparse(v) for v in values):
        return sparse.vstack([sparse.csr_matrix(v) for v in values], format="csr")
    return np.vstack(values)


def read_label_names(path: Path) -> list[str]:
    """The names in ``<labels><label name="…"/>…</labels>``; nested labels count one by one.

    A document type is refused: it is the door to entity expansion, and no label file needs one.
    """
    names: list[str] = []
    roots: list[str] = []

    def refuse_doctype(*_: object) -> None:
        raise DatasetError(f"{path}: has a document type (DTD); refused, a label file needs none")

    def start(tag: str, attributes: dict[str, str]) -> None:
        tag = tag.removeprefix(_NAMESPACE + " ")
        roots.append(tag)
        if tag == "label":
            if not attributes.get("name"):
                line = parser.CurrentLineNumber
                raise DatasetError(f"{path}, line {line}: a <label> without a name")
            names.append(attributes["name"])

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.EntityDeclHandler = refuse_doctype
    parser.StartElementHandler = start
    try:
        parser.Parse(read_bytes(path), True)
    except expat.ExpatError as error:
        raise DatasetError(f"{path}, line {error.lineno}: not well-formed XML ({error})") from error
    except (ValueError, LookupError) as error:
        raise DatasetError(f"{path}: not XML ({error})") from error
    if not names or roots[0] != "labels":
        raise DatasetError(f"{path}: expected <labels> with <label name=…> inside")
    if len(set(names)) != len(names):
        twice = next(n for i, n in enumerate(names) if n in names[:i])
        raise DatasetError(f"{path}: label {twice!r} is there twice")
    return names
