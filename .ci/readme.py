"""Run the README's first lines of Python, from a folder where only the installed package can be found."""

from __future__ import annotations

import re
import sys
from pathlib import Path

text = Path(sys.argv[1]).read_text()
lines = re.search(r"```python\n(.*?)```", text, flags=re.DOTALL).group(1)
import flgp  # noqa: E402

assert "site-packages" in flgp.__file__, f"not the installed package: {flgp.__file__}"
exec(compile(lines, "README.md", "exec"), {})
