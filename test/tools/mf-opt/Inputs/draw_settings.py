# SPDX-License-Identifier: Apache-2.0
"""Draws layer settings and compares mf-opt's log with layer_setting.py.

usage: draw_settings.py WORK_FOLDER SEED COUNT
"""

import json
import os
import random
import re
import subprocess
import sys

import layer_setting

MODEL = {
    "type": "LlamaConfig", "seq_length": 8, "hidden_size": 8, "num_heads": 2,
    "vocab_size": 16, "intermediate_size": 8, "use_flash_attention": True,
}  # fmt: skip
PATTERNS = [
    r"feed_forward\.mul", r"feed_forward\.w[13]\.matmul", r"attention\.w[qkv]\.cast", r"feed_forward",
    r"attention", r"add", r"attention_norm\.norm", r".*\.norm", r"feed_forward\.w1\.activation\.silu",
    r"ffn_norm\.norm", r"attention\.flash_attention", r".*\.(cast|mul)", r"feed_forward\.w2", r"no\.such",
]  # fmt: skip
PASSES = "builtin.module(mf-read-config{file=%s quiet=false},mf.model(mf-partition,mf-mark-memory{quiet=false}))"


class Drawer:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def one(self, *choices):
        return self.random.choice(choices)

    def count(self, most=5):
        if self.chance(20):
            return self.one(True, False)
        return -1 if self.chance(2) else self.random.randint(0, most)

    def odd(self):
        return self.one(1, 1.5, "text", None, [1, [1, 0]], [1.0], ["a", 1], [None], [[["a"]]], [[1.5]])

    def table(self, stages, chunks):
        rows = [
            self.one(True, False) if self.chance(15) else [self.count() for _ in range(stages)]
            for _ in range(chunks)
        ]
        if self.chance(6):
            rows.append([0] * stages)
        elif self.chance(4) and isinstance(rows[0], list):
            rows[0].pop()
        return rows

    def layers(self, stages, chunks):
        kind = self.random.randint(0, 9)
        if self.chance(3):
            return self.odd()
        if kind < 3:
            return self.one(True, False)
        if kind < 6:
            return [self.count() for _ in range(self.random.randint(0, stages + self.chance(5)))]
        if kind < 9:
            return self.table(stages, chunks)
        return ["a"] if self.chance(20) else []

    def indices(self, layers):
        if self.chance(3):
            return self.odd()
        if self.chance(30):
            return self.one(True, False)
        return [self.random.randint(-1, layers) for _ in range(self.random.randint(0, 3))]

    def setting(self, value):
        if self.chance(40):
            names = self.random.sample(PATTERNS, self.random.randint(0, 3))
            return {name: value() for name in names}
        if self.chance(30):
            return self.random.sample(PATTERNS, self.random.randint(1, 3))
        return value()

    def offset(self, layers, stages, chunks):
        rest = layers % (stages * chunks)
        cells = [0] * (stages * chunks)
        for _ in range(rest + self.chance(4)):
            cells[self.random.randrange(len(cells))] += 1
        if self.chance(20):
            a, b = self.random.randrange(len(cells)), self.random.randrange(len(cells))
            # Only the first and the last chunk may have no layer.
            if b in (0, len(cells) - 1) or layers // len(cells) + cells[b] > 1:
                cells[a], cells[b] = cells[a] + 1, cells[b] - 1
        if chunks > 1 or self.chance(20):
            rows = [cells[c * stages : (c + 1) * stages] for c in range(chunks)]
            return rows[0] if self.chance(10) else rows
        return rest if self.chance(10) else cells

    def entry(self, layers):
        covered = True if self.chance(20) else self.one(False, []) if self.chance(10) else None
        if covered is None:
            covered = [self.random.randint(0, layers) for _ in range(self.random.randint(1, 4))]
        return {"backward_prefetch": self.random.randint(1, 3), "layers": covered}

    def swap(self, layers):
        section = {"swap": True}
        if self.chance(30):
            section["default_prefetch"] = self.random.randint(1, 20)
        if self.chance(50):
            section["layer_swap"] = [self.entry(layers) for _ in range(self.random.randint(0, 2))]
        if self.chance(60):
            section["op_swap"] = []
            for _ in range(self.random.randint(0, 3)):
                names = self.random.sample(PATTERNS, self.random.randint(1, 2))
                name = names if self.chance(50) else names[0]
                section["op_swap"].append({"op_name": name, **self.entry(layers)})
        return section

    def case(self):
        stages, chunks = self.random.randint(1, 4), self.random.randint(1, 3)
        layers = self.random.randint(stages * chunks, 14 if stages * chunks < 14 else stages * chunks)
        config = {}
        if self.chance(35):
            config["swap_config"] = self.swap(layers)
            value = lambda: self.indices(layers)
        else:
            value = lambda: self.layers(stages, chunks)
        section = config["recompute_config"] = {}
        if self.chance(70):
            section["recompute"] = value()
        for key, percent in (
            ("select_recompute", 80),
            ("select_comm_recompute", 50),
            ("select_recompute_exclude", 25),
            ("select_comm_recompute_exclude", 15),
        ):
            if self.chance(percent):
                by_stage = lambda: self.layers(stages, chunks)
                section[key] = self.setting(by_stage if "exclude" in key else value)
        return config, layers, stages, chunks, self.offset(layers, stages, chunks)


def read_tree(path):
    names = re.search(r"mf\.cell_tree @\S+ (\[.*?\])", open(path).read(), re.DOTALL)[1]
    return layer_setting.Tree(json.loads(names))


class Models:
    """One model per number of layers."""

    def __init__(self, work):
        self.work, self.paths = work, {}

    def get(self, layers):
        if layers not in self.paths:
            model = dict(MODEL, num_layers=layers)
            yaml = self.write("model.yaml", {"model": {"model_config": model, "arch": {"type": "LlamaForCausalLM"}}})
            path = os.path.join(self.work, "model%d.mlir" % layers)
            command = ["mf-translate", "--import-mindformers", yaml, "-o", path]
            subprocess.run(command, check=True)
            self.paths[layers] = path
        return self.paths[layers]

    def write(self, name, value):
        path = os.path.join(self.work, name)
        with open(path, "w") as file:
            json.dump(value, file)
        return path


def normalize(line):
    """Items of a line in one order: of several matches it does not matter."""
    head, colon, items = line.partition(": ")
    if not line.startswith("Set "):
        return line
    items = re.split(r", (?!value=)", items)
    return head + colon + ", ".join(sorted(items))


def compare(case, models, counts):
    config, layers, stages, chunks, offset = case
    config = dict(
        config,
        parallel_config={"pipeline_stage": stages, "micro_batch_num": 2 * stages},
        parallel={"pipeline_config": {"pipeline_interleave": chunks > 1}},
        model={"model_config": {"num_layers": layers, "offset": offset, "pp_interleave_num": chunks}},
    )
    path = models.write("case.yaml", config)
    model = models.get(layers)
    result = subprocess.run(
        ["mf-opt", "--pass-pipeline=" + PASSES % path, model, "-o", os.devnull], capture_output=True, text=True
    )
    try:
        plan = layer_setting.Plan(config, read_tree(model), layers, stages, chunks, offset)
    except layer_setting.Wrong as wrong:
        if result.returncode == 0:
            return "accepted, but wrong: %s" % wrong
        if not re.search(r"case\.yaml:\d+:\d+: error: ", result.stderr):
            return "refused without a place:\n" + result.stderr
        counts["refused"] += 1
        return None
    if result.returncode != 0:
        return "refused:\n" + result.stderr
    said = [line[7:] for line in result.stderr.splitlines() if line.startswith("INFO - ")]
    ours = [normalize(line[10:]) for line in said if re.match("Formative (layer_|select_)", line)]
    ours += [normalize(line) for line in said if line.startswith("Set ")]
    theirs = plan.formative()
    for layer in range(layers):
        theirs += [normalize(line) for line in plan.lines(layer)]
    if ours != theirs:
        different = [pair for pair in zip(ours, theirs) if pair[0] != pair[1]] or [(ours, theirs)]
        return "mf-opt: %s\nreference: %s" % different[0]
    counts["accepted"] += 1
    return None


def main():
    work, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.makedirs(work, exist_ok=True)
    models, drawer = Models(work), Drawer(seed)
    failed, counts = 0, {"accepted": 0, "refused": 0}
    for number in range(count):
        case = drawer.case()
        message = compare(case, models, counts)
        if message:
            failed += 1
            print("case %d: %s\n%s" % (number, json.dumps(case), message), flush=True)
    print("%d accepted, %d refused, %d differ" % (counts["accepted"], counts["refused"], failed))
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
