from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.verl_logs import VerlLog, small_config, training_values

from rlreport.collectors import merge_sources, read_sources, require_steps
from rlreport.collectors.merge import missing_steps
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import ConfigValue, RawRun, SourceFacts, SourceTable, StepRow
from rlreport.run.spans import Gauge, Lane, span_table

Rows = list[tuple[int, dict[str, float]]]


def table(name: str, rows: Rows, form: str = "verl-console", attempts: list[int] | None = None, **more: Any) -> SourceTable:
    entries = [StepRow(step, dict(values), line) for line, (step, values) in enumerate(rows, start=1)]
    for entry, attempt in zip(entries, attempts or [0] * len(entries), strict=True):
        entry.attempt = attempt
    for step in more.pop("truncated", ()):
        next(entry for entry in entries if entry.step == step).truncated = True
    for step, wall_s in more.pop("wall_s", {}).items():
        next(entry for entry in entries if entry.step == step).wall_s = wall_s
    config = {key: ConfigValue(value, f"{name}:9") for key, value in more.pop("config", {}).items()}
    return SourceTable(name, form, entries, config, SourceFacts(**more))


def steps(*numbers: int, **values: float) -> Rows:
    return [(number, {"timing_s/step": 10.1234 + number, **values}) for number in numbers]


def notices(raw: RawRun) -> dict[str, str]:
    assert len({notice.code for notice in raw.notices}) == len(raw.notices)
    return {notice.code: notice.message for notice in raw.notices}


def column(raw: RawRun, key: str) -> dict[int, float]:
    return {int(step): float(value) for step, value in raw.frame[key].items() if not math.isnan(value)}


def test_one_source() -> None:
    raw = merge_sources([table("a", [(0, {"val-core/a/acc/mean@1": 0.5}), *steps(2, 1)])])
    assert raw.frame.index.tolist() == [0, 1, 2]
    assert raw.frame.index.name == "step"
    assert raw.frame.dtypes.eq("float64").all()
    assert column(raw, "timing_s/step") == {1: 11.1234, 2: 12.1234}
    assert column(raw, "val-core/a/acc/mean@1") == {0: 0.5}
    assert raw.key_origin == {"timing_s/step": "a", "val-core/a/acc/mean@1": "a"}
    assert raw.notices == ()


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]])
def test_precedence_of_the_formats(order: list[int]) -> None:
    sources = [
        table("m.jsonl", [(1, {"a/a": 1.1111})], "verl-jsonl"),
        table("tb", [(1, {"a/a": 1.1112, "a/b": 2.1111})], "tensorboard"),
        table("console.log", [(1, {"a/a": 1.1113, "a/b": 2.1112, "a/c": 3.1111})]),
        table("output.log", [(1, {"a/a": 1.1111, "a/b": 2.1113, "a/c": 3.1112, "a/d": 4.1111})], hints={"cut:4096"}),
    ]
    raw = merge_sources([sources[index] for index in order])
    assert raw.frame.loc[1].to_dict() == {"a/a": 1.1111, "a/b": 2.1111, "a/c": 3.1111, "a/d": 4.1111}
    assert raw.key_origin == {"a/a": "m.jsonl", "a/b": "tb", "a/c": "console.log", "a/d": "output.log"}
    assert raw.notices == ()
    assert raw.sources == tuple(sources[index] for index in order)


def test_disagreement_beyond_print_precision() -> None:
    exact = table("m.jsonl", [(step, {"a/a": 10.0 + step / 7, "a/b": 1e-6}) for step in range(1, 31)], "verl-jsonl")
    rows = [(step, {"a/a": 10.0 + step / 7, "a/b": 1e-6}) for step in range(1, 31)]
    rows[4][1]["a/a"] *= 1.002
    rows[6][1]["a/b"] = 0.0
    raw = merge_sources([exact, table("console.log", rows)])
    assert column(raw, "a/a")[5] == 10.0 + 5 / 7
    assert list(notices(raw)) == ["RR240"]
    assert notices(raw)["RR240"] == (
        "2 values not the same as in a source that comes first; a/a of step 5 is 10.7143 in m.jsonl, 10.7357 here"
    )
    assert raw.notices[0].where == "console.log"


def test_three_decimals_are_no_disagreement() -> None:
    exact = {step: {"a/a": 10.0 + step / 7, "actor/lr": 1e-6, "a/c": 0.0316 * step} for step in range(1, 31)}
    rounded = [(step, {key: float(f"{value:.3f}") for key, value in values.items()}) for step, values in exact.items()]
    raw = merge_sources([table("console.log", rounded), table("tb", list(exact.items()), "tensorboard")])
    assert raw.notices == ()
    assert column(raw, "actor/lr") == dict.fromkeys(range(1, 31), 1e-6)
    rounded[3][1]["a/c"] += 0.002
    raw = merge_sources([table("console.log", rounded), table("tb", list(exact.items()), "tensorboard")])
    assert list(notices(raw)) == ["RR240"]
    assert notices(raw)["RR240"].startswith("1 value ")


def test_a_later_attempt_wins_from_its_first_step_on() -> None:
    rows = [*steps(1, 2, 3, 4, 5, 6), (3, {"val-core/a/acc/mean@1": 0.7}), *steps(4, 5, **{"actor/loss": 9.0})]
    rows[2][1]["val-core/a/acc/mean@1"] = 0.6
    raw = merge_sources([table("a", rows, attempts=[0] * 6 + [1] * 3)])
    assert raw.frame.index.tolist() == [1, 2, 3, 4, 5]
    assert column(raw, "actor/loss") == {4: 9.0, 5: 9.0}
    assert column(raw, "val-core/a/acc/mean@1") == {3: 0.7}
    assert column(raw, "timing_s/step")[3] == 13.1234
    assert raw.restarts == (4,)
    assert notices(raw) == {"RR243": "3 steps trained again after a restart, the later values are used: 4, 5, 6"}


def test_a_restart_from_nothing_is_no_restart_of_what_is_left() -> None:
    raw = merge_sources([table("a", steps(1, 2, 3) + steps(1, 2, **{"actor/loss": 1.0}), attempts=[0, 0, 0, 1, 1])])
    assert raw.frame.index.tolist() == [1, 2]
    assert column(raw, "actor/loss") == {1: 1.0, 2: 1.0}
    assert raw.restarts == ()


def test_several_restarts() -> None:
    rows = steps(1, 2, 3, 4) + steps(3, 4, 5, 6) + steps(5, 6, 7)
    raw = merge_sources([table("a", rows, attempts=[0] * 4 + [1] * 4 + [2] * 3)])
    assert raw.restarts == (3, 5)
    assert raw.frame.index.tolist() == [1, 2, 3, 4, 5, 6, 7]


def test_rows_of_one_step_are_merged_and_conflicts_counted() -> None:
    rows: Rows = [
        (1, {"timing_s/step": 5.5, "a/a": math.nan}),
        (1, {"timing_s/step": 5.5001, "a/a": 2.5, "a/b": 1.0}),
        (1, {"a/b": 3.0}),
    ]
    raw = merge_sources([table("a", rows)])
    assert raw.frame.loc[1].to_dict() == {"timing_s/step": 5.5, "a/a": 2.5, "a/b": 1.0}
    assert list(notices(raw)) == ["RR242"]
    assert "a/b of step 1 is 1 and 3" in notices(raw)["RR242"]


def test_cut_steps_are_recovered_from_another_source() -> None:
    whole = [(step, {"actor/loss": 1.5, "timing_s/step": 9.25 + step}) for step in range(1, 7)]
    cut = [(step, {"actor/loss": 1.5} if step in (2, 4, 6) else values) for step, values in whole]
    output = table("output.log", cut, truncated=[2, 4, 6], hints={"cut:4096"})
    alone = merge_sources([output])
    assert alone.partial_steps == dict.fromkeys([2, 4, 6], "its line in output.log is cut at 4,096 bytes")
    assert list(notices(alone)) == ["RR249"]
    both = merge_sources([output, table("console.log", whole[:4])])
    assert both.partial_steps == {6: "its line in output.log is cut at 4,096 bytes"}
    assert column(both, "timing_s/step") == {1: 10.25, 2: 11.25, 3: 12.25, 4: 13.25, 5: 14.25}
    assert notices(both)["RR244"] == "2 steps cut in one source and complete in another: 2, 4"


def test_gaps() -> None:
    raw = merge_sources([table("a", steps(1, 2, 5, 6, 9))])
    assert notices(raw) == {"RR241": "4 steps missing between 1 and 9: 3, 4, 7, 8"}
    assert missing_steps([10, 20, 30]) == []
    assert missing_steps([10, 20, 40]) == [*range(11, 20), *range(21, 40)]
    assert missing_steps([7]) == []


def test_values_that_are_not_finite_are_missing_and_counted() -> None:
    raw = merge_sources([table("a", [(1, {"a/a": math.inf, "a/b": math.nan, "a/c": 1.5})])])
    assert raw.frame.loc[1].isna().to_dict() == {"a/a": True, "a/b": True, "a/c": False}
    assert notices(raw) == {"RR245": "2 logged values nan or infinite, left out"}


def test_logs_of_successive_jobs() -> None:
    first = table("job-1.log", steps(1, 2, 3, 4), started_at="2026-07-30T10:00:00", elapsed_s={1: 10.0, 2: 20.0, 4: 40.0})
    second = table(
        "job-2.log",
        [(s, {"timing_s/step": 77.5}) for s in (3, 4, 5)],
        started_at="2026-07-31T10:00:00",
        elapsed_s={3: 11.0, 5: 31.0},
        progress=(5, 5),
        exit_code=0,
    )
    for order in ([first, second], [second, first]):
        raw = merge_sources(order)
        assert column(raw, "timing_s/step") == {1: 11.1234, 2: 12.1234, 3: 77.5, 4: 77.5, 5: 77.5}
        assert raw.restarts == (3,)
        assert raw.wall_s == {1: 10.0, 2: 20.0, 3: 51.0, 5: 71.0}
        assert raw.facts.progress == (5, 5)
        assert raw.facts.exit_code == 0
        assert set(notices(raw)) == {"RR243", "RR246", "RR248"}
        assert "job-1.log (steps 1 to 4), job-2.log (steps 3 to 5)" in notices(raw)["RR248"]
        assert "different runs" not in notices(raw)["RR248"]


def test_a_copy_of_the_same_output_is_no_other_job() -> None:
    raw = merge_sources(
        [table("console.log", steps(1, 2, 3), tracebacks=2), table("copy.log", steps(2, 3, 4), tracebacks=2)]
    )
    assert raw.frame.index.tolist() == [1, 2, 3, 4]
    assert raw.restarts == ()
    assert raw.facts.tracebacks == 2
    assert raw.notices == ()


def test_two_runs_given_as_one_are_questioned() -> None:
    raw = merge_sources([table("r48.log", steps(1, 2, 3)), table("r32.log", [(s, {"timing_s/step": 3.3}) for s in (1, 2)])])
    assert notices(raw)["RR248"].endswith("are these different runs?")


def test_the_clock_of_tensorboard_comes_before_the_progress_bar() -> None:
    bar = table("console.log", steps(1, 2, 3), elapsed_s={1: 10.0, 2: 20.0, 3: 30.0})
    clock = table("tb", steps(1, 2), "tensorboard", wall_s={1: 1785407749.5, 2: 1785407759.5})
    assert merge_sources([bar, clock]).wall_s == {1: 1785407749.5, 2: 1785407759.5}
    raw = merge_sources([bar])
    assert raw.wall_s == {1: 10.0, 2: 20.0, 3: 30.0}
    assert list(notices(raw)) == ["RR246"]


def test_precedence_of_configurations() -> None:
    hydra = table("h", [], "hydra", config={"a": 1, "b": [1, 2], "c": 1.0})
    console = table("c", [], config={"a": 2, "b": (1, 2), "c": 1, "d": True})
    other = table("o", [], "csv", config={"d": 1, "e": "x"})
    raw = merge_sources([other, console, hydra])
    assert {key: value.value for key, value in raw.config.items()} == {"a": 1, "b": [1, 2], "c": 1.0, "d": True, "e": "x"}
    assert raw.config["a"].origin == "h:9"
    assert notices(raw) == {
        "RR247": "2 configuration values not the same in all sources, the first is used: a is 1 in h:9 and 2 in c:9"
    }


def test_the_configuration_of_the_later_job_comes_first() -> None:
    old = table("old", [], config={"a": 1}, started_at="2026-07-01T00:00:00")
    new = table("new", [], config={"a": 2}, started_at="2026-07-02T00:00:00")
    unknown = table("unknown", [], config={"a": 3})
    assert merge_sources([unknown, old, new]).config["a"].value == 2


def test_facts_of_all_sources() -> None:
    raw = merge_sources(
        [
            table("a", steps(1), tracebacks=1, first_error=(3, "x"), hints={"actor:A"}, started_at="2026-02-01T00:00:00"),
            table("b", [], tracebacks=4, first_error=(5, "y"), exit_code=1, resumed_from=[7, 3], final_validation=True),
            table("c", [], hints={"actor:C"}, progress=(1, 2), started_at="2026-01-01T00:00:00"),
        ]
    )
    facts = raw.facts
    assert facts.tracebacks == 4
    assert facts.first_error == (3, "x")
    assert facts.exit_code == 1
    assert facts.resumed_from == [3, 7]
    assert facts.final_validation
    assert facts.hints == {"actor:A", "actor:C"}
    assert facts.progress == (1, 2)
    assert facts.started_at == "2026-01-01T00:00:00"


def test_numbers_beside_metric_lines_are_no_training() -> None:
    rows = [*steps(1, 2), (1, {"console/param_sync_s": 7.0})]
    raw = merge_sources([table("a", rows, attempts=[0, 0, 0])])
    assert column(raw, "console/param_sync_s") == {1: 7.0}
    assert raw.restarts == ()


def test_a_resumed_job_that_syncs_before_it_trains_changes_nothing_of_the_checkpoints_version() -> None:
    first = table("1.log", [*steps(1, 2, 3), (2, {"console/param_sync_s": 1.0}), (3, {"console/param_sync_s": 2.0})])
    rows: Rows = [
        (2, {"val-core/a/acc/mean@1": 0.5}),
        *[(step, {"timing_s/step": 50.0 + step}) for step in (3, 4)],
        (2, {"console/param_sync_s": 9.0, "console/generated_samples": 0.0}),
        (3, {"console/param_sync_s": 3.0}),
    ]
    for sources in (
        [first, table("2.log", rows)],
        [table("1.log", [*((row.step, row.values) for row in first.rows), *rows], attempts=[0] * 5 + [1] * 5)],
    ):
        raw = merge_sources(sources)
        assert column(raw, "console/param_sync_s") == {2: 1.0, 3: 3.0}
        assert "console/generated_samples" not in raw.frame.columns
        assert column(raw, "val-core/a/acc/mean@1") == {2: 0.5}
        assert column(raw, "timing_s/step") == {1: 11.1234, 2: 12.1234, 3: 53.0, 4: 54.0}
        assert set(notices(raw)) <= {"RR243", "RR248"}


def error_of(raw: RawRun) -> tuple[str, str, str, str | None]:
    with pytest.raises(RlreportError) as caught:
        require_steps(raw)
    assert caught.value.exit_code == 3
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code, diagnostic.message, str(diagnostic.location), diagnostic.hint


def test_a_run_without_steps() -> None:
    require_steps(merge_sources([table("a", steps(1))]))
    crashed = merge_sources(
        [table("h", [], "hydra"), table("a.log", [], tracebacks=9, first_error=(1364, "RuntimeError: no"))]
    )
    assert error_of(crashed) == (
        "RR210",
        "the run crashed before its first step: RuntimeError: no",
        "a.log:1364",
        "the first error is in line 1364; 9 tracebacks in all",
    )
    code, message, place, hint = error_of(merge_sources([table("a.log", []), table("b.log", [])]))
    assert (code, message, place) == ("RR211", "no step was logged, nor in b.log", "a.log")
    assert hint
    assert error_of(merge_sources([]))[0] == "RR211"


def test_a_trace_alone_is_a_run() -> None:
    spans = span_table([(Lane("rank_0", "trainer", 0, 1), "update_actor", "update", 0, 10, -1)])
    require_steps(merge_sources([replace(table("trace.json", []), spans=spans)]))
    gauge = Gauge("queue.samples", "", [0], [1.0], 0)
    require_steps(merge_sources([replace(table("metrics.json", []), gauges=(gauge,))]))


def test_from_files_to_a_run(tmp_path: Path) -> None:
    """A resumed run with all of its sources: the JSONL file has the last job only, W&B's copy is cut."""
    console, output = VerlLog(), VerlLog(actor=None)
    many = {f"val-aux/a/source/number_{index}/reward/mean@1": index + 0.123456789 for index in range(90)}
    console.line("2026-07-30 10:00:00 start").config_dump(small_config())
    values: dict[int, Mapping[str, float]] = {}
    for step in (*range(1, 8), *range(5, 11)):
        if step == 5 and 7 in values and "again" not in console.text:
            console.line("again").config_dump(small_config()).resume(4)
        seed = int("again" in console.text)
        values[step] = {"actor/loss": 0.5, **(many if step % 5 == 0 else {}), **training_values(step, seed)}
        console.metrics(step, values[step])
        output.cut_metrics(step, values[step])
    console.write(tmp_path / "console.log")
    output.write(tmp_path / "wandb" / "files" / "output.log")
    lines = [json.dumps({"step": step, "data": dict(values[step])}) for step in range(5, 11)]
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    raw = merge_sources(read_sources([(tmp_path, None, {})], tmp_path))
    require_steps(raw)
    assert raw.frame.index.tolist() == list(range(1, 11))
    for step in raw.frame.index:
        assert raw.frame.loc[step].dropna().to_dict() == {key: float(value) for key, value in values[step].items()}
    assert raw.restarts == (5,)
    assert raw.partial_steps == {}
    assert {source.path: source.format for source in raw.sources} == {
        "metrics.jsonl": "verl-jsonl",
        "console.log": "verl-console",
        "wandb/files/output.log": "verl-console",
    }
    assert notices_of_all(raw) == {"RR243", "RR244"}


def notices_of_all(raw: RawRun) -> set[str]:
    return {notice.code for notice in raw.notices}
