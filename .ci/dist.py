"""Build the wheel and the sdist twice, compare every byte, and check that the sdist is complete.

Left in dist/: one wheel and one sdist. Their time stamp is that of the last commit, or SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# In the repository but not for those who build from the sdist.
LEFT_OUT = ("results/",)


def build(source: Path, target: Path, epoch: str, *kinds: str) -> dict[str, str]:
    """The files that a build makes, with their hashes."""
    command = [sys.executable, "-m", "build", "--outdir", str(target), *kinds, str(source)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"The build failed:\n{done.stdout}\n{done.stderr}")
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(target.iterdir())}


def git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True).stdout


def main() -> None:
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct").strip()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = build(ROOT, folder / "first", epoch, "--wheel", "--sdist")
        second = build(ROOT, folder / "second", epoch, "--wheel", "--sdist")
        if first != second:
            raise SystemExit(f"Two builds differ: {first} and {second}.")
        # A third wheel from the unpacked sdist: what is missing there shows, and so do paths.
        (sdist,) = (folder / "first").glob("*.tar.gz")
        with tarfile.open(sdist) as archive:
            members = {member.partition("/")[2] for member in archive.getnames()}
            archive.extractall(folder, filter="data")
        third = build(folder / sdist.name.removesuffix(".tar.gz"), folder / "third", epoch, "--wheel")
        if not third.items() <= first.items():
            raise SystemExit(f"The wheel of the sdist is another: {third} instead of {first}.")
        tracked = [path for path in git("ls-files").splitlines() if not path.startswith(LEFT_OUT)]
        if missing := sorted(set(tracked) - members):
            raise SystemExit(f"The sdist lacks {', '.join(missing)}.")
        (wheel,) = (folder / "first").glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            packed = set(archive.namelist())
        sources = {path.removeprefix("src/") for path in tracked if path.startswith("src/")}
        if missing := sorted(sources - packed):
            raise SystemExit(f"The wheel lacks {', '.join(missing)}.")
        shutil.rmtree(ROOT / "dist", ignore_errors=True)
        shutil.copytree(folder / "first", ROOT / "dist")
    for file, digest in first.items():
        print(f"{digest}  dist/{file}")


if __name__ == "__main__":
    main()
