# SPDX-License-Identifier: Apache-2.0
"""Checks that layouts change a step's loss and gradients by rounding alone.

usage: ranks_match_one_rank.py [--part=K/N] BIN_FOLDER LLAMA_YAML WORK_FOLDER [SEED [COUNT]]

Lowers a small Llama for one rank and for several, in fixed and in randomly
drawn layouts of up to 16 ranks, some with layers in blocks of rows or several
copies of the model, and runs the same global batch. Losses and gradients must
agree to a relative 1e-5, but gradients of copies are added; sharing out the optimizer changes no
bit of gradients on level 1, and updates by no more than 1e-6; within a layout
recompute, also of communication, swap, threads and how far collectives overlap
change no bit; each rank needs what was planned. In bf16, too, the optimizer's
shards change no gradient. A checkpoint resumes on its own layout with the same
bits, and on others.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys

import numpy
import parts
import safetensors
import training

MODEL = {
    "seq_length": 16, "hidden_size": 32, "intermediate_size": 64, "vocab_size": 256,
    "batch_size": 8, "num_layers": 4, "num_heads": 8, "n_kv_heads": 8,
}  # fmt: skip
AXES = ("pp", "dp", "cp", "mp")
CUTS = {
    "tok_embeddings.embedding_weight": '[["cp", "mp"], []]',
    "attention.w[qkv].weight": '[["mp"], []]',
    "attention.wo.weight": '[[], ["mp"]]',
    "feed_forward.w[13].weight": '[["mp"], []]',
    "feed_forward.w2.weight": '[[], ["mp"]]',
    "lm_head.weight": '[["mp"], []]',
}
TRAINING = """#mf.training<parallel = <stages = %(pp)d, interleave = 1, micro_batches = %(micro)d, scheduler = "1f1b"%(settings)s>,
  optimizer = <type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>,
  lr_schedule = <type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>,
  clipping = <max_norm = 0.5>, loss_scale = %(scale)s, max_device_memory = 0>"""
PASSES = (
    "builtin.module(mf.model(mf-partition,mf-interleave-rows,mf-propagate-layouts,mf-lower-reshards,mf-mark-memory{quiet=true},"
    "mf-localize,mf-shard-optimizer,mf-reduce-in-backward,mf-build-backward,"
    "mf.chunk(mf-insert-recompute,mf-overlap-copies,mf-insert-swap),mf-split-chunks,"
    "mf-insert-optimizer,mf-build-schedule),mf-lower-to-ascend,ascend.program(ascend-plan-memory),ascend-verify-program)"
)


def ask(*requests, first="", flags=""):
    """What all layers are asked for, and what else the first one is."""

    def join(*parts):
        return ", ".join(part for part in parts if part)

    return dict(settings=[join(flags, "requests = [%s]" % join(*more, *requests)) for more in ([first], [])])


RECOMPUTE = ask("recompute")
SWAP = ask(r'op_swap ".*\\.flash_attention" prefetch 3', flags="swap_on")
NORMS = r'select_comm_recompute ".*\\.norm"'
# Options that keep, repeat, slice or move communicated values.
COMMUNICATION = [
    ask(NORMS),
    ask(NORMS, r'select_comm_recompute "attention\\.w[ko]\\.matmul"', r'select_comm_recompute_exclude "ffn_norm\\.norm"'),
    ask('select_recompute "attention"', r'select_recompute "feed_forward\\.mul"'),
    ask('select_recompute "feed_forward"', NORMS, flags="keeps_comm"),
    ask("recompute", flags="keeps_comm"),
    ask(NORMS, r'select_comm_recompute_exclude "attention_norm\\.norm"', first="recompute"),
    ask("recompute", flags="slices"),
    ask(first="recompute", flags="slices, keeps_comm"),
    dict(RECOMPUTE, gather=True),
    ask(NORMS, "layer_swap prefetch 2", flags="swap_on"),
]


class Case:
    """A layout, and the options of its run."""

    def __init__(self, pp=1, dp=1, cp=1, mp=1, level=0, shard=-1, sequence=False, context=None, micro=2,
                 settings=None, gather=False, threads=1, scale="1.0", blocks=1, copies=1, flight=8):  # fmt: skip
        self.__dict__.update({key: value for key, value in locals().items() if key != "self"})

    def change(self, **changes):
        return Case(**dict(self.__dict__, **changes))

    def get_ranks(self):
        return self.pp * self.dp * self.cp * self.mp

    def __str__(self):
        return ", ".join("%s = %s" % item for item in self.__dict__.items())

    def get_training(self):
        settings = ""
        if self.sequence:
            settings += ", sequence_parallel = true"
        if self.context:
            settings += ', context_parallel = "%s"' % self.context
        if self.blocks > 1:
            settings += ", row_blocks = %d" % self.blocks
        if self.gather:
            settings += ", gathers_again = true"
        if self.copies > 1:
            settings += ", copies = %d" % self.copies
        if self.level:
            settings += ", optimizer_shard = <level = %d, threshold = 1, weight_shard_size = %d>" % (self.level, self.shard)
        return TRAINING % dict(self.__dict__, settings=settings)


class Runs:
    def __init__(self, bin_folder, yaml, work, **changes):
        self.bin, self.work = bin_folder, work
        text = open(yaml).read()
        for key, value in dict(MODEL, **changes).items():
            text = re.sub(r"(\b%s:).*" % key, r"\1 %s" % value, text)
        with open(self.path("llama.yaml"), "w") as file:
            file.write(text)
        self.check("mf-translate", "--import-mindformers", self.path("llama.yaml"), "-o", self.path("llama.mlir"))
        self.imported = open(self.path("llama.mlir")).read()
        # Weights so large that attention is not the same for all tokens.
        shapes = training.Tools(bin_folder, work).parameters(self.path("llama.mlir"))
        values = training.random_parameters(shapes)
        for name in values:
            if not name.endswith("norm.weight") and not name.endswith("norm_out.weight"):
                values[name] *= 5
        safetensors.save(self.path("initial.safetensors"), values)
        generator = random.Random(7)
        with open(self.path("data.txt"), "wb") as file:
            file.write(bytes(generator.randrange(256) for _ in range(20000)))

    def path(self, name):
        return os.path.join(self.work, name)

    def check(self, tool, *arguments):
        command = [os.path.join(self.bin, tool), *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if result.returncode != 0:
            raise RuntimeError("%s: %s" % (" ".join(command), (result.stdout + result.stderr)[-2000:]))
        return result.stdout + result.stderr

    def lower(self, case, name="step.mlir"):
        def add_cuts(match):
            for pattern, cuts in CUTS.items():
                if re.search(pattern + "$", match.group(2)):
                    return match.group(1) + " {cuts = %s}" % cuts
            return match.group(0)

        # These cuts instead of the model's; its norms keep what it says of them.
        text = re.sub(r"(mf\.param @(\S+) : [^{\n]*[^{\s])(?: \{(?:cuts|parallel_optimizer) = .*\})?", add_cuts, self.imported)
        mesh = ", ".join("%s = %d" % (axis, getattr(case, axis)) for axis in AXES)
        text = text.replace("module attributes {", "module attributes {mf.mesh = #mf.mesh<%s>, " % mesh, 1)
        attributes = "attributes {training = %s, " % case.get_training()
        text = re.sub(r"(mf\.model @\S+ )attributes {", lambda match: match.group(1) + attributes, text, count=1)
        if case.settings:
            first, other = ("attributes {settings = #mf.layer_settings<%s>, " % settings for settings in case.settings)
            layer = r"(mf\.layer @layers\.%s body [^\n]*)attributes {"
            text = re.sub(layer % "0", lambda match: match.group(1) + first, text)
            text = re.sub(layer % r"[1-9]\d*", lambda match: match.group(1) + other, text)
        with open(self.path("input.mlir"), "w") as file:
            file.write(text)
        passes = PASSES.replace("mf-lower-to-ascend", "mf-lower-to-ascend{in-flight=%d}" % case.flight)
        self.check("mf-opt", "--pass-pipeline=" + passes, self.path("input.mlir"), "-o", self.path(name))
        return self.path(name)

    def run(self, case, steps=1, extra=()):
        """Losses, gradients and parameters; raises where a peak is not as planned."""
        step = self.lower(case)
        files = [self.path(name) for name in ("gradients.safetensors", "parameters.safetensors", "report.json")]
        self.check("mf-run", step, "--steps", steps, "--data", self.path("data.txt"), "--quiet",
                   "--init-params", self.path("initial.safetensors"), "--threads", case.threads, "--debug-memory", "--dump-gradients", files[0], "--save-params", files[1],
                   "--report", files[2], *extra)  # fmt: skip
        report = json.load(open(files[2]))
        for rank in report["ranks"]:
            if rank["peak_bytes"] != rank["planned_bytes"]:
                raise RuntimeError("rank %s: peak %s, planned %s" % (rank["rank"], rank["peak_bytes"], rank["planned_bytes"]))
        losses = [(step["loss"], step.get("global_norm")) for step in report["steps"]]
        return losses, safetensors.load(files[0]), safetensors.load(files[1])


def get_worst(expected, actual):
    """The largest difference of tensors, relative to the largest element."""
    if set(expected) != set(actual):
        return float("inf")
    return max(
        float(numpy.abs(actual[name] - value).max() / max(numpy.abs(value).max(), 1e-30))
        for name, value in expected.items()
    )


def have_same_bits(left, right):
    return left[0] == right[0] and all(
        set(a) == set(b) and all(a[name].tobytes() == b[name].tobytes() for name in a)
        for a, b in zip(left[1:], right[1:])
    )


FIXED = [
    Case(dp=2), Case(mp=2), Case(mp=2, sequence=True), Case(cp=2), Case(pp=2), Case(dp=2, level=1), Case(dp=2, level=2),
    Case(dp=2, level=3), Case(dp=4, micro=1), Case(dp=4, micro=1, level=1), Case(dp=4, micro=1, level=3),
    Case(dp=2, mp=2, sequence=True, level=1), Case(dp=2, cp=2, mp=2, level=2), Case(pp=2, dp=2, mp=2, level=1, scale="1024.0"),
    Case(pp=4, dp=2, mp=2, sequence=True, level=3, micro=4), Case(cp=2, mp=2, context="ulysses_cp", dp=2, level=1),
    Case(mp=2, sequence=True, blocks=2), Case(mp=4, sequence=True, blocks=4, micro=1),
    Case(pp=2, mp=2, sequence=True, blocks=2, level=1, micro=4), Case(dp=2, cp=2, mp=2, blocks=2),
    Case(mp=2, copies=2, micro=1), Case(copies=4), Case(pp=2, dp=2, mp=2, copies=2, level=3),
    Case(pp=2, mp=2, sequence=True, blocks=2, copies=2), Case(dp=4, mp=2, shard=2, level=1), Case(dp=2, cp=2, mp=2, shard=2, level=3),
]  # fmt: skip


def draw(generator):
    while True:
        case = Case(*(generator.choice([1, 1, 2, 4]) for _ in AXES))
        if 2 <= case.get_ranks() <= 16:
            break
    return case.change(
        level=generator.choice([0, 1, 2, 3]), sequence=generator.random() < 0.5,
        context=generator.choice([None, "ulysses_cp"]) if case.mp * case.cp <= 8 else None,
        micro=max(case.pp, generator.choice([1, 2, 4])), scale=generator.choice(["1.0", "1024.0"]),
        **generator.choice([{}, RECOMPUTE]), threads=generator.choice([1, 2]),
        blocks=generator.choice([1, 2]) if case.cp * case.mp <= 8 else 1, copies=generator.choice([1, 1, 2]),
    )  # fmt: skip


class Checks:
    def __init__(self, runs, generator):
        self.runs, self.wholes, self.problems = runs, {}, 0
        self.generator, self.effective = random.Random(generator.random()), set()
        self.worst = 0.0

    def get_whole(self, case):
        """One rank with a run for each copy; the gradients of copies are added, not their mean."""
        key = (case.micro * case.copies, case.scale)
        if key not in self.wholes:
            self.wholes[key] = self.runs.run(Case(micro=key[0], scale=case.scale))
        losses, gradients, parameters = self.wholes[key]
        losses = [(loss, norm * case.copies) for loss, norm in losses]
        return losses, {name: value * case.copies for name, value in gradients.items()}, parameters

    def fail(self, case, what):
        self.problems += 1
        print("%s: %s" % (case, what))

    def check(self, case):
        whole, actual = self.get_whole(case), self.runs.run(case)
        loss = abs(actual[0][0][0] - whole[0][0][0]) / abs(whole[0][0][0])
        norm = abs(actual[0][0][1] - whole[0][0][1]) / abs(whole[0][0][1])
        gradients = get_worst(whole[1], actual[1])
        self.worst = max(self.worst, loss, norm, gradients)
        if not max(loss, norm, gradients) < 1e-5:
            self.fail(case, "loss %g, norm %g, gradients %g off" % (loss, norm, gradients))
        program = open(self.runs.path("step.mlir")).read()
        options = [RECOMPUTE, SWAP] if case.get_ranks() <= 4 else []
        drawn = self.generator.sample(range(len(COMMUNICATION)), 3 if case.get_ranks() <= 4 else 1)
        for change in [*options, *(COMMUNICATION[number] for number in drawn), dict(flight=0), dict(threads=3)]:
            if not have_same_bits(actual, self.runs.run(case.change(**change))):
                self.fail(case, "other bits with %s" % change)
            if change in COMMUNICATION and open(self.runs.path("step.mlir")).read() != program:
                self.effective.add(COMMUNICATION.index(change))
        if case.level == 1 and case.shard == -1:
            plain = self.runs.run(case.change(level=0))
            if any(plain[1][name].tobytes() != actual[1][name].tobytes() for name in plain[1]):
                self.fail(case, "other bits of gradients than without optimizer shards")
            update = get_worst(plain[2], actual[2])
            if not update < 1e-6:
                self.fail(case, "the update is %g off" % update)

    def check_half(self, runs):
        """Ranks sum the same, of the same type, whether they share parameters out or not."""
        for case in (Case(dp=4, micro=1), Case(dp=2, mp=2, sequence=True, micro=1), Case(dp=2, micro=2)):
            plain = runs.run(case)
            # By micro-batch, level 3 adds up sums that are rounded.
            for level in (1, 3) if case.micro == 1 else (1,):
                actual = runs.run(case.change(level=level))
                if any(plain[1][name].tobytes() != actual[1][name].tobytes() for name in plain[1]):
                    self.fail(case, "other bits of gradients in bf16 on level %d" % level)

    def check_resume(self, case, others):
        """A checkpoint goes on with the same bits on its layout, and to rounding on others."""
        runs = self.runs
        folder = runs.path("checkpoints")
        shutil.rmtree(folder, ignore_errors=True)
        expected = runs.run(case, steps=4)
        runs.run(case, steps=2, extra=["--checkpoint-dir", folder])
        for other in [case, *others]:
            copy = runs.path("resumed")
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(folder, copy)
            actual = runs.run(other, steps=4, extra=["--checkpoint-dir", copy, "--resume"])
            worst = get_worst(expected[2], actual[2])
            is_same = worst == 0 if other is case else worst < 1e-4
            if not is_same:
                self.fail(other, "goes on %g off from a checkpoint of %s" % (worst, case))


def main():
    part = parts.pop_part()
    runs = Runs(*sys.argv[1:4])
    generator = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 0)
    count = int(sys.argv[5]) if len(sys.argv) > 5 else 8
    checks = Checks(runs, generator)
    cases = FIXED + [draw(generator) for _ in range(count)]

    def check_half():
        half = os.path.join(sys.argv[3], "half")
        os.makedirs(half, exist_ok=True)
        checks.check_half(Runs(sys.argv[1], sys.argv[2], half, compute_dtype='"bfloat16"'))

    def check_resume():
        checks.check_resume(
            Case(dp=2, mp=2, level=1, sequence=True), [Case(), Case(pp=2, dp=2, cp=2, level=3), Case(mp=4)]
        )

    # The checks that all draws share come first, so that they are in the same part.
    todo = [check_half, check_resume, *cases]
    selected = part.select(todo)
    for case in selected:
        try:
            checks.check(case) if isinstance(case, Case) else case()
        except RuntimeError as error:
            checks.fail(case, error)
    if part.is_whole() and len(checks.effective) < len(COMMUNICATION):
        checks.fail("options %s" % sorted(checks.effective), "others of %d never change a program" % len(COMMUNICATION))
    print("%d layouts, %d problems; worst relative difference %.2g" % (len(selected), checks.problems, checks.worst))
    sys.exit(1 if checks.problems else 0)


if __name__ == "__main__":
    main()
