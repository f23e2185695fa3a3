from __future__ import annotations

import datetime
import os
import subprocess
from pathlib import Path

import pytest
from support.manifest_files import VALID, load_text, make_folder, place_of, problems_of, unmark

from rlreport.manifest import Decision, ManifestSource, Waiver, Window, load_manifest
from rlreport.run.diagnostics import Location, RlreportError
from rlreport.run.knobs import KnobRow
from rlreport.run.model import RunDeclaration
from rlreport.run.rules import ChangePolicy, Rule

#: The manifest of the design document, with the run that its report compares.
FULL = """\
version: 1
title: Async RL tuning on Ascend 910B
runs:
  r48:
    label: 48 rollout nodes
    sources: [logs/r48/console.log, logs/r48/metrics.jsonl, {path: traces/r48, format: rl-insight}]
    framework: verl                      # optional: detected
    framework_version: 2026-08-22
    config: {trainer.nnodes: 2, actor: {optim: {lr: 1e-6}, ids: [0, 1]}, ratio: 16:16, switch: on}
    devices: {trainer: 16, rollout: 48}
    hybrid_replicas: 0-7
    group: r48
  r32:
    sources:
      - path: logs/r32/table.csv
        columns: {iteration: step, seconds: time.step_s}
reports:
  - id: qwen3-30b
    title: "Case study: Qwen3-30B"
    kind: ab
    baseline: r48
    variants: [r32]
    changes: [resources, trainer.nnodes]
    waive: [{knob: trainer.experiment_name, reason: "a label", expires: 2026-12-31}]
    steady_state: {from: auto, to: 90}
    margins: {throughput: 5%, reward: 0.02, accuracy: 1e-2, response_length: 20}
    question: Are the Rollouters over-provisioned?
    narrative: notes/study.md
    decision: {status: accepted, by: the team, date: 2026-08-30, reason: cheaper}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_folder(tmp_path)
    (tmp_path / "traces/r48").mkdir(parents=True)
    (tmp_path / "logs/r32/table.csv").write_text("", encoding="utf-8")
    return tmp_path


def test_every_field_arrives(folder: Path) -> None:
    manifest = load_text(folder, FULL)
    assert (manifest.version, manifest.title) == (1, "Async RL tuning on Ascend 910B")
    assert manifest.path == folder / "experiments.yaml"
    assert manifest.warnings == ()
    assert list(manifest.runs) == ["r48", "r32"]
    assert manifest.runs["r48"].declaration() == RunDeclaration(
        run_id="r48",
        label="48 rollout nodes",
        framework="verl",
        framework_version="2026-08-22",
        config={"trainer.nnodes": 2, "actor.optim.lr": 1e-6, "actor.ids": [0, 1], "ratio": "16:16", "switch": "on"},
        trainer_devices=16,
        rollout_devices=48,
        hybrid_replicas="0-7",
        group="r48",
    )
    assert manifest.runs["r48"].sources == (
        ManifestSource(folder / "logs/r48/console.log", display="logs/r48/console.log"),
        ManifestSource(folder / "logs/r48/metrics.jsonl", display="logs/r48/metrics.jsonl"),
        ManifestSource(folder / "traces/r48", "rl-insight", display="traces/r48"),
    )
    columns = {"iteration": "step", "seconds": "time.step_s"}
    assert manifest.runs["r32"].sources == (
        ManifestSource(folder / "logs/r32/table.csv", None, columns, "logs/r32/table.csv"),
    )
    assert manifest.runs["r32"].declaration() == RunDeclaration(run_id="r32", columns=columns)
    (report,) = manifest.reports
    assert (report.id, report.title, report.kind) == ("qwen3-30b", "Case study: Qwen3-30B", "ab")
    assert (report.baseline, report.variants, report.run_ids) == ("r48", ("r32",), ("r48", "r32"))
    assert report.changes == ("resources", "trainer.nnodes")
    assert report.waive == (Waiver("trainer.experiment_name", "a label", datetime.date(2026, 12, 31)),)
    assert report.steady_state == Window(None, 90)
    assert report.margins == {"throughput": 0.05, "reward": 0.02, "accuracy": 0.01, "response_length": 20.0}
    assert report.question == "Are the Rollouters over-provisioned?"
    assert report.narrative == folder / "notes/study.md"
    assert report.narrative_text == ""
    assert report.decision == Decision("accepted", "the team", datetime.date(2026, 8, 30), "cheaper")
    assert report.knob is None
    assert report.location == Location(str(folder / "experiments.yaml"), 18, 9)


RULES = """\
as_of: 2026-08-22
preset: strict
knobs:
  - {key: my.prefetch, class: work, label: prefetched batches}
  - {key: other.**, class: identity}
rules:
  - {knob: data.seed, rule: free}
  - {knob: rollout.n, rule: pinned, value: null, level: warn}
"""


def test_rules_of_the_manifest_stand_before_those_of_a_report(folder: Path) -> None:
    own = """\
    rules:
      - {knob: rollout.n, rule: pinned}
      - {knob: optim.lr, rule: derived, expression: 1e-6 * sqrt(data.train_batch_size / 256), reason: scaling}
    primary: [reward, throughput, reward]
    waive: [{knob: data.shuffle, reason: same order, expires: 2026-08-21}]
"""
    manifest = load_text(folder, VALID + own + RULES)
    assert manifest.knobs == (KnobRow("my.prefetch", "work", "prefetched batches"), KnobRow("other.**", "identity", ""))
    (report,) = manifest.reports
    assert report.policy == ChangePolicy(
        rules=(
            Rule("data.seed", "free"),
            Rule("rollout.n", "pinned", "warn", has_value=True, value=None),
            Rule("rollout.n", "pinned"),
            Rule("optim.lr", "derived", expression="1e-6 * sqrt(data.train_batch_size / 256)", reason="scaling"),
        ),
        preset="strict",
        waivers=(Waiver("data.shuffle", "same order", datetime.date(2026, 8, 21)),),
        as_of=datetime.date(2026, 8, 22),
    )
    assert report.primary == ("reward", "throughput")


def test_the_other_runs_of_a_group_are_found(folder: Path) -> None:
    runs = "  r49: {sources: [logs/r48], group: g}\n  r47: {sources: [logs/r32], group: g}\n  r33: {sources: [logs/r32]}\n"
    text = VALID.replace("runs:\n", f"runs:\n{runs}").replace("console.log]}\n  r32", "console.log], group: g}\n  r32")
    manifest = load_text(folder, text)
    assert manifest.with_replicates(manifest.reports[0].run_ids) == ("r48", "r32", "r49", "r47")
    assert manifest.with_replicates(["r33", "r33"]) == ("r33",)


def test_a_report_has_its_own_preset_and_throughput_is_primary(folder: Path) -> None:
    manifest = load_text(folder, VALID + "    preset: exploratory\n" + RULES)
    assert (manifest.reports[0].preset, manifest.reports[0].primary) == ("exploratory", ("throughput",))
    assert load_text(folder, VALID).reports[0].policy == ChangePolicy()


def test_the_narrative_is_read_and_the_manifest_identified(folder: Path) -> None:
    (folder / "notes/study.md").write_text("Why we did *this*: é\n", encoding="utf-8")
    manifest = load_text(folder, FULL)
    assert manifest.reports[0].narrative_text == "Why we did *this*: é\n"
    assert manifest.reports[0].decision_data() == {
        "status": "accepted",
        "by": "the team",
        "date": "2026-08-30",
        "reason": "cheaper",
    }
    by_hand = subprocess.run(["sha256sum", str(manifest.path)], capture_output=True, text=True, check=True).stdout.split()[0]
    assert manifest.sha256 == by_hand


def test_what_is_not_said_is_unknown(folder: Path) -> None:
    manifest = load_text(folder, VALID)
    assert manifest.runs["r48"].declaration() == RunDeclaration(run_id="r48")
    (report,) = manifest.reports
    assert report.title == "study"
    assert (report.changes, report.waive, report.margins) == ((), (), {})
    assert report.steady_state == Window(None, None)
    assert (report.question, report.narrative, report.decision, report.knob) == (None, None, None, None)
    assert (report.narrative_text, report.decision_data()) == ("", {})


def test_numbers_stay_as_written_where_a_text_is_wanted(folder: Path) -> None:
    text = """\
version: 1
title: 2026
runs:
  48: {label: 007, framework_version: 0.10, group: 1e3, sources: [logs/r48]}
  32: {hybrid_replicas: 8, sources: [logs/r32]}
reports:
  - {id: 1.50, kind: sweep, baseline: 48, variants: [32], knob: 1.0, question: 42}
"""
    manifest = load_text(folder, text)
    run, report = manifest.runs["48"], manifest.reports[0]
    assert manifest.title == "2026"
    assert (run.label, run.framework_version, run.group) == ("007", "0.10", "1e3")
    assert manifest.runs["32"].hybrid_replicas == "8"
    assert (report.id, report.baseline, report.variants, report.knob) == ("1.50", "48", ("32",), "1.0")
    assert report.question == "42"


@pytest.mark.parametrize(
    ("written", "fraction"),
    [("5%", 0.05), ("0.05", 0.05), ("2.5 %", 0.025), (".5%", 0.005), ("0", 0.0), ("'5%'", 0.05), ("1e-2", 0.01)],
)
def test_throughput_margins_are_fractions(written: str, fraction: float, folder: Path) -> None:
    (report,) = load_text(folder, VALID + f"    margins: {{throughput: {written}}}\n").reports
    assert report.margins == {"throughput": pytest.approx(fraction, rel=1e-12)}


@pytest.mark.parametrize(("written", "kept"), [("0-7", "0-7"), ("8", "8"), ("'0-3, 8'", "0-3,8"), ("3-3", "3-3")])
def test_replicas_are_a_text_without_blanks(written: str, kept: str, folder: Path) -> None:
    text = VALID.replace("console.log]}", f"console.log], hybrid_replicas: {written}}}")
    assert load_text(folder, text).runs["r48"].hybrid_replicas == kept


def test_devices_may_be_known_for_one_side_only(folder: Path) -> None:
    run = load_text(folder, VALID.replace("r48/console.log]}", "r48/console.log], devices: {trainer: 8}}")).runs["r48"]
    assert (run.trainer_devices, run.rollout_devices) == (8, None)
    run = load_text(folder, VALID.replace("r48/console.log]}", "r48/console.log], devices: {trainer: 8, rollout: 0}}")).runs[
        "r48"
    ]
    assert (run.trainer_devices, run.rollout_devices) == (8, 0)


def test_five_mistakes_are_five_diagnostics(folder: Path) -> None:
    text, places = unmark("""\
version: 1
title: Tuning
runs:
  r48:
    sources: [logs/r48/console.log]
    devices: {trainer: §many}
  r32: {sources: [§logs/r32/consol.log]}
reports:
  - id: study
    kind: ab
    baseline: §r84
    variants: [r32]
    §marginss: {throughput: 5%}
    steady_state: {from: 20, to: §10}
""")
    problems = problems_of(folder, text)
    assert [(problem.code, place_of(problem)) for problem in problems] == list(
        zip(["RR112", "RR130", "RR104", "RR110", "RR126"], places, strict=True)
    )


def test_mistakes_of_every_stage_are_told_together(folder: Path) -> None:
    """YAML, model and checks each find theirs, within one report."""
    text, places = unmark("""\
version: 1
title: Tuning
§title: Again
runs:
  r48: {sources: [logs/r48]}
  r32: {sources: [logs/r32]}
reports:
  - id: §a b
    kind: ab
    §baselin: r48
    variants: [r32, §r33, §r32]
    narrative: §notes/none.md
    margins: {accuracy: §lots}
    decision: {status: §maybe}
""")
    problems = problems_of(folder, text)
    assert [place_of(problem) for problem in problems] == places
    assert [problem.code for problem in problems] == [
        "RR103",
        "RR114",
        "RR110",
        "RR104",
        "RR121",
        "RR128",
        "RR125",
        "RR113",
    ]


def test_a_misspelt_key_is_not_also_missing(folder: Path) -> None:
    for wrong, right in (("baselin", "baseline"), ("variant", "variants"), ("kinds", "kind")):
        (problem,) = problems_of(folder, VALID.replace(right, wrong))
        assert problem.code == "RR110"
        assert problem.hint == f"did you mean '{right}'?"


def test_the_text_of_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    Path("experiments.yaml").write_text(VALID.replace("[r32]", "[r23]"), encoding="utf-8")
    with pytest.raises(RlreportError) as caught:
        load_manifest(Path("experiments.yaml"))
    assert str(caught.value) == (
        "experiments.yaml:10:16: error[RR104]: report 'study': no run is called 'r23'\n  hint: did you mean 'r32'?"
    )


def test_paths_stay_relative_when_the_manifest_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    (folder / "experiments.yaml").write_text(VALID, encoding="utf-8")
    manifest = load_manifest(Path(folder.name) / "experiments.yaml")
    (source,) = manifest.runs["r48"].sources
    assert str(source.path) == f"{folder.name}/logs/r48/console.log"
    assert source.display == "logs/r48/console.log"


@pytest.mark.parametrize(
    ("text", "exit_code"),
    [
        (VALID.replace("r48/console", "r48/none").replace("r32/console", "r32/none"), 3),
        (VALID.replace("r48/console", "r48/none").replace("[r32]", "[r23]"), 2),
        (VALID.replace("[r32]", "[r23]"), 2),
        ("", 2),
        ("a: [", 2),
    ],
)
def test_only_missing_sources_end_with_three(text: str, exit_code: int, folder: Path) -> None:
    with pytest.raises(RlreportError) as caught:
        load_text(folder, text)
    assert caught.value.exit_code == exit_code


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "null\n"])
def test_an_empty_manifest_says_what_belongs_in_it(text: str, folder: Path) -> None:
    (problem,) = problems_of(folder, text)
    assert (problem.code, problem.message) == ("RR109", "the manifest is empty")
    assert "version, title, runs and reports" in (problem.hint or "")


def test_warnings_are_not_told_beside_errors(folder: Path) -> None:
    """With the variant misspelt, r32 looks unused; that is no second mistake."""
    assert [problem.code for problem in problems_of(folder, VALID.replace("[r32]", "[r23]"))] == ["RR104"]


def test_an_alias_stands_for_a_whole_value(folder: Path) -> None:
    text = VALID.replace("r48/console.log]}", "r48/console.log], config: &common {a.b: 1}}").replace(
        "r32/console.log]}", "r32/console.log], config: *common}"
    )
    manifest = load_text(folder, text)
    assert manifest.runs["r32"].config == manifest.runs["r48"].config == {"a.b": 1}


def test_a_mistake_below_an_alias_names_each_user_once(folder: Path) -> None:
    text = VALID.replace("r48/console.log]}", "r48/console.log], devices: &d {trainer: x}}").replace(
        "r32/console.log]}", "r32/console.log], devices: *d}"
    )
    problems = problems_of(folder, text)
    assert [problem.message.split(":")[0] for problem in problems] == ["run 'r32'", "run 'r48'"]
    assert len({place_of(problem) for problem in problems}) == 1


def test_globs_are_sorted_and_a_file_is_read_once(folder: Path) -> None:
    for name in ("b.log", "a.log", "c.csv", ".hidden.log"):
        (folder / "logs" / name).write_text("", encoding="utf-8")
    sources = (
        "[logs/b.log, 'logs/*.log', {path: logs/*.csv, format: table}, 'logs/?.csv', {path: logs/a.log, format: forced}]"
    )
    run = load_text(folder, VALID.replace("[logs/r48/console.log]", sources)).runs["r48"]
    assert [(source.display, source.format) for source in run.sources] == [
        ("logs/b.log", None),
        ("logs/a.log", "forced"),
        ("logs/c.csv", "table"),
    ]


def test_outside_paths_need_leave(folder: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    text = VALID.replace("logs/r48/console.log", "../logs/r48/console.log").replace(
        "logs/r32/console.log", str(folder / "logs/r32/console.log")
    )
    assert [problem.code for problem in problems_of(inner, text)] == ["RR129", "RR129"]
    manifest = load_text(inner, text, allow_outside=True)
    assert manifest.runs["r48"].sources[0].display == "../logs/r48/console.log"
    assert manifest.runs["r32"].sources[0].path == folder / "logs/r32/console.log"


def test_columns_of_several_sources_are_joined_and_the_first_counts(folder: Path) -> None:
    sources = (
        "[{path: logs/r48/console.log, columns: {a: step, b: work.tokens}}, "
        "{path: logs/r48/metrics.jsonl, columns: {a: step, b: work.prompts, c: time.step_s}}]"
    )
    run = load_text(folder, VALID.replace("[logs/r48/console.log]", sources)).runs["r48"]
    assert run.declaration().columns == {"a": "step", "b": "work.tokens", "c": "time.step_s"}


def test_the_same_manifest_gives_the_same_result(folder: Path) -> None:
    assert load_text(folder, FULL) == load_text(folder, FULL)
    broken = FULL.replace("r32]", "r33]").replace("5%", "50")
    assert problems_of(folder, broken) == problems_of(folder, broken)


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_a_link_that_leads_out_needs_leave(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "x.log").write_text("", encoding="utf-8")
    (folder / "logs" / "linked").symlink_to(outside)
    text = VALID.replace("logs/r48/console.log", "logs/linked/x.log")
    (problem,) = problems_of(folder, text)
    assert problem.code == "RR129"
    assert "'logs/linked/x.log' is a link that leads out" in problem.message
    assert load_text(folder, text, allow_outside=True).runs["r48"].sources[0].display == "logs/linked/x.log"


def test_a_target_is_a_level_by_metric(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("x", "utf-8")
    path = tmp_path / "m.yaml"
    path.write_text(
        "version: 1\ntitle: T\nruns:\n  a: {sources: [log]}\nreports:\n"
        "  - {id: p, title: P, kind: profile, baseline: a, target: {accuracy: 0.69}}\n",
        "utf-8",
    )
    assert load_manifest(path).reports[0].target == {"accuracy": 0.69}
