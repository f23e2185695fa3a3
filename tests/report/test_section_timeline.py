from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.timeline_specs import DRAWINGS
from support.timelines import S, three_steps

from rlreport.comparators.bubble_lead import QuotaCover
from rlreport.comparators.lead import Lead
from rlreport.comparators.periodic import PeriodicBubble
from rlreport.comparators.results import SteadyState
from rlreport.comparators.timeline import measure_timeline
from rlreport.comparators.windows_shown import Unshown
from rlreport.pipeline.analyse import _timelines
from rlreport.plotters.style import house_style
from rlreport.renderers.json import render_json
from rlreport.report.data_timeline import idle_by_cause, timeline_data
from rlreport.report.figure_data_bubbles import device_figure, lead_figure
from rlreport.report.figure_data_timeline import median_figure, occupancy_figure, special_figure
from rlreport.report.figures_timeline import DeviceFigure, LaneFigure, OccupancyFigure
from rlreport.report.model import Bullets, Figure, FileLink, Paragraph, Section, Table, plain
from rlreport.report.section_timeline import shown_section, trace_files
from rlreport.report.timeline_facts import periodic_sentence, quota_sentence
from rlreport.report.timeline_words import ShownRun
from rlreport.run.model import Run
from rlreport.run.samples import SampleTable
from rlreport.run.spans import Gauge

WINDOW = SteadyState("flat", 1, 3, (1, 2, 3), None, ())


def shown(run: Run, label: str = "r48", role: int = 0, **more: Any) -> ShownRun:
    timeline = measure_timeline(run, WINDOW)
    assert timeline is not None
    return ShownRun(run.run_id, label, role, timeline, **more)


def section(*runs: Run, **more: Any) -> Section:
    found = shown_section([shown(run, f"r{n}", n, **more) for n, run in enumerate(runs)], runs)
    assert found is not None
    return found


def texts(found: Section) -> str:
    """Everything that is said outside of figures."""
    said: list[str] = []
    for block in found.blocks:
        if isinstance(block, Bullets):
            said += [plain(item) for item in block.items]
        elif isinstance(block, Paragraph):
            said.append(plain(block.text))
        elif isinstance(block, Table):
            said += [" | ".join(plain(cell) for cell in row.cells) for row in block.rows] + [plain(block.note)]
    return "\n".join(said)


def test_the_section_names_owner_causes_and_the_identity() -> None:
    told = texts(section(three_steps()))
    assert "r0. The Trainer waits for the Rollouters." in told
    # 24 + 9 + 4 + 2 of 73 seconds; 19 + 18 of 146 device-seconds.
    assert "Trainer idle 53.4 % (waiting for samples 32.9 %, weight sync 12.3 %, validation 5.5 %, others 2.7 %)" in told
    assert "Rollouters idle 25.3 % (staleness quota 13.0 %, weight sync 12.3 %)" in told
    assert (
        "Work + idle + not known = wall time x devices within 0.00 %" in told
        or "within <0.01 %" in told
        or "within 0" in told
    )
    assert "34.8 % | 53.4 %" in told  # logged and reconstructed


def test_figures_show_the_window_the_trace_and_the_devices() -> None:
    found = section(three_steps())
    specs = {block.spec.id: block.spec for block in found.blocks if isinstance(block, Figure)}
    assert list(specs) == ["timeline", "occupancy", "timeline-special", "device-time"]
    lanes, devices = specs["timeline"], specs["device-time"]
    assert isinstance(lanes, LaneFigure) and isinstance(devices, DeviceFigure)
    (panel,) = lanes.panels
    assert panel.title == "r0: median cycles, steps 1 to 2"  # a validation follows step 2
    assert [row.label for row in panel.rows] == ["Trainer, 2 devices", "replica 0", "replica 1"]
    assert panel.versions == ((0.0, "after step 1"), (16.0, "after step 2"))
    assert panel.end == 16.0  # no margin: the validation begins there
    special = specs["timeline-special"]
    assert isinstance(special, LaneFigure) and special.caption == "r0: a cycle with a validation."
    assert [panel.title for panel in special.panels] == ["r0: a cycle with a validation, step 3"]
    assert devices.bars[0].total_text == "4,870 device-seconds, idle 53.4 %"
    assert [bar.label for bar in devices.bars] == ["Trainer", "Rollouters"]
    # 2 x 73 device-seconds for 30 prompts: 1,000 prompts take 4,867, of which the Trainer waits 1,600.
    assert sum(part.value for part in devices.bars[0].parts) == pytest.approx(146 / 30 * 1000)
    assert devices.x_label == "device-seconds for 1,000 prompts"
    assert any(part.text == "waiting for samples 1,600" for part in devices.bars[0].parts)
    for spec in specs.values():
        assert spec.caption and spec.how_to_read and spec.alt.endswith(".")
        with house_style():
            DRAWINGS[type(spec)](spec)


def test_occupancy_is_a_share_of_devices_in_every_stretch() -> None:
    spec = occupancy_figure([shown(three_steps())])
    assert isinstance(spec, OccupancyFigure)
    (panel,) = spec.panels
    assert [strip.label for strip in panel.strips] == ["Trainer, 2 devices", "Rollouters, 2 devices"]
    for strip in panel.strips:
        assert len(strip.shares) == 240
        assert all(sum(shares) == pytest.approx(1, abs=1e-3) for shares in strip.shares)
    assert (panel.window, panel.end) == ((0.0, 73.0), 80.0)


def test_two_runs_stand_side_by_side() -> None:
    found = section(three_steps(), three_steps())
    told = texts(found)
    assert "r0. " in told and "r1. " in told
    specs = [block.spec for block in found.blocks if isinstance(block, Figure)]
    lanes = specs[0]
    assert isinstance(lanes, LaneFigure) and len(lanes.panels) == 2
    device = device_figure([shown(three_steps(), "a"), shown(three_steps(), "b", 1)])
    assert device is not None and "From a to b idle time for 1,000 prompts" in device.caption


def test_without_prompts_bars_are_shares() -> None:
    run = three_steps()
    spec = device_figure([shown(replace(run, steps=run.steps.drop(columns=["work.prompts"])))])
    assert isinstance(spec, DeviceFigure)
    assert sum(part.value for part in spec.bars[0].parts) == pytest.approx(100)
    assert "%" in spec.x_label


def test_a_run_without_a_trace_says_what_stays_unknown() -> None:
    found = section(replace(three_steps(), spans=()))
    assert [block for block in found.blocks if isinstance(block, Figure)] == []
    told = texts(found)
    assert "what the Rollouters do is unknown: no timer shows what the replicas do" in told
    assert "There is no trace" in told
    assert median_figure([shown(replace(three_steps(), spans=()))]) is None
    assert special_figure([shown(replace(three_steps(), spans=()))]) is None


def test_no_timeline_no_section() -> None:
    assert shown_section([], []) is None


def test_the_lead_and_samples_are_shown_where_they_exist() -> None:
    queue = Gauge("queue.samples", "", [10 * S, 44 * S, 64 * S], [0, 25, 15], zero_unix_ns=0)
    n = 50
    columns = [np.full(n, 3), np.arange(n) * 10, np.full(n, 9), np.full(n, 1), np.full(n, 1)]
    left = [np.full(n, -1), np.arange(n) * 30, np.full(n, 9), np.full(n, 2), np.full(n, 2)]
    samples = (SampleTable("trained", *columns), SampleTable("left over", *left))
    found = section(three_steps(gauges=(queue,)), samples=samples)
    ids = [block.spec.id for block in found.blocks if isinstance(block, Figure)]
    assert ids[-3:] == ["lead", "length-distribution", "staleness-distribution"]
    told = texts(found)
    assert "1.50 mini-batches were ready at least" in told
    assert "more than what chance alone may give" in told


def test_special_windows_of_all_runs_as_far_as_there_is_room() -> None:
    runs = [shown(three_steps(), f"r{n}", n) for n in range(6)]
    spec = special_figure(runs)
    assert isinstance(spec, LaneFigure)
    assert [panel.title.split(":")[0] for panel in spec.panels] == ["r2", "r3", "r4", "r5"]
    assert spec.caption.endswith("r5: a cycle with a validation. Not shown: those of r0 and r1.")


def test_one_step_off_has_no_quota() -> None:
    run = replace(shown(three_steps()), mode="one_step_off")
    (spec,) = [s for s in [median_figure([run])] if s is not None]
    assert isinstance(spec, LaneFigure)
    labels = {state.name: state.label for state in spec.states}
    assert labels["idle:quota"] == "idle: next batch not handed out yet"
    assert "next batch not handed out yet" in spec.panels[0].detail and "quota" not in spec.panels[0].detail
    found = shown_section([run], [three_steps()])
    assert found is not None and "next batch not handed out yet 13.0 %" in texts(found)
    both = median_figure([run, shown(three_steps(), "b", 1)])
    assert isinstance(both, LaneFigure)
    assert "idle: next batch not handed out yet or staleness quota" in [state.label for state in both.states]


def test_the_lead_is_told_for_every_run_as_well_as_it_is_known() -> None:
    known = Lead(2.0, 1.8, 2.2, "queue", "samples in the queue")
    bounds = Lead(3.5, 1.0, 5.5, "staleness", "staleness")
    unknown = Lead(None, None, None, "unknown", "nothing is logged")
    runs = [replace(shown(three_steps(), f"r{n}", n), lead=lead) for n, lead in enumerate((known, bounds, unknown))]
    found = shown_section(runs, [three_steps()] * 3)
    assert found is not None
    (table,) = [block for block in found.blocks if isinstance(block, Table) and block.id == "lead-table"]
    assert [tuple(plain(cell) for cell in row.cells) for row in table.rows] == [
        ("r0", "2.00", "1.80 to 2.20", "Samples in the queue"),
        ("r1", "about 3.5", "1.0 to 5.5", "Staleness"),
        ("r2", "unknown", "–", "Nothing is logged"),
    ]
    alone = shown_section(runs[:1], [three_steps()])
    assert alone is not None
    (table,) = [block for block in alone.blocks if isinstance(block, Table) and block.id == "lead-table"]
    assert len(table.columns) == 3 and plain(table.note).endswith("Known from: samples in the queue.")
    data = timeline_data(runs[1].timeline, bounds)
    assert data is not None
    told = {"mean_when_asked": 3.5, "low": 1.0, "high": 5.5, "basis": "staleness", "least_when_asked": None}
    assert data["lead"] == {**told, "source": "staleness"}


def test_the_files_of_traces_are_named_and_linked() -> None:
    runs = [replace(shown(three_steps(), f"r{n}", n), trace_file=f"timeline-{n + 1}.json.gz") for n in range(2)]
    found = shown_section(runs, [three_steps()] * 2)
    assert found is not None
    (line,) = [b for b in found.blocks if isinstance(b, Paragraph) and "zoom" in plain(b.text)]
    assert [part.name for part in line.text if isinstance(part, FileLink)] == ["timeline-1.json.gz", "timeline-2.json.gz"]
    assert "timeline-1.json.gz (r0), timeline-2.json.gz (r1) beside this page, for ui.perfetto.dev." in plain(line.text)


@pytest.mark.parametrize("traced", [1, 3])
def test_the_named_files_are_those_that_are_written(traced: int) -> None:
    def result(number: int) -> Any:
        run = replace(three_steps(), run_id=f"r{number}", spans=three_steps().spans if number < traced else ())
        timeline = measure_timeline(run, WINDOW)
        return SimpleNamespace(run=run, timeline=timeline, traced=timeline is not None and timeline.trace is not None)

    analysis: Any = SimpleNamespace(runs={f"r{number}": result(number) for number in range(4)})
    assert list(trace_files(analysis).values()) == list(_timelines(analysis))
    assert list(trace_files(analysis)) == [f"r{number}" for number in range(traced)]


def test_staleness_counts_the_same_for_all_runs_of_a_figure() -> None:
    n = 4
    columns = [np.full(n, 3), np.full(n, 10), np.full(n, 9), np.full(n, 1), np.full(n, 1)]
    run = replace(three_steps(), steps=three_steps().steps.assign(**{"staleness.mean": [0.0, 1.0, 1.0]}))
    with_dumps = shown(run, samples=(SampleTable("trained", *columns),))
    for runs, words in (([with_dumps], "trained samples"), ([with_dumps, shown(run, "b", 1)], "steps, by the mean")):
        found = shown_section(runs, [run] * len(runs))
        assert found is not None
        (spec,) = [b.spec for b in found.blocks if isinstance(b, Figure) and b.spec.id == "staleness-distribution"]
        assert spec.how_to_read.startswith(f"Share of {words}")


def test_marks_and_dashes_are_explained_only_where_they_are_drawn() -> None:
    run = three_steps()
    by_step = lead_figure([shown(replace(run, steps=run.steps.assign(**{"queue.samples": [5, 10, 20]})))])
    queue = Gauge("queue.samples", "", [10 * S, 44 * S, 64 * S], [0, 25, 15], zero_unix_ns=0, capacity=40)
    asked = lead_figure([shown(three_steps(gauges=(queue,)))])
    assert by_step is not None and asked is not None
    assert "Marks" not in by_step.how_to_read and "Dashed" not in by_step.how_to_read
    assert asked.how_to_read.endswith("Marks: what the Trainer found when it asked. Dashed: the most that may wait.")


def test_a_queue_by_step_is_drawn_by_step() -> None:
    run = three_steps()
    spec = lead_figure([shown(replace(run, steps=run.steps.assign(**{"queue.samples": [5, 10, 20]})))])
    assert spec is not None and spec.x_label == "step"  # type: ignore[attr-defined]


def test_facts_in_sentences() -> None:
    bubble = PeriodicBubble(5, 5, 24, "validation", 89.87, 0.0606, "trainer.test_freq = 5")
    assert periodic_sentence(bubble) == (
        "Every 5 steps: validation, 89.9 s each time, 6.1 % of all time (trainer.test_freq = 5)."
    )
    quota = QuotaCover(0.3, 8, "async_training.staleness_threshold", "async_training.trigger_parameter_sync_step")
    assert quota_sentence(quota) == (
        "What may be generated ahead covers 2.40 rounds, that is the first two of 8 rounds of a version "
        "(async_training.staleness_threshold = 0.3, async_training.trigger_parameter_sync_step = 8)."
    )
    assert "the first of 4 rounds" in quota_sentence(replace(quota, quota=0.25, rounds=4))
    assert "a part of the first of 4 rounds" in quota_sentence(replace(quota, quota=0.1, rounds=4))
    assert "all 4 rounds" in quota_sentence(replace(quota, quota=1.0, rounds=4))


def test_the_data_hold_idle_time_by_cause() -> None:
    timeline = shown(three_steps()).timeline
    told = idle_by_cause(timeline, "rollout")
    assert told["by_cause"] == {"quota": pytest.approx(19 / 146), "weight_sync": pytest.approx(18 / 146)}
    assert idle_by_cause(None, "rollout") == {"by_cause": None, "at_least": None, "at_most": None}
    block = timeline_data(timeline)
    assert block is not None
    assert block["owner"] == "trainer" and block["basis"] == "spans" and block["identity_residual"] < 1e-9
    assert block["window"]["trainer"]["idle_device_s"]["samples"] == pytest.approx(48)
    assert len(block["cycles"]) == 4
    assert block["idle_device_s_per_1000_prompts"]["trainer"]["samples"] == pytest.approx(1600)
    assert json.loads(render_json(block)) is not None
    assert timeline_data(None) is None


def test_what_is_polled_only_while_the_trainer_waits_is_told_and_not_drawn() -> None:
    """0 and 9 finished samples of mini-batches of 10: a curve through them would be taken for the lead."""
    at_ns = [12_000_000_000, 28_000_000_000]
    run = three_steps(gauges=(Gauge("replay.finished", "", at_ns, [0.0, 9.0], 0),))
    assert lead_figure([shown(run)]) is None
    told = texts(section(run))
    assert "While the Trainer waited, 0 to 0.900 mini-batches were ready (2 lines of the replay buffer's poll)." in told


def test_a_worst_cycle_that_has_no_window_of_its_own_is_told() -> None:
    run = shown(three_steps())
    assert run.timeline.trace is not None
    median, *others = run.timeline.trace.shown
    for within, words in ((True, "is among these"), (False, "idles hardly more, so it has no window of its own")):
        window = replace(median, worst=Unshown(7, 8, 1.05, within))
        trace = replace(run.timeline.trace, shown=(window, *others))
        spec = median_figure([replace(run, timeline=replace(run.timeline, trace=trace))])
        assert spec is not None
        told = f"; the worst cycle, steps 7 to 8, {words} (1.05× the median one's idle share)."
        assert spec.caption.endswith(told)
