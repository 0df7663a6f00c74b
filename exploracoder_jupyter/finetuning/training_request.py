"""The request of a training, with the defaults of `jupyter explora finetune`.

They are the paper's where it names them (ToolCoder, section IV.B): the query and value projections, batches of 8, 10
epochs. A rank of 8 follows from the paper's share of trained parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Method = Literal["lora", "qlora"]


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """What to train, and how."""

    data: Path
    base: str
    out: Path
    method: Method = "lora"
    rank: int = 8
    """0.18 % of the parameters of the paper's smaller model."""
    targets: str | None = None
    """Layers with adapters: names separated by commas, `all-linear`, or None for query and value projections."""
    epochs: float = 10.0
    """Passes over the data."""
    batch: int = 8
    """Rows in one step."""
    micro_batch: int = 1
    """Rows computed at once: it changes the memory that is needed, not the result."""
    rate: float = 3e-4
    """Learning rate."""
    tokens: int = 2048
    """Longest row."""
    held_out: float = 0.05
    """Share of the rows that is not trained on."""
    plain: bool = False
    """Whether look-ups are removed from the code, for a model to compare with."""
    merged: bool = False
    """Whether a complete model for servers is written too."""
    resume: bool = False
    seed: int = 0
