from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from support.made_projects import HEAD, write_jsonl, write_pair
from support.made_runs import make_run

import rlreport.api as rl

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "api.md"


class Checked(HTMLParser):
    """Reads HTML strictly: every tag is closed in order, and only tags of tables and text occur."""

    ALLOWED = frozenset(["div", "p", "strong", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"])

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.ALLOWED
        assert {name for name, _ in attrs} <= {"style", "scope"}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> rl.Project:
    return rl.load(write_pair(tmp_path_factory.mktemp("made")))


def test_importing_it_and_loading_names_imports_nothing_heavy() -> None:
    program = "import sys, rlreport.api; print([n for n in ('numpy', 'pandas', 'scipy', 'matplotlib') if n in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"


def test_the_code_of_the_page_runs_on_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 5
    names: dict[str, Any] = {}
    for block in blocks:
        assert '"out"' in block or "build" not in block
        exec(compile(block.replace('"out"', repr(str(tmp_path / "out"))), str(PAGE), "exec"), names)
    assert names["run"].devices.total == 640
    assert names["run"].knobs["actor_rollout_ref.rollout.nnodes"] == 48
    assert names["report"].comparisons[0].change.verdict == "single"
    assert names["pair"].throughput.headline.verdict == "improved"
    assert names["report"].comparisons[0].throughput.headline.ratio == pytest.approx(
        names["pair"].throughput.headline.ratio, rel=1e-6
    )
    assert names["problem"].code == "RR195"
    assert (tmp_path / "out" / "qwen3-30b" / "report.json").is_file()
    assert capsys.readouterr() == ("", "")


def test_the_page_names_every_attribute_it_promises() -> None:
    text = PAGE.read_text("utf-8")
    for name in ("steps", "raw", "config", "knobs", "devices", "mode", "warnings", "run"):
        assert f"`{name}`" in text and hasattr(rl.RunView, name)


def test_a_run_as_data_frames(project: rl.Project) -> None:
    run = project.runs["a"]
    assert list(run.steps.index) == list(range(1, 61))
    assert run.steps["time.step_s"].tolist() == run.raw["timing_s/step"].tolist()
    assert run.config["trainer.test_freq"] == 5
    assert list(run.config) == sorted(run.config)
    assert run.knobs == {"trainer.test_freq": 5, "trainer.use_v1": True, "trainer.v1.trainer_mode": "separate_async"}
    assert run.knob_table().loc["trainer.test_freq", ["class", "value", "origin"]].tolist() == ["schedule", 5, "manifest"]
    assert (run.devices.trainer, run.devices.rollout, run.mode) == (8, 8, "separate_async")
    assert (run.id, run.label) == ("a", "run a")
    assert repr(run) == "<RunView 'a': verl, separate_async, 60 steps>"


def test_a_data_frame_is_the_users_own(project: rl.Project) -> None:
    run = project.runs["a"]
    before = run.steps["time.step_s"].iloc[0]
    mine = run.steps
    mine.iloc[:, :] = 0.0
    theirs = run.raw
    del theirs["timing_s/step"]
    assert run.steps["time.step_s"].iloc[0] == before
    assert "timing_s/step" in run.raw.columns


def test_runs_are_a_mapping_that_reads_once(project: rl.Project, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(project.runs) == ["a", "b"]
    assert "a" in project.runs and "c" not in project.runs
    assert project.runs.get("c") is None
    first = project.runs["a"].run
    monkeypatch.setattr("rlreport.pipeline.load.read_run", None)
    assert project.runs["a"].run is first


def test_a_report_and_its_pair(project: rl.Project) -> None:
    report = project.report("pair")
    assert report.verdict.startswith("run b gives 1.2")
    assert list(report.runs) == ["a", "b"]
    (pair,) = report.comparisons
    assert pair.verdict == report.verdict
    assert (pair.baseline.id, pair.variant.id) == ("a", "b")
    assert pair.throughput.headline.ratio == pytest.approx(1.25, rel=0.05)
    assert pair.change.verdict == "single"
    assert {quality.metric for quality in pair.quality} >= {"quality.reward_mean"}
    assert pair.comparable
    assert project.report("one").comparisons == ()
    assert project.report_ids == ("pair", "one")


def test_pairs_of_a_ladder_stand_alone(tmp_path: Path) -> None:
    for name, speed in (("a", 1.0), ("b", 1.25), ("c", 1.5)):
        write_jsonl(tmp_path / f"{name}.jsonl", seed=ord(name), speed=speed)
    runs = "".join(
        f"  {name}: {{sources: [{name}.jsonl], framework: verl, devices: {{trainer: 8, rollout: 8}}, "
        f"config: {{trainer.test_freq: {every}}}}}\n"
        for name, every in (("a", 5), ("b", 10), ("c", 20))
    )
    (tmp_path / "m.yaml").write_text(
        f"{HEAD}runs:\n{runs}reports:\n"
        "  - {id: l, title: L, kind: ladder, baseline: a, variants: [b, c], changes: [schedule]}\n",
        "utf-8",
    )
    report = rl.load(tmp_path / "m.yaml").report("l")
    assert [(pair.baseline.id, pair.variant.id) for pair in report.comparisons] == [("a", "b"), ("b", "c")]
    assert report.comparisons[1].verdict.startswith("c gives 1.")
    assert "1.2" in Checked(report.comparisons[1]._repr_html_()).text
    assert len(re.findall("<tr>", report._repr_html_())) == 3


def test_two_runs_without_a_manifest(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", seed=1)
    write_jsonl(tmp_path / "b.jsonl", seed=2, speed=1.25)
    options: dict[str, Any] = {"framework": "verl", "trainer_devices": 8, "rollout_devices": 8}
    baseline = rl.read_run(tmp_path / "a.jsonl", run_id="x", label="old", config={"trainer": {"test_freq": 5}}, **options)
    variant = rl.read_run(str(tmp_path / "b.jsonl"), run_id="x", config={"trainer.test_freq": 10}, **options)
    assert baseline.config == {"trainer.test_freq": 5}
    pair = rl.compare(baseline, variant, changes="schedule", margins={"throughput": "30%", "reward": 1})
    assert (pair.baseline.id, pair.variant.id) == ("x", "x-2")
    assert pair.change.verdict == "single"
    assert pair.throughput.headline.margin == pytest.approx(0.3)
    assert pair.throughput.headline.verdict in ("within-noise", "equivalent")
    assert next(q for q in pair.quality if q.metric == "quality.reward_mean").verdict == "equivalent"
    assert rl.compare(baseline, variant).change.verdict == "undeclared"
    waived = rl.compare(baseline, variant, waive={"test_freq": "validation is not timed"})
    assert waived.change.differences[0].waived == "validation is not timed"


def test_what_is_wrong_is_one_kind_of_error(project: rl.Project, tmp_path: Path) -> None:
    def codes(call: Any) -> list[str]:
        with pytest.raises(rl.RlreportError) as caught:
            call()
        return [diagnostic.code for diagnostic in caught.value.diagnostics]

    run = project.runs["a"]
    assert codes(lambda: rl.load(tmp_path / "none.yaml")) == ["RR100"]
    assert codes(lambda: project.runs["c"]) == ["RR195"]
    assert codes(lambda: project.report("pairs")) == ["RR190"]
    assert codes(lambda: project.build(tmp_path / "o", formats=["docx"])) == ["RR199"]
    assert codes(lambda: project.build(tmp_path / "o", formats=["json"], only=["x"])) == ["RR190"]
    assert codes(lambda: rl.read_run(tmp_path / "none.log")) == ["RR201"]
    assert codes(rl.read_run) == ["RR199"]
    assert codes(lambda: rl.compare(run, run, margins={"throughput": "5", "rewards": 1})) == ["RR199", "RR199"]
    assert not (tmp_path / "o").exists()
    with pytest.raises(rl.UnknownNameError, match=r"did you mean 'pair'\?"):
        project.report("pairs")


def test_a_run_that_cannot_be_read_is_told_when_it_is_asked_for(tmp_path: Path) -> None:
    manifest = write_pair(tmp_path)
    (tmp_path / "logs" / "b.jsonl").write_text("nothing\n", "utf-8")
    made = rl.load(manifest)
    assert len(made.runs["a"].steps) == 60
    with pytest.raises(rl.RlreportError) as caught:
        made.report("pair")
    assert caught.value.exit_code == 3
    assert made.report("one").verdict != ""
    with pytest.raises(rl.RlreportError):
        made.build(tmp_path / "out", formats=["json"])
    assert (tmp_path / "out" / "one" / "report.json").is_file()


def test_a_build_from_python(project: rl.Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = project.build(tmp_path / "out", formats=["json", "md"], only=["pair"])
    assert sorted(path.name for path in (tmp_path / "out" / "pair").iterdir()) == ["figures", "report.json", "report.md"]
    assert result.gate_failures == ()
    assert capsys.readouterr() == ("", "")


def test_tables_begin_with_the_verdict_and_are_well_formed(project: rl.Project) -> None:
    report = project.report("pair")
    for shown in (report, report.comparisons[0]):
        html = shown._repr_html_()
        assert Checked(html).text.startswith(report.verdict)
        assert html == shown._repr_html_()
    assert "trainer.test_freq" in Checked(report.comparisons[0]._repr_html_()).text
    assert Checked(project._repr_html_()).text.startswith("Made")
    assert "60" in Checked(project.runs["a"]._repr_html_()).text


def test_nothing_of_a_run_is_markup() -> None:
    bad = "<script>alert(1)</script>&\"'\u202e"
    columns = {"time.step_s": [10.0 + i % 3 for i in range(40)], "work.tokens": [1000.0] * 40}
    runs = [
        rl.RunView(make_run(columns, run_id=f"{i}{bad}", label=bad, config={f"k{bad}": f"{i}{bad}"}, status_reason=bad))
        for i in (1, 2)
    ]
    pair = rl.compare(*runs)
    for shown in (runs[0], pair, rl.ReportView("r", bad, pair.analysis)):
        html = shown._repr_html_()
        assert "<script>alert(1)</script>&" in Checked(html).text
        assert "\u202e" not in html


def test_a_pair_that_may_not_be_compared_says_why_first(samples: Path) -> None:
    runs = [rl.read_run(samples / name) for name in ("verl-grpo-fsdp-h800", "verl-grpo-megatron-h800")]
    pair = rl.compare(*runs, changes=["engine"])
    assert not pair.comparable
    text = Checked(pair._repr_html_()).text
    assert text.startswith("These two runs cannot be compared: the dataset changed")
    assert pair.warnings == tuple(dict.fromkeys(pair.warnings))
