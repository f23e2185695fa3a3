from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.verl_logs import metric_body, training_values

from rlreport.collectors.metric_line import parse_metric_line
from rlreport.collectors.wrapped import goes_on, join

START = "step:1 - training/global_step:1 - "


@pytest.mark.parametrize(
    ("body", "following", "verdict"),
    [
        ("timing_s", "/old_log_prob:21.2 - timing_s/adv:0.1", "yes"),
        ("timing_s", "/old_log_prob:21.20649", "yes"),
        ("timing_s/adv:", "0.5 - timing_s/step:2", "yes"),
        ("timing_s/adv:21.20649", "6983766556 - timing_s/adv2:0.0", "yes"),
        ("timing_s/adv:21", ".5 - timing_s/ad", "yes"),
        ("actor/lr:1e-", "06 - timing_s/adv:1", "yes"),
        ("actor/lr:1", "e-06 - timing_s/adv:1", "yes"),
        ("a/b:np.float64(0.", "25) - timing_s/adv:1", "yes"),
        ("a/b:np.float64(0.25", ") - timing_s/adv:1", "yes"),
        ("a/b:0.5", " - timing_s/adv:1", "yes"),
        ("a/b:0.5", "- timing_s/adv:1", "yes"),
        ("a/b:0.5 -", "timing_s/adv:1 - c/d:2", "yes"),
        ("", "timing_s/adv:1 - c/d:2", "yes"),
        ("timing_s/adv:21.2", "0649", "maybe"),
        ("timing_s/adv:np.float64(21.2)", "0649 - a/b:1", "no"),
        ("timing_s/adv:21.2", "Training Progress:   1%|", "no"),
        ("timing_s/adv:21.2", "'Final validation metrics: None'", "no"),
        ("timing_s/adv:21.2", "", "no"),
        ("timing_s/ste", "Traceback (most recent call last):", "no"),
        ("timing_s/ste", "exit code:1", "no"),
        ("timing_s/ste", "RC:0", "no"),
        ("timing_s/ste", "INFO:2026-07-30 11:01:58,913:pending: 0", "no"),
    ],
)
def test_what_continues_a_line(body: str, following: str, verdict: str) -> None:
    text = START + body
    line = parse_metric_line(text)
    assert line is not None
    assert goes_on(text, not line.truncated, following, {"a/b": "a/b"}) == verdict


def test_a_known_key_at_the_end_is_enough() -> None:
    assert goes_on(START + "Timing", False, "X:1", {}) == "no"
    assert goes_on(START + "Timing", False, "X:1", {"TimingX": "TimingX"}) == "yes"


@settings(deadline=None)
@given(st.integers(1, 400), st.booleans())
def test_joining_gives_the_line_again_wherever_it_was_split(at: int, trim: bool) -> None:
    """Split one line anywhere, with and without the spaces at the break: it is joined right, or not at all."""
    body = metric_body(3, training_values(3))
    whole = parse_metric_line(body)
    assert whole is not None
    at = min(at, len(body) - 1)
    first, second = body[:at], body[at:]
    if trim:
        first, second = first.rstrip(), second.lstrip()
    line = parse_metric_line(first)
    if line is None or goes_on(first, not line.truncated, second, {}) != "yes":
        return
    joined = parse_metric_line(join(first, second))
    assert joined is not None
    assert joined.values == whole.values


def test_most_splits_are_recovered() -> None:
    body = metric_body(3, training_values(3))
    begin = len("step:3 - actor/entropy:")
    recovered = 0
    for at in range(begin, len(body)):
        line = parse_metric_line(body[:at])
        assert line is not None
        recovered += goes_on(body[:at], not line.truncated, body[at:], {}) == "yes"
    assert recovered >= 0.9 * (len(body) - begin)
