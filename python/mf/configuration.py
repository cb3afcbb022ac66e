# SPDX-License-Identifier: Apache-2.0
"""A training YAML, the changes of its keys, and the questions about its step."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

from ._command import run
from .results import Comparison, Memory, Plan, Simulation, Training

PathText = Union[str, "os.PathLike[str]"]

#: The key of the YAML that has the device memory of a rank.
HBM_KEY = "context.max_device_memory"


def _show_value(value: Any) -> str:
    """Returns a value as YAML in one line."""
    if value is None:
        return "null"
    if isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return "[%s]" % ", ".join(map(_show_value, value))
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s: %s" % (_show_value(key), _show_value(item)) for key, item in value.items())
    raise TypeError("expected a value that YAML has, but got %r of type %s" % (value, type(value).__name__))


def _flatten(path: str, value: Any) -> Iterator[Tuple[str, str]]:
    """Lists the keys that a nested dict changes. A dict whose keys are not all names, such as one of patterns, is a value."""
    if isinstance(value, dict) and value and all(isinstance(key, str) and key.isidentifier() for key in value):
        for key, item in value.items():
            yield from _flatten("%s.%s" % (path, key), item)
    else:
        yield path, _show_value(value)


@dataclass(frozen=True)
class Configuration:
    """A training YAML with changes of its keys. Questions lower its step; the file is never written."""

    path: str
    changes: Tuple[Tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        return ", ".join([os.path.basename(self.path), *("%s=%s" % change for change in self.changes)])

    def with_(self, hbm: Optional[str] = None, **sections: Any) -> Configuration:
        """Returns the configuration with other values of keys.

        `hbm` is the device memory of a rank with its unit, such as "30GB": the key context.max_device_memory. Each
        other argument is a section of the YAML, such as `recompute_config={"recompute": True}`, whose other keys stay.
        """
        changed = dict(self.changes)
        if hbm is not None:
            changed[HBM_KEY] = _show_value(hbm)
        for section, value in sections.items():
            changed.update(_flatten(section, value))
        return replace(self, changes=tuple(changed.items()))

    def memory(self) -> Memory:
        """Says whether the step fits, and what fills the memory of each stage."""
        return Memory(self._check())

    def simulate(self, target: Optional[PathText] = None) -> Simulation:
        """Times the step on a target: a name of `mf targets`, or a file."""
        return Simulation(run("simulate", [*self._words(), *_option("target", target)]))

    def plan(
        self, target: Optional[PathText] = None, hbm: Optional[str] = None, time_limit: Optional[float] = None
    ) -> Plan:
        """Finds the settings with which the step is shortest and fits into `hbm`. Raises Error if none fit."""
        with self._written() as path, tempfile.TemporaryDirectory() as folder:
            yaml, page = Path(folder, "planned.yaml"), Path(folder, "plan.html")
            options = [*_option("target", target), *_option("hbm", hbm), *_option("time-limit", time_limit)]
            found = run("plan", [path, "-o", str(yaml), "--html=%s" % page, *options], renamed={path: self.path})
            return Plan(found, yaml.read_text(encoding="utf-8"), page.read_text(encoding="utf-8"))

    def train(self, data: PathText, steps: int = 1, seed: int = 0) -> Training:
        """Runs steps with real numbers on this machine. `data` is a .npy of tokens, or any file, whose bytes are tokens."""
        options = [*_option("data", data), *_option("steps", steps), *_option("seed", seed)]
        return Training(run("train", [*self._words(), *options]))

    def yaml(self) -> str:
        """Returns the text of the YAML with the changes."""
        if not self.changes:
            return Path(self.path).read_text(encoding="utf-8", errors="replace")
        text: str = self._check()["yaml"]
        return text

    def _words(self) -> List[str]:
        return [self.path, *("--set=%s=%s" % change for change in self.changes)]

    def _check(self) -> Dict[str, Any]:
        return run("check", [*self._words(), "--verify=false", "--advise=false"], codes=(0, 2))

    @contextmanager
    def _written(self) -> Iterator[str]:
        """The path of a file with the changes, for verbs that change no keys themselves."""
        if not self.changes:
            yield self.path
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, os.path.basename(self.path))
            path.write_text(self.yaml(), encoding="utf-8")
            yield str(path)


def _option(name: str, value: Any) -> List[str]:
    return [] if value is None else ["--%s=%s" % (name, os.fspath(value) if isinstance(value, os.PathLike) else value)]


def load(path: PathText) -> Configuration:
    """Returns the configuration of a training YAML. Whether the YAML is right is said by the first question."""
    path = os.fspath(path)
    with open(path, "rb"):
        return Configuration(path)


def compare(
    first: Union[Configuration, PathText],
    *others: Union[Configuration, PathText],
    target: Optional[PathText] = None,
) -> Comparison:
    """Shows memory and time of several configurations side by side; of a single one, with the ways to save memory."""
    configurations = [given if isinstance(given, Configuration) else load(given) for given in (first, *others)]
    with ExitStack() as files:
        paths = [files.enter_context(configuration._written()) for configuration in configurations]
        renamed = dict(zip(paths, (configuration.path for configuration in configurations)))
        found = run("compare", [*paths, *_option("target", target)], renamed=renamed)
    if others:
        for row, configuration in zip(found["rows"], configurations):
            row["name"] = configuration.name
    return Comparison(found)
