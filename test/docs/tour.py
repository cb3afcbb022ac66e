# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of docs/tour.md as they stand there, in a folder of their own.

usage: tour.py BIN_FOLDER PLUGIN LLVM_TOOLS WORK_FOLDER
       tour.py --root=FOLDER BIN_FOLDER

With --root the tools are those of BIN_FOLDER in another root, where the commands run in an empty environment. What a
release does not have, MPI and the plugin, is left out there.

A command is an indented line of the page; it goes on behind a backslash. Words in capitals and files
that a reader brings stand for small ones that are made here. Each command must end as is written here, and write the
files that it names. What a command needs beside those before it is prepared first.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# A model of Hugging Face with the sizes of examples/llama_tiny.yaml.
CONFIG = {
    "model_type": "llama", "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 688, "vocab_size": 256, "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "rope_theta": 1e4,
    "torch_dtype": "float32", "tie_word_embeddings": False, "hidden_act": "silu",
}  # fmt: skip
TINY = "examples/llama_tiny.yaml"
LOWER = "mf-translate --import-mindformers {0} -o llama.mlir && mf-opt --quiet --recompute-config={0} llama.mlir -o step.mlir"
WEIGHTS = (
    "mf-opt --quiet --recompute-config=%s llama.mlir -o start.mlir && mf-run start.mlir --quiet --steps 1 --data text.txt --save-params own.safetensors"
    " && mkdir -p hf && mf-translate --export-hf llama.mlir --weights own.safetensors -o hf/model.safetensors" % TINY
)  # fmt: skip
# By words of a command: what is done before it, and what its placeholders stand for.
NEEDS = {
    "--import-hf-weights": (WEIGHTS, {"FOLDER": "hf"}),
    # The lines behind are about the model of the YAML again.
    "--hbm=64MB": (LOWER.format(TINY), {}),
    "mf calibrate": ("", {"FOLDER": "profile"}),
    "--profile": ("", {"FOLDER": "profile"}),
    "mf plan": ("", {"train.yaml": "examples/planning/llama_4_stages.yaml"}),
    # Each pass is followed by runs of the IR: the smaller the sooner.
    "mf-check-rewrite": (
        "sed 's/seq_length: .*/seq_length: 16/; s/hidden_size: .*/hidden_size: 32/; s/num_layers: .*/num_layers: 1/;"
        " s/intermediate_size: .*/intermediate_size: 48/' %s > small.yaml"
        " && mf-translate --import-mindformers small.yaml -o llama.mlir" % TINY,
        {"train.yaml": "small.yaml"},
    ),
    "mf-compare": ("cp ours.safetensors theirs.safetensors && echo '* = *' > names.txt", {}),
    "mf-training-step": ("", {"train.yaml": "small.yaml"}),
}
# Commands that are there to show what does not fit, by a word, and what they print.
MISFITS = {"--hbm=64MB": "does not fit: 75.13 of 64 MiB"}

# What is left out in another root, by a word.
NOT_RELEASED = ("mpirun", "mlir-opt")


def get_commands():
    with open(os.path.join(ROOT, "docs", "tour.md")) as file:
        tour = file.read()
    # Blocks of what commands print are indented, too.
    tour = re.sub(r"^```.*?^```$", "", tour, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"^    (\w.*(?:(?<=\\)\n.*)*)", tour, re.MULTILINE)


def find_need(command):
    for words, need in NEEDS.items():
        if words in command:
            return need
    return "", {}


def shorten(command):
    """The command with fewer training steps: a reader waits for twenty, a test for two."""
    command = re.sub(r"--steps 20\b", "--steps 2", command)
    command = re.sub(r"--checkpoint-every 10\b", "--checkpoint-every 1", command)
    return command.replace("mpirun", "mpirun --oversubscribe -q")


class Tour:
    def __init__(self, work, shell, environment, plugin=""):
        """`shell` is a command that runs the word behind it in the folder `work`."""
        self.work, self.shell, self.environment, self.plugin = work, shell, environment, plugin
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work)
        shutil.copytree(os.path.join(ROOT, "examples"), os.path.join(work, "examples"))
        with open(os.path.join(work, "config.json"), "w") as file:
            json.dump(CONFIG, file)
        with open(os.path.join(work, "text.txt"), "w") as file:
            file.write("".join(chr(32 + number * number % 90) for number in range(20000)))

    def run(self, command):
        return subprocess.run([*self.shell, command], cwd=self.work, env=self.environment, capture_output=True, text=True)

    def prepare(self, command):
        done = self.run(command)
        if done.returncode != 0:
            sys.exit("error: the preparation '%s' failed:\n%s" % (command, done.stderr))

    def check(self, command):
        """What is wrong with the command, or nothing."""
        before, values = find_need(command)
        if before:
            self.prepare(before)
        actual = shorten(command)
        for name, value in {"FILE": "text.txt", "build/lib/mf-plugin.so": self.plugin, **values}.items():
            actual = re.sub(r"(?<![\w-])%s\b" % re.escape(name), value, actual)
        done = self.run(actual)
        misfit = next((text for word, text in MISFITS.items() if word in command), None)
        if misfit:
            return None if done.returncode == 2 and misfit in done.stdout else "ended with %d:\n%s" % (done.returncode, done.stderr)
        if done.returncode != 0:
            return "ended with %d:\n%s" % (done.returncode, done.stderr)
        for file in re.findall(r"(?:-o |--(?:html|report|trace|profile|json|dump-gradients|checkpoint-dir)[ =])([\w.]+)", actual):
            if not os.path.exists(os.path.join(self.work, file)):
                return "did not write '%s'" % file
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root")
    parser.add_argument("folders", nargs="+")
    options = parser.parse_args()
    if options.root:
        (tools,) = options.folders
        enter = "cd /tmp/tour && PATH=%s:/usr/bin:/bin && eval \"$1\"" % tools
        tour = Tour(os.path.join(options.root, "tmp", "tour"), ["/usr/sbin/chroot", options.root, "/bin/bash", "-c", enter, "bash"], {})
    else:
        tools, plugin, llvm, work = options.folders
        path = os.pathsep.join([tools, llvm, os.environ["PATH"]])
        tour = Tour(work, ["bash", "-c"], dict(os.environ, PATH=path), plugin)
    commands = [command for command in get_commands() if not (options.root and any(word in command for word in NOT_RELEASED))]
    for command in commands:
        begin = time.monotonic()
        if problem := tour.check(command):
            sys.exit("error: docs/tour.md: '%s' %s" % (command, problem))
        seconds = " # %.1f s" % (time.monotonic() - begin) if options.root else ""
        print(re.sub(r"\s+(?:#|\\).*", "", command, flags=re.DOTALL) + seconds, flush=True)
    print("%d commands" % len(commands))


if __name__ == "__main__":
    main()
