"""Licences of what is installed, and known vulnerabilities.

Fails for a vulnerability in what flgp itself needs to run. One in a tool of the developers is shown only, and
so is an advisory service that cannot be reached: neither says anything about the change at hand.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import Distribution, distribution, distributions

# Licences that a library under MIT may ask its users to install.
FREE = re.compile(
    r"MIT|BSD|Apache|PSF|Python Software Foundation|ISC|MPL|Mozilla|zlib|0BSD|Unlicense|CC0", re.I
)


def licence(found: Distribution) -> str:
    """What a distribution says about its licence, in a few words."""
    told = found.metadata
    kinds = [c.rpartition(" :: ")[2] for c in told.get_all("Classifier") or [] if c.startswith("License ::")]
    text = told.get("License-Expression") or ", ".join(kinds) or (told.get("License") or "").strip()
    return text.splitlines()[0][:60] if text else "not stated"


def needed() -> set[str]:
    """Names of what `pip install flgp` brings, without extras."""
    seen: set[str] = set()
    waiting = ["flgp"]
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        rules = [rule for rule in distribution(name).requires or [] if "extra ==" not in rule]
        waiting += [re.match(r"[\w.-]+", rule).group() for rule in rules if ";" not in rule]
    return seen - {"flgp"}


def list_licences(core: set[str]) -> list[str]:
    """Print a table; the names in the core whose licence is not known to be free."""
    rows = sorted({(found.metadata["Name"], found.version, licence(found)) for found in distributions()})
    print("Licences (* needed by the library itself)")
    doubtful = []
    for name, version, text in rows:
        own = re.sub(r"[-_.]+", "-", name).lower() in core
        print(f"{'*' if own else ' '} {name} {version}: {text}")
        if own and not FREE.search(text):
            doubtful.append(name)
    return doubtful


def answers() -> list[dict]:
    """What the advisory service says about each package; empty if it cannot be asked."""
    tool = [sys.executable, "-m", "pip_audit", "--skip-editable", "--timeout", "15"]
    options = ["--format", "json", "--progress-spinner", "off"]
    try:
        done = subprocess.run([*tool, *options], capture_output=True, text=True, timeout=300)
        return list(json.loads(done.stdout)["dependencies"])
    except (OSError, ValueError, LookupError, subprocess.TimeoutExpired):
        return []


def main() -> int:
    core = needed()
    doubtful = list_licences(core)
    for name in doubtful:
        print(f"ERROR: the licence of {name}, which flgp needs, is not among those known to be free.")
    # A service that does not know a package skips it, and says "no known vulnerabilities" all the same.
    told = {part["name"].lower(): part["vulns"] for part in answers() if "vulns" in part}
    serious = 0
    for name, found in told.items():
        for advisory in found:
            serious += name in core
            print(f"{'ERROR' if name in core else 'NOTICE'}: {advisory['id']} in {name}.")
    print(f"Advisories were looked up for {len(told)} packages; {serious} concern what the library needs.")
    if unknown := sorted(core - set(told)):
        line = "*" * 100
        said = f"NOT AUDITED: the advisory service gave no answer about {', '.join(unknown)}."
        print(f"{line}\n{said}\nThis run says nothing about their vulnerabilities.\n{line}", file=sys.stderr)
    return bool(serious or doubtful)


if __name__ == "__main__":
    sys.exit(main())
