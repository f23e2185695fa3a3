from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from support.made_chains import analysed, made
from support.made_findings import CONFIG, ROOT, SYNC_STEP, WARM_UP, example_run, profile, steady_run, traced
from support.sample_runs import sample_run

from rlreport.comparators.analysis import Analysis, AnalysisRequest, analyse
from rlreport.findings.model import Finding
from rlreport.findings.rules import MOST_FRAGMENTS, RULE_IDS, find, start_of_next
from rlreport.manifest import load_manifest
from rlreport.manifest.model import Manifest
from rlreport.pipeline.analyse import analyse_report
from rlreport.pipeline.load import load_runs
from rlreport.run.diagnostics import RlreportError


def ids(analysis: Analysis) -> list[str]:
    return [finding.id for finding in find(analysis)]


def test_findings_are_ranked_by_severity_then_tier_then_bound() -> None:
    shares = {"time.weight_sync_s": 45.0, "time.wait_s": 30.0, "time.update_actor_s": 10.0}
    assert ids(profile(steady_run(shares))) == ["trainer-waits", "weight-sync", "untimed"]
    config = {
        **CONFIG,
        SYNC_STEP: 1,
        WARM_UP: 0,
        "trainer.v1.sampler.max_off_policy_threshold": 1,
        "trainer.v1.sampler.max_off_policy_strategy": "wait",
    }
    assert ids(profile(steady_run(shares, config))) == ["weight-sync", "trainer-waits-no-lead", "untimed"]


def test_a_balanced_run_leads_to_nothing() -> None:
    run = steady_run({"time.wait_s": 4.0, "time.update_actor_s": 90.0, "time.weight_sync_s": 3.0, "queue.samples": 20.0})
    assert ids(profile(run)) == []
    balanced = traced({"samples": 0.04, "weight_sync": 0.03}, {"quota": 0.03, "weight_sync": 0.03})
    assert find(profile(run), {run.run_id: balanced}) == ()


def test_a_traced_balance_leads_to_nothing_where_the_log_alone_asks_for_a_trace() -> None:
    run = steady_run({"time.wait_s": 1.0, "time.update_actor_s": 95.0})
    assert ids(profile(run)) == ["trainer-bound"]
    assert find(profile(run), {run.run_id: traced({"samples": 0.01}, {"quota": 0.02})}) == ()


def test_the_next_experiment_starts_from_what_is_not_worse() -> None:
    worse = analysed([made("a", rate=1000), made("b", rate=800, seed=2)], "ab")
    better = analysed([made("a", rate=1000), made("b", rate=1200, seed=2)], "ab")
    assert (start_of_next(worse), start_of_next(better)) == ("a", "b")


def test_a_stall_is_told_of_whichever_run_had_it() -> None:
    step_s, checkpoint_s = [100.0] * 40, [float("nan")] * 40
    step_s[20], checkpoint_s[20] = 5100.0, 5000.0
    stalled = steady_run({"time.step_s": step_s, "time.checkpoint_s": checkpoint_s}, run_id="a")
    runs = {"a": stalled, "b": steady_run(run_id="b")}
    found = find(analyse(AnalysisRequest("p", "ab", "a", ("b",)), runs))
    assert [finding.run_id for finding in found if finding.id == "checkpoint-stall"] == ["a"]


@pytest.mark.parametrize(("steps", "told"), [(1, False), (7, False), (12, True)])
def test_a_smoke_test_has_no_findings(steps: int, told: bool) -> None:
    assert bool(ids(profile(steady_run({"time.wait_s": 50.0}, steps=steps)))) is told


def test_the_separate_async_sample(samples: Path) -> None:
    found = find(profile(sample_run(samples, "verl-separate-async-npu")))
    assert [finding.id for finding in found] == ["weight-sync", "trainer-waits-no-lead"]
    action = found[0].action
    assert action is not None
    assert action.gain_bound == pytest.approx(1 / (1 - 0.434), rel=0.01)


def test_the_h800_sample(samples: Path) -> None:
    found = {finding.id: finding for finding in find(profile(sample_run(samples, "verl-grpo-fsdp-h800")))}
    assert "step 160" in found["checkpoint-stall"].title
    assert "length-drift" in found  # mean responses go from 281 to 669 tokens
    assert found["checkpoint-stall"].action is not None
    assert found["checkpoint-stall"].action.gain_bound is None


def test_the_first_case_study_asks_for_fewer_rollouters() -> None:
    runs = {name: example_run(f"qwen3-30b/{name}") for name in ("r48", "r32")}
    assert ids(profile(runs["r48"]))[0] == "excess-rollouters"
    pair = find(analyse(AnalysisRequest("q", "ab", "r48", ("r32",), ("resources",)), runs))
    assert (pair[0].id, pair[0].run_id) == ("excess-rollouters", "r32")


CASES = (
    ("qwen3-30b", "ab", ("r48", "r32"), "resources", "excess-rollouters"),
    ("qwen3-omni", "ladder", ("r8t8", "r8t16-wu2", "r8t16-wu2-tok30k"), "work", "token-budget"),
    ("qwen3.5-35b", "sweep", ("s03", "s05", "s07"), "async_training.staleness_threshold", "sweep-plateau"),
)


SAME_FILE = "both arms read the same file, so they are one run and not two"


def case_manifest(folder: Path, case: tuple[str, str, tuple[str, ...], str, str], more: str = "") -> str:
    """The text of a manifest of one case study, in a folder that links to the demo's logs."""
    name, kind, runs, changes, _ = case
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(ROOT / "examples")
    lines = ["version: 1", "title: T", "runs:"]
    for run in runs:
        lines += [
            f"  {run}:",
            f"    sources: [examples/{name}/{run}/console.log.gz]",
            "    framework: verl",
            '    framework_version: "2026-08-22"',
            *(["    config: {devices.memory_gb: 64}"] if name == "qwen3-omni" else []),
        ]
    return "\n".join(
        [
            *lines,
            more.partition("reports:")[0].removeprefix("runs:\n").rstrip("\n"),
            "reports:",
            f"  - {{id: case, title: T, kind: {kind}, baseline: {runs[0]}, variants: [{', '.join(runs[1:])}], "
            f"changes: [{changes}]}}",
            more.partition("reports:\n")[2],
        ]
    )


def loaded(folder: Path, text: str) -> Manifest:
    (folder / "m.yaml").write_text(text + "\n", "utf-8")
    return load_manifest(folder / "m.yaml", allow_outside=True)


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_a_case_study_leads_to_the_guide_s_action_and_its_fragment_can_be_pasted(
    case: tuple[str, str, tuple[str, ...], str, str], tmp_path: Path
) -> None:
    runs = {run: example_run(f"{case[0]}/{run}", 64 if case[0] == "qwen3-omni" else None) for run in case[2]}
    report = loaded(tmp_path, case_manifest(tmp_path, case)).reports[0]
    found = find(analyse_report(report, runs))
    assert found[0].id == case[4]
    fragment = found[0].fragment
    with pytest.raises(RlreportError) as caught:
        loaded(tmp_path, case_manifest(tmp_path, case, fragment))
    assert {diagnostic.code for diagnostic in caught.value.diagnostics} == {"RR130"}
    log = tmp_path / re.findall(r"sources: \[(\S+)\]", fragment)[0].strip('"')
    log.parent.mkdir(parents=True)
    log.touch()
    manifest = loaded(tmp_path, case_manifest(tmp_path, case, fragment))
    assert len(manifest.runs) == len(case[2]) + 1
    assert manifest.reports[1].variants == (list(manifest.runs)[-1],)
    # With the log of the run that it starts from, nothing differs: what the manifest tells of the one is told of the other.
    shutil.copy(tmp_path / "examples" / case[0] / found[0].run_id / "console.log.gz", log)
    pasted = load_runs(manifest, manifest.reports[1].run_ids, lambda text: None).runs
    assert analyse_report(manifest.reports[1], pasted).comparisons[0].change.blocking == (SAME_FILE,)


def test_only_the_top_findings_carry_a_fragment() -> None:
    found = find(profile(example_run("qwen3-omni/r8t8", 64)))
    assert all(finding.fragment == "" for finding in found[MOST_FRAGMENTS:])
    assert found[0].fragment.startswith("runs:\n")


def everything_found() -> list[Finding]:
    found: list[Finding] = []
    for name in ("qwen3-30b/r48", "qwen3-omni/r8t8", "qwen3.5-35b/s03"):
        found += find(profile(example_run(name, 64)))
    return found


def test_every_action_tells_its_risk_and_what_would_refute_it() -> None:
    found = everything_found()
    assert found
    for finding in found:
        assert finding.id in RULE_IDS
        assert finding.action is not None
        assert finding.action.risk and finding.action.refuted_by and finding.evidence


def test_every_rule_has_a_page_in_the_documentation() -> None:
    folder = ROOT / "docs" / "findings"
    assert sorted(page.stem for page in folder.iterdir()) == sorted(RULE_IDS)
    index = (ROOT / "docs" / "findings.md").read_text("utf-8")
    for name in RULE_IDS:
        page = (folder / f"{name}.md").read_text("utf-8")
        for part in ("Condition.", "Evidence.", "Source.", "Example."):
            assert f"**{part}**" in page, (name, part)
        assert f"[`{name}`](findings/{name}.md)" in index
