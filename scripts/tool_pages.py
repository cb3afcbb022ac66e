#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a page for each tool from its --help: roff for man, or Markdown.

usage: tool_pages.py --format={man,markdown} --output=FOLDER TOOL...
"""

import argparse
import pathlib
import re
import subprocess


class Option:
    """An option or one of its values, with the text behind it."""

    def __init__(self, indent, name, text):
        self.indent = indent
        self.name = name
        self.text = text


def run(tool, *arguments):
    return subprocess.run([tool, *arguments], capture_output=True, text=True, check=True).stdout


def parse_sections(text):
    """Splits a help text into {title: lines}; lines before the first title are dropped."""
    sections = {}
    current = None
    for line in text.splitlines():
        match = re.match(r"^([A-Z]{5,}):\s*(.*)$", line)
        if match:
            current = sections.setdefault(match[1], [])
            if match[2]:
                current.append(match[2])
        elif current is not None:
            current.append(line)
    return sections


def parse_options(lines):
    """Groups of options: [(title, [Option])]."""
    groups = []
    for line in lines:
        option = re.match(r"^( +)(\S.*?) +- +(.*)$", line)
        if option:
            if not groups:
                groups.append(("Options", []))
            groups[-1][1].append(Option(len(option[1]), option[2], option[3]))
        elif re.match(r"^\S.*:$", line):
            groups.append((line[:-1], []))
        elif line.strip() and groups:
            # A heading among options, such as `Passes:`.
            groups[-1][1].append(Option(len(line) - len(line.lstrip()), line.strip(), ""))
    return [group for group in groups if group[1]]


def parse_verb(tool, verb):
    """The options of a verb, with the verb before each title."""
    if verb == "help":
        return []
    options = parse_sections(run(tool, verb, "--help"))["OPTIONS"]
    return [(f"{verb}: {title}", group) for title, group in parse_options(options) if title != "Generic Options"]


def trim(lines):
    while lines and not lines[0].strip():
        lines = lines[1:]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


class Tool:
    """What the help of a tool says, by parts."""

    def __init__(self, path):
        self.name = pathlib.Path(path).name
        sections = parse_sections(run(path, "--help"))
        overview = trim(sections.pop("OVERVIEW"))
        self.summary = re.sub(rf"^{self.name}: ", "", overview[0]).rstrip(":")
        self.description = trim(overview[1:])
        usage = " ".join(line.strip() for line in sections.pop("USAGE") if line.strip())
        self.usage = usage if usage.startswith(self.name) else f"{self.name} [options]"
        self.groups = parse_options(sections.pop("OPTIONS"))
        for title, verbs in list(self.groups):
            if title == "Verbs":
                self.groups += [group for verb in verbs for group in parse_verb(path, verb.name)]
        self.sections = {title: trim(lines) for title, lines in sections.items()}
        self.version = re.search(r"mf (\S+)", run(path, "--version"))[1]


def escape(text):
    """Text that roff takes as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def write_man(tool):
    lines = [f'.TH {tool.name.upper()} 1 "" "mf {tool.version}" "User Commands"']
    lines += [".SH NAME", f"{escape(tool.name)} \\- {escape(tool.summary)}"]
    lines += [".SH SYNOPSIS", escape(tool.usage)]
    if tool.description:
        lines += [".SH DESCRIPTION"]
        lines += [escape(line) if line.strip() else ".PP" for line in tool.description]
    lines += [".SH OPTIONS"]
    for title, options in tool.groups:
        lines.append(f".SS {escape(title)}")
        for option in options:
            lines += [".TP", f"\\fB{escape(option.name)}\\fR", escape(option.text) or "\\&"]
    for title, text in tool.sections.items():
        lines += [f".SH {title}", ".nf"] + [escape(line) for line in text] + [".fi"]
    return "\n".join(lines) + "\n"


def write_markdown(tool):
    lines = [f"# {tool.name}", "", tool.summary[:1].upper() + tool.summary[1:] + ".", ""]
    lines += tool.description + [""]
    lines += ["```", tool.usage, "```", ""]
    for title, options in tool.groups:
        lines += [f"## {title}", "", "| option | meaning |", "|---|---|"]
        for option in options:
            name = option.name.replace("|", "\\|")
            lines.append(f"| `{name}` | {option.text.replace('|', chr(92) + '|')} |")
        lines.append("")
    for title, text in tool.sections.items():
        lines += [f"## {title.capitalize()}", "", "```"] + text + ["```", ""]
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", choices=["man", "markdown"], required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("tools", nargs="+")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    write, suffix = {"man": (write_man, ".1"), "markdown": (write_markdown, ".md")}[arguments.format]
    for path in arguments.tools:
        tool = Tool(path)
        (arguments.output / (tool.name + suffix)).write_text(write(tool))


if __name__ == "__main__":
    main()
