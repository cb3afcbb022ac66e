# SPDX-License-Identifier: Apache-2.0
"""Breaks each collective of lowered steps, which must then be refused.

usage: collective_mutations.py [--part=K/N] BIN_FOLDER LLAMA_YAML WORK_FOLDER

Lowers a small Llama in several layouts, and a layer of DeepSeek-V4 on ranks that share sequences, of single operators and of
fused kernels, and a layer with experts without a capacity on ranks that share them out, and, for each collective of each stage, leaves it out, puts it over other axes of as many ranks, takes the largest
instead of the sum or the other way round, takes a broadcast instead, and puts
it behind the collective that follows, for all ranks of the stage. Also counts
the parts of a buffer in another order of axes, or has them begin elsewhere, and takes other rows of keys and tokens from
the rank before. Exchanges of rows get the counts of what is sent and received the wrong way round or one of them twice, and do not
wait for what they read, or what reads their result does not wait. mf-opt
--ascend-verify-program must refuse the step, or a run of it end with counts of
rows on which ranks do not agree, or give the losses and gradients of the
unbroken one, bit for bit. Prints how many mutations of each
kind were refused, and by which rule.
"""

import collections
import concurrent.futures
import itertools
import json
import os
import re
import subprocess
import sys

import detection
import dynamic_configurations
import parts
import training

MODEL = {
    "seq_length": 16, "hidden_size": 32, "intermediate_size": 64, "vocab_size": 64, "num_layers": 2,
    "num_heads": 4, "n_kv_heads": 4, "batch_size": 2,
}  # fmt: skip
# A layer whose ranks gather the last keys and tokens of the part before, and all entries. They have their weights whole.
HYBRID = dict(
    dynamic_configurations.DEEPSEEK4, num_hidden_layers=1, num_nextn_predict_layers=0, num_hash_layers=0,
    compress_ratios=[4], use_attn_mask_compression=True, dsa_indexer_loss_coeff=0.5,
)  # fmt: skip
# The same in fused kernels, whose window is 128 tokens.
FUSED = dict(dynamic_configurations.fuse(HYBRID), seq_length=264, num_attention_heads=2)
# Rows that go to experts of other ranks and back.
EXPERTS = dict(
    dynamic_configurations.DEEPSEEK, num_hidden_layers=1, num_nextn_predict_layers=0, first_k_dense_replace=0,
    multi_latent_attention="False", num_key_value_heads=4, seq_length=16, n_routed_experts=4, num_experts_per_tok=2, n_group=0,
)  # fmt: skip
# Sizes of dp, cp, mp and pp, and lines of the YAML, or a model of the dynamic graph and how many ranks share experts out.
LAYOUTS = {
    "tensors": (2, 1, 2, 1, "use_seq_parallel: False, vocab_emb_dp: False", "enable_parallel_optimizer: False"),
    "sequences": (2, 1, 2, 2, "use_seq_parallel: True", "enable_parallel_optimizer: True, parallel_optimizer_config: {parallel_optimizer_threshold: 0}"),
    "contexts": (1, 2, 2, 1, "context_parallel_algo: ulysses_cp", "enable_parallel_optimizer: True, parallel_optimizer_config: {optimizer_level: level2, parallel_optimizer_threshold: 0}"),
    "entries": (1, 2, 1, 1, HYBRID, 1),
    "fused entries": (1, 2, 1, 1, FUSED, 1),
    "experts": (2, 1, 2, 1, EXPERTS, 2),
    "all": (2, 2, 2, 2, "use_seq_parallel: True, vocab_emb_dp: False", "enable_parallel_optimizer: True, parallel_optimizer_config: {optimizer_level: level3, parallel_optimizer_threshold: 0}"),
}  # fmt: skip
SHARED_SEQUENCES = "dense_fsdp_shard_size", 1
# Kinds and rules that refuse at least one of them.
WANTED = [("other rows", "computation"), ("axes reversed", "axis"), ("another begin", "axis"), ("left out", "axis"), ("left out", "memory"), ("over other axes", "axis")]
# Seldom enough that a part may not have them.
WANTED_IN_ALL = [("counts swapped", "computation"), ("wait left out", "memory"), ("event left out", "memory")]
COLLECTIVE = re.compile(r"(\s*)(%\d+) = ascend\.collective (\w+) (\S+) to (\S+)(?: counts \S+ \S+)? over <([^>]*)>(.*)")
SLICE = re.compile(
    r'"aclnnSliceV2".*sizes = array<i64: ([^>]*)>, starts = array<i64: ([^>]*)>.*\.halo" : \(!ascend\.buffer<([\dx]+)xf'
)
RULES = {
    "axis": "which over '",
    "end of the step": "the step leaves in it",
    "memory": r"\breads\b|\bwrites\b",
    "channels": "channel '",
    "progress": "never comes to its end",
    "sizes": "expected .* over .* ranks to make|expected one part",
    "parser": "does not dominate|undeclared SSA|use of undeclared|undefined|redefinition|not defined|already",
    "computation": "expected the term",
    "dialect": "must not be|may be one buffer|same buffer|expected",
}


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)


class Step:
    """A lowered step as lines, and its collectives."""

    def __init__(self, text):
        self.lines = text.split("\n")
        mesh = re.search(r"mf\.mesh = #mf\.mesh<([^>]*)>", text)[1]
        self.sizes = {axis: int(size) for axis, size in re.findall(r"(\w+) = (\d+)", mesh)}
        self.places = [i for i, line in enumerate(self.lines) if COLLECTIVE.match(line)]

    def get_scope(self, place):
        """The lines of the routine or step around a line."""
        first = place
        while not re.search(r"ascend\.(routine|step)\b", self.lines[first]):
            first -= 1
        last = place
        while self.lines[last] != re.match(r" *", self.lines[first]).group() + "}":
            last += 1
        return first, last

    def leave_out(self, place):
        event = COLLECTIVE.match(self.lines[place]).group(2)
        first, last = self.get_scope(place)
        changed = list(self.lines)
        for i in range(first, last):
            if i == place or re.search(r"ascend\.wait @\S+ for %s$" % event, changed[i]):
                changed[i] = ""
            elif " after " in changed[i]:
                changed[i] = re.sub(r"( after |, )%s(?=[ ,:])" % event, r"\1", changed[i])
                changed[i] = changed[i].replace(" after , ", " after ").replace(", ,", ",")
                changed[i] = re.sub(r" after +(?=:|\{)", " ", changed[i])
        return changed

    def replace(self, place, pattern, by):
        changed = list(self.lines)
        changed[place] = re.sub(pattern, by, changed[place], count=1)
        return changed

    def delay(self, place):
        """Moves a collective behind the next collective of its routine."""
        first, last = self.get_scope(place)
        after = [other for other in self.places if place < other < last]
        if not after:
            return None
        changed = list(self.lines)
        changed.insert(after[0] + 1, changed[place])
        changed[place] = ""
        return changed

    def get_other_axes(self, axes):
        """Other axes of as many ranks."""
        count = lambda names: eval("*".join(["1"] + [str(self.sizes[name]) for name in names]))
        for size in range(1, len(self.sizes)):
            for names in itertools.combinations([name for name in self.sizes if self.sizes[name] > 1], size):
                if count(names) == count(axes) and set(names) != set(axes):
                    yield ", ".join(names)

    def get_static_mutations(self):
        """Parts of buffers that are counted along the same axes in another order, and tables that say that a rank's
        part begins elsewhere."""
        for place, line in enumerate(self.lines):
            if not line.strip().startswith("ascend.static"):
                continue
            for cut in re.findall(r"(?<=\[)\w+(?:, \w+)+(?=\])", line.partition(" over ")[2]):
                axes = [name for name in cut.split(", ") if self.sizes[name] > 1]
                if len(axes) > 1:
                    yield "axes reversed", place, self.replace(place, r"\[%s\]" % cut, "[%s]" % ", ".join(axes[::-1]))
            if "slice" in line:
                yield "another begin", place, self.replace(place, "(coordinate, value = )", r"\g<1>2")

    def get_row_mutations(self):
        """Rows for the rank behind, or from the rank before, that begin one earlier or later."""
        for place, line in enumerate(self.lines):
            found = SLICE.search(line)
            if not found:
                continue
            sizes, starts, shape = ([int(number) for number in re.findall(r"\d+", text)] for text in found.groups())
            for dim, (size, start, extent) in enumerate(zip(sizes, starts, shape)):
                for other in (start - 1, start + 1):
                    if 0 <= other <= extent - size:
                        changed = starts[:dim] + [other] + starts[dim + 1 :]
                        text = "starts = array<i64: %s>" % ", ".join(map(str, changed))
                        yield "other rows", place, self.replace(place, "starts = array<[^>]*>", text)

    def get_exchange_mutations(self, place):
        """Of an exchange of as many rows as counts say."""
        for kind, by in (("counts swapped", r"\2, \1"), ("counts taken twice", r"\1, \1"), ("counts taken twice", r"\2, \2")):
            yield kind, place, self.replace(place, r"counts (%\w+), (%\w+)", "counts " + by)
        yield "event left out", place, self.replace(place, r" after %\w+", "")
        event = COLLECTIVE.match(self.lines[place]).group(2)
        first, last = self.get_scope(place)
        for wait in range(first, last):
            if re.search(r"ascend\.wait @\S+ for %s$" % event, self.lines[wait]):
                yield "wait left out", wait, [*self.lines[:wait], "", *self.lines[wait + 1 :]]

    def get_mutations(self):
        """Kinds and lines."""
        yield from self.get_row_mutations()
        for kind, place, lines in self.get_static_mutations():
            if lines != self.lines:
                yield kind, place, lines
        for place in self.places:
            _, _, kind, source, target, axes, rest = COLLECTIVE.match(self.lines[place]).groups()
            yield "left out", place, self.leave_out(place)
            if "stages" not in axes:
                for other in self.get_other_axes(axes.split(", ")):
                    yield "over other axes", place, self.replace(
                        place, r'over <[^>]*> channel "[^"]*"', 'over <%s> channel "another"' % other
                    )
            if kind == "all_to_all_v":
                yield from self.get_exchange_mutations(place)
            if kind == "all_reduce":
                changed = self.replace(place, r" \{reduction = [^}]*\}", "")
                if changed == self.lines:
                    changed = self.replace(place, r" : <", " {reduction = #ascend<reduction max>} : <")
                yield "another reduction", place, changed
                yield "broadcast", place, self.replace(place, "all_reduce", "broadcast")
            delayed = self.delay(place)
            if delayed:
                yield "delayed", place, delayed


class Checks:
    def __init__(self, part, bin_folder, yaml, work):
        self.part = part
        self.bin, self.work = bin_folder, work
        self.yaml = open(yaml).read()
        with open(self.path("data.txt"), "wb") as file:
            file.write(bytes(i * i % 64 for i in range(5000)))
        self.counts = collections.Counter()
        self.problems = 0

    def path(self, name):
        return os.path.join(self.work, name)

    def tool(self, name, *arguments):
        return run(os.path.join(self.bin, name), *arguments)

    def lower(self, name, dp, cp, mp, pp, layout, parallel):
        yaml, model, step = (self.path(name + end) for end in (".yaml", ".model.mlir", ".mlir"))
        if isinstance(layout, dict):
            os.environ["RANK_SIZE"] = str(dp * cp * mp)
            ranks = {"data": dp, "context": cp, "tensor": mp, "expert": parallel}
            shards = dict([SHARED_SEQUENCES]) if cp > 1 else {}
            dynamic_configurations.Configuration(layout, ranks, shards, (1, 2 // dp)).write(yaml)
        else:
            training.write_layout(yaml, self.yaml, MODEL, dp, cp, mp, pp, 2, layout, parallel)
        for arguments in (
            ("mf-translate", "--import-mindformers", yaml, "-o", model),
            ("mf-opt", "--quiet", "--recompute-config=" + yaml, model, "-o", step),
            ("mf-opt", "--ascend-verify-program", step, "-o", "/dev/null"),
        ):
            result = self.tool(*arguments)
            if result.returncode != 0:
                sys.exit("%s: %s%s" % (name, result.stdout, result.stderr))
        return step

    def get_bits(self, step):
        """Losses and gradients of two steps, or why there are none."""
        report, gradients = step + ".json", step + ".safetensors"
        result = self.tool("mf-run", step, "--steps", 2, "--data", self.path("data.txt"), "--threads", 1, "--quiet",
                           "--report", report, "--dump-gradients", gradients)  # fmt: skip
        if result.returncode != 0:
            return result.stderr
        return [step["loss"] for step in json.load(open(report))["steps"]], open(gradients, "rb").read()

    def check(self, name, number, kind, lines, place, expected):
        """What became of a mutation."""
        path = self.path("%s.%d.mlir" % (name, number))
        open(path, "w").write("\n".join(lines))
        result = self.tool("mf-opt", "--ascend-verify-program", path, "-o", "/dev/null")
        outcome = None
        if result.returncode != 0:
            message = next((line for line in result.stderr.split("\n") if "error:" in line), "")
            outcome = next((rule for rule, text in RULES.items() if re.search(text, message)), None)
            if not outcome:
                print("%s: %s at line %d: refused without a reason that helps: %s" % (name, kind, place + 1, result.stderr[:500]))
        elif (bits := self.get_bits(path)) == expected:
            outcome = "same bits"
        elif isinstance(bits, str) and "all_to_all_v of '" in bits:
            outcome = "run"
        else:
            print("%s: %s at line %d is not refused and changes the step: %s" % (name, kind, place + 1, lines[place].strip()))
        os.remove(path)
        return kind, outcome

    def check_layout(self, name, layout):
        step = self.lower(name, *layout)
        expected = self.get_bits(step)
        assert not isinstance(expected, str), (name, expected)
        mutations = list(Step(open(step).read()).get_mutations())
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            futures = [
                pool.submit(self.check, name, number, kind, lines, place, expected)
                for number, (kind, place, lines) in self.part.select(enumerate(mutations))
            ]
        for future in futures:
            kind, outcome = future.result()
            self.counts[kind, outcome] += 1
            self.problems += outcome is None


def main():
    part = parts.pop_part()
    checks = Checks(part, *sys.argv[1:4])
    for name, layout in LAYOUTS.items():
        checks.check_layout(name, layout)
    for (kind, outcome), count in sorted(checks.counts.items(), key=str):
        print("%s: %d %s" % (kind, count, outcome if outcome in ("same bits", None) else "refused by " + outcome))
    # Other proofs refuse most of what this one would, so that a problem shows a proof that is not there. Parts
    # smaller than an eighth, of over a thousand mutations, may not have all cases.
    for case in WANTED + WANTED_IN_ALL if part.is_whole() else WANTED if part.count <= 8 else []:
        if not checks.counts[case]:
            checks.problems += 1
            print("%s: none refused by %s" % case)
    if part.is_whole() and sum(checks.counts.values()) < 100:
        checks.problems += 1
        print("fewer than 100 mutations were tried")
    ends = collections.Counter()
    for (_, outcome), count in checks.counts.items():
        ends[outcome if outcome in ("same bits", None) else "refused"] += count
    detection.print_detection("collectives", ends["refused"], ends["same bits"], ends[None])
    print("%d mutations, %d problems" % (sum(checks.counts.values()), checks.problems))
    sys.exit(1 if checks.problems else 0)


if __name__ == "__main__":
    main()
