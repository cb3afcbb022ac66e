# SPDX-License-Identifier: Apache-2.0
"""What mf-plan makes of YAMLs of MindSpore Transformers, on Atlas 800T A2.

usage: plans.py [BIN_FOLDER] [--models NAME,...] [--no-seconds]

The step as the YAML has it and as it is planned, within the max_device_memory of the YAML; what planning gains, and
what is left between the planned step and the printed bound; the fullest stage of the plan; how long planning took, which
depends on the machine and is left out with --no-seconds, and how many steps it compiled.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
YAMLS = os.path.join(ROOT, "test", "data", "mindformers", "yamls")
MODELS = {
    "DeepSeek-V3 671B": "pretrain_deepseek3_671b",
    "  --expert-levels": "pretrain_deepseek3_671b --expert-levels",
    "Llama2-70B": "finetune_llama2_70b_bf16_32p",
    "TeleChat2-115B": "finetune_telechat_115b",
    "Qwen2.5-14B": "finetune_qwen2_5_14b_8k",
}
GIB = 1 << 30


def plan(bin_folder, yaml):
    """What mf-plan finds for a YAML, behind which options may stand, as JSON, and its seconds."""
    yaml, *options = yaml.split()
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        begin = time.monotonic()
        subprocess.run(
            [os.path.join(bin_folder, "mf-plan"), os.path.join(YAMLS, yaml + ".yaml"), "--target=atlas-800t-a2", "--json=" + report, *options],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return json.load(open(report)), time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin_folder", nargs="?", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--no-seconds", action="store_true")
    arguments = parser.parse_args()
    head = "%10s" % "seconds" if not arguments.no_seconds else ""
    print("%-18s%10s%11s%8s%9s%12s%s%10s" % ("model", "given s", "planned s", "gain", "gap", "peak GiB", head,
                                             "compiled"))  # fmt: skip
    for name in arguments.models.split(","):
        found, seconds = plan(arguments.bin_folder, MODELS[name])
        given, planned, bound = found["given"]["seconds"], found["planned"]["seconds"], found["bound_seconds"]
        peak = max(stage["peak_bytes"] for stage in found["planned"]["stages"])
        took = "%10.1f" % seconds if not arguments.no_seconds else ""
        print("%-18s%10.3f%11.3f%7.1f%%%9s%7.2f/%4.1f%s%10d" % (
            name, given, planned, 100 * (1 - planned / given),
            "%.2f %%" % (100 * (1 - bound / planned)) if bound > 0 else "-", peak / GIB, found["limit_bytes"] / GIB,
            took, found["compiled_steps"]), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
