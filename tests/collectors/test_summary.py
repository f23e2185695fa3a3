from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlreport.collectors import merge_sources, read_sources, require_steps
from rlreport.collectors.base import SourceOptions
from rlreport.collectors.detect import detect
from rlreport.collectors.summary import SummaryCollector, summaries_of, to_unit
from rlreport.run.diagnostics import EXIT_UNREADABLE, RlreportError
from rlreport.run.raw import RawRun, SourceTable
from rlreport.run.summary import QUANTITIES, Summary

HEAD = "run,quantity,value,unit,from_step,to_step,source\n"


def write(folder: Path, rows: str, head: str = HEAD, name: str = "results.csv") -> Path:
    path = folder / name
    path.write_text(head + rows, "utf-8")
    return path


def read(folder: Path, rows: str, head: str = HEAD) -> SourceTable:
    return SummaryCollector().read(write(folder, rows, head), SourceOptions("results.csv"))


def merged(folder: Path, rows: str) -> RawRun:
    return merge_sources(read_sources([(write(folder, rows), None, {})], folder))


def failure(folder: Path, rows: str, head: str = HEAD) -> tuple[str, str, str | None]:
    with pytest.raises(RlreportError) as caught:
        read(folder, rows, head)
    assert caught.value.exit_code == EXIT_UNREADABLE
    (found,) = caught.value.diagnostics
    return found.code, found.message, found.hint


class TestUnits:
    @pytest.mark.parametrize(
        ("quantity", "text", "unit", "value", "resolution"),
        [
            ("time.step_s", "294.77", "s", 294.77, 0.01),
            ("time.step_s", "250", "ms", 0.25, 0.001),
            ("time.step_s", "2.5", "min", 150.0, 6.0),
            ("clock.wall_s", "14.10", "h", 50_760.0, 36.0),
            ("clock.wall_s", "2", "d", 172_800.0, 86_400.0),
            # 3 days, 17 hours, 5 minutes: (3 * 24 + 17) * 60 + 5 = 5345 minutes
            ("clock.wall_s", "3d 17h 5m", "dhm", 5345 * 60.0, 60.0),
            ("clock.wall_s", "15h34m", "dhm", 934 * 60.0, 60.0),
            ("clock.wall_s", "2h", "dhm", 7200.0, 3600.0),
            ("clock.wall_s", "1m 30s", "dhm", 90.0, 1.0),
            ("rate.tokens_per_s", "12,053", "tokens/s", 12_053.0, 1.0),
            ("rate.tokens_per_s", "1.2e4", "tokens/s", 12_000.0, 1000.0),
            ("quality.accuracy", "22.6", "%", 0.226, 0.001),
            ("quality.accuracy_last", "0.3094", "", 0.3094, 0.0001),
            ("claim.speedup", "1.72", "x", 1.72, 0.01),
            ("claim.speedup", "23", "%", 1.23, 0.01),
            ("claim.speedup", "1.72", "×", 1.72, 0.01),
        ],
    )
    def test_numbers_are_converted_with_the_worth_of_their_last_digit(
        self, quantity: str, text: str, unit: str, value: float, resolution: float
    ) -> None:
        found = to_unit(text, unit, QUANTITIES[quantity])
        assert found == (pytest.approx(value), pytest.approx(resolution))

    @pytest.mark.parametrize(
        ("quantity", "text", "unit"),
        [
            ("time.step_s", "fast", "s"),
            ("time.step_s", "", "s"),
            ("time.step_s", "nan", "s"),
            ("time.step_s", "inf", "s"),
            ("time.step_s", "294.77", ""),
            ("time.step_s", "294.77", "tokens"),
            ("time.step_s", "12,05", "s"),
            ("time.step_s", "1e999", "s"),
            ("time.step_s", "5h 3d", "dhm"),
            ("time.step_s", "", "dhm"),
            ("work.tokens", "5", "%"),
            ("quality.accuracy", "5", "x"),
            ("work.tokens", "5", "dhm"),
        ],
    )
    def test_what_is_no_such_number_is_none(self, quantity: str, text: str, unit: str) -> None:
        assert to_unit(text, unit, QUANTITIES[quantity]) is None

    @given(st.text(max_size=80), st.sampled_from(["s", "dhm", "%", "x", ""]), st.sampled_from(sorted(QUANTITIES)))
    def test_no_text_breaks_it(self, text: str, unit: str, quantity: str) -> None:
        found = to_unit(text, unit, QUANTITIES[quantity])
        assert found is None or all(isinstance(part, float) for part in found)


class TestRead:
    def test_a_row_becomes_a_result_with_its_steps_and_place(self, tmp_path: Path) -> None:
        table = read(tmp_path, "a,clock.wall_s,7h 58m,dhm,1,100,paper p. 3\na,time.step_s,294.77,s,,,paper p. 3\n")
        assert table.summaries == [
            Summary("a", "clock.wall_s", 28_680.0, "s", 1, 100, "paper p. 3", "results.csv:2", 60.0),
            Summary("a", "time.step_s", 294.77, "s", None, None, "paper p. 3", "results.csv:3", 0.01),
        ]
        assert table.rows == [] and table.notices == [] and table.format == "summary-csv"
        assert table.size_bytes > 0 and len(table.sha256) == 64

    def test_columns_stand_in_any_order_and_steps_may_be_left_out(self, tmp_path: Path) -> None:
        table = read(tmp_path, "p. 3,s,294.77,time.step_s,a,hello\n", "source,unit,value,quantity,run,remark\n")
        assert table.summaries[0].value == 294.77 and table.summaries[0].to_step is None

    def test_semicolons_and_a_byte_order_mark_are_read(self, tmp_path: Path) -> None:
        table = read(tmp_path, "a;time.step_s;294.77;s;p. 3\n", "\ufeffrun;quantity;value;unit;source\n")
        assert table.summaries[0].run == "a"

    def test_what_is_not_understood_is_left_out_and_counted_by_kind(self, tmp_path: Path) -> None:
        rows = (
            "a,time.step_s,294.77,s,,,p\n"
            "a,time.steps,1,s,,,p\n"
            ",time.step_s,1,s,,,p\n"
            "a,time.ref_s,fast,s,,,p\n"
            "a,time.wait_s,1,s,200,100,p\n"
            "a,time.wait_s,1,s,some,100,p\n"
            "\n"
        )
        table = read(tmp_path, rows)
        assert len(table.summaries) == 1
        told = {notice.code: (notice.message, notice.where) for notice in table.notices}
        assert told == {
            "RR250": ("4 results not understood and left out: 'time.steps' is no quantity", "results.csv:3"),
            "RR232": (
                "1 result not a number in a unit of its quantity, left out: time.ref_s is 'fast' in 's'",
                "results.csv:5",
            ),
        }

    def test_a_number_given_twice_is_told_when_it_differs(self, tmp_path: Path) -> None:
        same = read(tmp_path, "a,time.step_s,1,s,,,p\na,time.step_s,1.0,s,,,p\n")
        assert [s.value for s in same.summaries] == [1.0] and same.notices == []
        other = read(tmp_path, "a,time.step_s,1,s,,,p\na,time.step_s,2,s,,,p\n")
        assert [s.value for s in other.summaries] == [1.0]
        assert [(n.code, n.where) for n in other.notices] == [("RR251", "results.csv:3")]
        assert "time.step_s of a is 1 and 2" in other.notices[0].message

    def test_a_number_without_a_source_is_kept_and_told(self, tmp_path: Path) -> None:
        table = read(tmp_path, "a,time.step_s,1,s,,,\n")
        assert len(table.summaries) == 1
        assert [(n.code, n.message, n.where) for n in table.notices] == [
            ("RR252", "1 result without a source", "results.csv:2")
        ]

    def test_an_empty_table_and_one_without_results_are_errors(self, tmp_path: Path) -> None:
        assert failure(tmp_path, "", "")[0] == "RR203"
        assert failure(tmp_path, "")[:2] == ("RR209", "no row of the table is a result")
        code, _, hint = failure(tmp_path, "a,time.steps,1,s,,,p\n")
        assert code == "RR209" and hint is not None and "'time.steps' is no quantity" in hint

    def test_a_missing_column_is_named(self, tmp_path: Path) -> None:
        code, message, hint = failure(tmp_path, "a,time.step_s,1,s\n", "run,quantity,value,unit\n")
        assert (code, message) == ("RR209", "the table has no column 'source'")
        assert hint is not None and "from_step and to_step" in hint

    def test_the_format_is_detected_also_compressed(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a,time.step_s,1,s,,,p\n")
        packed = tmp_path / "results.csv.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        steps = tmp_path / "steps.csv"
        steps.write_text("step,time.step_s\n1,2\n", "utf-8")
        assert [getattr(detect(p), "format", None) for p in (path, packed, steps)] == ["summary-csv", "summary-csv", "csv"]


class TestRunOfATable:
    ROWS = "a,time.step_s,1,s,,,p\nb,time.step_s,2,s,,,p\nb,time.ref_s,3,s,,,p\n"

    def test_a_run_takes_the_rows_of_its_id(self, tmp_path: Path) -> None:
        raw = merged(tmp_path, self.ROWS)
        require_steps(raw)
        assert [s.value for s in summaries_of(raw, "b")] == [2.0, 3.0]
        assert [s.value for s in summaries_of(raw, None)] == [1.0, 2.0, 3.0]

    def test_an_id_that_is_not_in_the_table_is_an_error_with_the_names(self, tmp_path: Path) -> None:
        with pytest.raises(RlreportError) as caught:
            summaries_of(merged(tmp_path, self.ROWS.replace("b,", "beta,")), "bets")
        (found,) = caught.value.diagnostics
        assert caught.value.exit_code == EXIT_UNREADABLE
        assert (found.code, str(found.location)) == ("RR213", "results.csv")
        assert found.message == "the table holds the results of a, beta, and none of 'bets'"
        assert found.hint == "did you mean 'beta'? a run's id in the manifest says which rows are its own"

    def test_a_table_of_one_run_is_that_run_whatever_its_name(self, tmp_path: Path) -> None:
        assert len(summaries_of(merged(tmp_path, "a,time.step_s,1,s,,,p\n"), "mine")) == 1

    def test_a_run_without_tables_has_no_results(self) -> None:
        assert summaries_of(merge_sources([]), "mine") == ()

    def test_a_run_with_neither_step_nor_result_is_still_refused(self, tmp_path: Path) -> None:
        raw = merge_sources([SourceTable("empty.log", "verl-console")])
        with pytest.raises(RlreportError) as caught:
            require_steps(raw)
        assert caught.value.diagnostics[0].code == "RR211"
