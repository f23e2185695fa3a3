"""The tables in examples/published against an independent transcription of the same publications."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.published import published_run

from rlreport.comparators.summary import PublishedRun

#: Columns of the transcription, each with the quantity and the last step that it stands for.
COLUMNS = {
    "step_s": ("time.step_s", None),
    "old_log_prob_s": ("time.old_log_prob_s", None),
    "ref_s": ("time.ref_s", None),
    "update_actor_s": ("time.update_actor_s", None),
    **{f"t{steps}_s": ("clock.wall_s", steps) for steps in (100, 200, 300, 400)},
    "total_s": ("clock.wall_s", None),
    "acc_max": ("quality.accuracy_best", None),
    "acc_last": ("quality.accuracy_last", None),
    "tokens_per_s": ("rate.tokens_per_s", None),
    "mean_response_len": ("length.response_mean", None),
    "mean_reward": ("quality.reward_mean", None),
    "total_tokens": ("work.tokens", None),
    "throughput": ("perf.throughput_reported", None),
}

#: Table of the transcription -> our runs in the order of its rows.
TABLES = {
    "fully_async_7b": ("sync-32", "async-16-16", "sync-64", "async-32-32", "sync-128", "async-64-64"),
    "fully_async_staleness_128": ("stale-0", "stale-0.1", "stale-0.3", "stale-0.5"),
    "fully_async_require_batches_128": ("require-1", "require-2", "require-4"),
    "v1_modes_4nodes": ("v1-sync", "v1-colocate", "v1-separate"),
    "v1_switch_3nodes": ("no-switch", "switch"),
    "one_step_off": ("sync-fsdp", "one-step-fsdp", "sync-megatron", "one-step-megatron"),
    "metax_c550": ("before", "after"),
}


def rows(samples: Path, table: str) -> list[dict[str, Any]]:
    tables = json.loads((samples / "published" / "published_tables.json").read_text("utf-8"))
    return next(found["rows"] for found in tables if found["id"] == table)


def generation(run: PublishedRun, row: dict[str, Any]) -> list[tuple[float | None, float]]:
    """Generation stands under the quantity that it is in the run's mode: waiting where the sides are apart."""
    told = [(row.get(key), quantity) for key, quantity in (("gen_s", "time.generate_s"), ("wait_prev_gen_s", "time.wait_s"))]
    if run.run.mode == "fully_async":
        told = [(row.get("gen_s"), "time.wait_s")]
    return [(run.value(quantity), value) for value, quantity in told if value is not None]


@pytest.mark.parametrize("table", sorted(TABLES))
def test_every_number_is_what_was_published(samples: Path, table: str) -> None:
    found = rows(samples, table)
    assert len(found) == len(TABLES[table])
    checked = 0
    for run_id, row in zip(TABLES[table], found, strict=True):
        run = PublishedRun(published_run(run_id))
        by_key = {(s.quantity, s.to_step if s.quantity == "clock.wall_s" else None): s.value for s in run.run.summaries}
        for column, key in COLUMNS.items():
            if row.get(column) is not None:
                assert by_key[key] == pytest.approx(row[column]), (run_id, column)
                checked += 1
        if "wall_h" in row:
            assert run.total is not None and run.total.value == pytest.approx(row["wall_h"] * 3600)
            checked += 1
        for ours, theirs in generation(run, row):
            assert ours == pytest.approx(theirs), run_id
            checked += 1
    assert checked >= 3 * len(found)
