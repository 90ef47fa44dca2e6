"""The lowest versions that pyproject.toml allows, for pip: of the core, and of what its tests use."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

USED = ("pandas", "polars", "polyagamma")

project = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
more = [rule for rule in [*extras["dev"], *extras["mcmc"]] if rule.startswith(USED)]
for rule in [*project["dependencies"], *more]:
    name, version = re.fullmatch(r"([\w-]+)>=([\d.]+)", rule).groups()
    print(f"{name}=={version}{'.0' * (2 - version.count('.'))}")
