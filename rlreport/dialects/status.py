"""How a run ended, judged by what its sources tell. Tracebacks are no failure and silence is no success."""

from __future__ import annotations

from rlreport.run.model import Status
from rlreport.run.raw import RawRun

#: Exit codes of a process that was stopped from outside, with the signal's name (128 + its number, or timeout's 124).
STOPPED: dict[int, str] = {124: "a time limit", 130: "SIGINT", 137: "SIGKILL", 143: "SIGTERM", -9: "SIGKILL", -15: "SIGTERM"}


def judge_status(raw: RawRun, planned_steps: int | None) -> tuple[Status, str]:
    """The status of a run and the reason in words.

    Args:
        raw: the merged run; its facts and its last step are read.
        planned_steps: how many steps the configuration asks for, None where it does not tell. The progress bar's total
            stands in for it.
    """
    facts = raw.facts
    last = int(raw.frame.index.max()) if len(raw.frame.index) else None
    planned = planned_steps if planned_steps else (facts.progress[1] if facts.progress else None)
    all_done = planned is not None and last is not None and last >= planned
    bar_done = facts.progress is not None and facts.progress[1] > 0 and facts.progress[0] >= facts.progress[1]
    if all_done or bar_done or (facts.final_validation and last is not None):
        return "completed", _with_errors(raw, _completed(raw, planned, last, bar_done=bar_done))
    if facts.exit_code in STOPPED:
        return "killed", f"{_where(last, planned)}; stopped by {STOPPED[facts.exit_code]} (exit code {facts.exit_code})"
    if facts.exit_code is not None and facts.exit_code != 0:
        return "crashed", f"{_where(last, planned)}; exit code {facts.exit_code}{_first_error(raw)}"
    if facts.exit_code == 0 and last is not None:
        return "completed", _with_errors(raw, f"exit code 0 after step {last}{'' if planned is None else f' of {planned}'}")
    if _error_ends_log(raw):
        return "crashed", f"{_where(last, planned)}{_first_error(raw)}"
    if last is not None and last in raw.partial_steps:
        return "killed", f"{_where(last, planned)}; its line is cut and nothing follows: killed, or still being written"
    if planned is not None and last is not None:
        return "killed", f"{_where(last, planned)}; the log simply stops: killed, or still being written{_survived(raw)}"
    return "unknown", f"{_where(last, planned)}; nothing tells whether the run ended by itself"


def _completed(raw: RawRun, planned: int | None, last: int | None, *, bar_done: bool) -> str:
    if last is not None and planned is not None and last >= planned:
        return f"step {last} of {planned} planned steps was logged"
    if bar_done and raw.facts.progress is not None:
        return f"the progress bar reached {raw.facts.progress[0]} of {raw.facts.progress[1]}"
    return "the final validation was printed"


def _with_errors(raw: RawRun, reason: str) -> str:
    parts = [reason]
    if raw.facts.exit_code not in (None, 0):
        parts.append(f"exit code {raw.facts.exit_code} came after the last step")
    if raw.facts.tracebacks:
        many = f"{raw.facts.tracebacks} tracebacks" if raw.facts.tracebacks > 1 else "a traceback"
        parts.append(f"{many} in the log did not stop it")
    elif raw.facts.first_error is not None:
        parts.append(f"an error at line {raw.facts.first_error[0]} did not stop it")
    return "; ".join(parts)


def _where(last: int | None, planned: int | None) -> str:
    if last is None:
        return "no step was logged"
    return f"the last step logged is {last}" + ("" if planned is None else f" of {planned}")


def _first_error(raw: RawRun) -> str:
    error = raw.facts.first_error
    return "" if error is None else f"; first error at line {error[0]}: {error[1]}"


def _survived(raw: RawRun) -> str:
    error = raw.facts.first_error
    return "" if error is None else f", long after a first error at line {error[0]}"


def _error_ends_log(raw: RawRun) -> bool:
    """Whether the first error comes after the last step line of the source that tells it (or there is no step at all)."""
    error = raw.facts.first_error
    if error is None:
        return False
    if not len(raw.frame.index):
        return True
    for source in raw.sources:
        if source.facts.first_error == error:
            lines = [row.line for row in source.rows if row.line is not None]
            return not lines or max(lines) < error[0]
    return False
