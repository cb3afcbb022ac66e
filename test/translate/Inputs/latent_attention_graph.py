# SPDX-License-Identifier: Apache-2.0
"""Compares the loss of imported DeepSeek models, evaluated in double precision, with the
reference that the end-to-end tests use.

usage: latent_attention_graph.py MF_TRANSLATE WORK_FOLDER
"""

import os
import subprocess
import sys

import torch

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "..", "e2e"))

import latent_attention_matches_torch as cases
from evaluate import Model

LENGTH, VOCAB, BATCH = cases.COMMON["seq_length"], cases.COMMON["vocab_size"], 2


def compare(name, translate, folder):
    yaml = os.path.join(folder, name + ".yaml")
    config, arch = cases.write_config(name)
    lines = ["runner_config: {batch_size: %d}" % BATCH, "model:"]
    lines += ["  arch: {type: %s}" % arch, "  model_config:"]
    lines += ["    %s: %s" % item for item in config.items()]
    with open(yaml, "w") as file:
        file.write("\n".join(lines) + "\n")
    text = subprocess.run(
        [translate, "--import-mindformers", yaml], stdout=subprocess.PIPE, check=True, text=True
    ).stdout
    model = Model(text)
    generator = torch.Generator().manual_seed(1)
    tokens, labels = torch.randint(VOCAB, (2, BATCH, LENGTH), generator=generator)
    labels[0, 3] = -100
    expected = cases.make_reference(name, model.parameters).loss(tokens, labels)
    difference = abs(model.loss(tokens, labels) - expected).item()
    print("%s: loss %.12f, difference %.1e" % (name, expected, difference))
    return difference < 1e-12 * expected.item()


def main():
    translate, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    # Cases that differ in ranks and stages alone have one graph.
    names = [n for n, case in cases.CASES.items() if case[2] == 1 and not case[3]]
    wrong = [name for name in names if not compare(name, translate, folder)]
    if wrong:
        sys.exit("different from the reference: " + ", ".join(wrong))


main()
