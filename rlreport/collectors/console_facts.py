"""What a console log tells beside its metrics: progress, resumes, errors, exit codes, the framework's closing words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rlreport.collectors.text import decode, strip_ansi, strip_prefixes, take_apart
from rlreport.run.raw import SourceFacts

_BAR = re.compile(rb"Training Progress:\s*\d{1,3}%\|[^|\r\n]{0,200}\|\s*(\d+)/(\d+) \[((?:\d+:)?\d\d:\d\d)<")

_SETTING = re.compile(rb"Setting global step to (\d+)(?:[^\r\n]{0,40}?current_param_version\D{0,8}(\d+))?")
_RESUMING = re.compile(rb"Resuming from [^\r\n]*?global_step_(\d+)")

_LOG_PREFIX = re.compile(r"(?:ERROR|CRITICAL|FATAL|WARNING|INFO)\s+[\d-]+ [\d:.,]+ \[[^\]\s]*\] ?")
#: A line that names an error: an exception with its message, as Python, Ray and vLLM print it, or the death of a process.
_NAMED_ERROR = re.compile(
    r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)(?:\([\w.]*\))?(?::|$)"
    r"|Fatal Python error: |slurmstepd: error: |srun: error: |Segmentation fault|Killed$|Error executing job"
)
_EXCEPTION = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:\([\w.]*\))?(?::|$)")
_ERROR_WORDS = (b"ERROR", b"rror", b"CRITICAL", b"FATAL", b"Killed", b"fault", b"xception", b"Interrupt", b"Exit")
_LOGGED_ERROR = re.compile(r"\[?(?:ERROR|CRITICAL|FATAL)\]?[\s:]")

_EXIT_CODE = re.compile(
    r"(?:\+ )?(?:[\w.-]*_)?(?:rc|exit|exit_?code|return_?code|exit_?status)\s*[=:]\s*(-?\d{1,5})"
    r"|(?:(?:process|command|job|training|script|run)\s+)?(?:finished|exited|ended|terminated)?\s*(?:with\s+)?"
    r"(?:the\s+)?(?:non-zero\s+)?(?:exit|return)[\s-]*(?:code|status)\s*[=:]?\s*(-?\d{1,5})\.?",
    re.IGNORECASE,
)

_ERROR_WIDTH = 300
_TRACEBACK_LINES = 400


@dataclass(slots=True)
class ProgressBar:
    """The framework's progress bar over a source. Its elapsed time restarts at zero on a resume; here it goes on."""

    state: tuple[int, int] | None = None
    elapsed_s: dict[int, float] = field(default_factory=dict)
    _before_s: float = 0.0
    _last_s: float = 0.0

    def read(self, buffer: bytes, position: int) -> None:
        """Read the bar that begins at a position, if there is one."""
        match = _BAR.match(buffer, position)
        if match is None:
            return
        done, total = int(match[1]), int(match[2])
        elapsed_s = _seconds(match[3])
        if self.state is not None and (done < self.state[0] or elapsed_s < self._last_s):
            self._before_s += self._last_s
            initial = elapsed_s == 0
            self.elapsed_s = {step: at for step, at in self.elapsed_s.items() if step < done or (initial and step == done)}
        self._last_s = elapsed_s
        if self.state is None or done != self.state[0]:
            self.elapsed_s.setdefault(done, self._before_s + elapsed_s)
        self.state = (done, total)


@dataclass(slots=True)
class ErrorWatch:
    """The first line that names an error, and how many tracebacks there are."""

    tracebacks: int = 0
    first: tuple[int, str] | None = None

    def read_traceback(self, buffer: bytes, position: int, line_start: int, line_number: int) -> None:
        """Count a traceback; when no error is known yet, find the exception that ends it."""
        self.tracebacks += 1
        if self.first is not None:
            return
        head = take_apart(buffer[line_start:position])
        start = buffer.find(b"\n", position) + 1
        for offset in range(1, _TRACEBACK_LINES):
            end = buffer.find(b"\n", start)
            if start == 0 or end < 0:
                return
            line = take_apart(buffer[start:end])
            start = end + 1
            if line.pid != head.pid:
                continue
            text = _LOG_PREFIX.sub("", strip_prefixes(line.body), count=1)
            if text[:1].isspace() or not text:
                continue
            if _EXCEPTION.match(text):
                self.first = (line_number + offset, _trim(text))
            return

    def read_error(self, buffer: bytes, line_start: int, line_end: int, line_number: int) -> None:
        """Look at a line that holds the word Error; it counts when the line begins by naming one."""
        if self.first is None and (text := named_error(buffer[line_start:line_end])):
            self.first = (line_number, text)


def named_error(raw: bytes) -> str | None:
    """The text of a line that names an error, without colours and prefixes; None for any other line."""
    text = _LOG_PREFIX.sub("", strip_prefixes(strip_ansi(decode(raw[:4096]))), count=1)
    return _trim(text) if _NAMED_ERROR.match(text) else None


def read_resume(buffer: bytes, position: int) -> int | None:
    """The step at which the run resumes, from `Setting global step to N` or `Resuming from .../global_step_N`.

    Fully async counts steps by parameter version; its line gives the version too, which is what its metrics are logged by.
    """
    if match := _SETTING.match(buffer, position):
        return int(match[2] or match[1])
    match = _RESUMING.match(buffer, position)
    return int(match[1]) if match else None


def read_tail(tail: bytes, lines_before: int, facts: SourceFacts) -> None:
    """Read the end of a log into `facts`: the recorded exit code, the closing validation, and errors without a name.

    `lines_before` is the number of lines before the tail. Only lines without an actor's prefix can hold the exit code of the
    run: Ray reports those of its workers too.
    """
    facts.final_validation = b"Final validation metrics" in tail
    logged: tuple[int, str] | None = None
    for offset, raw in enumerate(tail.split(b"\n"), start=1):
        if len(raw) > 4096:
            continue
        if len(raw) < 160 and not raw.startswith((b"(", b"\x1b")) and (match := _EXIT_CODE.fullmatch(decode(raw).strip())):
            facts.exit_code = int(match[1] or match[2])
        if facts.first_error is not None or not any(word in raw for word in _ERROR_WORDS):
            continue
        text = strip_prefixes(take_apart(raw).body.strip())
        if named := named_error(raw):
            facts.first_error = (lines_before + offset, named)
        elif logged is None and _LOGGED_ERROR.match(text):
            logged = (lines_before + offset, _trim(text))
    if facts.first_error is None:
        facts.first_error = logged


def _trim(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _ERROR_WIDTH else text[: _ERROR_WIDTH - 1] + "…"


def _seconds(clock: bytes) -> float:
    """Seconds of `MM:SS` or `H:MM:SS`."""
    seconds = 0
    for part in clock.split(b":"):
        seconds = seconds * 60 + int(part)
    return float(seconds)
