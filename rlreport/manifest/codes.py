"""The table of the manifest's diagnostics: every code, how severe it is, and what it means.

The table is the one place that says what a code stands for; documentation lists it and tests check that each code is met.
A code is never reused for another meaning.
"""

from __future__ import annotations

from dataclasses import dataclass

from rlreport.run.diagnostics import Severity

UNREADABLE = "RR100"
NOT_TEXT = "RR101"
SYNTAX = "RR102"
DUPLICATE_KEY = "RR103"
UNKNOWN_RUN = "RR104"
TAG = "RR105"
MERGE_KEY = "RR106"
TOO_LARGE = "RR107"
KEY_NOT_SCALAR = "RR108"
NO_CONTENT = "RR109"
UNKNOWN_KEY = "RR110"
MISSING_KEY = "RR111"
WRONG_TYPE = "RR112"
NOT_A_CHOICE = "RR113"
MALFORMED = "RR114"
EMPTY = "RR115"
VERSION = "RR116"
CONFIG_TWICE = "RR117"
UNKNOWN_METRIC = "RR118"
METRIC_TWICE = "RR119"
DUPLICATE_REPORT = "RR120"
COMPARED_TWICE = "RR121"
PROFILE_WITH_VARIANTS = "RR122"
NO_VARIANTS = "RR123"
UNKNOWN_CHANGE = "RR124"
BAD_MARGIN = "RR125"
WINDOW_REVERSED = "RR126"
NO_DEVICES = "RR127"
NO_NARRATIVE = "RR128"
OUTSIDE = "RR129"
NO_SOURCE = "RR130"
RUN_UNUSED = "RR131"
KEY_UNUSED = "RR132"
RULE_INCOMPLETE = "RR133"
BAD_EXPRESSION = "RR134"
KNOB_TWICE = "RR135"
UNKNOWN_REPORT = "RR190"


@dataclass(frozen=True, slots=True)
class CodeMeaning:
    """What a diagnostic code says, in one sentence, and whether it stops the build."""

    severity: Severity
    meaning: str


CODES: dict[str, CodeMeaning] = {
    UNREADABLE: CodeMeaning("error", "The manifest does not exist, is a folder, or may not be read."),
    NOT_TEXT: CodeMeaning("error", "The manifest is not UTF-8 text, holds control characters, or is far too large."),
    SYNTAX: CodeMeaning("error", "The manifest is not well-formed YAML."),
    DUPLICATE_KEY: CodeMeaning("error", "A mapping has the same key twice."),
    UNKNOWN_RUN: CodeMeaning("error", "A report names a run that is not under `runs`."),
    TAG: CodeMeaning("error", "A YAML tag is not of the core schema, or its value is not of the tag's type."),
    MERGE_KEY: CodeMeaning("error", "The merge key `<<` is not part of YAML 1.2."),
    TOO_LARGE: CodeMeaning("error", "Nesting, aliases or a number are beyond what a manifest may hold."),
    KEY_NOT_SCALAR: CodeMeaning("error", "A key is a list or a mapping instead of a name."),
    NO_CONTENT: CodeMeaning("error", "The manifest is empty, or its top is not a mapping."),
    UNKNOWN_KEY: CodeMeaning("error", "A key is not part of the manifest's model."),
    MISSING_KEY: CodeMeaning("error", "A required key is missing."),
    WRONG_TYPE: CodeMeaning("error", "A value is of the wrong type."),
    NOT_A_CHOICE: CodeMeaning("error", "A value is not one of the words that the key takes."),
    MALFORMED: CodeMeaning("error", "A value is of the right type, but blank, out of range or not in the expected form."),
    EMPTY: CodeMeaning("error", "A list or mapping is empty where at least one entry is needed."),
    VERSION: CodeMeaning("error", "The manifest's version is not one that this rlreport reads."),
    CONFIG_TWICE: CodeMeaning("error", "A configuration key is given twice, once dotted and once nested."),
    UNKNOWN_METRIC: CodeMeaning("error", "A column is mapped to a name that is not a canonical metric."),
    METRIC_TWICE: CodeMeaning("error", "Two columns of a source are mapped to the same metric."),
    DUPLICATE_REPORT: CodeMeaning("error", "Two reports would be written to the same folder."),
    COMPARED_TWICE: CodeMeaning("error", "A run is its own baseline, or a variant is listed twice."),
    PROFILE_WITH_VARIANTS: CodeMeaning("error", "A profile describes one run and takes no variants."),
    NO_VARIANTS: CodeMeaning("error", "A comparison has nothing to compare its baseline with."),
    UNKNOWN_CHANGE: CodeMeaning("error", "A declared change is neither a knob class nor a dotted knob name."),
    BAD_MARGIN: CodeMeaning("error", "A margin is not a number that can be the smallest difference that matters."),
    WINDOW_REVERSED: CodeMeaning("error", "The steady-state window ends before it begins."),
    NO_DEVICES: CodeMeaning("error", "Both sides of a run are said to have no devices."),
    NO_NARRATIVE: CodeMeaning("error", "The narrative file does not exist, is a folder, or is not UTF-8 text."),
    OUTSIDE: CodeMeaning("error", "A path leaves the manifest's folder without leave."),
    NO_SOURCE: CodeMeaning("error", "A source matches no file or folder; alone, it ends with exit code 3."),
    RUN_UNUSED: CodeMeaning("warning", "No report uses the run."),
    KEY_UNUSED: CodeMeaning("warning", "A key is given that this kind of report does not read."),
    RULE_INCOMPLETE: CodeMeaning("error", "A rule lacks what its kind needs, or has what its kind does not take."),
    BAD_EXPRESSION: CodeMeaning("error", "The expression of a derived rule is not arithmetic over knobs."),
    KNOB_TWICE: CodeMeaning("error", "A knob is given a class twice."),
    UNKNOWN_REPORT: CodeMeaning("error", "The command line asks for a report that the manifest does not have."),
}
