# SPDX-License-Identifier: Apache-2.0
"""Answers questions about a training step of MindSpore Transformers.

    import mf

    step = mf.load("train.yaml")
    step.memory()                                   # whether it fits, and what fills the memory
    step.simulate("atlas-800t-a2")                  # seconds, tokens/s, what limits the step
    step.plan(hbm="50GB").yaml()                    # the YAML with the settings that are best
    mf.compare(step, step.with_(recompute_config={"recompute": True}))

The package calls the command `mf`, which needs no NPU.
"""

from ._command import Diagnostic, Error, YamlWarning, find_command
from .configuration import Configuration, compare, load
from .results import Comparison, Limit, Memory, Part, Plan, Row, Simulation, Stage, Training
from .table import Result, Table

__all__ = [
    "Comparison", "Configuration", "Diagnostic", "Error", "Limit", "Memory", "Part", "Plan", "Result", "Row", "Simulation", "Stage",
    "Table", "Training", "YamlWarning", "compare", "find_command", "load",
]  # fmt: skip
