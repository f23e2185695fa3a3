from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from support.made_projects import write_pair
from support.made_runs import make_run

from rlreport.cli import main
from rlreport.comparators.results import ABSENT
from rlreport.pipeline.diff import Pair, compare_pair
from rlreport.pipeline.diff_json import diff_json
from rlreport.pipeline.diff_text import diff_markdown, diff_text
from rlreport.pipeline.diff_values import WHOLE_CHARACTERS, escaped, value_texts

CONFIG = """\
actor_rollout_ref:
  actor:
    optim:
      lr: 1e-6
    strategy: fsdp
  rollout:
    n: {n}
data:
  train_batch_size: 256
  train_files: {files}
trainer:
  nnodes: {nodes}
  experiment_name: {name}
algorithm:
  adv_estimator: grpo
"""


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Calls the command in an empty folder; gives exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rlreport", "diff", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        shown = capsys.readouterr()
        return int(stopped.value.code or 0), shown.out, shown.err

    return run


def write_config(path: Path, **values: object) -> Path:
    values = {"n": 8, "files": "[/d/a.parquet]", "nodes": 2, "name": "one", **values}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(CONFIG.format(**values), "utf-8")
    return path


def made_pair(baseline: dict[str, object], variant: dict[str, object]) -> Pair:
    runs = [make_run({"time.step_s": [1.0, 2.0]}, run_id=i, config=c) for i, c in (("a", baseline), ("b", variant))]
    return Pair(runs[0], runs[1])


def test_runs_of_the_manifest_with_what_its_report_declares(tmp_path: Path, call) -> None:
    write_pair(tmp_path)
    code, out, err = call("a", "b")
    assert (code, err) == (0, "")
    assert out.splitlines()[:7] == [
        "baseline  a (run a)",
        "variant   b (run b)",
        "",
        "single change (schedule); declared by report pair: schedule; a configuration is known in part only",
        "",
        "  knob               baseline  variant",
        "schedule",
    ]
    assert out.splitlines()[7] == "  trainer.test_freq  5         10       declared"
    assert "2 keys are equal, 1 differ" in out


def test_a_pair_of_no_report_declares_nothing_and_changes_can_be_given(tmp_path: Path, call) -> None:
    write_pair(tmp_path)
    assert "undeclared change (schedule); no change is declared" in call("b", "a")[1]
    assert "single change (schedule); declared: schedule" in call("b", "a", "--changes", "schedule")[1]
    assert "undeclared change (schedule); declared: work and sync" in call("a", "b", "--changes", "work, sync")[1]
    assert "single change" in call("a", "b", "--changes", "work", "--changes", "trainer.test_freq")[1]


def test_a_manifest_can_be_named(tmp_path: Path, call) -> None:
    manifest = write_pair(tmp_path / "there")
    code, out, _ = call("a", "b", "--manifest", manifest)
    assert code == 0
    assert "trainer.test_freq" in out
    code, _, err = call("a", "b", "--manifest", tmp_path / "nowhere.yaml")
    assert code == 2
    assert "nowhere.yaml" in err


def test_single_files_without_a_manifest(tmp_path: Path, call) -> None:
    write_config(tmp_path / "x" / "config.yaml")
    write_config(tmp_path / "y" / "config.yaml", nodes=4, name="two", files="[/elsewhere/d/a.parquet]")
    code, out, err = call("x/config.yaml", "y/config.yaml", "--json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert data["verdict"] == "undeclared"
    assert [(knob["knob"], knob["class"], knob["baseline"], knob["variant"]) for knob in data["knobs"]] == [
        ("trainer.nnodes", "resources", 2, 4)
    ]
    assert data["knobs"][0]["origins"] == {"baseline": "x/config.yaml:12", "variant": "y/config.yaml:12"}
    assert data["identity"] == ["trainer.experiment_name"]
    assert (data["n_equal"], data["n_differing"]) == (6, 2)
    assert data["comparable"] is True
    assert {"RR198"} <= {warning["code"] for warning in data["warnings"]}
    assert call("x/config.yaml", "y/config.yaml", "--json")[1] == out


def test_a_manifest_with_mistakes_is_no_obstacle_to_paths(tmp_path: Path, call) -> None:
    (tmp_path / "experiments.yaml").write_text("version: 2\n", "utf-8")
    for name in ("x", "y"):
        write_config(tmp_path / name / "config.yaml")
    code, out, err = call("x/config.yaml", "y/config.yaml")
    assert code == 0
    assert "no change found" in out
    assert err.startswith("experiments.yaml: warning[RR197]: not used")
    assert call("x", "nothing")[0] == 2


def test_a_run_wins_over_a_path_of_the_same_name(tmp_path: Path, call) -> None:
    write_pair(tmp_path)
    write_config(tmp_path / "a" / "config.yaml")
    assert call("a", "b")[1].startswith("baseline  a (run a)\n")
    assert call("./a", "b")[1].startswith("baseline  ./a\n")


def test_equal_knobs_of_tuned_classes_when_asked_for(tmp_path: Path, call) -> None:
    write_config(tmp_path / "x" / "config.yaml")
    write_config(tmp_path / "y" / "config.yaml", nodes=4)
    paths = ("x/config.yaml", "y/config.yaml", "--json")
    assert json.loads(call(*paths)[1])["equal"] == []
    equal = json.loads(call(*paths, "--all")[1])["equal"]
    assert [(one["knob"], one["class"], one["value"]) for one in equal] == [
        ("data.train_batch_size", "work", 256),
        ("actor_rollout_ref.rollout.n", "work", 8),
    ]
    assert "data.train_batch_size        256       256      equal" in call(*paths[:2], "--all")[1]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("a",), 2, "Missing argument 'B'"),
        (("a", "b", "--json", "--md"), 2, "not both"),
        (("a", "c"), 2, "experiments.yaml: error[RR195]: no run is called 'c', and no file or folder either"),
        (("a", "logs/none.jsonl"), 3, "logs/none.jsonl: error[RR201]"),
        (("a", "empty.log"), 3, "empty.log: error[RR203]"),
        (("logs/a.jsonl", "logs/b.jsonl"), 3, "logs/b.jsonl: error[RR196]: no source tells the run's configuration"),
    ],
)
def test_what_cannot_be_compared(tmp_path: Path, call, arguments: tuple[str, ...], code: int, told: str) -> None:
    write_pair(tmp_path)
    (tmp_path / "empty.log").touch()
    found, out, err = call(*arguments)
    assert (found, out) == (code, "")
    assert told in err
    assert "Traceback" not in err


def test_a_name_without_a_manifest_says_what_is_missing(call) -> None:
    code, _, err = call("r48", "r32")
    assert code == 2
    assert err.count("error[RR195]") == 2
    assert "experiments.yaml in this folder, or --manifest" in err


def test_the_same_file_twice_is_no_pair(tmp_path: Path, call) -> None:
    write_pair(tmp_path)
    out = call("a", "a")[1]
    assert "may not be compared: both arms read the same file" in out


def test_one_side_without_configuration_is_unknown_and_said_so(tmp_path: Path, call) -> None:
    write_pair(tmp_path)
    code, out, _ = call("a", "logs/b.jsonl")
    assert code == 0
    assert "change unknown" in out
    assert "[RR401]" in out


def test_long_lists_are_told_by_their_items() -> None:
    files = [f"/data/{name}.parquet" for name in "abcdef"]
    diff = compare_pair(made_pair({"train_files": files}, {"train_files": [*files[:3], "/data/z.parquet", *files[4:]]}))
    lines = diff_text(diff).splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("  train_files"))
    assert lines[place] == "  train_files  6 items   6 items  not declared; 5 items are the same"
    assert lines[place + 1 : place + 3] == ["    - /data/d.parquet", "    + /data/z.parquet"]
    assert "6 items; only here: /data/d.parquet |" in diff_markdown(diff)
    assert json.loads(diff_json(diff))["knobs"][0]["baseline"] == files
    swapped = compare_pair(made_pair({"train_files": files}, {"train_files": files[::-1]}))
    assert "the same items in another order" in diff_text(swapped)
    many = compare_pair(made_pair({"k": [f"item {i}" for i in range(100)]}, {"other": 1}))
    assert "    - … and 80 more" in diff_text(many).splitlines()
    assert "    - item 20" not in diff_text(many).splitlines()


def test_nothing_in_a_value_reaches_the_terminal_or_breaks_a_table() -> None:
    bad = "x\x1b[2J\n| y `z` <script>\u202e\udc80"
    diff = compare_pair(made_pair({"key": "plain"}, {"key": bad}))
    text, page, data = diff_text(diff), diff_markdown(diff), diff_json(diff)
    assert r"x\x1b[2J\n| y `z` <script>\u202e\udc80" in text
    assert not {"\x1b", "\u202e"} & set(text)
    row = next(line for line in page.splitlines() if line.startswith("| `key`"))
    assert row.replace("\\|", "").count("|") == 5
    assert "<script>" not in row.replace("\\<", "")
    assert json.loads(data)["knobs"][0]["variant"] == bad
    for shown in (text, page, data):
        assert shown.encode("utf-8")


def test_a_wide_value_has_a_line_of_its_own_and_columns_stay_aligned() -> None:
    diff = compare_pair(made_pair({"a": 1, "b": "短", "c": "w" * 60}, {"a": 22, "b": "ok", "c": "v" * 60}))
    lines = diff_text(diff).splitlines()
    assert "  a     1         22       not declared" in lines
    assert "  b     短        ok       not declared" in lines
    assert [line for line in lines if line.startswith("    ")] == [f"    baseline  {'w' * 60}", f"    variant   {'v' * 60}"]


def test_values_that_differ_never_look_alike() -> None:
    assert value_texts(0.12345678, 0.12345679) == ("0.12345678", "0.12345679")
    assert value_texts("null", None) == ("'null'", "None")
    assert value_texts("", ABSENT) == ('""', "not given")
    left, right = value_texts("p" * 500 + "one", "p" * 500 + "two")
    assert left == "…" + "p" * 40 + "one"
    assert right == "…" + "p" * 40 + "two"
    assert max(map(len, value_texts("q" * 9999, "r" * 9999))) == WHOLE_CHARACTERS


def test_escapes() -> None:
    assert escaped("a\tb\x00é\u200b") == r"a\tb\x00é\u200b"


def test_numbers_that_json_does_not_have_become_names() -> None:
    data = json.loads(diff_json(compare_pair(made_pair({"k": float("inf")}, {"k": [float("nan"), 1]}))))
    assert (data["knobs"][0]["baseline"], data["knobs"][0]["variant"]) == ("inf", ["nan", 1])
    data = json.loads(diff_json(compare_pair(made_pair({"k": 1}, {"j": None, "m": 2}))))
    assert {knob["knob"]: knob["absent_in"] for knob in data["knobs"]}["k"] == ["variant"]


def test_the_real_pair_is_confounded_and_its_list_short(samples: Path, call) -> None:
    code, out, _ = call(samples / "verl-grpo-fsdp-h800", samples / "verl-grpo-megatron-h800")
    assert code == 0
    assert "confounded change" in out
    assert "may not be compared: the dataset changed" in out
    knobs = out.split("\nfolded\n")[0]
    assert sum("not declared" in line or "follows from" in line for line in knobs.splitlines()) <= 12
    assert "169 keys (engine): keys of one training backend only" in out


def test_a_run_that_crashed_before_its_first_step_still_has_a_configuration(samples: Path, call) -> None:
    code, out, _ = call(samples / "verl-separate-async-npu", samples / "verl-crashed-before-step-1")
    assert code == 0
    assert "trainer.save_freq" in out
    assert "[RR198] the variant has no steps" in out
