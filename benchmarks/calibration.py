#!/usr/bin/env python3
"""Do the intervals hold what they promise? The tables of docs/statistics.md, made again.

usage: calibration.py [--pairs 1000] [--table grid|noise|drift|others] [--seed 1] [--jobs 1] [--write docs/statistics.md]

Without --write the tables are printed; with it each one replaces what stands between its markers in the page.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from calibration_others import OTHERS
from calibration_pairs import NOISES, Scenario, Tally, autoregressive_scenario, run_pairs, share_of, steady_states

STEPS = (30, 100, 300)
CORRELATIONS = (0.0, 0.5, 0.8)
RATIOS = (1.0, 1.1)
SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario for scenario in (*(autoregressive_scenario(phi) for phi in CORRELATIONS), *NOISES)
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One row of a table of pairs: a kind of noise and a length."""

    name: str
    steps: int
    tallies: tuple[Tally, Tally]

    def row(self) -> str:
        """The row in Markdown."""
        even, faster = self.tallies
        sure = (even.verdicts["improved"] + even.verdicts["regressed"]) / even.pairs
        width = f"{100 * float(np.median(even.widths)):.1f} %" if even.widths else "–"
        shares = (even.coverage, faster.coverage, even.alarms, sure)
        return f"| {self.name} | {self.steps} | {' | '.join(percent(share) for share in shares)} | {width} |"


def percent(share: float) -> str:
    """A share to a tenth of a percent."""
    return f"{100 * share:.1f} %"


def cell(name: str, steps: int, *, pairs: int, seed: int) -> Cell:
    """Compare the pairs of one row."""
    even, faster = (run_pairs(SCENARIOS[name], steps=steps, ratio=ratio, pairs=pairs, seed=seed) for ratio in RATIOS)
    return Cell(name, steps, (even, faster))


def _cell(key: tuple[str, int], *, pairs: int, seed: int) -> str:
    return cell(*key, pairs=pairs, seed=seed).row()


def pair_table(names: Sequence[str], *, pairs: int, seed: int, jobs: int) -> list[str]:
    """Coverage of the 95 % interval and false alarms by kind of noise and length."""
    head = [
        "| noise | steps | coverage, true ratio 1 | coverage, true ratio 1.1 | intervals without 1, true ratio 1 | "
        "verdict faster or slower, true ratio 1 | median width |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    keys = [(name, steps) for name in names for steps in STEPS]
    work = partial(_cell, pairs=pairs, seed=seed)
    if jobs == 1:
        return head + [_told(work(key)) for key in keys]
    with ProcessPoolExecutor(jobs) as pool:
        return head + [_told(row) for row in pool.map(work, keys)]


def drift_table(*, pairs: int, seed: int, jobs: int) -> list[str]:
    """How windows of flat and of drifting runs are classed."""
    del jobs
    rows = [
        "| steps | correlation | flat run called drifting | drift of −10 % called steady |",
        "| ---: | ---: | ---: | ---: |",
    ]
    for steps in STEPS:
        for phi in CORRELATIONS:
            flat, drifting = (steady_states(phi, drift, steps=steps, series=pairs, seed=seed) for drift in (0.0, -0.1))
            missed = 1 - share_of(drifting, "drifting", "none")
            rows.append(_told(f"| {steps} | {phi:g} | {percent(share_of(flat, 'drifting'))} | {percent(missed)} |"))
    return rows


def others_table(*, pairs: int, seed: int, jobs: int) -> list[str]:
    """What the other statistics promise and hold."""
    del jobs
    rows = ["| statistic | setting | promised | measured |", "| --- | --- | ---: | ---: |"]
    for other in OTHERS:
        share = other.measure(pairs, seed)
        rows.append(_told(f"| {other.statistic} | {other.setting} | {other.promised} | {percent(share)} |"))
    return rows


def tables(pairs: int, seed: int, jobs: int) -> dict[str, Callable[[], list[str]]]:
    """The tables by name, each made when it is called."""
    common = {"pairs": pairs, "seed": seed, "jobs": jobs}
    grid = [autoregressive_scenario(phi).name for phi in CORRELATIONS]
    return {
        "grid": partial(pair_table, grid, **common),
        "noise": partial(pair_table, [scenario.name for scenario in NOISES], **common),
        "drift": partial(drift_table, **common),
        "others": partial(others_table, **common),
    }


def replace_table(page: str, name: str, rows: Sequence[str], pairs: int) -> str:
    """The page with the table of this name between its markers.

    Raises:
        ValueError: the page lacks the markers.
    """
    begin, end = f"<!-- calibration: {name} -->", f"<!-- end of {name} -->"
    start, stop = page.find(begin), page.find(end)
    if start < 0 or stop < start:
        raise ValueError(f"the page has no markers of the table {name}")
    error = 100 * math.sqrt(0.95 * 0.05 / pairs)
    note = f"{pairs:,} made pairs (or series) a row; the standard error of a share near 95 % is {error:.1f} points."
    return page[:start] + "\n".join([begin, "", *rows, "", note, "", end]) + page[stop + len(end) :]


def _told(row: str) -> str:
    print(row, file=sys.stderr, flush=True)
    return row


def main() -> None:
    """Print the tables that are asked for, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--table", choices=("grid", "noise", "drift", "others"), action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    made = tables(options.pairs, options.seed, options.jobs)
    for name in options.table or made:
        rows = made[name]()
        if options.write is None:
            print("\n".join([*rows, ""]))
        else:
            page = options.write.read_text("utf-8")
            options.write.write_text(replace_table(page, name, rows, options.pairs), "utf-8")


if __name__ == "__main__":
    main()
