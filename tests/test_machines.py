"""``make test-machines`` itself: its machines, what it reads from pytest, what it writes down."""

from __future__ import annotations

import csv
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests import machines, same_bits
from tests.machines import Machine, Outcome

PROMISE = "sums"


def outcome(name: str, digest: str = "a1", **more: object) -> Outcome:
    return Outcome(name, 10, promises={PROMISE: digest}, seen={"numpy": "baseline"}, **more)  # type: ignore[arg-type]


def known(digest: str, **seen: str) -> dict[str, object]:
    return {"promises": {PROMISE: digest}, "seen": seen, "broken": ""}


def test_every_library_with_a_switch_is_switched() -> None:
    all_of_them = machines.all_machines(["X86_V3"])
    names = [one.name for one in all_of_them]
    assert len(set(names)) == len(names)
    assert all_of_them[0].environment == {}, "the first is what the others are compared with"
    settings = [tuple(one.environment.items()) for one in all_of_them]
    assert len(set(settings)) == len(settings)
    plainest = all_of_them[-1].environment
    switched = {name for one in all_of_them for name in one.environment}
    assert switched == set(plainest)
    assert plainest["NPY_DISABLE_CPU_FEATURES"] == "X86_V3"
    assert "AVX512" not in plainest["OPENCV_CPU_DISABLE"], "OpenCV complains of what is not there"
    wide = machines.all_machines(flags=machines.AVX512_SKX)[-1].environment
    assert wide["OPENCV_CPU_DISABLE"].endswith(",AVX512-COMMON,AVX512-SKX")


def test_a_processor_is_not_asked_for_what_it_lacks() -> None:
    can, left_out = machines.possible(machines.all_machines(), {"avx", "avx2"})
    assert [one.name for one in left_out] == ["skylakex"]
    assert "haswell" in [one.name for one in can]
    can, left_out = machines.possible(machines.all_machines(), set())
    assert {one.name for one in left_out} == {"sandybridge", "haswell", "zen", "skylakex"}


def test_what_is_tested_exists() -> None:
    every = (*machines.ROOMS, *machines.MORE, *machines.LEFT_OUT)
    assert all((machines.ROOT / path).exists() for path in every)
    assert len(set(every)) == len(every)


@pytest.mark.parametrize(
    ("text", "counts", "failures"),
    [
        ("12 passed in 3.21s", {"passed": 12}, []),
        ("12 passed, 2 skipped in 63.00s (0:01:03)", {"passed": 12, "skipped": 2}, []),
        (
            "FAILED tests/a.py::test_b[x - y] - assert 1 in 2\nERROR tests/c.py - ImportError: d\n"
            "== 1 failed, 3 passed, 1 warning, 1 error in 0.10s ==",
            {"failed": 1, "passed": 3, "warning": 1, "error": 1},
            ["tests/a.py::test_b[x - y]", "tests/c.py"],
        ),
        ("Fatal Python error: Illegal instruction", {}, []),
    ],
)
def test_summaries_of_pytest(text: str, counts: dict[str, int], failures: list[str]) -> None:
    assert machines.read_summary(text) == (counts, failures)


def test_a_machine_has_its_own_switches_and_nobody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")
    by_name = {one.name: machines.settings_of(one) for one in machines.all_machines()}
    assert "OPENBLAS_CORETYPE" not in by_name["as it is"]
    assert by_name["haswell"]["OPENBLAS_CORETYPE"] == "Haswell"
    assert by_name["numba generic"]["NUMBA_CACHE_DIR"] != by_name["haswell"].get("NUMBA_CACHE_DIR")
    assert by_name["as it is"]["PATH"] == os.environ["PATH"]


@pytest.mark.slow
def test_one_machine_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "KEPT", tmp_path / "kept")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_it.py").write_text(
        "import os, pytest\n"
        "def test_switch(): assert os.environ['SWITCH'] == 'on'\n"
        "def test_wrong(): assert os.environ['SWITCH'] == 'off'\n"
        "@pytest.mark.skip\n"
        "def test_not(): pass\n"
    )
    machine = Machine("tiny one", "a switch", {"SWITCH": "on"})
    found = machines.run(machine, ["test_it.py"], workers=0, root=tmp_path)
    assert (found.passed, found.failed, found.skipped) == (1, 1, 1)
    assert found.failures == ["test_it.py::test_wrong"]
    assert not found.died
    assert not found.good
    assert found.seconds > 0
    (tmp_path / "conftest.py").write_text(
        "def pytest_sessionfinish(session): session.exitstatus = 1\n"
    )
    (tmp_path / "test_it.py").write_text("def test_right(): pass\n")
    found = machines.run(machine, ["test_it.py"], workers=0, root=tmp_path)
    assert (found.passed, found.failed) == (1, 0)
    assert found.died == "pytest ended with code 1"
    (tmp_path / "conftest.py").unlink()
    (tmp_path / "test_it.py").write_text("import os; os.kill(os.getpid(), 4)\n")
    found = machines.run(machine, ["test_it.py"], workers=0, root=tmp_path)
    assert found.died == "pytest ended with signal 4"
    assert not found.good
    assert "signal 4" in machines.told(found)


def test_an_earlier_outcome_counts_for_the_same_source_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machines, "KEPT", tmp_path)
    monkeypatch.setattr(machines, "run", lambda *_, **__: outcome("tiny one", failures=["t"]))
    monkeypatch.setattr(machines, "promised", lambda _: known("b2"))
    machine = Machine("tiny one", "a switch")
    assert machines.kept(machine, ["tests"]) is None
    made = machines.outcome_of(machine, ["tests"], 0, resume=True)
    assert made.promises == {PROMISE: "b2"}
    assert machines.kept(machine, ["tests"]) == made
    assert machines.kept(machine, ["tests/index"]) is None
    monkeypatch.setattr(machines, "source", lambda: "changed")
    assert machines.kept(machine, ["tests"]) is None


def test_a_switch_that_changes_nothing_is_not_tested_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machines, "KEPT", tmp_path)
    ran: list[str] = []

    def run(machine: Machine, *_: object, **__: object) -> Outcome:
        ran.append(machine.name)
        return outcome(machine.name)

    monkeypatch.setattr(machines, "run", run)
    seen = {"one": "fast", "two": "plain", "three": "fast"}
    monkeypatch.setattr(machines, "promised", lambda m: known("a1", x=seen[m.name]))
    made: list[Outcome] = []
    for name in seen:
        machine = Machine(name, "")
        made.append(machines.outcome_of(machine, ["tests"], 0, resume=False, earlier=made))
    assert ran == ["one", "two"]
    assert [one.same_as for one in made] == ["", "", "one"]
    assert all(one.good for one in made)
    every = [Machine(name, "") for name in seen]
    page = machines.rendered(every, made, [], ["tests"], "a processor", "now")
    assert "| three |  | as 'one' |  |  |  |" in page
    assert "the same as 'one'" in machines.told(made[2])


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("raise RuntimeError('no such kernel')\n", "code 1: RuntimeError: no such kernel"),
        ("", "code 0: nothing was said"),
        ("""print('{"promises": {"other": "a1"}, "seen": {}}')\n""", "no digest of rankings"),
    ],
)
def test_digests_that_fail_alike_everywhere_are_no_agreement(
    source: str,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").write_text("")
    (tmp_path / "tests" / "same_bits.py").write_text(source)
    monkeypatch.setattr(machines, "ROOT", tmp_path)
    monkeypatch.setattr(machines, "KEPT", tmp_path / "kept")
    ran: list[str] = []

    def run(machine: Machine, *_: object, **__: object) -> Outcome:
        ran.append(machine.name)
        return Outcome(machine.name, 10)

    monkeypatch.setattr(machines, "run", run)
    chosen = ["--only", "as it is", "--only", "prescott"]
    assert machines.main(["tests/index", *chosen, "--resume"]) == 1
    assert capsys.readouterr().out.count(why) == 2
    assert ran == ["as it is", "prescott"], "neither is the other's twin"
    every = [Machine("as it is", ""), Machine("prescott", "")]
    made = [machines.outcome_of(one, ["tests/index"], 0, resume=True) for one in every]
    assert len(ran) == 4, "what is broken is asked again"
    assert not any(one.good for one in made)
    page = machines.rendered(every, made, [], ["tests/index"], "a processor", "now")
    assert page.count(why) == 2
    assert "None." not in page


def test_bits_that_differ_are_named() -> None:
    found = [outcome("one"), outcome("two", "b2"), outcome("three")]
    assert machines.differing(found) == {PROMISE: ["two"]}
    assert machines.differing([found[0], found[2]]) == {PROMISE: []}
    assert machines.differing([found[0], Outcome("none")]) == {PROMISE: ["none"]}


def test_the_page_says_it_all(tmp_path: Path) -> None:
    every = [
        Machine("as it is", "nothing changed"),
        Machine("old", "an old one", {"SWITCH": "off"}, more=["tests/loop.py"]),
        Machine("new", "a new one", {}, "avx9"),
    ]
    found = [
        outcome("as it is", skipped=2, seconds=12.4),
        outcome("old", "b2", failed=1, failures=["tests/a.py::test_b"]),
    ]
    about = "a processor; numpy 1"
    page = machines.rendered(every, found, every[2:], ["tests/index"], about, "`c3`, 2001-02-03")
    assert "| as it is | nothing changed | 10 | 0 | 2 | 12 |" in page
    assert "| old | an old one | 10 | 1 | 0 | 0 |" in page
    assert "- old: `tests/a.py::test_b`" in page
    assert "| sums | `a1` | differs on old |" in page
    assert "Not run: a new one; this processor has no `avx9`." in page
    assert "Machine: a processor; numpy 1." in page
    assert "Source: `c3`, 2001-02-03." in page
    assert "On old also `tests/loop.py`." in page
    assert "**What holds.** 10 tests pass on 1 of 2 processors." in page
    assert "**What does not.** Something fails on old. Bits differ: sums." in page
    found[1] = replace(found[1], same_as="as it is")
    machines.as_csv(every, found, tmp_path / "machines.csv", "c3", "2001-02-03")
    with (tmp_path / "machines.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["passed"] for row in rows] == ["10", "10"]
    assert [row["same_as"] for row in rows] == ["", "as it is"]
    assert {(row["source"], row["date"]) for row in rows} == {("c3", "2001-02-03")}
    assert rows[1]["environment"] == "SWITCH=off"
    assert {row["libraries"] for row in rows} == {"numpy=baseline"}
    assert rows[1]["failures"] == "tests/a.py::test_b"


def test_layouts_of_the_index_agree_here() -> None:
    layouts = same_bits.index_rankings()
    assert len(layouts) == 4
    assert len(set(layouts.values())) == 1
    assert same_bits.seen()["numpy"]
    others = same_bits.index_rankings(backwards=True)
    assert len(set(others.values())) == 1
    assert set(others.values()) != set(layouts.values()), "the order of a sum must show"


def test_digests_of_dense_rows_show_the_order_of_a_sum() -> None:
    forwards = same_bits.dense_digests()
    backwards = same_bits.dense_digests(backwards=True)
    changed = {name for name, digest in forwards.items() if digest != backwards[name]}
    assert "cancelling, ip, float32" in changed
    sums = {name for name in forwards if name.endswith("float64")}
    assert {name for name in sums if not name.startswith("near")} <= changed
    assert forwards == same_bits.dense_digests()
