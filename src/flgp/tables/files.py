"""Tables from and to files; the file extension sets the format."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from .._files import check_target, replacing
from .errors import TableError

__all__ = ["TableError", "read_table", "write_table"]

# Text that begins with one of these is a formula to a spreadsheet.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_READERS = (".csv", ".tsv", ".parquet", ".feather", ".npy", ".npz")


def read_table(path: str | os.PathLike) -> Any:
    """A pandas DataFrame from a CSV, TSV, Parquet, Feather, NPY or NPZ file.

    The columns of an NPY file, and of a two-dimensional array `X` in an NPZ file, are x0, x1, …; every
    one-dimensional array of an NPZ file is a column with the same name.
    """
    pandas = _pandas()
    path = Path(path)
    suffix = _suffix(path)
    if not path.is_file():
        raise TableError(f"There is no file {path}. Check the path.")
    try:
        if suffix in (".csv", ".tsv"):
            frame = pandas.read_csv(path, sep="," if suffix == ".csv" else "\t", low_memory=False)
        elif suffix == ".parquet":
            frame = pandas.read_parquet(path)
        elif suffix == ".feather":
            frame = pandas.read_feather(path)
        else:
            frame = _from_arrays(path, suffix)
    except ImportError as error:
        raise TableError(f"{suffix} files need pyarrow. Install it: pip install 'flgp[cli]'.") from error
    except TableError:
        raise
    except (ValueError, OSError, LookupError, zipfile.BadZipFile, EOFError) as error:
        reason = (str(error).splitlines() or ["unknown reason"])[0]
        raise TableError(
            f"{path} cannot be read as {suffix[1:].upper()}: {reason.rstrip('.')}. Check the file."
        ) from error
    if len(frame) == 0:
        raise TableError(f"{path} has no rows. Use a table with data.")
    frame.columns = [str(name) for name in frame.columns]
    return frame


def write_table(frame: Any, path: str | os.PathLike, escape_formulas: bool = False) -> None:
    """Write a DataFrame; the file extension sets the format.

    `escape_formulas` puts an apostrophe before text in CSV and TSV that a spreadsheet would run as a formula.
    """
    path = Path(path)
    suffix = _suffix(path)
    if suffix == ".npy":
        text = [name for name in frame.columns if frame[name].dtype.kind not in "iufb"]
        if text:
            raise TableError(f"{path.name} can hold numbers only, but {text[0]!r} is text. Use .npz or .csv.")
    if escape_formulas and suffix in (".csv", ".tsv"):
        frame = _without_formulas(frame)
    try:
        with replacing(path) as file:
            if suffix in (".csv", ".tsv"):
                frame.to_csv(file, sep="," if suffix == ".csv" else "\t", index=False)
            elif suffix == ".parquet":
                frame.to_parquet(file, index=False)
            elif suffix == ".feather":
                frame.reset_index(drop=True).to_feather(file)
            elif suffix == ".npy":
                np.save(file, frame.select_dtypes("number").to_numpy(dtype=float), allow_pickle=False)
            else:
                np.savez(file, **{name: _plain(frame[name]) for name in frame.columns})
    except ImportError as error:
        raise TableError(f"{suffix} files need pyarrow. Install it: pip install 'flgp[cli]'.") from error
    except OSError as error:
        raise TableError(
            f"{path} cannot be written: {error.strerror or error}. Choose another place."
        ) from error


def check_output(path: str | os.PathLike, *inputs: str | os.PathLike) -> None:
    """Refuse a bad output name, or one of the inputs' names, before the work rather than after it."""
    _suffix(Path(path))
    check_target(path, inputs)
    if not Path(path).resolve().parent.is_dir():
        raise TableError(f"There is no folder {Path(path).parent}. Create it first.")


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise TableError(f"{path.name} has an unknown file extension. Use one of {', '.join(_READERS)}.")
    return suffix


def _from_arrays(path: Path, suffix: str) -> Any:
    pandas = _pandas()
    with open(path, "rb") as file:  # NumPy leaves a damaged file open
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray) != (suffix == ".npy"):
            raise TableError(f"The content of {path} does not match its file extension. Rename the file.")
        arrays = {"X": loaded} if suffix == ".npy" else {name: loaded[name] for name in loaded.files}
    columns: dict[str, Any] = {}
    for name, values in arrays.items():
        if values.ndim == 2:
            prefix = "x" if name == "X" else f"{name}_"
            columns.update({f"{prefix}{i}": column for i, column in enumerate(values.T)})
        elif values.ndim == 1:
            columns["x0" if name == "X" else name] = values
        else:
            raise TableError(
                f"The array {name!r} in {path} has {values.ndim} dimensions, but must have 1 or 2."
            )
    if len({len(values) for values in columns.values()}) > 1:
        raise TableError(f"The arrays in {path} have different lengths. Each needs one row per point.")
    return pandas.DataFrame(columns)


def _without_formulas(frame: Any) -> Any:
    def safe(value: Any) -> Any:
        return f"'{value}" if isinstance(value, str) and value[:1] in _FORMULAS else value

    texts = {name: frame[name].map(safe) for name in frame.columns if frame[name].dtype.kind not in "iufb"}
    return frame.assign(**texts).rename(columns=safe)


def _plain(values: Any) -> Any:
    array = values.to_numpy()
    return array.astype(str) if array.dtype == object else array


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise TableError("Tables need pandas. Install it: pip install 'flgp[cli]'.") from error
    return pandas
