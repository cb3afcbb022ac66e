#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damages files that the tools read and looks for tools that crash or hang.

    test/fuzz/mutate_inputs.py --seed 1 --count 100000

A mutation is one damaged file, or one damaged value of an option, given to one
tool. A tool may refuse it; a crash is a tool that a signal ended, a hang one
that takes longer than --limit. Mutations depend on the seed and their number
alone, so that --only repeats one of them. The last line is the summary; the
exit code is 1 if something crashed or hung.
"""

import argparse
import concurrent.futures
import math
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import minimise

ROOT = Path(__file__).resolve().parents[2]
INPUTS = ROOT / "test" / "e2e" / "Inputs"
PROFILE = ROOT / "test" / "data" / "profile" / "ours"
PROBLEMS = ROOT / "test" / "data" / "plan"

# The most memory that a tool may use before it counts as one that does not end.
MEMORY_BYTES = 6 << 30

NUMBERS = [
    "0", "-0", "1", "-1", "2", "3", "7", "255", "4096", "65536", "2147483647",
    "2147483648", "4294967296", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "18446744073709551615", "18446744073709551616",
    "1e12", "1e18", "1e-300", "1e300", "1e308", "-1e308", "1e999", "0.5", "nan",
    "inf", "5e-324", "0x7fffffffffffffff", "1e-8", "12345678901234567890123",
]  # fmt: skip
WORDS = [
    "", "null", "true", "False", "[]", "{}", "[[]]", "[1, 2]", "\"\"", "a: b",
    "- 1", "*", ".*", "(", "\t", "\0", "\xff", "é", "#", "%", "'", "&a ", "*a",
    "!!str", "<<: *a", ",", ":", "\n", "\r\n", "}", "]", "<", ">",
]  # fmt: skip
# What layouts and experts may be: sizes of groups, and far more than there is.
SIZES = ["0", "1", "2", "3", "4", "6", "8", "16", "64", "1000", "1024", "65536", "1048576", "2147483647"]
LAYOUT_KEYS = re.compile(
    rb"^ *(?:data_parallel|model_parallel|context_parallel|expert_parallel|expert_model_parallel|pipeline_stage"
    rb"|micro_batch_num|seq_split_num|micro_batch_interleave_num|fine_grain_interleave|ulysses_degree_in_cp"
    rb"|pp_interleave_num|optimizer_weight_shard_size|parallel_optimizer_threshold|gradient_accumulation_steps|batch_size"
    rb"|seq_length|num_heads|n_kv_heads|num_experts_chosen|expert_num|moe_intermediate_size"
    rb"|shared_expert_num|first_k_dense_replace|n_group|topk_group|capacity_factor|vocab_size|hidden_size"
    rb"|mtp_depth|offset|interleave_num)\s*:\s*(-?\d+(?:\.\d*)?)\s*$",
    re.M,
)
# Neither the digits of a name such as w1 nor those of a longer number.
NUMBER = re.compile(rb"(?<![\w.])-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?![\w.])")


class Mutator:
    """Damages bytes at random."""

    def __init__(self, source, others=()):
        self.random = source
        self.others = others

    def replace(self, data, start, end, by):
        return data[:start] + by + data[end:]

    def number(self, data):
        places = list(NUMBER.finditer(data))
        if not places:
            return self.word(data)
        place = self.random.choice(places)
        number = self.random.choice(NUMBERS).encode()
        return self.replace(data, place.start(), place.end(), number)

    def word(self, data):
        start = self.random.randrange(len(data) + 1)
        end = min(len(data), start + self.random.choice([0, 0, 1, 4]))
        word = self.random.choice(WORDS).encode("latin-1")
        return self.replace(data, start, end, word)

    def lines(self, data):
        lines = data.split(b"\n")
        start = self.random.randrange(len(lines))
        end = min(len(lines), start + self.random.choice([1, 1, 2, 5]))
        taken = lines[start:end]
        how = self.random.randrange(3)
        if how != 1:
            del lines[start:end]
        if how != 0:
            target = self.random.randrange(len(lines) + 1)
            lines[target:target] = taken
        return b"\n".join(lines)

    def indent(self, data):
        lines = data.split(b"\n")
        index = self.random.randrange(len(lines))
        stripped = lines[index].lstrip()
        width = len(lines[index]) - len(stripped)
        width = max(0, width + self.random.choice([-2, -1, 1, 2, 4]))
        lines[index] = b" " * width + stripped
        return b"\n".join(lines)

    def splice(self, data):
        other = self.random.choice(self.others or [data])
        start = self.random.randrange(len(other) + 1)
        length = self.random.choice([1, 8, 64, 512])
        place = self.random.randrange(len(data) + 1)
        end = min(len(data), place + self.random.choice([0, length]))
        return self.replace(data, place, end, other[start : start + length])

    def flip(self, data):
        if not data:
            return data
        place = self.random.randrange(len(data))
        value = data[place] ^ (1 << self.random.randrange(8))
        return self.replace(data, place, place + 1, bytes([value]))

    def extreme(self, data):
        place = self.random.randrange(len(data) + 1)
        width = self.random.choice([1, 2, 4, 8])
        value = self.random.choice([b"\0", b"\xff", b"\x7f", b"\x80"]) * width
        return self.replace(data, place, min(len(data), place + width), value)

    def cut(self, data):
        return data[: self.random.randrange(len(data) + 1)]

    def size(self, data):
        """Another size of a layout, a model or its experts."""
        places = list(LAYOUT_KEYS.finditer(data))
        if not places:
            return self.number(data)
        place = self.random.choice(places)
        size = self.random.choice(SIZES).encode()
        return self.replace(data, place.start(1), place.end(1), size)

    def mutate(self, data, isText):
        ways = [self.flip, self.extreme, self.splice, self.cut]
        if isText:
            ways = 6 * [self.number] + 2 * [self.word, self.lines, self.indent]
            ways += [self.flip, self.splice, self.cut]
        for _ in range(self.random.choice([1, 1, 1, 2, 3])):
            data = self.random.choice(ways)(data)
        return data


class ForkServer:
    """A tool that has started once, and runs in copies: see ForkServer.cpp."""

    def __init__(self, library, tool):
        self.process = subprocess.Popen(
            [tool], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
            env=dict(os.environ, LD_PRELOAD=str(library)),
        )  # fmt: skip

    def run(self, command, seconds, errors):
        """The exit code of subprocess, and the end of the file `errors`."""
        words = [str(MEMORY_BYTES), str(math.ceil(seconds)), str(errors), *command]
        request = b"".join(os.fsencode(word) + b"\0" for word in words)
        self.process.stdin.write(struct.pack("=I", len(request)) + request)
        (status,) = struct.unpack("=i", self.process.stdout.read(4))
        code = os.waitstatus_to_exitcode(status)
        if code == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(command, seconds)
        return code, errors.read_bytes() if code not in (0, 1) else b""

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Campaign:
    """What is damaged, and what reads it."""

    def __init__(self, tools, folder, limit, tests=None):
        self.tools, self.folder, self.limit, self.tests = Path(tools), Path(folder), limit, tests
        self.library = self.tools.parent / "lib" / "libmfForkServer.so"
        # Each thread has tools of its own.
        self.thread, self.servers = threading.local(), []
        self.kinds = {
            "problem": self.problem,
            "target": self.target,
            "setting": self.setting,
            "report": self.report,
            "profile": self.profile,
            "bytecode": self.bytecode,
            "yaml": self.yaml,
            "layout": self.layout,
        }

    def tool(self, name, *arguments):
        return [str(self.tools / name), *map(str, arguments)]

    def prepare(self):
        """Makes what mutations start from."""
        config = ROOT / "examples" / "llama_ranks.yaml"
        model, self.step = self.folder / "model.mlir", self.folder / "step.mlir"
        report = self.folder / "report.json"
        small = ROOT / "examples" / "two_layers.yaml"
        code = self.folder / "step.mlirbc"
        for command in (
            self.tool("mf-translate", "--import-mindformers", config, "-o", model),
            self.tool("mf-opt", "--quiet", f"--recompute-config={config}", model,
                      "-o", self.step),
            self.tool("mf-run", "--simulate", "--target=910b3", "--quiet",
                      self.step, "--report", report),
            self.tool("mf-opt", "--quiet", f"--recompute-config={small}",
                      small.with_suffix(".mlir"), "--emit-bytecode", "-o", code),
        ):  # fmt: skip
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        parameters = subprocess.run(
            self.tool("mf-run", "--list-parameters", "--target=910b3"),
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        self.parameters = sorted(set(re.findall(r"^\s*([a-z]\S+)", parameters, re.M)))

        def read(paths):
            return {path.name: path.read_bytes() for path in sorted(paths)}

        self.seeds = {
            "problem": read(PROBLEMS.glob("*.json")),
            "target": read((ROOT / "targets").glob("*.mlir")),
            "report": read([report]),
            "bytecode": read([code]),
            "yaml": read([*INPUTS.glob("*.yaml"), *(ROOT / "examples").glob("*.yaml")]),
        }
        self.profiles = sorted(path for path in PROFILE.rglob("*") if path.is_file())

    def damage(self, kind, source, work, isText=True):
        """A damaged file of a kind."""
        seeds = self.seeds[kind]
        name = source.choice(sorted(seeds))
        mutator = Mutator(source, [seeds[other] for other in sorted(seeds)])
        path = work / name
        path.write_bytes(mutator.mutate(seeds[name], isText))
        return path

    # The methods below run tools one after the other, until one fails.

    def problem(self, source, work):
        path = self.damage("problem", source, work)
        return [self.tool("mf-plan", f"--problem={path}", "--time-limit=0.05")]

    def simulate(self, target, *arguments):
        return self.tool("mf-run", "--simulate", "--quiet", f"--target={target}",
                         self.step, *arguments)  # fmt: skip

    def target(self, source, work):
        return [self.simulate(self.damage("target", source, work))]

    def setting(self, source, work):
        settings = []
        for _ in range(source.choice([1, 1, 2, 4])):
            text = f"{source.choice(self.parameters)}={source.choice(NUMBERS)}"
            if source.random() < 0.2:
                text = Mutator(source).word(text.encode()).decode("latin-1")
            settings.append("--set=" + text.replace("\0", ""))
        return [self.simulate("910b3", *settings)]

    def report(self, source, work):
        path = self.damage("report", source, work)
        return [self.simulate("910b3", "--compare", path)]

    def profile(self, source, work):
        damaged = source.choice(self.profiles)
        folder = work / "profile"
        shutil.copytree(PROFILE, folder)
        path = folder / damaged.relative_to(PROFILE)
        path.write_bytes(Mutator(source).mutate(damaged.read_bytes(), True))
        return [self.tool("mf-run", f"--calibrate={folder}", "--target=910b3",
                          "-o", work / "fitted.mlir")]  # fmt: skip

    def bytecode(self, source, work):
        path = self.damage("bytecode", source, work, isText=False)
        if source.random() < 0.3:
            return [self.tool("mf-opt", path, "-o", work / "again.mlir")]
        return [self.tool("mf-run", "--simulate", "--quiet", "--target=910b3", path)]

    def yaml(self, source, work):
        return self.lower(self.damage("yaml", source, work), work)

    def layout(self, source, work):
        """A YAML that says what another number of ranks, layers or experts would be."""
        name = source.choice(sorted(self.seeds["yaml"]))
        data, mutator = self.seeds["yaml"][name], Mutator(source)
        for _ in range(source.choice([1, 1, 2, 3])):
            data = mutator.size(data)
        path = work / name
        path.write_bytes(data)
        return self.lower(path, work)

    def lower(self, path, work):
        model = work / "model.mlir"
        return [
            self.tool("mf-translate", "--import-mindformers", path, "-o", model),
            self.tool("mf-opt", "--quiet", "--advise=false", "--hbm=none",
                      f"--recompute-config={path}", model,
                      "-o", work / "step.mlir"),
        ]  # fmt: skip

    def run(self, kind, seed, number):
        """What became of one mutation: nothing, "refused", a crash or a hang."""
        work = self.folder / f"{kind}-{number}"
        work.mkdir()
        commands = self.kinds[kind](random.Random(f"{seed}:{number}"), work)
        damaged = [path for path in work.rglob("*") if path.is_file()]
        executed = (self.execute(command, work) for command in commands)
        problem = next(filter(None, executed), None)
        if problem is None or problem == "refused":
            shutil.rmtree(work)
            return problem
        if self.tests and problem.startswith("crash"):
            test, origin = Path(self.tests, f"{kind}-{number}.test"), f"Mutation {number} of seed {seed} made a tool crash"
            problem += "\n  " + minimise.write_crash_test(test, commands, damaged, self.folder, origin)
        return f"{kind} {number}: {problem}"

    def start(self, command, errors):
        """The exit code and the output of a command."""
        if self.library.exists():
            servers = self.thread.__dict__
            tool = command[0]
            if tool not in servers:
                servers[tool] = ForkServer(self.library, tool)
                self.servers.append(servers[tool])
            return servers[tool].run(command, self.limit, errors)
        memory = (MEMORY_BYTES, MEMORY_BYTES)
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, timeout=self.limit,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, memory),
        )  # fmt: skip
        return done.returncode, done.stderr

    def execute(self, command, work):
        """None if it succeeds."""
        # A tool that exceeds its memory ends as with a lack of memory.
        try:
            code, said = self.start(command, work / "stderr")
        except subprocess.TimeoutExpired:
            return f"hang of more than {self.limit} s: {' '.join(command)}"
        # A shell's code for a signal is that of a tool's own child.
        if code < 0 or code > 128:
            lines = said.decode(errors="replace").strip().splitlines()
            told = "\n  ".join(lines[:12])
            return f"crash ({code}): {' '.join(command)}\n  {told}"
        return "refused" if code else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", default="1", help="what mutations depend on")
    parser.add_argument("--count", type=int, default=1000, help="of mutations")
    parser.add_argument("--only", type=int, help="the number of one mutation")
    parser.add_argument("--kinds", default="", help="of files, with commas")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=120, help="in seconds")
    parser.add_argument("--tools", default=ROOT / "build" / "bin")
    parser.add_argument("--keep", help="folder for what crashed or hung")
    parser.add_argument("--tests", help="folder for tests of crashes, with what is left of their inputs")
    options = parser.parse_args()
    folder = Path(options.keep or tempfile.mkdtemp(prefix="mutations-"))
    folder.mkdir(parents=True, exist_ok=True)
    campaign = Campaign(options.tools, folder, options.limit, options.tests)
    kinds = options.kinds.split(",") if options.kinds else sorted(campaign.kinds)
    for kind in kinds:
        if kind not in campaign.kinds:
            parser.error(f"no kind '{kind}', expected {', '.join(campaign.kinds)}")
    campaign.prepare()
    numbers = range(options.count) if options.only is None else [options.only]
    found, refused = {"crash": 0, "hang": 0}, 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for problem in pool.map(
            lambda n: campaign.run(kinds[n % len(kinds)], options.seed, n), numbers
        ):
            if problem == "refused":
                refused += 1
            elif problem:
                found["crash" if ": crash" in problem else "hang"] += 1
                print(problem, flush=True)
    for server in campaign.servers:
        server.close()
    if not options.keep:
        shutil.rmtree(folder)
    wrong = sum(found.values())
    print(f"detection: mutated inputs: {len(numbers)} injected, {refused} detected, "
          f"{len(numbers) - refused - wrong} harmless, {wrong} missed")  # fmt: skip
    print(f"{len(numbers)} mutations, {found['crash']} crashes, {found['hang']} hangs")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
