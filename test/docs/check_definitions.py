# SPDX-License-Identifier: Apache-2.0
"""Checks the examples in the descriptions of passes, operators and attributes.

usage: check_definitions.py BUILD_FOLDER LLVM_TOOLS LLVM_INCLUDE_FOLDER

Every ```mlir block of a description in passes/Passes.td and dialects/*/*.td must
be an excerpt of what the tools print.

A pass is run in the training step of examples/two_layers.mlir as each of
examples/two_layers*.yaml says, and in that of the same model with products in bf16. A block is IR behind the pass, or IR before it,
`// becomes`, IR behind it; `// or ...` begins another IR behind it. The fusions
and the sharding passes also run on programs of their tests. A pass that
is not part of the step, or whose example has `// prints` or `// fails:`, runs on
the program that the step ends with, or on IR inside the step: comments after `// prints` are what it
prints, those after `// fails:` its error if the lines that end in `// removed`
are taken out. `// prints with OPTIONS` runs the pass with options.

Any other block must be in the IR of one of these steps or of a test in
test/dialects, as mf-opt prints it.

In an excerpt `...` stands for anything in a line, as a line of its own for any
number of lines, `{ ... }` for a region; names of values stand for any names, the
same everywhere; a line break is where an operator is too long.
"""

import glob
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test"))
import variants

TRAINING = "test/passes/Inputs/training.mlir"
# Where there is something to fuse, other axes than stages, or pieces: what runs on the programs of which files.
SHARDED = [
    ("mf-insert-adapters", "test/passes/adapters/Inputs/one_linear.mlir"),
    ("mf-fuse-rotary", TRAINING, "test/passes/fuse/fuse-rotary.mlir"),
    ("mf-fuse-swiglu", TRAINING, "test/passes/fuse/fuse-swiglu.mlir"),
    ("mf-group-matmuls", TRAINING, "test/passes/fuse/group-matmuls.mlir"),
    ("mf-fuse-token-permute", TRAINING, "test/passes/fuse/fuse-token-permute.mlir"),
    ("mf-fuse-top-k-router", TRAINING, "test/passes/fuse/fuse-top-k-router.mlir"),
    ("mf-fuse-hyper-connections", TRAINING, "test/passes/fuse/Inputs/streams.mlir", "test/passes/fuse/fuse-hyper-connections.mlir"),
    ("mf-split-sequence", "test/passes/sequence/Inputs/one_layer.mlir"),
    ("mf-chunk-loss{chunks=2}", "test/passes/sequence/Inputs/one_loss.mlir"),
    ("mf-propagate-layouts,mf-lower-reshards,mf-localize", "test/passes/shard/Inputs/one_layer.mlir"),
    ("mf-shard-optimizer", "test/passes/optimizer/Inputs/shared_weight.mlir"),
    ("mf-account-trainer", "test/passes/trainer/Inputs/one_loss.mlir"),
    ("mf-reduce-in-backward", "test/passes/optimizer/Inputs/summed_weight.mlir"),
    ("mf-interleave-rows", "test/passes/shard/interleave-rows.mlir"),
    ("mf.chunk(mf-overlap-copies)", TRAINING, "test/passes/overlap/overlap-copies.mlir"),
]
BLOCK = re.compile(r"```mlir\n(.*?)```", re.DOTALL)
SEPARATOR = re.compile(r"^ *// ((?:becomes|or|prints|fails)\b.*)\n", re.MULTILINE)
DUMP = re.compile(r"^// -----// IR Dump (Before|After) \w+ \(([\w-]+).*//----- //\n", re.MULTILINE)
TOKEN = re.compile(r"\{ \.\.\. \}|\n *\.\.\.(?= *\n|$)|\.\.\.|%[\w.#]+|\s*\n\s*|\s+|.")


def compile_excerpt(text):
    """A regular expression that finds an excerpt."""
    names, parts = {}, []
    for token in TOKEN.findall("\n" + text.strip("\n")):
        if token == "{ ... }":
            parts.append(r"\{.*?\n *\}")
        elif token.strip() == "..." and "\n" in token:
            parts.append(r"[ \t]*\n(?:[^\n]*\n)*?")
        elif token == "...":
            parts.append(r"[^\n]*?")
        elif token.startswith("%"):
            known = token in names
            group = names.setdefault(token, "v%d" % len(names))
            parts.append("(?P=%s)" % group if known else r"(?P<%s>%%[\w.#]+)" % group)
        elif token.isspace():
            parts.append(r"\s*" if "\n" in token else " +")
        else:
            parts.append(re.escape(token))
    return re.compile("".join(parts) + r"[ \t]*(?:\n|$)", re.DOTALL)


def search(excerpt, texts):
    """The indices of texts that have an excerpt, each when it is asked for."""
    pattern = compile_excerpt(excerpt)
    return (index for index, text in enumerate(texts) if pattern.search(text))


def find(excerpt, texts):
    return list(search(excerpt, texts))


def expand(files):
    """The programs of files, as variants.py reads them."""
    text = "\n\n".join(open(os.path.join(ROOT, file)).read() for file in files)
    return variants.SEPARATOR.join(variants.expand(text))


def uncomment(text):
    return re.sub(r"^ *// ?", "", text, flags=re.MULTILINE)


class Checker:
    def __init__(self, build, llvm_tools, include):
        self.mf_opt = os.path.join(build, "bin", "mf-opt")
        self.tblgen = [os.path.join(llvm_tools, "llvm-tblgen"), "--dump-json", "-I", include, "-I", ROOT]
        self.files = {os.path.basename(path) for path in glob.glob(os.path.join(ROOT, "*", "*", "*.td"))}
        self.files |= {os.path.basename(path) for path in glob.glob(os.path.join(ROOT, "passes", "*.td"))}
        self.problems = 0
        self.count = 0
        # By pass: the IR before and behind each of its runs.
        self.before, self.after = {}, {}
        self.programs = []
        for config in sorted(glob.glob(os.path.join(ROOT, "examples", "two_layers*.yaml"))):
            step = "builtin.module(mf-training-step{config=%s})" % config
            self.programs.append(self.run_pipeline(step, os.path.join("examples", "two_layers.mlir")))
        # Where parameters are converted.
        self.run_pipeline("builtin.module(mf-training-step{config=%s cast-once=true})"
                          % os.path.join(ROOT, "examples/two_layers.yaml"), "test/passes/cast/Inputs/two_layers_bf16.mlir")
        # Where functions of CANN need memory beside operands.
        self.run_pipeline("builtin.module(mf-training-step{config=%s for-cann=true})"
                          % os.path.join(ROOT, "examples/two_layers.yaml"), os.path.join("examples", "two_layers.mlir"))
        for passes, *files in SHARDED:
            self.run_pipeline("builtin.module(mf.model(%s))" % passes, *files)

    def run_pipeline(self, pipeline, *files):
        result = subprocess.run(
            [self.mf_opt, "--pass-pipeline=" + pipeline, "--mlir-disable-threading", "--split-input-file",
             "--mlir-print-ir-before-all", "--mlir-print-ir-after-all"],
            input=expand(files), check=True, capture_output=True, text=True,
        )  # fmt: skip
        pieces = DUMP.split(result.stderr)[1:]
        for when, argument, text in zip(pieces[::3], pieces[1::3], pieces[2::3]):
            table = self.before if when == "Before" else self.after
            table.setdefault(argument, []).append(text)
        return result.stdout

    def report(self, name, problem, excerpt):
        self.problems += 1
        print("%s: %s:\n%s" % (name, problem, excerpt.rstrip()))

    def records(self, file):
        command = [*self.tblgen, os.path.join(ROOT, file)]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

    def blocks(self, records):
        """Every record that describes something with an example, and the example."""
        for name, record in sorted(records.items()):
            if not isinstance(record, dict) or not isinstance(record.get("description"), str):
                continue
            # Only records that are defined here count, not those of MLIR's files.
            if not {place.split(":")[0] for place in record["!locs"]} & self.files:
                continue
            for block in BLOCK.findall(record["description"]):
                self.count += 1
                yield name, record, block

    def check_pass(self, name, argument, block):
        pieces = SEPARATOR.split(block)
        first, rest = pieces[0], list(zip(pieces[1::2], pieces[2::2]))
        if argument not in self.after or any(kind.startswith(("prints", "fails")) for kind, _ in rest):
            self.check_other_pass(name, argument, first, rest)
            return
        if not rest:
            rest, first = [("becomes", first)], "..."
        for kind, excerpt in rest:
            before = find(first, self.before[argument])
            after = find(excerpt, self.after[argument])
            if not before:
                self.report(name, "expected the IR before it in a training step to have", first)
            elif not set(before) & set(after):
                self.report(name, "expected it to make of this", excerpt)

    def check_other_pass(self, name, argument, first, rest):
        removed = [line.split("// removed")[0].rstrip() for line in first.splitlines() if "// removed" in line]
        context = re.sub(r" *// removed *$", "", first, flags=re.MULTILINE)
        texts = [*self.programs, *sum(self.before.values(), [])]
        matching = find(context, texts)
        if not matching:
            self.report(name, "expected a program of a training step to have", context)
        if not rest:
            self.report(name, "cannot run an example that neither prints nor fails", first)
        for (kind, excerpt), number in ((r, n) for r in rest for n in matching[:1]):
            text = texts[number]
            start = compile_excerpt(context).search(text).start()
            for line in removed:
                found = compile_excerpt(line).search(text, start)
                text = text[: found.start()] + "\n" + text[found.end() :]
            kind, _, options = kind.partition(" with ")
            result = subprocess.run(
                [self.mf_opt, "--%s=%s" % (argument, options.rstrip(":")), "-o", os.devnull],
                input=text, capture_output=True, text=True,
            )  # fmt: skip
            expected_code = {"prints": 0, "fails": 1}.get(kind.rstrip(":"))
            if result.returncode != expected_code:
                self.report(name, "returned %d for an example that" % result.returncode, kind)
            elif not find(uncomment(excerpt), [result.stderr]):
                self.report(name, "expected it to print this", uncomment(excerpt))

    def check_dialect(self, file, texts):
        for name, record, block in self.blocks(self.records(file)):
            if next(search(block, texts), None) is None:
                self.report(name, "expected a test of a dialect or a training step to print", block)

    def printed(self):
        """The IR of the dialects' tests, which are short, and of all steps."""
        texts = []
        for test in sorted(glob.glob(os.path.join(ROOT, "test", "dialects", "*", "*.mlir"))):
            if not test.endswith("-errors.mlir"):
                command = [self.mf_opt, "--split-input-file", "--allow-unregistered-dialect"]
                texts.append(subprocess.run(command, input=expand([test]), capture_output=True, text=True).stdout)
        return texts + [*sum(self.before.values(), []), *sum(self.after.values(), []), *self.programs]

    def run(self):
        for name, record, block in self.blocks(self.records("passes/Passes.td")):
            self.check_pass(name, record["argument"], block)
        texts = self.printed()
        for file in ("dialects/mf/MfOps.td", "dialects/ascend/AscendOps.td"):
            self.check_dialect(file, texts)


def main():
    checker = Checker(*map(os.path.abspath, sys.argv[1:]))
    checker.run()
    print("%d examples, %d problems" % (checker.count, checker.problems))
    sys.exit(checker.problems > 0)


if __name__ == "__main__":
    main()
