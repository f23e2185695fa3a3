from __future__ import annotations

import re
from pathlib import Path

import rlreport.collectors.spans
from rlreport.collectors.codes import CODES
from rlreport.collectors.spans.codes import SPAN_CODES


def test_every_code_that_is_used_is_in_a_table_and_the_other_way_round() -> None:
    folder = Path(rlreport.collectors.spans.__file__).parent
    used = {
        code
        for path in folder.glob("*.py")
        if path.name != "codes.py"
        for code in re.findall(r'"(RR2\d\d)"', path.read_text())
    }
    assert used - set(CODES) == set(SPAN_CODES) - set(CODES)
    assert all(SPAN_CODES[code] == CODES[code] for code in set(SPAN_CODES) & set(CODES))


def test_the_table_is_sorted_and_says_something() -> None:
    assert list(SPAN_CODES) == sorted(SPAN_CODES)
    assert all(meaning and not meaning.endswith(".") for meaning in SPAN_CODES.values())
