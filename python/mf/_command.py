# SPDX-License-Identifier: Apache-2.0
"""Runs the command `mf`, and makes exceptions and warnings of what it prints."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Dict, List, Mapping, Optional, Sequence

PACKAGED_TOOLS = Path(__file__).parent / "bin"


@dataclass(frozen=True)
class Diagnostic:
    """An error, a warning or a note, with its place in the YAML if it has one."""

    severity: str
    message: str
    file: Optional[str] = None
    line: Optional[int] = None
    column: Optional[int] = None

    def __str__(self) -> str:
        place = [str(part) for part in (self.file, self.line, self.column) if part is not None]
        return "%s%s: %s" % (":".join(place) + ": " if place else "", self.severity, self.message)


class Error(Exception):
    """What is wrong, and where. `diagnostics` has all errors and their notes; the other attributes are about the first."""

    def __init__(self, diagnostics: Sequence[Diagnostic]):
        super().__init__("\n".join(map(str, diagnostics)))
        self.diagnostics = list(diagnostics)

    @property
    def message(self) -> str:
        return self.diagnostics[0].message

    @property
    def file(self) -> Optional[str]:
        return self.diagnostics[0].file

    @property
    def line(self) -> Optional[int]:
        return self.diagnostics[0].line

    @property
    def column(self) -> Optional[int]:
        return self.diagnostics[0].column

    @property
    def advice(self) -> Optional[str]:
        """How to mend it: what the message says behind its semicolon, and the notes. None if there is neither."""
        _, _, hint = self.message.partition("; ")
        notes = [diagnostic.message for diagnostic in self.diagnostics if diagnostic.severity == "note"]
        return "\n".join([hint] * bool(hint) + notes) or None


class YamlWarning(UserWarning):
    """A warning of the command about a YAML."""


def find_command() -> str:
    """Returns the path of the command: in the folder MF_BIN, beside the package, or on PATH."""
    folder = os.environ.get("MF_BIN")
    if folder:
        found = shutil.which("mf", path=folder)
        if not found:
            raise Error([Diagnostic("error", "MF_BIN is '%s', which has no program mf; expected the folder of the tools" % folder)])
        return found
    found = shutil.which("mf", path=str(PACKAGED_TOOLS)) or shutil.which("mf")
    if not found:
        raise Error([Diagnostic("error", "there is no command mf; expected it in the folder MF_BIN, in the wheel, or on PATH")])
    return found


def parse_diagnostics(text: str, renamed: Mapping[str, str]) -> List[Diagnostic]:
    """Reads what compilers print: `file:line:column: error: message`. `renamed` has other names for files."""
    found: List[Diagnostic] = []
    for line in text.splitlines():
        match = re.match(r"(?:(.*?): )?(error|warning|note): (.*)", line)
        if not match:
            if found and line.strip():
                last = found.pop()
                found.append(Diagnostic(last.severity, last.message + "\n" + line, last.file, last.line, last.column))
            continue
        place, severity, message = match.groups()
        at = re.fullmatch(r"(.+):(\d+):(\d+)", place or "")
        if at:
            found.append(Diagnostic(severity, message, renamed.get(at[1], at[1]), int(at[2]), int(at[3])))
        elif not place or place.startswith("mf "):
            found.append(Diagnostic(severity, message))
        else:
            found.append(Diagnostic(severity, message, renamed.get(place, place)))
    return found


class _Progress:
    """A line on standard error that is overwritten, on a terminal and in a notebook."""

    def __init__(self, title: str):
        self.title = title
        self.begin = time.monotonic()
        self.width = 0
        self.is_shown = sys.stderr.isatty() or "ipykernel" in sys.modules

    def show(self, newest: str) -> None:
        if not self.is_shown:
            return
        text = "%s: %.0f s" % (self.title, time.monotonic() - self.begin)
        text = (text + (", " + newest if newest else ""))[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write("\r" + text.ljust(self.width))
        sys.stderr.flush()
        self.width = len(text)

    def clear(self) -> None:
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()


def _read(stream: IO[str], lines: List[str]) -> threading.Thread:
    thread = threading.Thread(target=lambda: lines.extend(iter(stream.readline, "")), daemon=True)
    thread.start()
    return thread


def run(
    verb: str,
    words: Sequence[str],
    codes: Sequence[int] = (0,),
    renamed: Optional[Mapping[str, str]] = None,
) -> Dict[str, Any]:
    """Runs `mf VERB WORDS` and returns its JSON. Raises Error unless it ends with one of `codes`."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        command = [find_command(), verb, "--json=%s" % answer, *words]
        printed: List[str] = []
        complaints: List[str] = []
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace"
        )
        assert process.stdout and process.stderr
        readers = [_read(process.stdout, printed), _read(process.stderr, complaints)]
        progress = _Progress("mf " + verb)
        try:
            while True:
                try:
                    process.wait(0.2)
                    break
                except subprocess.TimeoutExpired:
                    # Only a run of steps prints before it ends.
                    progress.show(printed[-1].strip() if printed and verb == "train" else "")
        finally:
            progress.clear()
            process.kill()
            process.wait()
            for reader in readers:
                reader.join()
            process.stdout.close()
            process.stderr.close()
        text = "".join(complaints)
        diagnostics = parse_diagnostics(text, renamed or {})
        if process.returncode not in codes or not answer.exists():
            _fail(verb, process.returncode, diagnostics, text)
        for diagnostic in diagnostics:
            if diagnostic.severity == "warning":
                warnings.warn(str(diagnostic), YamlWarning, stacklevel=4)
        result: Dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return result


def _fail(verb: str, code: int, diagnostics: List[Diagnostic], text: str) -> None:
    first = next((i for i, found in enumerate(diagnostics) if found.severity == "error"), None)
    if first is not None:
        raise Error([found for found in diagnostics[first:] if found.severity != "warning"])
    end = "signal %d" % -code if code < 0 else "exit code %d" % code
    raise Error([Diagnostic("error", "mf %s ended with %s%s" % (verb, end, ": " + text.strip() if text.strip() else ""))])


def main() -> None:
    """The tools as commands of a wheel: the packaged program in place of this one. `mf` is all tools by their names."""
    name = Path(sys.argv[0]).name
    program = PACKAGED_TOOLS / name
    os.execv(str(program if program.exists() else PACKAGED_TOOLS / "mf"), [name, *sys.argv[1:]])
