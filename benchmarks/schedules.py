# SPDX-License-Identifier: Apache-2.0
"""Bubble and memory of every schedule on 8 stages, from the programs.

usage: schedules.py [--only=SCHEDULE,...] [BIN_FOLDER [MICRO_BATCHES...]]

Lowers a small Llama of 16 layers, the same number in every chunk, under every
schedule; under those for pieces of the sequence in 4 of them. "program" is the bubble of the lowered step, simulated by
ascend-print-schedule: kernels take as long as they have FLOPs, messages no time.
"model" is that of the schedule alone as mf-schedule has it, where a backward takes
two forwards, and "formula" the published one for many micro-batches. "residuals"
is the most that a stage holds of its micro-batches' activations, from the program
and in those of 1F1B; "model" the same from the schedule alone. "live" is the
most memory in use on a stage in MiB, with parameters and the optimizer's state, and
"arena" the largest that is planned for it. With --only there are rows for these schedules,
which must have 1f1b among them, as others are shown in its residuals.
"""

import argparse
import json
import os
import re
import subprocess
import sys

from tiny_llama import TinyLlama

STAGES, LAYERS, PIECES = 8, 16, 4

YAML = """
runner_config: {batch_size: 1}
parallel:
  pipeline_config: {pipeline_interleave: %s, pipeline_scheduler: %s}
parallel_config: {pipeline_stage: %d, micro_batch_num: %d, seq_split_num: %d}
recompute_config: {recompute: False}
model:
  model_config:
    type: LlamaConfig
    num_layers: %d
    pp_interleave_num: %d
    offset: 0
    seq_length: 64
    hidden_size: 128
    num_heads: 2
    intermediate_size: 384
    vocab_size: 16
    pad_token_id: -1
    use_flash_attention: True
    compute_dtype: "float32"
  arch: {type: LlamaForCausalLM}
"""

# The bubble for P stages of v chunks and M micro-batches, if a backward takes two
# forwards and its halves the same. As Huang et al. (2018), Narayanan et al.
# (2019, 2021), Qi et al. (2023) and Sun et al. (2024) have it.
FORMULAS = {
    "gpipe": lambda p, v, m: (p - 1) / m,
    "1f1b": lambda p, v, m: (p - 1) / m,
    "interleaved": lambda p, v, m: (p - 1) / (v * m),
    "interleaved-low-memory": lambda p, v, m: (p - 1) / (v * m),
    "zero-bubble-h1": lambda p, v, m: (p - 1) / (3 * m),
    "seq1f1b": lambda p, v, m: (p - 1) / (m * PIECES),
    "seq1f1b-interleaved": lambda p, v, m: (p - 1) / (v * m * PIECES),
    "seq1f1b-interleaved-low-memory": lambda p, v, m: (p - 1) / (v * m * PIECES),
}


def count_pieces(schedule):
    return PIECES if schedule.startswith("seq1f1b") else 1


def simulate_program(llama, schedule, chunks, micro_batches):
    """Bubble, and of the stages' residuals, live bytes and arenas the largest."""
    yaml, model, step = map(llama.path, ("train.yaml", "model.mlir", "step.mlir"))
    with open(yaml, "w") as file:
        pieces = count_pieces(schedule)
        scheduler = "seqpipe" if pieces > 1 else "1f1b"
        file.write(YAML % (chunks > 1 or pieces > 1, scheduler, STAGES, micro_batches, pieces,
                           LAYERS, chunks))  # fmt: skip
    llama.run("mf-translate", "--import-mindformers", yaml, "-o", model)
    llama.run("mf-opt", "--quiet", "--schedule=" + schedule, "--recompute-config=" + yaml, model,
              "-o", step)  # fmt: skip
    passes = "builtin.module(ascend-print-memory,ascend-print-schedule{timeline=false})"
    text = llama.run("mf-opt", "--pass-pipeline=" + passes, step, "-o", os.devnull)
    bubble = re.search(r"^bubble ([\d.]+)", text, re.MULTILINE)[1]
    largest = []
    for what in (r"activations (\d+)", r"max-live (\d+)", r"busy .*arena (\d+)"):
        found = re.findall(what, text)
        assert len(found) == STAGES, text
        largest.append(max(map(int, found)))
    return float(bubble), *largest


def print_table(llama, micro_batches, only):
    def simulate(schedule, pieces):
        command = [os.path.join(llama.bin, "mf-schedule"), "--schedule=" + schedule, "--json",
                   "--stages=%d" % STAGES, "--micro-batches=%d" % micro_batches,
                   "--pieces=%d" % pieces]  # fmt: skip
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return json.loads(printed)

    models = {model["schedule"]: model for model in simulate("all", 1) if not only or model["schedule"] in only}
    for name in models:
        if count_pieces(name) > 1:
            models[name] = simulate(name, count_pieces(name))
    results = {
        name: simulate_program(llama, name, model["chunks"], micro_batches)
        for name, model in models.items()
    }
    row = "%-32s%7s%10s%8s%9s%11s%8s%8s%8s"
    print("%d micro-batches" % micro_batches)
    print(row % ("schedule", "chunks", "program", "model", "formula", "residuals", "model",
                 "live", "arena"))  # fmt: skip
    for name, model in models.items():
        bubble, residuals, live, arena = results[name]
        chunks, formula = model["chunks"], FORMULAS.get(name)
        one = models["1f1b"]
        held = max(model["chunks_in_flight"]) / chunks / max(one["chunks_in_flight"])
        held /= count_pieces(name)
        print(row % (
            name, chunks, "%.4f" % bubble, "%.4f" % model["bubbles"]["real"],
            "%.4f" % formula(STAGES, chunks, micro_batches) if formula else "",
            "%.3f" % (residuals / results["1f1b"][1]), "%.3f" % held, "%.1f" % (live / 2**20),
            "%.1f" % (arena / 2**20),
        ))  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", type=lambda names: names.split(","))
    parser.add_argument("bin_folder", nargs="?")
    parser.add_argument("micro_batches", nargs="*", type=int)
    options = parser.parse_args()
    with TinyLlama([options.bin_folder] if options.bin_folder else []) as llama:
        for index, micro_batches in enumerate(options.micro_batches or [16, 32]):
            if index:
                print()
            print_table(llama, micro_batches, options.only)


if __name__ == "__main__":
    main()
