"""The progress bar in a log, in the form that tqdm writes.

`Training Progress:   1%|          | 1/120 [03:50<7:36:10, 230.00s/it]`. Form: tqdm `format_meter` with a bar of ten cells;
the rate is tqdm's exponential moving average with smoothing 0.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_CELLS = 10
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_SMOOTHING = 0.3


def progress_bars(description: str, elapsed_s: Sequence[float], total: int, initial: int = 0) -> Iterator[str]:
    """The state of the bar after each of its steps; `elapsed_s` counts from when the bar was opened, ascending.

    The bar of a resumed run is opened with the steps that are done already as `initial`.
    """
    smoothed, weight, before_s = 0.0, 0.0, 0.0
    for done, now_s in enumerate(elapsed_s, start=initial + 1):
        smoothed += _SMOOTHING * (now_s - before_s - smoothed)
        weight += _SMOOTHING * (1.0 - weight)
        before_s = now_s
        yield _bar(description, done, total, now_s, smoothed / weight)


def clock(seconds: float) -> str:
    """Seconds as tqdm writes them: `03:10`, `7:34:26`."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute:02d}:{second:02d}"


def _bar(description: str, done: int, total: int, elapsed_s: float, seconds_each: float) -> str:
    fraction = done / total
    full, eighths = divmod(int(fraction * _CELLS * 8), 8)
    cells = "█" * full + (_EIGHTHS[eighths] if full < _CELLS else "")
    left = clock((total - done) * seconds_each)
    numbers = f"{done}/{total} [{clock(elapsed_s)}<{left}, {seconds_each:5.2f}s/it]"
    return f"{description}: {100.0 * fraction:3.0f}%|{cells:<{_CELLS}}| {numbers}"
