"""The installed wheel, without the repository's sources, runs every page, the gallery and the commands.

Each page and example runs in a process and a folder of its own. Those that need what is not installed here
(brain maps) are named and left out; any other error fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "docs"))
from pages import PAGES, blocks, name_of  # noqa: E402

NEED_FILES = ("learned_features.py", "suggest_curves.py")  # MNIST, and PyTorch
MISSING = 77  # exit code of what needs an extra that is not installed
RUN = f"""
import pathlib, sys, matplotlib
matplotlib.use("Agg")
import flgp
assert "site-packages" in flgp.__file__, flgp.__file__
path = sys.argv[1]
try:
    code = compile(pathlib.Path(path).read_text(encoding="utf-8"), path, "exec")
    exec(code, {{"__name__": "__main__", "__file__": path}})
except ModuleNotFoundError as error:
    if error.name.partition(".")[0] not in ("nibabel", "nilearn"):
        raise
    sys.exit({MISSING})
"""
COMMANDS = """
import subprocess, sys
import flgp.datasets, numpy as np
data = flgp.datasets.circles(600, random_state=0)
with open("points.csv", "w") as file:
    file.write("u,v,ring\\n")
    for i, (point, ring) in enumerate(zip(data.X, data.y)):
        file.write(f"{point[0]},{point[1]},{'' if i % 5 else ring}\\n")
flgp_command = [sys.executable, "-m", "flgp"]
for words in ("fit points.csv --target ring -o m.flgp", "info m.flgp",
              "predict m.flgp points.csv -o out.csv", "report m.flgp points.csv -o r.html"):
    subprocess.run([*flgp_command, *words.split()], check=True, capture_output=True)
"""


def code_of(page: Path) -> str:
    """The Python of a page, on its own lines."""
    lines: list[str] = []
    for block in blocks(page):
        if block.language == "python":
            lines += [""] * (block.line - 1 - len(lines)) + block.text.splitlines()
    return "\n".join(lines)


def run(named: tuple[str, str]) -> tuple[str, int, str]:
    name, code = named
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "lines.py").write_text(code, encoding="utf-8")
        shutil.copytree(ROOT / "examples" / "data", Path(folder) / "data")  # examples look beside themselves
        done = subprocess.run(
            [sys.executable, "-c", RUN, "lines.py"],
            cwd=folder,
            env={**clean, "OPENBLAS_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
    return name, done.returncode, done.stderr


def main() -> int:
    work = [("the command line", COMMANDS)]
    work += [(name_of(page), code) for page in PAGES if (code := code_of(page))]
    for path in sorted(
        {*(ROOT / "examples").glob("*.py")} - {ROOT / "examples" / name for name in NEED_FILES}
    ):
        work.append((f"examples/{path.name}", path.read_text(encoding="utf-8")))
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, code, said in pool.map(run, work):
            print(f"{name}: {'ok' if code == 0 else 'left out' if code == MISSING else 'FAILED'}", flush=True)
            if code not in (0, MISSING):
                failed += 1
                print(said, file=sys.stderr)
    print(f"{len(work)} runs of the wheel, {failed} failed.")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
