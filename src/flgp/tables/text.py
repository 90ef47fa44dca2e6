"""The format of a text table, detected from its content: encoding, separator, decimal mark and header."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO

from .cells import is_code
from .errors import TableError
from .formats import ReadOptions

# Names of separators that are awkward to type in a shell.
SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": r"\s+"}
_CANDIDATES = (",", ";", "\t", "|", r"\s+")
_SPOKEN = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar", r"\s+": "spaces"}
_SAMPLE_BYTES, _SAMPLE_LINES, _CHUNK = 1 << 18, 400, 1 << 20
# Western text has few accented letters. A larger share means that these bytes are another alphabet.
_MOST_ACCENTED = 0.3
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_OLD = [
    *(f"cp125{page}" for page in (1, 3, 0, 4, 5, 6, 7)),
    *("shift_jis", "gb18030", "big5", "euc_kr", "euc_jp", "koi8_r"),
]
_NUMBER = re.compile(r"[-+]?\d*[.,]?\d+([eE][-+]?\d+)?")
_WITH_COMMA = re.compile(r"[-+]?\d+,\d+")
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}([,.])\d{3}")

Opener = Callable[[], IO[bytes]]


@dataclass(frozen=True)
class TextFormat:
    """What a reader of a text table must know."""

    encoding: str
    sep: str
    decimal: str
    skip: int  # lines before the header
    names: list[str]  # of all columns; the second "x" is "x.1"
    header: bool  # whether there is a header line
    repeated: dict[str, str] = field(default_factory=dict)  # the name in the file of columns such as "x.1"
    codes: list[str] = field(default_factory=list)  # columns such as 00123, which are not numbers
    notes: list[str] = field(default_factory=list)  # what was found, one line each

    @property
    def spoken_sep(self) -> str:
        """The separator in words."""
        return _SPOKEN.get(self.sep, repr(self.sep))


def find_format(source: Opener, name: str, options: ReadOptions, preferred: str) -> TextFormat:
    """The format of a text table, whose `source` opens it at its beginning.

    `name` is for messages. The options are used as given; of several separators that would do, the
    `preferred` one is taken.
    """
    notes: list[str] = []
    sep, decimal = options.sep, options.decimal
    encoding = _find_encoding(source, notes) if options.encoding is None else _checked(options.encoding)
    lines, whole = _first_lines(source, encoding, name)
    if not any(line.strip() for line in lines):
        raise ValueError("it is empty")
    if sep is not None:
        sep = SEPARATORS.get(sep.lower(), sep)
        if len(sep) != 1 and sep != r"\s+":
            known = ", ".join(word for word in SEPARATORS if word != "\\t")
            raise TableError(f"--sep {sep!r} is not one character. Use one, or one of {known}.")
    else:
        sep = _find_separator(lines, preferred)
    rows = [fields for line in _records(lines, whole) if (fields := split(line, sep))]
    skip, rows = _skip_preamble(lines, rows, sep, notes)
    header = options.header and _is_header(rows[0], notes)
    named = _names(rows[0], rows[1:], notes) if header else [f"x{i}" for i in range(len(rows[0]))]
    names, repeated = _distinct(named)
    rows = rows[1:] if header else rows
    if decimal is None:
        decimal = _find_decimal(rows, sep)
    elif decimal not in (".", ","):
        raise TableError(f"--decimal {decimal!r} is not a decimal mark. Use '.' or ','.")
    codes = [names[i] for i in _codes(rows) if i < len(names)]
    found = TextFormat(encoding, sep, decimal, skip, names, header, repeated, codes, notes)
    if sep != preferred or decimal != ".":
        notes.insert(
            0,
            f"columns are separated by {found.spoken_sep}, decimals are written with {decimal!r} "
            "(--sep and --decimal override this)",
        )
    return found


# -- encoding ------------------------------------------------------------------------------------------


def _checked(encoding: str) -> str:
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise TableError(
            f"--encoding {encoding!r} is unknown. Use, for example, utf-8, cp1252 or utf-16."
        ) from error
    return encoding


def _find_encoding(source: Opener, notes: list[str]) -> str:
    with source() as file:
        start = file.read(_SAMPLE_BYTES)
    for mark, encoding in _MARKS:
        if start.startswith(mark):
            if encoding != "utf-8-sig":
                notes.append(f"the file is encoded as {encoding.upper()}")
            return encoding
    zeros = start.count(0)
    if zeros > len(start) / 4:  # every second byte of ASCII in UTF-16
        encoding = "utf-16-le" if start[1::2].count(0) > start[::2].count(0) else "utf-16-be"
        notes.append(f"the file is encoded as {encoding.upper()}, without a byte-order mark")
        return encoding
    if zeros:
        raise ValueError("it is not a text file")
    accented = _bytes_outside_utf8(source)
    if accented is None:
        return "utf-8"
    encoding = _guess_old_encoding(accented)
    notes.append(
        f"the file is not UTF-8 and was read as {encoding}; if names look wrong, choose another --encoding"
    )
    return encoding


def _bytes_outside_utf8(source: Opener) -> bytes | None:
    """A part of the file that is not UTF-8, or None if all of it is."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with source() as file:
        while chunk := file.read(_CHUNK):
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                return chunk
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return chunk
    return None


def _guess_old_encoding(sample: bytes) -> str:
    """A one-byte or East Asian encoding; Western text first, which statistics guess badly if it is short."""
    try:
        western = sample.decode("cp1252")
    except UnicodeDecodeError:
        western = ""
    letters = [c for c in western if c.isalpha()]
    accented = sum(not c.isascii() for c in letters)
    if letters and accented <= _MOST_ACCENTED * len(letters):
        return "cp1252"
    from charset_normalizer import from_bytes

    # Words without sentences look chaotic to it, hence the threshold; encodings of spreadsheets only.
    best = from_bytes(sample, cp_isolation=_OLD, threshold=0.6).best()
    return best.encoding if best is not None else "latin-1"


def _first_lines(source: Opener, encoding: str, name: str) -> tuple[list[str], bool]:
    """The first lines, and whether these are all."""
    with source() as file:
        start = file.read(_SAMPLE_BYTES)
        whole = not file.read(1)
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        text = decoder.decode(start, final=whole)
    except UnicodeError as error:
        raise TableError(
            f"{name} is not encoded as {encoding}. Leave out --encoding to have it detected."
        ) from error
    lines = text.splitlines()
    if not whole and len(lines) > 1:
        lines = lines[:-1]  # the last one may be cut
    return lines[:_SAMPLE_LINES], whole and len(lines) <= _SAMPLE_LINES


# -- separator -----------------------------------------------------------------------------------------


def split(record: str, sep: str) -> list[str]:
    """The fields of a record; none of a blank one."""
    if not record.strip():
        return []
    if sep == r"\s+":
        return next(csv.reader([" ".join(record.split())], delimiter=" "))
    try:
        return [cell.strip() for cell in next(csv.reader([record], delimiter=sep, skipinitialspace=True))]
    except csv.Error:  # a field beyond the limit of the csv module
        return record.split(sep)


def _records(lines: list[str], whole: bool) -> list[str]:
    """Lines joined where a quoted cell goes over several."""
    records: list[str] = []
    pending = ""
    for line in lines:
        pending = f"{pending}\n{line}" if pending else line
        if pending.count('"') % 2 == 0:
            records.append(pending)
            pending = ""
    return [*records, pending] if pending and whole else records


def _find_separator(lines: list[str], preferred: str) -> str:
    """The separator that cuts most lines into the same number of fields, and into the most fields."""
    best, score = preferred, (0.0, 0)
    for sep in sorted(_CANDIDATES, key=lambda candidate: candidate != preferred):
        counts = Counter(len(fields) for line in _records(lines, True) if (fields := split(line, sep)))
        if not counts:
            continue
        width, times = max(counts.items(), key=lambda pair: (pair[0] > 1, pair[1]))
        share = times / sum(counts.values())
        if width < 2 or (sep == r"\s+" and share < 1.0):
            continue  # sentences have spaces, too
        # A comma inside numbers cuts all lines equally as well: it counts for less than any real separator.
        penalty = 0.5 if sep == "," and _cuts_numbers(lines) else 0.1 if sep == r"\s+" else 1.0
        if (share * penalty, width) > (score[0] + 0.02, 0) or (
            abs(share * penalty - score[0]) <= 0.02 and width > score[1]
        ):
            best, score = sep, (share * penalty, width)
    return best


def _cuts_numbers(lines: list[str]) -> bool:
    """Whether the header has no comma outside numbers, so that commas are decimal marks."""
    header = next((line for line in lines if line.strip()), "")
    return "," not in header


# -- header --------------------------------------------------------------------------------------------


def _skip_preamble(
    lines: list[str], rows: list[list[str]], sep: str, notes: list[str]
) -> tuple[int, list[list[str]]]:
    """Titles and comments above the header, which have fewer cells than the table."""
    width = Counter(len(fields) for fields in rows).most_common(1)[0][0]

    def is_title(fields: list[str]) -> bool:
        return len(fields) > 0 and (fields[0].startswith("#") or (width > 2 and sum(map(bool, fields)) <= 1))

    skip = 0
    for line in lines:
        fields = split(line, sep)
        if fields and not is_title(fields):
            break
        skip += 1
    titles = sum(bool(line.strip()) for line in lines[:skip])
    if not titles or titles >= len(rows):
        return next(i for i, line in enumerate(lines) if line.strip()), rows
    notes.append(f"{titles} line(s) above the header were skipped: {lines[0].strip()[:60]!r}")
    return skip, rows[titles:]


def _is_header(first: list[str], notes: list[str]) -> bool:
    """Whether the first line holds names rather than numbers."""
    if not all(_NUMBER.fullmatch(cell) for cell in first):
        return True
    # Columns may be called 400, 410, 420, as in spectra, but hardly 5.1, or twice 0.
    if not all(cell.isdigit() for cell in first) or len(set(first)) < len(first):
        notes.append("the first line holds numbers: the file has no header, its columns are x0, x1, …")
        return False
    notes.append(
        f"the first line ({', '.join(first[:5])}) was taken for the names of the columns; if it is data, "
        "use --no-header"
    )
    return True


def _names(first: list[str], data: list[list[str]], notes: list[str]) -> list[str]:
    """A name for every column, also where the header has one less."""
    width = Counter(map(len, data)).most_common(1)[0][0] if data else len(first)
    named = [cell or f"Unnamed: {i}" for i, cell in enumerate(first)]
    if width != len(first) + 1:
        return named
    if all(not fields[-1] for fields in data if len(fields) == width):
        return [*named, f"Unnamed: {width - 1}"]  # every row ends with a separator
    notes.append("the header has one name fewer than there are columns: the first column holds row names")
    return ["row", *named]


def _distinct(named: list[str]) -> tuple[list[str], dict[str, str]]:
    """Names that differ, and which of them the file has in common with an earlier column."""
    names: list[str] = []
    repeated: dict[str, str] = {}
    for name in named:
        new, number = name, 0
        while new in names or (new != name and new in named):
            number += 1
            new = f"{name}.{number}"
        if new != name:
            repeated[new] = name
        names.append(new)
    return names, repeated


# -- cells ---------------------------------------------------------------------------------------------


def _find_decimal(rows: list[list[str]], sep: str) -> str:
    """The decimal mark of most numbers."""
    if sep == ",":
        return "."  # quoted numbers with commas are looked at column by column
    commas = points = grouped = 0
    for fields in rows:
        for cell in fields:
            if _GROUPED.fullmatch(cell):
                grouped += "," in cell
            elif _WITH_COMMA.fullmatch(cell):
                commas += 1
            elif "." in cell and "," not in cell and _NUMBER.fullmatch(cell):
                points += 1
    if commas or points:
        return "," if commas >= points else "."
    return "," if grouped else "."


def _codes(rows: list[list[str]]) -> list[int]:
    """Positions of columns of digits with leading zeros, such as postcodes: these are not numbers."""
    width = max(map(len, rows), default=0)
    found = []
    for i in range(width):
        cells = [fields[i] for fields in rows if i < len(fields) and fields[i]]
        if is_code(cells):
            found.append(i)
    return found
