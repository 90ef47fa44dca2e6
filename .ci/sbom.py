"""The bill of materials of a release: CycloneDX JSON of what `pip install flgp` brings, here and now.

Only what importlib knows, and nothing about this machine, so that two runs give the same file.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import distribution

from audit import licence, needed


def component(name: str, kind: str = "library") -> dict:
    found = distribution(name)
    return {
        "type": kind,
        "bom-ref": f"pkg:pypi/{name}@{found.version}",
        "name": name,
        "version": found.version,
        "purl": f"pkg:pypi/{name}@{found.version}",
        "licenses": [{"license": {"name": licence(found)}}],
    }


def bill() -> dict:
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component("flgp", "application")},
        "components": [component(name) for name in sorted(needed())],
    }


if __name__ == "__main__":
    json.dump(bill(), sys.stdout, indent=2)
    print()
