# SPDX-License-Identifier: Apache-2.0
"""What the verbs of `mf` found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from .table import Result, Table, Unit, show_bytes, show_seconds


@dataclass(frozen=True)
class Part:
    """What a part of the memory is for, such as activations, and its bytes at the peak."""

    name: str
    bytes: int


@dataclass(frozen=True)
class Stage:
    """The device memory of each rank of a pipeline stage."""

    stage: int
    #: What the trainer of the YAML holds at its peak. The trainer of the static graph holds what mf's program does.
    trainer_bytes: int
    #: What mf's own program of the step needs.
    program_bytes: int
    #: The device memory of a rank, or None if the YAML does not say it.
    limit_bytes: Optional[int]
    fits: bool
    #: The parts of `trainer_bytes` at the peak, largest first.
    parts: Tuple[Part, ...]
    #: The operator at the peak.
    peak_at: str
    #: What is pinned in the memory of the host.
    host_bytes: int
    #: What the allocator of the trainer takes from the device, and what the device needs in all; None if not counted.
    pool_bytes: Optional[int]
    device_bytes: Optional[int]

    @property
    def largest(self) -> Part:
        return self.parts[0]


def _read_stage(found: Dict[str, Any]) -> Stage:
    return Stage(
        stage=found["stage"],
        trainer_bytes=found["trainer_live_bytes"],
        program_bytes=found["program_bytes"],
        limit_bytes=found["limit_bytes"] or None,
        fits=found["fits"],
        parts=tuple(Part(part["name"], part["bytes"]) for part in found["held_parts"]),
        peak_at=found["trainer_peak_at"] or found["peak_moment"],
        host_bytes=found["host_bytes"],
        pool_bytes=found.get("pool_bytes"),
        device_bytes=found.get("device_bytes"),
    )


class Memory(Result):
    """What each stage holds on a device at its peak, and whether it fits."""

    def __init__(self, found: Dict[str, Any]):
        super().__init__(found)
        self.fits: bool = found["fits"]
        self.stages: List[Stage] = [_read_stage(stage) for stage in found["stages"]]
        #: The stage that has least room.
        self.fullest: Stage = next(stage for stage in self.stages if stage.stage == found["fullest_stage"])

    @property
    def largest(self) -> Part:
        """The largest part of the fullest stage."""
        return self.fullest.largest

    def summary(self) -> str:
        stage = self.fullest
        held, largest = show_bytes(stage.trainer_bytes), "%s %s" % (show_bytes(self.largest.bytes), self.largest.name)
        if stage.limit_bytes is None:
            start = "needs %s; no limit is known" % held
        else:
            start = "%s: %s of %s" % ("fits" if self.fits else "does not fit", held, show_bytes(stage.limit_bytes))
        return "%s on stage %d, most of it %s\nthe peak is at %s" % (start, stage.stage, largest, stage.peak_at)

    def table(self) -> Table:
        unit = Unit(max(stage.trainer_bytes for stage in self.stages))
        names = list(dict.fromkeys(part.name for stage in self.stages for part in stage.parts))
        rows = []
        for stage in self.stages:
            sizes = {part.name: part.bytes for part in stage.parts}
            limit = "" if stage.limit_bytes is None else unit.count(stage.limit_bytes)
            cells = [unit.count(sizes.get(name, 0)) for name in names]
            held = [unit.count(stage.trainer_bytes), limit, unit.count(stage.program_bytes)]
            rows.append(["stage %d" % stage.stage, *held, *cells])
        return Table(["memory in " + unit.name, "trainer", "limit", "mf's program", *names], rows)

    def records(self) -> List[Dict[str, Any]]:
        """A row for each part of each stage."""
        return [{"stage": stage.stage, "part": part.name, "bytes": part.bytes} for stage in self.stages for part in stage.parts]


@dataclass(frozen=True)
class Limit:
    """What the step waits for on its critical path, such as matmul, and its share of the step."""

    kind: str
    seconds: float
    share: float


class Simulation(Result):
    """The time of a step on a target, and what limits it."""

    def __init__(self, found: Dict[str, Any]):
        super().__init__(found)
        self.target: str = found["target"]
        self.seconds: float = found["step_seconds"]
        self.tokens_per_second_per_npu: float = found["tokens_per_second_per_npu"]
        self.tokens_per_second: float = self.tokens_per_second_per_npu * found["num_ranks"]
        self.model_flops_utilization: float = found["model_flops_utilization"]
        path = sorted(found["critical_path"], key=lambda entry: -entry["seconds"])
        #: What the step waits for, largest first.
        self.limits: List[Limit] = [Limit(entry["kind"], entry["seconds"], entry["seconds"] / self.seconds) for entry in path]

    def summary(self) -> str:
        limits = ", ".join("%s (%.0f %%)" % (limit.kind, 100 * limit.share) for limit in self.limits[:4])
        speed = "%.1f tokens/s per NPU, %.1f in all" % (self.tokens_per_second_per_npu, self.tokens_per_second)
        return "%s per step on %s, %s\nlimited by %s" % (show_seconds(self.seconds), self.target, speed, limits)

    def table(self) -> Table:
        columns = ["busy", "bubble", "communication", "stall"]
        rows = [
            ["stage %d" % row["stage"], *("%.1f %%" % (100 * row[name + "_seconds"] / self.seconds) for name in columns)]
            for row in self.records()
        ]
        return Table(["time", *columns], rows)

    def records(self) -> List[Dict[str, Any]]:
        """A row for each stage."""
        return [
            {
                "stage": stage["stage"],
                "busy_seconds": stage["busy_seconds"],
                "bubble_seconds": stage["bubble_seconds"],
                "communication_seconds": stage["exposed_communication_seconds"],
                "stall_seconds": stage["stall_seconds"],
            }
            for stage in self._found["stages"]
        ]


class Plan(Result):
    """The settings with which a step is shortest and fits, beside those of the YAML."""

    def __init__(self, found: Dict[str, Any], yaml: str, html: str):
        super().__init__(found)
        self._yaml, self._html = yaml, html
        self.seconds: float = found["planned"]["seconds"]
        self.given_seconds: float = found["given"]["seconds"]
        #: Whether the YAML as it is fits.
        self.given_fits: bool = found["given"]["fits"]
        self.limit_bytes: int = found["limit_bytes"]

    def yaml(self) -> str:
        """The YAML with the settings."""
        return self._yaml

    def html(self) -> str:
        """A page about the plan, which opens without a network."""
        return self._html

    def summary(self) -> str:
        times = "%s per step, %s as given" % (show_seconds(self.seconds), show_seconds(self.given_seconds))
        return times + ("" if self.given_fits else ", which does not fit into %s" % show_bytes(self.limit_bytes))

    def table(self) -> Table:
        unit = Unit(self.limit_bytes)
        rows = [
            ["stage %d" % row["stage"], *map(unit.count, (row["given_bytes"], row["planned_bytes"], self.limit_bytes))]
            for row in self.records()
        ]
        return Table(["memory in " + unit.name, "given", "planned", "limit"], rows)

    def records(self) -> List[Dict[str, Any]]:
        """A row for each stage."""
        pairs = zip(self._found["given"]["stages"], self._found["planned"]["stages"])
        return [
            {"stage": stage, "given_bytes": given["peak_bytes"], "planned_bytes": planned["peak_bytes"]}
            for stage, (given, planned) in enumerate(pairs)
        ]


@dataclass(frozen=True)
class Row:
    """A configuration that was compared. Without a step, `problem` says why and the numbers are None."""

    name: str
    #: The keys that differ from the first configuration, as YAML.
    changes: str
    seconds: Optional[float] = None
    tokens_per_second_per_npu: Optional[float] = None
    fullest_stage: Optional[int] = None
    trainer_bytes: Optional[int] = None
    fits: Optional[bool] = None
    problem: Optional[str] = None


def _read_row(found: Dict[str, Any]) -> Row:
    if "problem" in found:
        return Row(found["name"], found.get("changes", ""), problem=found["problem"])
    fullest = next(stage for stage in found["stages"] if stage["stage"] == found["fullest_stage"])
    return Row(
        name=found["name"],
        changes=found["changes"],
        seconds=found["seconds"],
        tokens_per_second_per_npu=found["tokens_per_second_per_npu"],
        fullest_stage=found["fullest_stage"],
        trainer_bytes=fullest["held_bytes"],
        fits=all(stage["fits"] for stage in found["stages"]),
    )


class Comparison(Result):
    """Memory and time of several configurations."""

    def __init__(self, found: Dict[str, Any]):
        super().__init__(found)
        self.target: str = found["target"]
        self.rows: List[Row] = [_read_row(row) for row in found["rows"]]

    def summary(self) -> str:
        problems = ["%s: %s" % (row.name, row.problem) for row in self.rows if row.problem is not None]
        return "\n".join(["timed on %s" % self.target, *problems])

    def table(self) -> Table:
        unit = Unit(max(row.trainer_bytes or 0 for row in self.rows))
        first = self.rows[0].seconds
        rows = []
        for row in self.rows:
            if row.seconds is None or row.trainer_bytes is None or not first:
                continue
            slower = "" if row is self.rows[0] else "%+.1f %%" % (100 * (row.seconds / first - 1))
            fits = "yes" if row.fits else "no"
            speed = "%.1f" % (row.tokens_per_second_per_npu or 0)
            rows.append([row.name, unit.count(row.trainer_bytes), fits, "%.4g" % row.seconds, slower, speed])
        return Table(["configuration", unit.name, "fits", "s", "time", "tokens/s/NPU"], rows)

    def records(self) -> List[Dict[str, Any]]:
        """A row for each configuration."""
        return [vars(row) for row in self.rows]


class Training(Result):
    """The steps that were run."""

    def __init__(self, found: Dict[str, Any]):
        super().__init__(found)
        self.losses: List[float] = [step["loss"] for step in found["steps"]]

    def summary(self) -> str:
        return "%d steps, loss %.4f to %.4f" % (len(self.losses), self.losses[0], self.losses[-1])

    def table(self) -> Table:
        columns = ["loss", "global_norm", "learning_rate"]
        rows = [["step %d" % step["step"], *("%.6g" % step[name] for name in columns)] for step in self._found["steps"]]
        return Table(["", *columns], rows)

    def records(self) -> List[Dict[str, Any]]:
        """A row for each step."""
        steps: List[Dict[str, Any]] = self._found["steps"]
        return steps
