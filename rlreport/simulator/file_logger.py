"""The JSONL file of verl's FileLogger: `{"step": N, "data": {...}}`, one line a call of the logger, no clock.

Source: verl/utils/tracking.py, FileLogger (orjson, without spaces). It opens its file for writing, so a resumed run erases
what was there: the file holds the last attempt only.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from rlreport.simulator.log_call import LogCall


def jsonl_lines(calls: Sequence[LogCall]) -> list[str]:
    """One line a call, without line ends."""
    return [json.dumps({"step": call.step, "data": call.values}, separators=(",", ":")) for call in calls]


def jsonl_text(calls: Sequence[LogCall], cut: float = 0.0) -> str:
    """The file of these calls. `cut` above 0: the process died while it wrote the last line, that share of it is there."""
    lines = jsonl_lines(calls)
    if not cut or not lines:
        return "".join(f"{line}\n" for line in lines)
    *whole, last = lines
    return "".join(f"{line}\n" for line in whole) + last[: max(1, int(len(last) * cut))]
