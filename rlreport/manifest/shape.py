"""The manifest as written: its pydantic model, from which the JSON Schema is made.

Every field of design section 3 stands here once, with the description that an editor shows. What needs more than one place
of the manifest, or the file system, is checked in `checks.py`; what consumers get is in `model.py`.
"""

from __future__ import annotations

import datetime
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from rlreport.manifest import codes
from rlreport.manifest.values import (
    CHANGE,
    COUNT,
    DATE,
    DIFFERENCE,
    EXPRESSION,
    FRACTION,
    METRIC,
    NAME,
    PATH,
    REPLICAS,
    SLUG,
    STEP,
    TEXT,
    VERSION,
    choice,
    problem,
)
from rlreport.manifest.wording import describe
from rlreport.run.knobs import KNOB_CLASSES
from rlreport.run.rules import PRESETS, RULE_KINDS, RULE_LEVELS

#: Short names of the metrics whose verdicts a report can stand on.
PRIMARY_METRICS = ("throughput", "reward", "accuracy", "response_length")


class Shape(BaseModel):
    """A mapping of the manifest; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, title=None)

    #: What an error calls the mapping, as "expected a mapping with the keys ...".
    form: ClassVar[str | None] = None


class SourceShape(Shape):
    """One source of a run: a file, a folder, or a glob of them."""

    form = "a path, or a mapping with path, format and columns"

    path: Annotated[str, PATH] = Field(
        description="File, folder or glob, relative to the manifest. A folder is searched for every format that is known."
    )
    format: Annotated[str | None, NAME] = Field(
        default=None, description="The source's format by name; detected from the content when absent."
    )
    columns: dict[str, Annotated[str, METRIC]] = Field(
        default_factory=dict,
        description="For a CSV or JSONL table of another tool: its column names, each with the canonical metric (or step).",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, value: Any) -> Any:
        """A source may be written as its path alone."""
        return {"path": value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Either form."""
        full = handler.resolve_ref_schema(handler(schema))
        return {"anyOf": [{"type": "string", "pattern": r"\S", "description": "A path or glob."}, dict(full)]}


class DevicesShape(Shape):
    """Device counts of a run, by side. A hybrid device counts as the Trainer's."""

    trainer: Annotated[int | None, COUNT] = Field(default=None, description="Devices that update the policy.")
    rollout: Annotated[int | None, COUNT] = Field(default=None, description="Devices that only generate samples.")

    @model_validator(mode="after")
    def _some(self) -> DevicesShape:
        if not (self.trainer or self.rollout) and not (self.trainer is None and self.rollout is None):
            message = "the run has no devices"
            raise problem(codes.NO_DEVICES, message, "give the counts, or remove 'devices' when they are not known")
        return self


class RunShape(Shape):
    """One training run and where its logs are."""

    label: Annotated[str | None, NAME] = Field(
        default=None, description="The run's name in tables and figures; its id when absent."
    )
    sources: list[SourceShape] = Field(
        description="Where the run's logs, metrics and configuration are; several are merged by step.",
        json_schema_extra={"minItems": 1},
    )
    framework: Annotated[str | None, NAME] = Field(
        default=None, description="The training framework, as verl; detected when absent."
    )
    framework_version: Annotated[str | None, NAME] = Field(
        default=None, description="A release, a commit or a date (2026-08-22); it decides the meaning of some keys."
    )
    config: dict[str, Any] = Field(
        default_factory=dict,
        description="Configuration that adds to or overrides what the sources say, with dotted keys or nested; "
        "the report shows every override.",
    )
    devices: DevicesShape = Field(
        default_factory=DevicesShape, description="Device counts; derived from the configuration when absent."
    )
    hybrid_replicas: Annotated[str | None, REPLICAS] = Field(
        default=None, description="Numbers of the replicas that share the Trainer's devices: 0-7, 8 or 0-3,8."
    )
    group: Annotated[str | None, NAME] = Field(
        default=None, description="Runs of one group are replicates (seeds) of each other."
    )


class WaiveShape(Shape):
    """A difference that the author accepts, with the reason."""

    knob: Annotated[str, NAME] = Field(description="The configuration key that may differ, as trainer.experiment_name.")
    reason: Annotated[str, TEXT] = Field(description="Why the difference does not matter; printed in the report.")
    expires: Annotated[datetime.date | None, DATE] = Field(
        default=None, description="The last day on which the waiver holds, as 2026-12-31."
    )


class RuleShape(Shape):
    """What holds for a knob on each side of a comparison."""

    form = "a mapping with knob, rule and what the rule needs"

    knob: Annotated[str, NAME] = Field(
        description="A configuration key, the end of one (rollout.n), or a pattern with * and **."
    )
    rule: Annotated[str, choice(*RULE_KINDS)] = Field(
        description="pinned: must not differ; free: may differ without counting; derived: must equal an expression."
    )
    value: Any = Field(default=None, description="For a pinned knob: the value that it must have on each side.")
    expression: Annotated[str | None, EXPRESSION] = Field(
        default=None,
        description="For a derived knob: arithmetic over knobs, as data.train_batch_size / 4 or 1e-6 * sqrt(rollout.n).",
    )
    level: Annotated[str, choice(*RULE_LEVELS)] = Field(
        default="error",
        description="What a violation is. error: the runs may not be compared; warn: a warning; off: no rule at all.",
    )
    reason: Annotated[str | None, TEXT] = Field(default=None, description="Why the rule stands; printed in the report.")

    @model_validator(mode="after")
    def _complete(self) -> RuleShape:
        given = self.model_fields_set
        if self.rule == "derived" and self.expression is None:
            hint = "give what the knob must equal, as 'expression: data.train_batch_size / 4'"
            raise problem(codes.RULE_INCOMPLETE, "a derived rule needs an expression", hint)
        for key, kind in (("value", "pinned"), ("expression", "derived")):
            if key in given and self.rule != kind:
                message = f"'{key}' belongs to a {kind} rule, and this one is {self.rule}"
                raise problem(codes.RULE_INCOMPLETE, message, f"remove it, or write 'rule: {kind}'", at=(key,))
        if self.rule == "free" and "level" in given and self.level != "off":
            message = "a free rule cannot be violated and takes no level but off"
            raise problem(codes.RULE_INCOMPLETE, message, "remove it", at=("level",))
        items = self.value if isinstance(self.value, list) else [self.value]
        if any(isinstance(item, (dict, list)) for item in items):
            message = f"expected a scalar or a list of scalars, found {describe(self.value)}"
            raise problem(codes.WRONG_TYPE, message, "write one rule for each key", at=("value",))
        return self


class KnobShape(Shape):
    """The class of a configuration key, for keys that rlreport does not know or classes differently."""

    key: Annotated[str, NAME] = Field(description="A whole configuration key, or a pattern with * and **.")
    knob_class: Annotated[str, choice(*KNOB_CLASSES)] = Field(
        alias="class", description="The class of the key; identity is for what changes nothing."
    )
    label: Annotated[str | None, NAME] = Field(default=None, description="What tables call the knob.")


class WindowShape(Shape):
    """The steps over which runs are compared."""

    first: Annotated[int | None, STEP] = Field(
        default=None, alias="from", description="First step of the window; auto finds it."
    )
    last: Annotated[int | None, STEP] = Field(
        default=None, alias="to", description="Last step of the window; auto finds it."
    )

    @model_validator(mode="after")
    def _forward(self) -> WindowShape:
        if self.first is not None and self.last is not None and self.first > self.last:
            message = f"the window ends at step {self.last}, before it begins at step {self.first}"
            raise problem(codes.WINDOW_REVERSED, message, "exchange the two, or write auto", at=("to",))
        return self


class MarginsShape(Shape):
    """The smallest differences that matter."""

    throughput: Annotated[float | None, FRACTION] = Field(
        default=None, description="Relative difference of throughput that matters: 5% or 0.05."
    )
    reward: Annotated[float | None, DIFFERENCE] = Field(
        default=None, description="Difference of the mean reward that matters."
    )
    accuracy: Annotated[float | None, DIFFERENCE] = Field(
        default=None, description="Difference of the validation accuracy that matters: 0.02 is two points."
    )
    response_length: Annotated[float | None, DIFFERENCE] = Field(
        default=None, description="Difference of the mean response length that matters, in tokens."
    )


class TargetShape(Shape):
    """Levels to reach: the report tells the samples, the hours and the device-hours that each run took."""

    reward: Annotated[float | None, DIFFERENCE] = Field(default=None, description="Mean reward to reach.")
    accuracy: Annotated[float | None, DIFFERENCE] = Field(default=None, description="Validation accuracy to reach, as 0.69.")


class DecisionShape(Shape):
    """What was decided on the report's question."""

    status: Annotated[str, choice("proposed", "accepted", "rejected")] = Field(description="Where the decision stands.")
    by: Annotated[str | None, NAME] = Field(default=None, description="Who decided.")
    date: Annotated[datetime.date | None, DATE] = Field(default=None, description="The day of the decision, as 2026-08-22.")
    reason: Annotated[str | None, TEXT] = Field(default=None, description="Why.")


def _refuse_nothing(value: Any) -> Any:
    if value is None:
        message = f"expected a mapping with status, by, date and reason, found {describe(value)}"
        raise problem(codes.WRONG_TYPE, message, "give it, or remove the key")
    return value


def _refuse_no_metric(value: Any) -> Any:
    if value == []:
        raise problem(codes.EMPTY, "'primary' is empty; at least one metric is needed", "name one, or remove the key")
    return value


class ReportShape(Shape):
    """One case study: what is compared with what, and what was meant to change."""

    id: Annotated[str, SLUG] = Field(description="The report's folder under out/; unique.")
    title: Annotated[str | None, NAME] = Field(default=None, description="The report's title; its id when absent.")
    kind: Annotated[str, choice("ab", "ladder", "sweep", "profile")] = Field(
        description="ab: each variant against the baseline; ladder: each against the one before; "
        "sweep: ordered doses of one knob; profile: one run, named as baseline."
    )
    baseline: Annotated[str, NAME] = Field(description="The run that others are compared with, or the run of a profile.")
    variants: list[Annotated[str, NAME]] = Field(
        default_factory=list, description="The runs that are compared, in order. None for a profile."
    )
    changes: list[Annotated[str, CHANGE]] = Field(
        default_factory=list,
        description="What was meant to change: knob classes or dotted knob names. Everything else that differs is reported.",
    )
    waive: list[WaiveShape] = Field(default_factory=list, description="Differences that do not matter, each with a reason.")
    rules: list[RuleShape] = Field(
        default_factory=list, description="Rules for knobs, after those of the manifest; the last that covers a key decides."
    )
    preset: Annotated[str | None, choice(*PRESETS)] = Field(
        default=None, description="How undeclared changes are judged here, in place of the manifest's preset."
    )
    primary: Annotated[list[Annotated[str, choice(*PRIMARY_METRICS)]], BeforeValidator(_refuse_no_metric)] = Field(
        default_factory=lambda: [PRIMARY_METRICS[0]],
        description="The metrics that the report's claim stands on, tested together; all others are exploratory.",
    )
    steady_state: WindowShape = Field(
        default_factory=WindowShape, description="The window of comparison; found from the data when absent."
    )
    margins: MarginsShape = Field(
        default_factory=MarginsShape, description="What counts as a difference, by metric; 5% of throughput when absent."
    )
    target: TargetShape = Field(default_factory=TargetShape, description="Levels to reach, by metric.")
    question: Annotated[str | None, TEXT] = Field(default=None, description="The question that the report is to answer.")
    narrative: Annotated[str | None, PATH] = Field(
        default=None, description="A Markdown file with the author's own prose, relative to the manifest."
    )
    decision: Annotated[DecisionShape | None, BeforeValidator(_refuse_nothing)] = Field(
        default=None, description="What was decided, by whom and why."
    )
    knob: Annotated[str | None, NAME] = Field(default=None, description="For a sweep: the knob whose doses are compared.")


class ManifestShape(Shape):
    """What to read and which reports to write from it."""

    version: Annotated[int, VERSION] = Field(description="The version of this format: 1.")
    title: Annotated[str, NAME] = Field(description="The title of the index of reports.")
    runs: dict[Annotated[str, NAME], RunShape] = Field(
        description="The training runs, by id.", json_schema_extra={"minProperties": 1}
    )
    reports: list[ReportShape] = Field(description="The reports to write, in order.", json_schema_extra={"minItems": 1})
    as_of: Annotated[datetime.date | None, DATE] = Field(
        default=None, description="The day on which waivers are judged, as 2026-08-22; else the latest day of the runs."
    )
    preset: Annotated[str | None, choice(*PRESETS)] = Field(
        default=None,
        description="How undeclared changes are judged. strict: each is an error; exploratory: those of tuned classes warn.",
    )
    knobs: list[KnobShape] = Field(
        default_factory=list, description="Classes of configuration keys, added to what is known of the framework."
    )
    rules: list[RuleShape] = Field(default_factory=list, description="Rules for knobs that hold in every report.")
