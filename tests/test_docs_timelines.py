"""What docs/timelines.md says must hold: its example is computed anew, its names and numbers are looked up in the code."""

from __future__ import annotations

import gzip
import importlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.made_runs import make_run
from support.timelines import lane, table

from rlreport.collectors.registry import list_formats
from rlreport.collectors.spans import SPAN_COLLECTORS
from rlreport.collectors.spans.columns import MAX_SPANS
from rlreport.comparators.bubble_causes import name_cause
from rlreport.comparators.bubble_lead import measure_quota
from rlreport.comparators.bubble_results import WAITS_FOR_OTHER, SideAccount
from rlreport.comparators.results import SteadyState
from rlreport.comparators.timeline import Timeline, measure_timeline
from rlreport.dialects.span_names import NAME_ROWS
from rlreport.plotters.timeline_style import CAUSE_STYLES
from rlreport.renderers.perfetto import PROCESSES, render_perfetto
from rlreport.report.figure_data_timeline import BINS, CYCLES_AS_BINS
from rlreport.run.model import Run
from rlreport.run.spans import ACTIVITIES, BUSY, CAUSE_WORDS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "timelines.md").read_text("utf-8")
WINDOW = SteadyState("flat", 2, 3, (2, 3), None, ())
CODE = re.compile(r"`([a-z_]+)\.([A-Za-z_]\w*)`")
PACKAGES = ("comparators", "collectors.spans")
#: Words before a point that are no modules: metrics and files; and a field of report.json.
NO_MODULES = frozenset({"time", "report", "trace_view"})
FIELD = ("timeline", "whole")


def section(title: str) -> str:
    match = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert match is not None, title
    return match[1]


def rows(text: str) -> list[list[str]]:
    """The rows of all tables of a text, without heads and rules."""
    lines = text.splitlines()
    rule = re.compile(r"\|[\s:|-]+\|")
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for number, line in enumerate(lines)
        if line.startswith("|")
        and not rule.fullmatch(line)
        and not (number + 1 < len(lines) and rule.fullmatch(lines[number + 1]))
    ]


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


@pytest.fixture(scope="module")
def example() -> Run:
    """The run of the worked example, from the page's own tables."""
    spans, columns = [], {}
    for head, *cells in rows(section("A worked example")):
        if "rank_0" in head or "replica_" in head:
            told = re.findall(r"(\w+) (\d+) to (\d+)", cells[0])
            spans += [(lane(name, devices=1), act, float(a), float(b)) for name in quoted(head) for act, a, b in told]
        elif head.startswith("`time."):
            columns[quoted(head)[0]] = [float(cell) for cell in cells]
    config = {"trainer.v1.separate_async.parameter_sync_step": 1}
    return make_run(columns, trainer=2, rollout=2, config=config, spans=(table(spans),))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def timeline(example: Run) -> Timeline:
    found = measure_timeline(example, WINDOW)
    assert found is not None
    return found


def sides(timeline: Timeline) -> tuple[SideAccount, SideAccount]:
    assert timeline.window.trainer is not None and timeline.window.rollout is not None
    return timeline.window.trainer, timeline.window.rollout


def test_the_account_of_the_example_is_what_the_table_says(timeline: Timeline) -> None:
    told = {row[0]: row[1:] for row in rows(section("A worked example"))}
    for place, side in enumerate(sides(timeline)):
        assert float(told["work"][place]) == pytest.approx(side.busy_s)
        assert float(told["wall time x devices"][place]) == pytest.approx(side.total_s)
        for cause, words in CAUSE_WORDS.items():
            assert float(told.get(words, ["0", "0"])[place]) == pytest.approx(side.idle.get(cause, 0.0)), words
        assert side.untold_s == 0


def test_the_shares_of_the_example_are_right(timeline: Timeline) -> None:
    text = " ".join(section("A worked example").split())
    trainer, rollout = sides(timeline)
    waits = [100 * side.share(*WAITS_FOR_OTHER[side.side]) for side in (rollout, trainer)]
    assert (
        f"The Rollouters wait for the Trainer in {waits[0]:.1f} % of their time, the Trainer for them in {waits[1]:.1f} %"
        in text
    )
    assert f"The difference of {waits[0] - waits[1]:.1f} points" in text and timeline.owner == "rollout"
    (reported,) = timeline.reported
    assert f"idles {100 * reported.reconstructed:.1f} % of its time" in text
    assert f"waiting over step time, is {100 * reported.reported:.1f} %" in text
    parts = [f"{100 * share:.1f}" for _, share in reported.parts]
    assert f"weight sync {parts[0]} points, validation {parts[1]}, and {parts[2]} because" in text
    assert reported.rest == pytest.approx(0)


def test_what_timers_alone_tell_of_the_example(example: Run) -> None:
    found = measure_timeline(replace(example, spans=()), WINDOW)
    assert found is not None and found.window.trainer is not None
    low, high = found.window.trainer.at_least, found.window.trainer.at_most
    assert low is not None and high is not None
    assert f"between {100 * low:.1f} % and {100 * high:.1f} %" in section("From timers alone")
    assert found.window.rollout is None and found.owner == "unknown"


def test_every_name_of_the_code_exists() -> None:
    names = sorted({found for found in CODE.findall(PAGE) if found[0] not in NO_MODULES} - {FIELD})
    assert len(names) > 30
    assert [f"{module}.{name}" for module, name in names if _value(module, name) is None] == []


def _value(module: str, name: str) -> object | None:
    for package in PACKAGES:
        try:
            found = importlib.import_module(f"rlreport.{package}.{module}")
        except ModuleNotFoundError:
            continue
        if hasattr(found, name):
            return getattr(found, name)
    return None


def test_the_numbers_in_the_rules_are_those_of_the_code() -> None:
    told = [(CODE.findall(row[0])[0], row[1]) for row in rows(section("The numbers in the rules"))]
    assert len(told) >= 14
    assert {key: float(text) for key, text in told} == {key: _value(*key) for key, _ in told}


def test_all_formats_of_traces_are_described() -> None:
    described = [quoted(row[0])[0] for row in rows(section("What is read"))]
    assert sorted(described) == sorted([*(collector.format for collector in SPAN_COLLECTORS), "verl-console"])
    assert set(described) <= set(list_formats())
    assert f"{MAX_SPANS:,} spans" in PAGE


def test_activities_and_frameworks_are_those_of_the_code() -> None:
    text = section("What is read")
    work = next(line for line in text.splitlines() if line.startswith("`generate`, "))
    assert set(quoted(work)) == BUSY
    idle = re.search(r"In these it idles: (.*?)\. ", text, re.DOTALL)
    assert idle is not None and set(quoted(idle[1])) == set(ACTIVITIES) - BUSY
    assert [row.framework for row in NAME_ROWS if row.framework not in (*_frameworks(text), "any")] == []


def _frameworks(text: str) -> list[str]:
    match = re.search(r"maps the names of (.*?) to activities", text, re.DOTALL)
    assert match is not None
    return re.split(r",\s+|\s+and\s+", " ".join(match[1].split()))


def test_every_cause_has_its_row_with_its_words() -> None:
    told = {quoted(row[0])[0]: row[1] for row in rows(section("How an idle moment gets its cause"))}
    assert told == dict(CAUSE_WORDS)
    assert name_cause("wait_for_batch") == "samples"


def test_figures_and_quota_are_described_as_they_are() -> None:
    text = section("How to read the figures")
    assert f"in {BINS} stretches" in text and f"traces of {CYCLES_AS_BINS} versions and more" in text
    for cause in ("samples", "quota"):
        assert f"`{cause}` like `{CAUSE_STYLES[cause].hatch}`" in text
    assert CAUSE_STYLES["unknown"].hatch == "" and CAUSE_STYLES["unknown"].fill == "#ffffff"
    config = {"async_training.staleness_threshold": 0.3, "async_training.trigger_parameter_sync_step": 8}
    quota = measure_quota(make_run({}, mode="fully_async", config=config))
    assert quota is not None and quota.whole == 2
    assert f"0.3 with 8 rounds covers {quota.covered:.1f}" in " ".join(section("Lead and quota").split())


def test_the_groups_of_the_trace_are_those_of_the_file(example: Run, timeline: Timeline) -> None:
    told = [row[0] for row in rows(section("In Perfetto"))]
    events = json.loads(gzip.decompress(render_perfetto(example, timeline)))["traceEvents"]
    written = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert [told[pid - 1] for pid in sorted(written)] == [written[pid] for pid in sorted(written)]
    assert told[: len(PROCESSES)] == [words for _, words in PROCESSES] and len(told) == max(written)


def test_the_query_finds_the_fields_that_it_asks_for(example: Run, timeline: Timeline) -> None:
    """The sum of its query, worked out here, is the account of the whole trace."""
    asked = re.findall(r"'args\.(\w+)'", section("In Perfetto"))
    assert asked == ["side", "devices"] and "category = 'idle'" in section("In Perfetto")
    events = json.loads(gzip.decompress(render_perfetto(example, timeline)))["traceEvents"]
    sums: dict[tuple[str, str], float] = {}
    for event in events:
        if event.get("cat") == "idle":
            key = (event["args"]["side"], event["name"])
            sums[key] = sums.get(key, 0.0) + event["dur"] * event["args"]["devices"] / 1e6
    whole = timeline.whole
    assert whole is not None and whole.trainer is not None and whole.rollout is not None
    idle = {(s.side, CAUSE_WORDS[c]): value for s in (whole.trainer, whole.rollout) for c, value in s.idle.items()}
    assert sums == pytest.approx(idle)
