"""Every code of the manifest, met once or more, with its place, its words and its hint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from support.manifest_files import VALID, load_text, make_folder, place_of, problems_of, unmark

from rlreport.manifest import codes
from rlreport.manifest.codes import CODES


@dataclass(frozen=True)
class Case:
    """A manifest with one mistake: its place is marked in the text."""

    code: str
    text: str
    message: str
    hint: str = ""


def run(text: str) -> str:
    """A valid manifest but for the body of its first run."""
    return VALID.replace("{sources: [logs/r48/console.log]}", text)


def report(text: str, kind: str = "ab") -> str:
    """A valid manifest but for lines added to its report."""
    body = VALID.replace("kind: ab", f"kind: {kind}")
    return body + "".join(f"    {line}\n" for line in text.split("\n"))


def swap(old: str, new: str) -> str:
    """The valid manifest with one piece exchanged."""
    assert VALID.count(old) == 1
    return VALID.replace(old, new)


def rule(text: str) -> str:
    """A valid manifest with one rule in its report."""
    return report(f"rules: [{{{text}}}]")


LOG = "logs/r48/console.log"

CASES = (
    Case("RR102", VALID + "§}\n", "does not belong here", "indentation"),
    Case(
        "RR103", swap("title: Tuning\n", "title: Tuning\n§title: Again\n"), "the key 'title' is given twice, first on line 2"
    ),
    Case("RR104", swap("baseline: r48", "baseline: §r84"), "report 'study': no run is called 'r84'", "did you mean 'r48'?"),
    Case("RR104", swap("[r32]", "[§other]"), "report 'study': no run is called 'other'", "the runs are: r48, r32"),
    Case("RR105", swap("title: Tuning", "title: §!secret x"), "the tag '!secret'"),
    Case(
        "RR106", swap("{sources: [logs/r32/console.log]}", "{§<<: 1, sources: [logs/r32]}"), "'<<' is not part of YAML 1.2"
    ),
    Case("RR107", run("{sources: [logs/r48], config: {a: §" + "1" * 500 + "}}"), "500 characters", "quote"),
    Case("RR108", run("{sources: [logs/r48], §[a]: 1}"), "used as a key"),
    Case("RR109", "§- version: 1\n", "expected a mapping at the top of the manifest, found a list", "version, title, runs"),
    Case("RR109", "§just words\n", "found 'just words'"),
    Case("RR110", run(f"{{sources: [{LOG}], §lable: x}}"), "run 'r48': unknown key 'lable'", "did you mean 'label'?"),
    Case("RR110", VALID + "§paths: {}\n", "unknown key 'paths'", "the keys are: version, title, runs, reports, as_of"),
    Case(
        "RR110", report("decision: {status: proposed, §date_: x}"), "report 'study': decision: unknown key 'date_'", "'date'"
    ),
    Case("RR110", report("margins: {§tokens: 1}"), "margins: unknown key 'tokens'", "throughput, reward, accuracy"),
    Case(
        "RR110", run(f"{{sources: [{{path: {LOG}, §fmt: x}}]}}"), "sources[0]: unknown key 'fmt'", "did you mean 'format'?"
    ),
    Case("RR111", "§" + VALID.replace("title: Tuning\n", ""), "'title' is missing", "title: The title"),
    Case(
        "RR111",
        run("{label: x}").replace("r48: {label", "§r48: {label"),
        "run 'r48': 'sources' is missing",
        "sources: Where",
    ),
    Case("RR111", swap("- id: study\n    kind", "- §kind"), "report 1: 'id' is missing", "id: The report's folder"),
    Case("RR111", report("waive: [§{knob: a.b}]"), "report 'study': waive[0]: 'reason' is missing"),
    Case("RR112", run(f"{{sources: [{LOG}], label: §true}}"), "run 'r48': label: expected a text, found true", "quotes"),
    Case("RR112", run(f"{{sources: [{LOG}], §label: }}"), "label: expected a text, found nothing", "remove the key"),
    Case(
        "RR112",
        run(f"{{sources: [{LOG}], devices: {{trainer: §abc}}}}"),
        "run 'r48': devices.trainer: expected a whole number, found 'abc'",
    ),
    Case("RR112", run(f"{{sources: [{LOG}], devices: {{rollout: §1.5}}}}"), "expected a whole number, found 1.5"),
    Case("RR112", run(f"{{sources: [{LOG}], devices: {{rollout: §true}}}}"), "expected a whole number, found true"),
    Case(
        "RR112",
        run(f"{{sources: [{LOG}], devices: §16}}"),
        "expected a mapping with keys such as trainer and rollout, found 16",
    ),
    Case("RR112", run(f"{{sources: §{LOG}}}"), f"sources: expected a list, found '{LOG}'", f"[{LOG}]"),
    Case(
        "RR112", run(f"{{sources: [{LOG}, §12]}}"), "sources[1]: expected a path, or a mapping with path, format and columns"
    ),
    Case(
        "RR112",
        swap("r48: {sources: [logs/r48/console.log]}", "§r48:"),
        "run 'r48': expected a mapping with keys such as label and sources, found nothing",
        "below it",
    ),
    Case(
        "RR112", run(f"{{sources: [{LOG}], config: §[a.b]}}"), "config: expected a mapping, found a list", "instead of '- '"
    ),
    Case("RR112", run(f"{{sources: [{LOG}], config: {{a: {{§b: [{{c: 1}}]}}}}}}"), "'a.b': expected a list of scalars"),
    Case("RR112", run(f"{{sources: [{LOG}], hybrid_replicas: §[0]}}"), "expected replica numbers, found a list", "0-7"),
    Case("RR112", swap("variants: [r32]", "§variants:"), "variants: expected a list, found nothing", "'- '"),
    Case("RR112", swap("variants: [r32]", "variants: §r32"), "variants: expected a list, found 'r32'", "[r32]"),
    Case("RR112", report("§decision:"), "decision: expected a mapping with status, by, date and reason, found nothing"),
    Case("RR112", report("decision: {status: accepted, date: §20260822}"), "expected a date, found 20260822", "2026-08-22"),
    Case("RR112", report("steady_state: {from: §first}"), "expected a step number or auto, found 'first'", "auto"),
    Case("RR113", swap("kind: ab", "kind: §abb"), "kind: expected one of ab, ladder, sweep, profile, found 'abb'", "'ab'"),
    Case("RR113", report("decision: {status: §accept}"), "expected one of proposed, accepted, rejected", "'accepted'"),
    Case("RR114", swap("id: study", "id: §my study!"), "'my study!' cannot be a folder's name", "as 'my-study'"),
    Case("RR114", swap("id: study", "id: §../study"), "'../study' cannot be a folder's name", "as 'study'"),
    Case("RR114", swap("id: study", "id: §study."), "'study.' cannot be a folder's name"),
    Case("RR114", swap("id: study", "id: §index.html"), "'index.html' is the name of a file that a build writes"),
    Case("RR114", swap("title: Tuning", "title: §' '"), "title: the text is blank"),
    Case("RR114", swap("title: Tuning", "title: §'Tuning '"), "a blank stands before or after 'Tuning'"),
    Case("RR114", swap("title: Tuning", 'title: §"a\\nb"'), "line break", "one line"),
    Case("RR114", run(f"{{sources: [{LOG}], devices: {{trainer: §-1}}}}"), "expected a number of 0 or more, found -1"),
    Case("RR114", run(f"{{sources: [{LOG}], hybrid_replicas: §7-0}}"), "the range '7-0' ends before it begins"),
    Case(
        "RR114", run(f"{{sources: [{LOG}], hybrid_replicas: §'0..7'}}"), "'0..7' is not a list of replica numbers", "0-3,8"
    ),
    Case("RR114", run(f"{{sources: [{LOG}], config: {{§a..b: 1}}}}"), "'a..b' is not a configuration key"),
    Case("RR114", report("waive: [{knob: a.b, reason: §''}]"), "waive[0].reason: the text is blank"),
    Case("RR114", report("waive: [{knob: a.b, reason: r, expires: §2026-02-30}]"), "there is no day '2026-02-30'"),
    Case("RR114", report("waive: [{knob: a.b, reason: r, expires: §22.8.2026}]"), "'22.8.2026' is not a date"),
    Case("RR114", run("{sources: [§'']}"), "sources[0]: the text is blank"),
    Case(
        "RR115",
        "version: 1\ntitle: x\n§runs: {}\nreports: [{id: a, kind: profile, baseline: r}]\n",
        "'runs' is empty",
        "id:",
    ),
    Case("RR115", run("{§sources: []}"), "run 'r48': 'sources' is empty; at least one source"),
    Case("RR115", report("primary: §[]"), "'primary' is empty; at least one metric", "remove the key"),
    Case("RR115", VALID[: VALID.index("reports")] + "§reports: []\n", "'reports' is empty; at least one report"),
    Case("RR116", swap("version: 1", "version: §2"), "version 2 is not supported", "'version: 1'"),
    Case("RR116", swap("version: 1", "version: §'1'"), "version '1' is not supported"),
    Case("RR116", swap("version: 1", "version: §true"), "version true is not supported"),
    Case(
        "RR117",
        run(f"{{sources: [{LOG}], config: {{a.b: 1, a: {{§b: 1}}}}}}"),
        "run 'r48': config: 'a.b' is given twice, first on line 4",
    ),
    Case(
        "RR118",
        run(f"{{sources: [{{path: {LOG}, columns: {{t: §time.steps}}}}]}}"),
        "sources[0].columns.t: 'time.steps' is not a canonical metric",
        "did you mean 'time.step_s'?",
    ),
    Case("RR118", run(f"{{sources: [{{path: {LOG}, columns: {{t: §step_s}}}}]}}"), "'step_s' is not", "'time.step_s'"),
    Case(
        "RR119",
        run(f"{{sources: [{{path: {LOG}, columns: {{a: step, b: §step}}}}]}}"),
        "the columns 'a' and 'b' are both mapped to 'step'",
    ),
    Case("RR120", VALID + "  - {id: §Study, kind: profile, baseline: r32}\n", "report 'Study': an earlier report (line 7)"),
    Case("RR121", swap("[r32]", "[r32, §r48]"), "report 'study': 'r48' is both baseline and variant"),
    Case("RR121", swap("[r32]", "[r32, §r32]"), "report 'study': 'r32' is listed twice"),
    Case("RR122", swap("ab\n", "profile\n").replace("variants", "§variants"), "a profile describes its baseline", "kind ab"),
    Case(
        "RR123", swap("    variants: [r32]\n", "").replace("kind: ", "kind: §"), "kind ab compares variants", "kind profile"
    ),
    Case(
        "RR123", swap("variants: [r32]", "§variants: []"), "kind ab compares variants with the baseline, and there are none"
    ),
    Case(
        "RR124", report("changes: [trainer.nnodes, §resource]"), "changes[1]: 'resource' is neither", "'resources'? A knob"
    ),
    Case("RR124", report("changes: [§zzz]"), "'zzz' is neither a knob class nor", "the classes are: resources, schedule"),
    Case(
        "RR125",
        report("margins: {throughput: §5}"),
        "margins.throughput: a margin of 500 % is no margin",
        "write 5% or 0.05",
    ),
    Case("RR125", report("margins: {throughput: §five}"), "expected a percentage or a fraction, found 'five'", "5%"),
    Case("RR125", report("margins: {throughput: §-0.1}"), "expected a number of 0 or more, found -0.1"),
    Case("RR125", report("margins: {reward: §2%}"), "expected a difference in the metric's own unit, found '2%'", "0.02"),
    Case("RR125", report("margins: {accuracy: §.nan}"), "expected a number of 0 or more, found .nan"),
    Case("RR125", report("margins: {response_length: §[1]}"), "expected a number, found a list"),
    Case(
        "RR126", report("steady_state: {from: 9, to: §3}"), "the window ends at step 3, before it begins at step 9", "auto"
    ),
    Case("RR127", run(f"{{sources: [{LOG}], devices: §{{trainer: 0, rollout: 0}}}}"), "the run has no devices"),
    Case(
        "RR128", report("narrative: §notes/studie.md"), "'notes/studie.md' does not exist", "did you mean 'notes/study.md'?"
    ),
    Case("RR128", report("narrative: §notes"), "the narrative 'notes' is a folder", "Markdown"),
    Case("RR128", report("narrative: §logs/*/console.log"), "is several files"),
    Case(
        "RR129",
        run("{sources: [§../x.log]}"),
        "run 'r48': the source '../x.log' leaves the manifest's folder",
        "--allow-outside",
    ),
    Case("RR129", run("{sources: [§logs/../../x.log]}"), "leaves the manifest's folder"),
    Case("RR129", run("{sources: [{path: §/etc/hostname}]}"), "'/etc/hostname' is an absolute path", "--allow-outside"),
    Case("RR129", report("narrative: §../notes.md"), "report 'study': the narrative '../notes.md' leaves"),
    Case("RR113", report("preset: §closed"), "expected one of strict, exploratory, found 'closed'"),
    Case("RR113", report("primary: [§speed]"), "expected one of throughput, reward, accuracy, response_length"),
    Case("RR113", rule("knob: a.b, rule: §fixed"), "rules[0].rule: expected one of pinned, free, derived, found 'fixed'"),
    Case("RR113", VALID + "knobs: [{key: a.b, class: §works}]\n", "knobs[0].class: expected one of resources", "'work'"),
    Case("RR112", rule("knob: a.b, rule: pinned, value: §{c: 1}"), "rules[0].value: expected a scalar or a list of scalars"),
    Case("RR112", report("rules: [§a.b]"), "rules[0]: expected a mapping with knob, rule and what the rule needs"),
    Case("RR114", VALID + "as_of: §22.8.2026\n", "as_of: '22.8.2026' is not a date", "2026-08-22"),
    Case("RR133", report("rules: [§{knob: a.b, rule: derived}]"), "a derived rule needs an expression", "expression: data"),
    Case("RR133", rule("knob: a.b, rule: free, value: §1"), "'value' belongs to a pinned rule, and this one is free"),
    Case(
        "RR133", rule("knob: a.b, rule: pinned, expression: §c.d"), "'expression' belongs to a derived rule", "rule: derived"
    ),
    Case("RR133", rule("knob: a.b, rule: free, level: §warn"), "a free rule cannot be violated", "remove it"),
    Case(
        "RR134",
        rule("knob: a.b, rule: derived, expression: §c.d +"),
        "a number or a name is expected before the end",
        "sqrt",
    ),
    Case("RR134", rule("knob: a.b, rule: derived, expression: §exec(c)"), "there is no function 'exec'", "+ - * /"),
    Case("RR134", rule("knob: a.b, rule: derived, expression: §a.b == c"), "'a.b == c' has two sides", "right side only"),
    Case(
        "RR135",
        VALID + "knobs: [{key: a.b, class: work}, {key: §a.b, class: sync}]\n",
        "'a.b' is given a class twice, first on line 11",
        "remove",
    ),
    Case(
        "RR130", run("{sources: [§logs/r48/consle.log]}"), "'logs/r48/consle.log' does not exist", f"did you mean '{LOG}'?"
    ),
    Case("RR130", run(f"{{sources: [{LOG}, §logs/*/*.csv]}}"), "'logs/*/*.csv' matches nothing", "'logs' holds: r32, r48"),
)

WARNINGS = (
    Case(
        "RR131",
        VALID.replace("  r48:", "  §r9: {sources: [logs/r32]}\n  r48:"),
        "run 'r9': no report uses this run",
        "or remove",
    ),
    Case(
        "RR132",
        swap("kind: ab", "kind: profile")
        .replace("    variants: [r32]\n", "    §rules: []\n")
        .replace("baseline: r48", "baseline: r32")
        .replace("{sources: [logs/r48/console.log]}", "{sources: [logs/r48/console.log], group: g}")
        .replace("{sources: [logs/r32/console.log]}", "{sources: [logs/r32/console.log], group: g}"),
        "'rules' is not read: a profile compares nothing",
    ),
    Case("RR132", report("§knob: a.b"), "report 'study': 'knob' is not read: only a sweep", "remove it"),
    Case(
        "RR132",
        swap("kind: ab", "kind: profile")
        .replace("    variants: [r32]\n", "    §changes: [work]\n")
        .replace("  r32:", "  r48b:")
        # The second run is a replicate of the used one, and so is used as well.
        .replace("[logs/r32/console.log]}", "[logs/r32/console.log], group: g}")
        .replace("[logs/r48/console.log]}", "[logs/r48/console.log], group: g}"),
        "'changes' is not read: a profile compares nothing",
    ),
)

#: Codes about the manifest file as a whole (test_reading.py meets them) and about the command line.
ELSEWHERE = {codes.UNREADABLE, codes.NOT_TEXT, codes.UNKNOWN_REPORT}


def _name(case: Case) -> str:
    return f"{case.code}-{case.message[:30]}"


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_a_mistake_is_one_error_at_its_place(case: Case, tmp_path: Path) -> None:
    text, places = unmark(case.text)
    (problem,) = problems_of(make_folder(tmp_path), text)
    assert problem.code == case.code
    assert problem.severity == "error"
    assert case.message in problem.message
    assert case.hint in (problem.hint or "")
    assert [place_of(problem)] == places


@pytest.mark.parametrize("case", WARNINGS, ids=_name)
def test_a_warning_does_not_stop_the_manifest(case: Case, tmp_path: Path) -> None:
    text, places = unmark(case.text)
    (problem,) = load_text(make_folder(tmp_path), text).warnings
    assert (problem.code, problem.severity) == (case.code, "warning")
    assert case.message in problem.message
    assert case.hint in (problem.hint or "")
    assert [place_of(problem)] == places


def test_every_code_is_met() -> None:
    assert {case.code for case in CASES + WARNINGS} | ELSEWHERE == set(CODES)


def test_the_table_holds_every_constant_once() -> None:
    constants = {name: value for name, value in vars(codes).items() if name.isupper() and isinstance(value, str)}
    assert sorted(constants.values()) == sorted(CODES)
    assert {case.code for case in WARNINGS} == {code for code, row in CODES.items() if row.severity == "warning"}
    assert all(row.meaning.endswith(".") for row in CODES.values())
