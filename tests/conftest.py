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


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
