"""Writes the numbers of today's models: `python tests/frozen/make_frozen.py`.

Run it only when the model is meant to change, and say so in the commit.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
from frozen_models import CASES
from threadpoolctl import threadpool_info

HERE = Path(__file__).parent


def platform() -> dict[str, str]:
    """What decides the last bits: the versions, and the kernels that BLAS has chosen."""
    import scipy

    kernels = sorted({str(pool.get("architecture")) for pool in threadpool_info()})
    return {"numpy": np.__version__, "scipy": scipy.__version__, "kernels": ", ".join(kernels)}


def main() -> None:
    arrays = {}
    for name, case in CASES.items():
        started = time.perf_counter()
        arrays |= {f"{name}.{key}": np.asarray(value) for key, value in case().items()}
        print(f"{name}: {time.perf_counter() - started:.1f} s")
    np.savez_compressed(HERE / "numbers.npz", **arrays)
    (HERE / "platform.json").write_text(json.dumps(platform(), indent=2) + "\n")


if __name__ == "__main__":
    main()
