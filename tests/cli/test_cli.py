from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.made_projects import HEAD, write_jsonl, write_pair

HEAVY = ("pandas", "matplotlib", "weasyprint", "scipy", "numpy")


def rlreport(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command as a user calls it."""
    program = "import sys; from rlreport.cli import main; sys.argv[0] = 'rlreport'; main()"
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


def one_run(folder: Path, source: str) -> Path:
    manifest = folder / "m.yaml"
    manifest.write_text(
        f"{HEAD}runs:\n  r: {{sources: [{source}]}}\nreports:\n  - {{id: p, title: P, kind: profile, baseline: r}}\n",
        "utf-8",
    )
    return manifest


def test_help_and_version() -> None:
    shown = rlreport("--help")
    assert shown.returncode == 0
    for command in ("build", "check", "inspect", "init", "simulate", "schema"):
        assert command in shown.stdout
        assert rlreport(command, "--help").returncode == 0
    assert rlreport("--version").stdout.startswith("rlreport, version ")


@pytest.mark.parametrize("arguments", [["--help"], ["check", "broken.yaml"], ["schema"]])
def test_what_must_be_quick_imports_nothing_heavy(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "broken.yaml").write_text("version: 2\n", "utf-8")
    program = (
        "import sys\nfrom rlreport.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert shown.stderr.splitlines()[-1] == "[]"


def test_a_build_writes_what_the_design_says(tmp_path: Path) -> None:
    write_pair(tmp_path)
    done = rlreport("build", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "pair: run b gives 1.2" in done.stdout
    for report in ("pair", "one"):
        for name in ("report.html", "report.pdf", "report.md", "report.json"):
            assert (tmp_path / "out" / report / name).stat().st_size > 0
    assert (tmp_path / "out" / "index.html").is_file()
    text = (tmp_path / "out" / "pair" / "report.md").read_text("utf-8")
    for figure in ("throughput", "ratio", "time-split", "reward", "response-length"):
        assert f"figures/{figure}.svg" in text
        assert (tmp_path / "out" / "pair" / "figures" / f"{figure}.svg").read_bytes().startswith(b"<svg")


def test_formats_and_reports_can_be_chosen(tmp_path: Path) -> None:
    manifest = write_pair(tmp_path)
    assert rlreport("build", manifest, "-o", tmp_path / "o", "-f", "json", "--report", "one").returncode == 0
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == ["index.html", "one"]
    assert [path.name for path in (tmp_path / "o" / "one").iterdir()] == ["report.json"]
    wrong = rlreport("build", manifest, "-f", "docx")
    assert wrong.returncode == 2
    assert "docx" in wrong.stderr
    unknown = rlreport("build", manifest, "--report", "none")
    assert unknown.returncode == 2
    assert "error[RR190]: no report is called 'none'" in unknown.stderr


def test_check_says_the_verdicts_and_draws_nothing(tmp_path: Path) -> None:
    write_pair(tmp_path)
    done = rlreport("check", cwd=tmp_path)
    assert done.returncode == 0
    assert "a -> b: throughput improved, change single" in done.stdout
    assert not (tmp_path / "out").exists()


def test_a_strict_build_fails_on_what_is_not_a_fair_pair(tmp_path: Path) -> None:
    manifest = write_pair(tmp_path, data__train_files=("one.parquet", "two.parquet"))
    assert rlreport("build", manifest, "-o", tmp_path / "o", "-f", "json").returncode == 0
    strict = rlreport("build", manifest, "-o", tmp_path / "o", "-f", "json", "--strict")
    assert strict.returncode == 1
    assert "throughput not-comparable" in strict.stderr


def test_a_strict_build_fails_on_a_regression_and_passes_a_gain(tmp_path: Path) -> None:
    slower = write_pair(tmp_path / "slower", ratio=0.8)
    assert rlreport("build", slower, "-o", tmp_path / "o", "-f", "json", "--strict").returncode == 1
    faster = write_pair(tmp_path / "faster", ratio=1.25)
    assert rlreport("build", faster, "-o", tmp_path / "o", "-f", "json", "--strict").returncode == 0


@pytest.mark.parametrize(
    ("name", "content"),
    [("missing.log", None), ("empty.log", b""), ("notes.txt", b"nothing of a run\n"), ("folder/x.bin", b"\x00\x01")],
)
def test_what_holds_no_run_is_one_message(tmp_path: Path, name: str, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    manifest = one_run(tmp_path, name.split("/", maxsplit=1)[0])
    done = rlreport("build", manifest, "-o", tmp_path / "o")
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("error[RR") == 1
    assert "hint:" in done.stderr
    assert not (tmp_path / "o" / "index.html").exists()


def test_one_unreadable_run_does_not_stop_the_other_reports(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "good.jsonl")
    (tmp_path / "bad.jsonl").write_bytes(b"")
    manifest = tmp_path / "m.yaml"
    manifest.write_text(
        f"{HEAD}runs:\n  good: {{sources: [good.jsonl]}}\n  bad: {{sources: [bad.jsonl]}}\nreports:\n"
        "  - {id: g, title: G, kind: profile, baseline: good}\n  - {id: b, title: B, kind: profile, baseline: bad}\n",
        "utf-8",
    )
    done = rlreport("build", manifest, "-o", tmp_path / "o", "-f", "json")
    assert done.returncode == 3
    assert "b: not built, bad could not be read" in done.stdout
    assert (tmp_path / "o" / "g" / "report.json").is_file()
    assert not (tmp_path / "o" / "b").exists()


def test_five_mistakes_are_five_messages(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl")
    (tmp_path / "m.yaml").write_text(
        "version: 1\n"
        "title: Mistakes\n"
        "runs:\n"
        "  a: {sources: [a.jsonl], devices: {trainer: -1}}\n"
        "  b: {sources: [a.jsonl], colour: red}\n"
        "reports:\n"
        "  - {id: p, title: P, kind: ab, baseline: a, variants: [c]}\n"
        "  - {id: p, title: P, kind: profil, baseline: b}\n",
        "utf-8",
    )
    done = rlreport("check", "m.yaml", cwd=tmp_path)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if "error[" in line]
    assert [line.split(": ")[0] for line in lines] == [
        "m.yaml:4:46",
        "m.yaml:5:27",
        "m.yaml:7:57",
        "m.yaml:8:10",
        "m.yaml:8:29",
    ]
    assert len({line.split("error[")[1][:5] for line in lines}) == 5
    assert done.stderr.count("hint:") == 5


def test_an_output_that_cannot_be_written_is_one_message(tmp_path: Path) -> None:
    manifest = write_pair(tmp_path)
    (tmp_path / "file").write_text("", "utf-8")
    done = rlreport("build", manifest, "-o", tmp_path / "file" / "out", "-f", "json")
    assert done.returncode == 2
    assert "error[RR502]" in done.stderr
    assert "Traceback" not in done.stderr


def test_inspect_as_json_has_the_documented_fields(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", steps=12)
    done = rlreport("inspect", tmp_path / "a.jsonl", "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["sources"][0]["format"] == "verl-jsonl"
    assert shown["sources"][0]["steps"] == {"first": 1, "last": 12, "count": 12}
    run = shown["run"]
    assert set(run["devices"]) == {"trainer", "rollout", "hybrid", "total", "implied"}
    assert run["devices"]["implied"] == pytest.approx(16)
    assert run["devices"]["total"] is None
    assert run["steps"] == {"first": 1, "last": 12, "count": 12}
    assert {"time.step_s", "work.tokens", "quality.reward_mean"} <= set(run["metrics"])
    text = rlreport("inspect", tmp_path / "a.jsonl")
    assert "verl-jsonl, steps 1 to 12 (12)" in text.stdout


def test_init_writes_a_manifest_that_builds(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "logs" / "slow run" / "metrics.jsonl", seed=1)
    write_jsonl(tmp_path / "logs" / "fast.jsonl", seed=2, speed=1.25)
    (tmp_path / "logs" / "notes.txt").write_text("nothing of a run\n", "utf-8")
    done = rlreport("init", "logs", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    built = rlreport("check", tmp_path / "logs" / "experiments.yaml")
    assert built.returncode == 0, built.stderr
    assert "fast -> slow-run: throughput regressed" in built.stdout
    again = rlreport("init", "logs", cwd=tmp_path)
    assert again.returncode == 2
    assert "error[RR191]" in again.stderr
    (tmp_path / "empty").mkdir()
    assert rlreport("init", tmp_path / "empty").returncode == 3


def test_a_build_of_one_report_leaves_the_index_and_takes_away_what_is_stale(tmp_path: Path) -> None:
    manifest = write_pair(tmp_path)
    assert rlreport("build", manifest, "-o", tmp_path / "o", "-f", "md,json").returncode == 0
    index = (tmp_path / "o" / "index.html").read_bytes()
    assert rlreport("build", manifest, "-o", tmp_path / "o", "-f", "json", "--report", "one").returncode == 0
    assert (tmp_path / "o" / "index.html").read_bytes() == index
    assert not (tmp_path / "o" / "one" / "report.md").exists()
    assert (tmp_path / "o" / "pair" / "report.md").exists()


def test_inspect_of_nothing_readable(tmp_path: Path) -> None:
    done = rlreport("inspect", tmp_path)
    assert done.returncode == 3
    assert "error[RR2" in done.stderr


def test_the_schema_is_json() -> None:
    shown = json.loads(rlreport("schema").stdout)
    assert shown["$schema"].endswith("2020-12/schema")
    assert set(shown["properties"]) >= {"version", "title", "runs", "reports"}


def test_simulate_writes_what_inspect_reads(tmp_path: Path) -> None:
    scenario = Path(__file__).parents[2] / "examples" / "qwen3-30b" / "r32.yaml"
    small = tmp_path / "small.yaml"
    small.write_text(f"extends: {scenario}\nname: small\nsteps: 3\n", "utf-8")
    done = rlreport("simulate", small, "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    shown = json.loads(rlreport("inspect", tmp_path / "run" / "console.log.gz", "--json").stdout)
    assert shown["run"]["mode"] == "separate_async"
    assert shown["run"]["steps"]["last"] == 3
