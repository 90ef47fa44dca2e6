"""Rows added one by one: whatever cuts a write short, no row is wrong and at most the last one is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from flgp.experiments.ledger import Ledger

COLUMNS = ("n", "value", "note")
ROWS = [["1", "0.123456", ""], ["2", "1e-05", 'with "quotes", commas'], ["3", "3.25", "two\nlines"]]


def filled(path):
    ledger = Ledger(path, COLUMNS)
    for row in ROWS:
        ledger.add(row)
    return path.read_bytes()


def test_rows_are_kept(tmp_path):
    filled(tmp_path / "rows.csv")
    assert Ledger(tmp_path / "rows.csv", COLUMNS).rows == ROWS


def test_a_file_cut_anywhere_loses_the_last_row_only(tmp_path):
    path = tmp_path / "rows.csv"
    whole = filled(path)
    ends = [whole.index(b"\n") + 1]
    for row in ROWS:
        single = tmp_path / "single.csv"
        single.unlink(missing_ok=True)
        Ledger(single, COLUMNS).add(row)
        ends.append(ends[-1] + len(single.read_bytes()) - ends[0])
    for length in range(ends[0], len(whole) + 1):
        path.write_bytes(whole[:length])
        again = Ledger(path, COLUMNS)
        assert again.rows == ROWS[: sum(end <= length for end in ends[1:])]
        again.add(["9", "9", "next"])  # the next row is not lost to what was cut
        assert Ledger(path, COLUMNS).rows == again.rows


def test_changed_bytes_are_found(tmp_path):
    path = tmp_path / "rows.csv"
    whole = filled(path)
    start = whole.index(b"\n") + 1
    for position in range(start, len(whole)):
        changed = bytearray(whole)
        changed[position] ^= 1
        path.write_bytes(bytes(changed))
        assert all(row in ROWS for row in Ledger(path, COLUMNS).rows)


def test_files_without_checksums_are_read_and_get_them(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("n,value,note\n1,0.5,\n2,0.75,x\n3,0.1")
    assert Ledger(path, COLUMNS).rows == [["1", "0.5", ""], ["2", "0.75", "x"]]
    assert path.read_text().startswith("n,value,note,checksum\n1,0.5,,")


_WRITER = """
import sys
from pathlib import Path
from flgp.experiments.ledger import Ledger
ledger = Ledger(Path(sys.argv[1]), ("n", "value", "note"))
print("ready", flush=True)
number = len(ledger.rows)
while True:
    ledger.add([str(number), repr(number / 7), "x" * (number % 5000)])
    number += 1
    print(number, flush=True)
"""


@pytest.mark.slow
def test_kill_9_leaves_no_wrong_row_and_loses_at_most_one(tmp_path):
    path = tmp_path / "rows.csv"
    rng = np.random.default_rng(0)
    for _ in range(max(int(os.environ.get("FLGP_FUZZ_CASES", "300")) // 100, 3)):
        with subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE) as writer:
            writer.stdout.readline()
            time.sleep(rng.uniform(0.0, 0.05))
            writer.send_signal(signal.SIGKILL)
            said = writer.stdout.read().split()
        rows = Ledger(path, COLUMNS).rows
        assert rows == [[str(i), repr(i / 7), "x" * (i % 5000)] for i in range(len(rows))]
        assert len(rows) >= int(said[-1] if said else 0)  # what was said to be stored is stored
