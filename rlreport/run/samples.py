"""Samples: lengths and parameter versions of single responses, as rollout dumps tell them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SampleKind = Literal["trained", "left over"]


@dataclass(frozen=True, slots=True)
class SampleTable:
    """Responses as columns of one length, in the order of the source.

    `kind` says whether a step trained on them, or whether they were generated and are left over. `step` is the step that
    trained a response, -1 for none; lengths are in tokens, versions those that decoded the first and the last token, -1
    where a column is not told.
    """

    kind: SampleKind
    step: npt.NDArray[np.int64]
    response_tokens: npt.NDArray[np.int64]
    prompt_tokens: npt.NDArray[np.int64]
    first_version: npt.NDArray[np.int64]
    last_version: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.response_tokens)
