"""The pages as the tests see them: their blocks of code, and what they quote."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_MADE = ("_build", "auto_examples")

PAGES = [
    ROOT / "README.md",
    *(path for path in sorted(DOCS.rglob("*.md")) if path.relative_to(DOCS).parts[0] not in _MADE),
]


class Block(NamedTuple):
    """A fenced block: what stands after the fence, where it begins, and its text."""

    language: str
    line: int
    text: str


def name_of(page: Path) -> str:
    """A page's path within the project."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page."""
    found, language, lines, start = [], None, [], 0
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = re.match(r"```+(.*)$", line)
        if language is None and fence:
            language, lines, start = fence[1].strip(), [], number + 1
        elif language is not None and fence and not fence[1]:
            found.append(Block(language, start, "\n".join(lines) + "\n"))
            language = None
        elif language is not None:
            lines.append(line)
    assert language is None, f"{page}: the block in line {start} is not closed"
    return found


def commands(page: Path) -> list[str]:
    """What a page tells the reader to type in a shell: `console` blocks, and commands within the text."""
    typed = []
    for block in blocks(page):
        if block.language == "console":
            joined = block.text.replace("\\\n", " ")
            typed += [line[2:] for line in joined.splitlines() if line.startswith("$ ")]
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return typed + re.findall(r"`((?:flgp|make) [^`]+)`", prose)
