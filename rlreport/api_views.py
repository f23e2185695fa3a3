"""What the Python API gives: runs, comparisons and reports as objects that notebooks show as small tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from rlreport.comparators.analysis import Analysis, ComparisonResult
    from rlreport.comparators.results import Change, QualityComparison, ThroughputComparison
    from rlreport.run.diagnostics import Notice
    from rlreport.run.model import Devices, Mode, Run


@dataclass(frozen=True, slots=True, repr=False)
class RunView:
    """One run. `run` is the typed representation that everything else here is taken from."""

    run: Run

    @property
    def id(self) -> str:
        """The run's id in its manifest, or the one it was read under."""
        return self.run.run_id

    @property
    def label(self) -> str:
        """The run's name for readers."""
        return self.run.label

    @property
    def steps(self) -> pd.DataFrame:
        """Canonical metrics by step, units in their names (`time.step_s`); NaN where a step does not have one. A copy."""
        return self.run.steps.copy()

    @property
    def raw(self) -> pd.DataFrame:
        """The framework's own keys by step. A copy."""
        return self.run.raw.copy()

    @property
    def config(self) -> dict[str, Any]:
        """The configuration: every dotted key that a source or the manifest gives, by name."""
        return {key: self.run.config[key].value for key in sorted(self.run.config)}

    @property
    def knobs(self) -> dict[str, Any]:
        """The keys of the configuration that belong to a class of knobs and matter in this run, in the guide's order."""
        return {str(key): self.run.value(str(key)) for key in self.knob_table().index}

    def knob_table(self) -> pd.DataFrame:
        """The knobs as a table by key: class, label, value, unit and where the value was read."""
        import pandas as pd

        from rlreport.run.knobs import KNOB_CLASSES

        rules = self.run.knob_rules
        knobs = sorted(
            self.run.knobs.values(), key=lambda knob: (KNOB_CLASSES.index(knob.knob_class), *rules.rank(knob.key))
        )
        origins = [self.run.config[knob.key].origin if knob.key in self.run.config else None for knob in knobs]
        return pd.DataFrame(
            {
                "class": [knob.knob_class for knob in knobs],
                "label": [knob.label for knob in knobs],
                "value": pd.Series([self.run.value(knob.key) for knob in knobs], dtype=object).to_numpy(),
                "unit": [knob.unit for knob in knobs],
                "origin": origins,
            },
            index=pd.Index([knob.key for knob in knobs], name="knob"),
        )

    @property
    def devices(self) -> Devices:
        """Device counts by side, None where unknown."""
        return self.run.devices

    @property
    def mode(self) -> Mode:
        """The execution mode: sync, colocate_async, separate_async, one_step_off, fully_async or unknown."""
        return self.run.mode

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """What a reader must know of the sources and of what they mean, each once."""
        of_sources = (notice for source in self.run.sources for notice in source.notices)
        return tuple(dict.fromkeys((*of_sources, *self.run.notices)))

    def __repr__(self) -> str:
        return f"<RunView {self.id!r}: {self.run.framework}, {self.mode}, {len(self.run.steps)} steps>"

    def _repr_html_(self) -> str:
        from rlreport.api_html import run_html

        return run_html(self.run, len(self.warnings))


@dataclass(frozen=True, slots=True, repr=False)
class ComparisonView:
    """One pair of runs. `analysis` is the analysis of this pair alone."""

    analysis: Analysis

    @property
    def result(self) -> ComparisonResult:
        """The comparison as the analysis holds it."""
        return self.analysis.comparisons[0]

    @property
    def baseline(self) -> RunView:
        """The run that the comparison starts from."""
        return RunView(self.analysis.runs[self.result.baseline_id].run)

    @property
    def variant(self) -> RunView:
        """The run that it is compared with."""
        return RunView(self.analysis.runs[self.result.variant_id].run)

    @property
    def verdict(self) -> str:
        """The verdict in a sentence, as the report page has it."""
        return _verdict(self.analysis)

    @property
    def throughput(self) -> ThroughputComparison:
        """Throughput over the common window: the headline ratio with its interval and verdict, and the others beside it."""
        return self.result.throughput

    @property
    def change(self) -> Change:
        """What differs between the configurations, and whether that is what was declared."""
        return self.result.change

    @property
    def quality(self) -> tuple[QualityComparison, ...]:
        """Reward, accuracy and response length, as far as both runs have them."""
        return self.result.quality

    @property
    def comparable(self) -> bool:
        """Whether the runs may be compared at all; `change.blocking` says why not."""
        return self.result.comparable

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """What a reader must know of this comparison, each once."""
        of_quality = (notice for quality in self.quality for notice in quality.notices)
        return tuple(dict.fromkeys((*self.change.notices, *self.throughput.notices, *of_quality)))

    def __repr__(self) -> str:
        return f"<ComparisonView {self.result.baseline_id!r} -> {self.result.variant_id!r}: {self.verdict}>"

    def _repr_html_(self) -> str:
        from rlreport.api_html import comparison_html

        return comparison_html(self.analysis)


@dataclass(frozen=True, slots=True, repr=False)
class ReportView:
    """One report of a manifest, analysed: what `rlreport build` would lay out."""

    id: str
    title: str
    analysis: Analysis

    @property
    def verdict(self) -> str:
        """The verdict in words, as the report page has it."""
        return _verdict(self.analysis)

    @property
    def runs(self) -> dict[str, RunView]:
        """The runs of the report by id, baseline first."""
        return {run_id: RunView(result.run) for run_id, result in self.analysis.runs.items()}

    @property
    def comparisons(self) -> tuple[ComparisonView, ...]:
        """The pairs of the report in order; none in a profile."""
        return tuple(ComparisonView(pair_of(self.analysis, comparison)) for comparison in self.analysis.comparisons)

    def __repr__(self) -> str:
        return f"<ReportView {self.id!r}: {self.verdict}>"

    def _repr_html_(self) -> str:
        from rlreport.api_html import report_html

        return report_html(self.analysis, self.title)


def pair_of(analysis: Analysis, comparison: ComparisonResult) -> Analysis:
    """The analysis of one pair alone, out of one of several pairs: the same numbers, judged as an A/B report."""
    from rlreport.comparators.summary_traps import study_published

    ids = (comparison.baseline_id, comparison.variant_id)
    runs = {run_id: analysis.runs[run_id] for run_id in ids}
    published = None
    if analysis.published is not None:
        pair = (*ids, comparison.change)
        published = study_published({run_id: result.run for run_id, result in runs.items()}, [pair])
    return replace(
        analysis,
        request=replace(analysis.request, kind="ab", baseline=ids[0], variants=ids[1:]),
        runs=runs,
        comparisons=(comparison,),
        published=published,
        ladder=None,
        sweep=None,
    )


def _verdict(analysis: Analysis) -> str:
    from rlreport.report.model import plain
    from rlreport.report.verdict import verdict_sentence

    return plain(verdict_sentence(analysis))
