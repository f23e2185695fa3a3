from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.verl_logs import ERAS, metric_body

from rlreport.collectors.metric_line import MetricLine, MetricLineParser, ends_certainly, is_key, parse_metric_line

KEYS = st.sampled_from(
    [
        "actor/lr",
        "critic/lr(1e-4)",
        "val-core/openai/gsm8k/reward/mean@1",
        "val-core/my data (hard) 2/acc/best@16/mean",
        "timing_s/agent_loop/slowest/response_length",
        "training/off_policy/trajectory_staleness_worst/max",
        "timing_s/timing_s/param_sync",
        "perf/throughput",
    ]
)
NUMBERS = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.integers(-(10**15), 10**15))


def read(body: str) -> MetricLine:
    line = parse_metric_line(body)
    assert line is not None
    return line


def same(a: dict[str, float], b: dict[str, float]) -> bool:
    return list(a) == list(b) and all(a[key] == b[key] or (math.isnan(a[key]) and math.isnan(b[key])) for key in a)


@settings(deadline=None)
@given(
    st.integers(0, 10**9),
    st.dictionaries(KEYS, NUMBERS, min_size=1),
    st.sampled_from([era for era in ERAS if era != "fixed3"]),
)
def test_what_is_printed_is_read(step: int, values: dict[str, float], era: str) -> None:
    line = read(metric_body(step, values, era))  # type: ignore[arg-type]
    assert line.step == step
    assert same(line.values, {key: float(value) for key, value in values.items()})
    assert not line.truncated
    assert line.rest == ""
    assert line.dropped == 0


@settings(deadline=None)
@given(st.dictionaries(KEYS, st.floats(-1e6, 1e6), min_size=1))
def test_three_decimals_are_read_as_printed(values: dict[str, float]) -> None:
    line = read(metric_body(3, values, "fixed3"))
    assert same(line.values, {key: float(f"{value:.3f}") for key, value in values.items()})


@settings(deadline=None)
@given(st.dictionaries(KEYS, NUMBERS, min_size=1), st.sampled_from(ERAS), st.data())
def test_a_second_reading_with_known_keys_gives_the_same(values: dict[str, float], era: str, data: st.DataObject) -> None:
    parser = MetricLineParser()
    body = metric_body(1, values, era)  # type: ignore[arg-type]
    first, second = parser.parse(body), parser.parse(body)
    assert first is not None
    assert second is not None
    assert same(first.values, second.values)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-06", 1e-06),
        ("-0.000", 0.0),
        ("np.float32(0.25)", 0.25),
        ("np.int64(-3)", -3.0),
        ("np.float64(nan)", math.nan),
        ("np.float64(-inf)", -math.inf),
        ("True", 1.0),
        ("np.bool_(False)", 0.0),
        ("-inf", -math.inf),
    ],
)
def test_every_form_of_a_value(text: str, value: float) -> None:
    assert same(read(f"step:1 - a/b:{text} - c/d:2").values, {"a/b": value, "c/d": 2.0})


def test_none_is_no_value_and_no_damage() -> None:
    line = read("step:1 - a/b:None - c/d:2.5")
    assert line.values == {"c/d": 2.5}
    assert line.dropped == 0


@pytest.mark.parametrize(
    ("glue", "kept"),
    [
        ("(TaskRunner pid=1458263) Training Progress: 100%|█| 868/870 [11:57:38<01:34]", True),
        ("\x1b[36m(WorkerDict pid=7)\x1b[0m loading 3 - 4", True),
        ("INFO:2026-07-30 11:01:58,913:pending: 0, running: 10", True),
        ("Training Progress:   1%|", True),
        ("\rTraining Progress:   1%|", True),
        (" [repeated 3x across cluster]", True),
        ("[Rank 0 | Local Rank 0] 2026-03-25 23:41:31", True),
        ("/opt/lib/a.py:12: UserWarning: x", True),
        ("2026-07-30 10:20:08 INFO", False),
        ("07-30 10:20:08", False),
        ("19/125 [48:05<4:27:45", False),
        ("100%|██████", False),
        ("x9", False),
        ("\x00\x00\x00", False),
    ],
)
def test_glued_text_ends_a_number_only_when_that_is_certain(glue: str, kept: bool) -> None:
    line = read(f"step:7 - timing_s/step:43.25 - perf/throughput:410.2239{glue}")
    expected = {"timing_s/step": 43.25} | ({"perf/throughput": 410.2239} if kept else {})
    assert line.values == expected
    assert line.truncated is not kept


def test_a_second_step_glued_to_the_first_is_the_rest() -> None:
    line = read("step:1 - a/b:0.5 - perf/throughput:224.1step:2 - a/b:0.7")
    assert line.values == {"a/b": 0.5, "perf/throughput": 224.1}
    assert line.rest == "step:2 - a/b:0.7"


@pytest.mark.parametrize(
    ("tail", "values"),
    [
        ("timing_s/ste", {"a/b": 0.01}),
        ("timing_s/step:", {"a/b": 0.01}),
        ("timing_s/step:-", {"a/b": 0.01}),
        ("timing_s/step:1.", {"a/b": 0.01}),
        ("timing_s/step:1e-", {"a/b": 0.01}),
        ("timing_s/step:np.float64(1.5", {"a/b": 0.01}),
        ("timing_s/step:np.flo", {"a/b": 0.01}),
        ("timing_s/step:Tru", {"a/b": 0.01}),
        ("", {"a/b": 0.01}),
        ("c/d:1.5 -", {"a/b": 0.01, "c/d": 1.5}),
    ],
)
def test_a_line_that_ends_early_keeps_what_is_certain(tail: str, values: dict[str, float]) -> None:
    line = read(f"step:12 - a/b:0.01 - {tail}")
    assert line.values == values
    assert line.truncated


def test_a_damaged_item_is_left_out_and_counted() -> None:
    line = read("step:1 - a/b:1 - actor/lr:1e-x6 - no colon - c/d:2")
    assert line.values == {"a/b": 1.0, "c/d": 2.0}
    assert line.dropped == 2
    assert not line.truncated


def test_a_data_source_with_the_separator_in_its_name() -> None:
    line = read("step:1 - val-core/math - hard/acc/mean@4:0.5 - c/d:2")
    assert line.values == {"val-core/math - hard/acc/mean@4": 0.5, "c/d": 2.0}


def test_a_repeated_key_keeps_its_first_value() -> None:
    line = read("step:1 - a/b:1 - c/d:2 - a/b:3")
    assert line.values == {"a/b": 1.0, "c/d": 2.0}
    assert line.dropped == 1


@pytest.mark.parametrize(
    "text", ["", "step: 3", "step:x - a/b:1", "steps:3 - a/b:1", "step:3: a/b:1", "global_step:3 - a/b:1"]
)
def test_other_text_is_no_metric_line(text: str) -> None:
    assert parse_metric_line(text) is None


def test_prose_after_step_has_no_values() -> None:
    assert read("step:1 - compute the ratio 3:4 and go on").values == {}


@pytest.mark.parametrize("key", ["actor/lr", "val-core/a b/c", "x", "reward/hf:org/set", "data/名字/acc"])
def test_keys(key: str) -> None:
    assert is_key(key)


@pytest.mark.parametrize(
    "key", ["", "a b", "a b/c", "(TaskRunner pid=1) x/y", "a/b=c", "'a/b'", "a/b:", "a/b:1c", "9/a", "a/b, c", "a/\x00"]
)
def test_no_keys(key: str) -> None:
    assert not is_key(key)


@pytest.mark.parametrize(
    ("body", "certain"),
    [
        ("step:1 - a/b:0.5 - c/d:1.25", False),
        ("step:1 - a/b:0.5 - c/d:np.float64(1.25)", True),
        ("step:1 - a/b:0.5 - c/d:True", True),
        ("step:1 - a/b:0.500 - c/d:1.250 - e/f:2.000", True),
        ("step:1 - a/b:0.500 - c/d:1.250 - e/f:2.00", False),
        ("step:1 - a/b:0.500", False),
    ],
)
def test_whether_the_end_of_the_text_is_the_end_of_a_number(body: str, certain: bool) -> None:
    assert ends_certainly(body) is certain
