"""Ctrl-C, once or more often, at any moment: one line on standard error, and exit code 130."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.product.cli.process import few_views, hear_ctrl_c

BEFORE = """
import atexit, os, signal, sys, time, weakref
from contextlib import contextmanager
import typer
from likewise.cli import entry, main

def press():
    os.kill(os.getpid(), signal.SIGINT)

def wait():
    for _ in range(2000):
        time.sleep(0.01)
    print("nobody was interrupted")
"""
WITH = """
from likewise.cli import app
app.main = command
main()
"""
COMMANDS = {
    "once": "def command(): press(); wait()",
    "twice": """
        def command():
            try:
                press(); wait()
            finally:
                press(); press()
        """,
    "while it takes leave": """
        def command():
            atexit.register(press)
            press(); wait()
        """,
    "while Python takes itself apart": """
        class Late:
            def __del__(self, kill=os.kill, *where):
                kill(*LATE)
        LATE = os.getpid(), signal.SIGINT
        late = Late()
        def command(): press(); wait()
        """,
    "in a text that Python runs": """
        def command():
            exec("press(); wait()", globals())
        """,
    "where Python looks for no error": """
        class Thing: pass
        def called(gone):
            press()
            for _ in range(1000): pass
        def command():
            thing = Thing()
            watched = weakref.ref(thing, called)
            del thing
            wait()
        """,
    "in a library that makes another error of it": """
        def command():
            try:
                press(); wait()
            except KeyboardInterrupt:
                raise RuntimeError("user-defined function raised exception") from None
        """,
    "in a command that typer runs": """
        app_ = typer.Typer()
        @app_.command()
        def one(): press(); wait()
        def command(): app_()
        """,
    "in a command that says more": """
        from likewise.cli.options import stoppable
        app_ = typer.Typer()
        @app_.command()
        def one():
            with stoppable("nothing was changed"):
                try:
                    press(); wait()
                except KeyboardInterrupt:
                    raise ValueError from None
        def command(): app_()
        """,
}


def run(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """As ``python -m likewise``: what is run by another way ends by other ways."""
    (folder / "started.py").write_text(script)
    return subprocess.run(
        [sys.executable, "-m", "started"], cwd=folder, capture_output=True, text=True, timeout=60,
        check=False, preexec_fn=hear_ctrl_c,
    )  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_one_line_and_130(name: str, tmp_path: Path) -> None:
    command = textwrap.dedent(COMMANDS[name])
    if name == "in a library that makes another error of it":
        # What ``app.main`` does with errors of a command is wanted here.
        end = (
            "from likewise.cli import app\napp._app_for = lambda of: lambda **_: command()\nmain()"
        )
    else:
        end = WITH
    done = run(tmp_path, BEFORE + command + end)
    said = "likewise: stopped"
    if name == "in a command that says more":
        said += "; nothing was changed"
    assert (done.returncode, done.stderr.strip(), done.stdout) == (130, said, "")


AFTERWARDS = {
    "while Python takes leave": "def command(): atexit.register(press)",
    "while threads end": """
        import threading
        def command():
            def late():
                time.sleep(0.2); press(); press(); time.sleep(0.2)
            threading.Thread(target=late).start()
        """,
    "while Python takes itself apart": COMMANDS["while Python takes itself apart"].replace(
        "press(); wait()", "pass"
    ),
}


@pytest.mark.parametrize("name", AFTERWARDS)
def test_who_is_done_hears_no_more(name: str, tmp_path: Path) -> None:
    """A server is ended by Ctrl-C, and what started it may pass the key on once more."""
    done = run(tmp_path, BEFORE + textwrap.dedent(AFTERWARDS[name]) + WITH)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")


def test_while_the_command_line_is_imported(tmp_path: Path) -> None:
    finder = """
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "likewise.cli.app":
            press(); wait()
sys.meta_path.insert(0, Finder())
main()
"""
    done = run(tmp_path, BEFORE + finder)
    assert (done.returncode, done.stderr, done.stdout) == (130, "likewise: stopped\n", "")


def test_another_one_ends_a_command_that_does_not_end(tmp_path: Path) -> None:
    command = """
def command():
    entry.PATIENCE = 0.1
    try:
        press(); wait()
    finally:
        time.sleep(0.2); press(); wait()
"""
    done = run(tmp_path, BEFORE + command + WITH)
    assert (done.returncode, done.stderr, done.stdout) == (130, "", "")


def test_who_is_deaf_stays_deaf(tmp_path: Path) -> None:
    """A shell's background jobs do not hear Ctrl-C."""
    command = "def command():\n    press(); print('went on')"
    deaf = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    done = run(tmp_path, deaf + BEFORE + command + WITH)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "went on\n")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for children in /proc")
def test_workers_that_are_just_born_say_nothing(tmp_path: Path) -> None:
    few_views(tmp_path / "pictures")
    some = list((tmp_path / "pictures").iterdir())
    for number in range(50):
        os.link(some[number % len(some)], tmp_path / "pictures" / f"again-{number}.jpg")
    process = subprocess.Popen(
        [sys.executable, "-m", "likewise", "add", "pictures"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "LIKEWISE_STATE": str(tmp_path / "state")},
        start_new_session=True, preexec_fn=hear_ctrl_c,
    )  # fmt: skip
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    # The first is what multiprocessing starts beside them.
    while process.poll() is None and len(children.read_text().split()) < 2:
        time.sleep(0.002)
    time.sleep(0.03)
    # As a terminal does: to the whole group, workers included.
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    said = [line for line in err.splitlines() if line and not line.startswith("Created")]
    assert len(said) == 1, err
    assert said[0].startswith("likewise: stopped")
