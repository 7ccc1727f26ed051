"""The README's five minutes as commands: what a person would type, in its order."""

from __future__ import annotations

import re

FROM_CHECKOUT = ".venv/bin/likewise "


def five_minutes(readme: str) -> list[str]:
    """Lines of the section that call the program, as they stand there."""
    return [line for line in _lines(readme) if line.startswith(FROM_CHECKOUT)]


def installing(readme: str) -> list[str]:
    """Lines of the section that install it without a checkout."""
    return [line for line in _lines(readme) if line.startswith("pip install ")]


def _lines(readme: str) -> list[str]:
    section = readme.split("## Five minutes")[1].split("\n## ")[0]
    blocks = re.findall(r"```\n(.*?)```", section, flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]
