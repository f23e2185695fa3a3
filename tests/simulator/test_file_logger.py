from __future__ import annotations

import json

from rlreport.simulator.file_logger import jsonl_text
from rlreport.simulator.log_call import LogCall

CALLS = [LogCall(1.0, 0, {"val-core/a/acc/mean@16": 0.25}), LogCall(2.0, 1, {"timing_s/gen": 2.5, "num_turns/max": 2})]


def test_one_line_a_call_without_spaces_and_without_a_clock() -> None:
    assert jsonl_text(CALLS) == (
        '{"step":0,"data":{"val-core/a/acc/mean@16":0.25}}\n{"step":1,"data":{"timing_s/gen":2.5,"num_turns/max":2}}\n'
    )
    assert jsonl_text([]) == ""


def test_a_process_that_died_left_a_part_of_the_last_line() -> None:
    whole, cut = jsonl_text(CALLS), jsonl_text(CALLS, cut=0.45)
    assert whole.startswith(cut)
    first, rest = cut.split("\n")
    assert json.loads(first)["step"] == 0
    assert (
        rest == '{"step":1,"data":{"timing'
    )  # 25 of the 56 characters of '{"step":1,"data":{"timing_s/gen":2.5,"num_turns/max":2}}'
