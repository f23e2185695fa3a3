from __future__ import annotations

import re
from pathlib import Path

import rlreport.collectors
from rlreport.collectors.codes import CODES


def used_codes() -> set[str]:
    folder = Path(rlreport.collectors.__file__).parent
    return {
        code
        for path in folder.rglob("*.py")
        if path != folder / "codes.py"
        for code in re.findall(r'"(RR2\d\d)"', path.read_text())
    }


def test_every_code_that_is_used_is_in_the_table_and_the_other_way_round() -> None:
    assert used_codes() == set(CODES)


def test_codes_of_traces_are_in_the_table() -> None:
    assert {"RR253", "RR264", "RR269", "RR271"} <= set(CODES)


def test_the_table_is_sorted_and_says_something() -> None:
    assert list(CODES) == sorted(CODES)
    assert len(set(CODES.values())) == len(CODES)
    assert all(meaning and not meaning.endswith(".") for meaning in CODES.values())
