"""Shared fixtures: real logs beside the project, when they are at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

SAMPLES = Path(__file__).resolve().parents[2] / "shared" / "samples"


@pytest.fixture(scope="session")
def samples() -> Path:
    """The folder of real logs; tests that need it are skipped where it is absent."""
    if not SAMPLES.is_dir():
        pytest.skip("real samples are not at hand")
    return SAMPLES
