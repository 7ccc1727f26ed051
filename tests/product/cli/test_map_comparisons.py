"""Comparing in the terminal, and comparisons out of and into files."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.product.cli.test_map import as_json, here, refused, run
from tests.product.collection.model_cases import N, template

__all__ = ["here"]


def rows_of(path: Path) -> list[list[str]]:
    return list(csv.reader(path.read_text(encoding="utf-8").splitlines()))


@pytest.mark.slow
def test_answers_are_read_line_by_line(here: Path) -> None:
    said = as_json("compare", "-n", 5, "--by", "ann", answers="l\nright\ns\nq\nl\n")
    # What people read stands before the record.
    assert len(said["answered"]) == 2
    assert said["skipped"] == 1
    assert said["standing"] == 2
    ended = run("compare", "-n", 2, "--sheet", "ask.html", answers="l\nl\n")
    assert "which is nearer to picture" in ended.output
    assert "2 comparisons written" in ended.output
    page = (here / "ask.html").read_text()
    assert page.count("<section") == 2
    assert str(template()) not in page
    ended = run("compare", "-n", 3, answers="l\n")
    assert "1 comparison written" in ended.output
    assert "5 not undone" in ended.output
    run("compare", answers="perhaps\n", code=1)


@pytest.mark.slow
def test_out_and_in_again(here: Path) -> None:
    run("compare", "-n", 4, "--by", "ann", answers="l\nr\nl\nr\n")
    assert "4 comparisons" in run("comparisons", "export", "out.csv").output
    before = rows_of(here / "out.csv")
    assert before[0] == ["anchor", "nearer", "farther", "by", "source"]
    assert all(Path(row[0]).is_file() and row[3] == "ann" for row in before[1:])
    run("profile", "create", "other")
    said = as_json("comparisons", "import", "out.csv", "--profile", "other")
    assert said == {"profile": "other", "written": 4, "skipped": 0, "by": ["ann"]}
    run("comparisons", "export", "again.csv", "--profile", "other")
    assert rows_of(here / "again.csv") == before
    assert "head,winner,loser,puid" in run("comparisons", "export", "-", "--salmon").output
    run("comparisons", "export", "salmon.csv", "--salmon", "--ids")
    assert as_json("comparisons", "import", "salmon.csv", "--again")["by"] == ["ann"]
    found = as_json("comparisons", "report")
    assert found["comparisons"] == 8
    assert found["repeated"] == 4
    assert found["contradicted"] == 0
    assert "answered more than once" in run("comparisons", "report").output


@pytest.mark.slow
def test_what_is_there_already_is_skipped(here: Path) -> None:
    run("compare", "-n", 3, "--by", "ann", answers="l\nr\nl\n")
    run("comparisons", "export", "out.csv")
    before = (here / "out.csv").read_bytes()
    ended = run("comparisons", "import", "out.csv")
    assert "0 comparisons written" in ended.output
    assert "3 were there already and skipped; --again" in ended.output
    run("comparisons", "export", "salmon.csv", "--salmon", "--ids")
    assert as_json("comparisons", "import", "salmon.csv")["skipped"] == 3
    run("comparisons", "export", "again.csv")
    assert (here / "again.csv").read_bytes() == before
    # Another person who says the same is another answer, and so is the opposite.
    assert as_json("comparisons", "import", "out.csv", "--by", "bob")["written"] == 3
    assert as_json("comparisons", "import", "out.csv", "--by", "bob")["skipped"] == 3
    assert as_json("comparisons", "import", "out.csv", "--again")["written"] == 3
    assert as_json("comparisons", "report")["comparisons"] == 9


def test_answers_given_twice_are_two(here: Path) -> None:
    """A file counts as often as it says so, however often it is taken in."""
    (here / "twice.csv").write_text("anchor,nearer,farther,by\n1,3,2,ann\n1,3,2,ann\n1,2,3,ann\n")
    said = as_json("comparisons", "import", "twice.csv")
    assert (said["written"], said["skipped"]) == (3, 0)
    with (here / "twice.csv").open("a") as file:
        file.write("1,3,2,ann\n4,6,5,ann\n")
    said = as_json("comparisons", "import", "twice.csv")
    assert (said["written"], said["skipped"]) == (2, 3)
    # What was taken back no longer stands, and may be said again.
    numbers = [one["number"] for one in as_json("compare", "-n", 1, answers="l\n")["answered"]]
    run("comparisons", "export", "all.csv")
    run("undo", numbers[0])
    assert as_json("comparisons", "import", "all.csv")["written"] == 1


def test_columns_may_be_separated_otherwise(here: Path) -> None:
    for name, separator in (("semicolons.csv", ";"), ("tabs.tsv", "\t")):
        lines = [
            ["anchor", "nearer", "farther", "by"],
            ["1", "3", "2", name],
            ["4", "6", "5", name],
        ]
        (here / name).write_text("\n".join(separator.join(line) for line in lines))
        assert as_json("comparisons", "import", name)["by"] == [name]
    (here / "bare.csv").write_text('1; "3" ;2\n4;6;5\n')
    assert as_json("comparisons", "import", "bare.csv")["written"] == 2
    # A comma in a name does not make columns where semicolons do.
    (here / "paths.csv").write_text("anchor;nearer;farther\n1;3;2\na,b.png;3;2\n")
    assert "line 3: 'a,b.png' is not a picture" in refused("comparisons", "import", "paths.csv")
    (here / "bad.csv").write_text("1;3\n")
    assert "line 1: 1 column; 3 expected" in refused("comparisons", "import", "bad.csv")


def test_salmon_files_by_name(here: Path) -> None:
    (here / "crowd.csv").write_text(
        "puid,head,winner,loser,head_filename,winner_filename,loser_filename,response_time\n"
        "p1,0,1,2,01.png,03.png,02.png,1.5\n"
        'p2,5,6,7,"<img src=""/static/targets/05.png"">",07.png,06.png,2\n'
    )
    assert as_json("comparisons", "import", "crowd.csv")["by"] == ["p1", "p2"]
    rows = run("comparisons", "export", "-", "--ids").stdout.splitlines()
    assert rows[1:] == ["1,3,2,p1,file", "5,7,6,p2,file"]


def test_plain_columns_ids_and_headings(here: Path) -> None:
    (here / "plain.csv").write_text("1,3,2\n\n4,6,5\n")
    assert as_json("comparisons", "import", "plain.csv", "--by", "me")["written"] == 2
    (here / "abc.csv").write_text("c,b,a\n2,3,1\n")
    run("comparisons", "import", "abc.csv")
    assert "1,3,2,,file" in run("comparisons", "export", "-", "--ids").output


def test_bad_lines_are_named_and_nothing_is_taken(here: Path) -> None:
    (here / "bad.csv").write_text(
        f"anchor,nearer,farther\n1,3,2\n1,{N + 50},2\n1,3\n1,1,2\nnope.png,3,2\n1,,2\n"
    )
    text = refused("comparisons", "import", "bad.csv")
    for part in (
        f"line 3: there is no picture with id {N + 50}",
        "line 4: 2 columns; 3 expected",
        "line 5: the same picture twice",
        "line 6: 'nope.png' is not a picture",
        "line 7: no picture in the column of the nearer",
        "nothing was imported",
    ):
        assert part in text, (part, text)
    assert as_json("comparisons", "report")["comparisons"] == 0
    (here / "half.csv").write_text("head,winner\n1,2\n")
    assert "line 1: the heading has no column for farther" in refused(
        "comparisons", "import", "half.csv"
    )
    (here / "none.csv").write_text("")
    assert "is empty" in refused("comparisons", "import", "none.csv")
    assert "cannot be read" in refused("comparisons", "import", "missing.csv")
