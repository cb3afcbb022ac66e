# SPDX-License-Identifier: Apache-2.0
"""The README's three questions about two published YAMLs: each command, what it prints, and how long it takes.

usage: first_answers.py [BIN_FOLDER] [--no-seconds | --only-seconds]

Prints a transcript, and then a table of seconds, which depend on the machine and its load. The transcript leaves out what
commands print on standard error.
"""

import argparse
import os
import resource
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
YAMLS = "test/data/mindformers/yamls/"
MODELS = {
    "Llama2-70B": YAMLS + "finetune_llama2_70b_bf16_32p.yaml",
    "DeepSeek-V3 671B": YAMLS + "pretrain_deepseek3_671b.yaml",
}
QUESTIONS = {"does it fit?": "check", "how fast is it, and what limits it?": "simulate", "which settings are better?": "plan"}


def ask(bin_folder, verb, yaml):
    """What the command prints, its seconds, and its seconds of processor time."""

    def get_used():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    begin, used = time.monotonic(), get_used()
    ended = subprocess.run([os.path.join(bin_folder, "mf"), verb, yaml], cwd=ROOT, check=True, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip
    return ended.stdout, time.monotonic() - begin, get_used() - used


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin_folder", nargs="?", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--no-seconds", action="store_true")
    parser.add_argument("--only-seconds", action="store_true")
    arguments = parser.parse_args()
    rows, asked = [], []
    for model, yaml in MODELS.items():
        for question, verb in QUESTIONS.items():
            text, seconds, used = ask(arguments.bin_folder, verb, yaml)
            rows.append("%-18s%-37s%9.1f%11.1f" % (model, question, seconds, used))
            asked.append("$ mf %s %s\n%s" % (verb, yaml, text))
    if not arguments.only_seconds:
        print("\n".join(asked), end="" if arguments.no_seconds else "\n")
    if not arguments.no_seconds:
        print("%-18s%-37s%9s%11s" % ("model", "question", "seconds", "processor"))
        print("\n".join(rows))


if __name__ == "__main__":
    main()
