"""Pages whose Python blocks are run when the site is built: what they print and plot stands below them.

`executed_pages` in conf.py names the pages. The blocks of a page share their names, as a reader's session
does. The value of a last line that is an expression is shown, as an interpreter would.
"""

from __future__ import annotations

import ast
import io
import os
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from docutils import nodes


def run(code: str, names: dict[str, Any]) -> str:
    """Run a block; what it prints, and the value of its last line."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        exec(compile(tree, "<page>", "exec"), names)
        value = None
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<page>", "eval"), names)
    shown = "" if value is None or _is_drawing(value) else f"{value!r}\n"
    return said.getvalue() + shown


def _is_drawing(value: Any) -> bool:
    """Whether a value is an object of Matplotlib, whose name tells nothing."""
    first = value[0] if isinstance(value, list | tuple) and value else value
    return type(first).__module__.startswith("matplotlib")


def execute(app: Any, doctree: nodes.document) -> None:
    """Add results below the blocks of a page that is to be run."""
    page = app.env.docname
    if page not in app.config.executed_pages:
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names: dict[str, Any] = {"__name__": "__page__"}
    folder = Path(app.srcdir) / "auto_images"
    folder.mkdir(exist_ok=True)
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)  # pages write files where they stand
        try:
            for number, block in enumerate(list(doctree.findall(nodes.literal_block))):
                if block.get("language") != "python":
                    continue
                added: list[nodes.Node] = []
                said = run(block.astext(), names)
                if said.strip():
                    printed = nodes.literal_block(said, said.rstrip(), language="text", classes=["printed"])
                    added.append(printed)
                for k in pyplot.get_fignums():
                    name = f"{page}-{number}-{k}.png"
                    pyplot.figure(k).savefig(folder / name, dpi=110, bbox_inches="tight")
                    added.append(nodes.image(uri=f"auto_images/{name}", alt="What the code above draws"))
                pyplot.close("all")
                block.parent[block.parent.index(block) + 1 : block.parent.index(block) + 1] = added
        finally:
            os.chdir(before)


def setup(app: Any) -> dict[str, bool]:
    app.add_config_value("executed_pages", [], "env")
    app.connect("doctree-read", execute, priority=100)  # before images are collected
    return {"parallel_read_safe": False, "parallel_write_safe": True}
