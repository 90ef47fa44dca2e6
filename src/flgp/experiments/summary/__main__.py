"""Write results/summary.json and renew the documents; run from the repository's root."""

from __future__ import annotations

from pathlib import Path

from ..._files import write_text
from . import renewed, summarize_results

DOCUMENTS = ("README.md", "docs/reproduce.md", "docs/many_classes.md", "docs/brain.md", "results/README.md")


def main(root: Path = Path()) -> None:
    """Everything, from the rows."""
    summary = summarize_results(root / "results")
    write_text(root / "results" / "summary.json", summary.text())
    for name in DOCUMENTS:
        path = root / name
        old = path.read_text(encoding="utf-8")
        if (new := renewed(old, summary)) != old:
            write_text(path, new)


if __name__ == "__main__":
    main()
