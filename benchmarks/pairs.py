#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Published times of pairs of a forward and a backward, and what mf simulates.

    benchmarks/pairs.py [--bin=build/bin] [--only=NAME,...] [--set PATH=VALUE]...

Two systems published what pairs take: DeepSeek the profile of one pair of DeepSeek-V3 on H800, and Megatron-LM the step of
Qwen3-235B on 256 H100, without pairs and with. Their layouts are lowered and simulated on benchmarks/pairs/h100.mlir.
Nothing is fitted, neither to these rows nor to others; what a row changes in the target follows from its description:

- H800 has NVLink of 200 GB/s each way. DeepSeek's products are in fp8, at twice the peak; attention is not.
- DeepEP sends a token once to each node that has one of its experts, however many of them. The bytes between nodes are
  those of our exchange of one copy for each expert, times the mean number of such nodes, divided by the copies that go
  there; DeepSeek sends two of four exchanges in fp8, which is 0.75 of bf16 on the mean.

The pair is the difference of steps of 12 and 20 micro-batches on two stages, an eighth of it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "benchmarks"))
from b200 import layouts  # noqa: E402

TARGET = os.path.join(ROOT, "benchmarks", "pairs", "h100.mlir")
INFINIBAND = 50e9
layouts.MODELS["deepseekv3-chunks"] = dict(layouts.MODELS["deepseekv3"], first_k_dense_replace=0, vocab_size=1280)
layouts.MODELS["qwen3-235b"] = dict(
    hidden_size=4096, intermediate_size=12288, num_attention_heads=64, num_key_value_heads=4, head_dim=128,
    vocab_size=151936, rope_theta=1e6, rms_norm_eps=1e-6, n_routed_experts=128, num_experts_per_tok=8,
    moe_intermediate_size=1536, first_k_dense_replace=0, scoring_func="softmax", qk_layernorm=True,
)  # fmt: skip


def get_sent_share(nodes, copies, most_nodes):
    """The copies that leave a node if each node gets one of them, divided by all that leave it."""
    reached = min(most_nodes, nodes * (1 - (1 - 1 / nodes) ** copies))
    return reached / copies


def get_infiniband(nodes, copies, most_nodes, mean_bytes=1.0):
    return "networks.infiniband.bytes_per_second=%g" % (INFINIBAND / get_sent_share(nodes, copies, most_nodes) / mean_bytes)


class Bench:
    def __init__(self, options, work):
        self.options, self.work = options, work

    def run(self, tool, *arguments):
        command = [os.path.join(self.options.bin, tool), *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError("%s:\n%s" % (" ".join(command), done.stderr[-2000:]))

    def simulate(self, row, schedule, changes, offset=0, chunks=1, recomputed=()):
        """The report of a step of a row."""
        yaml, model, step, report = (os.path.join(self.work, name) for name in ("train.yaml", "model.mlir", "step.mlirbc", "report.json"))
        text = layouts.write_yaml(row)
        text += "    offset: %s\n    pp_interleave_num: %d\n" % (offset, chunks)
        text = text.replace("parallel:\n", "parallel:\n  pipeline_config: {pipeline_interleave: %s, pipeline_scheduler: 1f1b}\n" % (chunks > 1), 1)
        text = text.replace("select_recompute: [", "select_recompute: [" + "".join("'%s', " % name for name in recomputed), 1)
        with open(yaml, "w") as file:
            file.write(text)
        self.run("mf-translate", "--import-mindformers", "--expert-room=1", yaml, "-o", model)
        self.run("mf-opt", "--quiet", "--verify=false", "--hbm=none", "--advise=false", "--schedule=" + schedule,
                 "--recompute-config=" + yaml, "-emit-bytecode", model, "-o", step)  # fmt: skip
        self.run("mf-run", "--simulate", "--verify=false", "--quiet", "--target=" + TARGET, "--report=" + report,
                 *("--set=" + change for change in changes + self.options.set), step)  # fmt: skip
        with open(report) as file:
            return json.load(file)


def compare(name, measured, predicted, unit):
    print("%-44s %9.1f %9.1f %s %+7.1f%%" % (name, measured, predicted, unit, 100 * (predicted / measured - 1)))


def print_deepseek(bench):
    changes = [
        "networks.nvlink.bytes_per_second=2e11", "engines.cube.bf16=1.979e15",
        "kernels.attention.peak_share=0.275", "kernels.attention_grad.peak_share=0.225",
        get_infiniband(8, 8, 4, 0.75),
    ]  # fmt: skip
    row = dict(case="pair", model="deepseekv3-chunks", gpus=128, tp=1, cp=1, ep=64, pp=2, mbs=1, seq=4096, layers=8)

    def measure(schedule):
        few, many = (bench.simulate(dict(row, mbc=count), schedule, changes) for count in (12, 20))
        busy = [max(stage["busy_seconds"] for stage in report["stages"]) for report in (few, many)]
        return [1e3 * (b - a) / 8 for a, b in ((few["step_seconds"], many["step_seconds"]), busy)]

    pair, busy = measure("1f1b-paired")
    compare("DeepSeek-V3, a pair", 129.0, pair, "ms")
    compare("DeepSeek-V3, kernels of a pair", 118.2, busy, "ms")
    print("%-44s %9s %9.1f ms" % ("DeepSeek-V3, forward and backward in turn", "", measure("1f1b")[0]))


def print_qwen(bench):
    row = dict(case="step", model="qwen3-235b", gpus=256, tp=2, cp=1, ep=16, pp=8, mbs=1, mbc=128, seq=4096, layers=94)
    # 94 layers on 32 chunks: the first chunk has the table, the last the head, and both have a layer less.
    offset = [[int((chunk, stage) not in ((0, 0), (3, 7))) for stage in range(8)] for chunk in range(4)]
    changes = [get_infiniband(4, 8, 4)]
    norms = [r"input_layernorm\.norm", r"pre_mlp_layernorm\.norm"]
    times = {}
    for name, schedule, measured in (("in turn", "interleaved", 19.7), ("in pairs", "1f1b-paired", 17.6)):
        times[schedule] = bench.simulate(row, schedule, changes, offset, 4, norms)["step_seconds"]
        compare("Qwen3-235B, forwards and backwards " + name, measured, times[schedule], "s ")
    compare("Qwen3-235B, what pairs leave of the step", 100 * 17.6 / 19.7, 100 * times["1f1b-paired"] / times["interleaved"], "% ")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--only", default="deepseek,qwen", type=lambda names: names.split(","))
    parser.add_argument("--set", action="append", default=[], help="a number of the target, as mf-run takes it")
    options = parser.parse_args()
    print("%-44s %9s %9s    %8s" % ("", "published", "simulated", "error"))
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(options, work)
        for name, show in (("deepseek", print_deepseek), ("qwen", print_qwen)):
            if name in options.only:
                show(bench)
                sys.stdout.flush()


if __name__ == "__main__":
    main()
