"""Read the commands of the README's five minutes."""

from __future__ import annotations

import re


def five_minutes(readme: str) -> list[str]:
    """Return the lines of the section that call the program, in their order."""
    return [line for line in _lines(readme) if line.startswith("likewise ")]


def installing(readme: str) -> list[str]:
    """Return the lines of the section that install Likewise without a checkout."""
    return [line for line in _lines(readme) if line.startswith("pip install ")]


def _lines(readme: str) -> list[str]:
    section = readme.split("## Five minutes")[1].split("\n## ")[0]
    blocks = re.findall(r"```\n(.*?)```", section, flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]
