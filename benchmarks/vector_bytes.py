# SPDX-License-Identifier: Apache-2.0
"""Bytes that vector operators of lowered programs move, beside those that MindSpore's move.

usage: vector_bytes.py BIN_FOLDER TARGET ROWS.json YAML_FOLDER [ID...]

For each row like those of test/data/mindformers/ascend_throughput.json without pipeline stages, recomputation
and tensor parallel ranks whose YAML can be lowered, prints GB of a step on rank 0 by
the purpose of operators. The first column counts MindSpore Transformers' operators as
docs/sources.md (vector bytes) says, the second the kernels of the program, and the third
the second times the passes of the target. IDs are parts of rows' ids.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter

# Bytes per element, forward and backward together, where all are computed once.
ROTARY = {"wide": 48, "other": 26, "same": 18}


def get_category(kind, operator, name):
    """What a launch is for, by its kind and the cell that it is in."""
    if "norm" in operator and name != "aclnnAdd":
        return "norms"
    if "rotary" in operator:
        return "RoPE"
    if kind == "transpose":
        return "transposes"
    if "lm_head" in operator or "head." in operator or kind in ("loss", "loss_grad"):
        return "logits, loss"
    if kind in ("activation", "activation_grad") or "feed_forward.mul" in operator:
        return "silu, multiply"
    if operator.endswith("matmul.grad") and name == "aclnnAdd":
        return "sums of gradients"
    if name == "aclnnAdd":
        return "residual adds"
    if name == "aclnnInplaceAdd":
        return "accumulation"
    if kind in ("optimizer", "reduction") or name == "aclnnForeachMulScalar":
        return "optimizer, clipping"
    return "casts of weights" if kind == "cast" else "others"


def count_specified(row):
    """Bytes of a step by category, as the spec counts them."""
    model, parallel = row["architecture"], row["parallel"]
    hidden, layers = model["hidden_size"], model["num_layers"]
    steps = parallel["micro_batch_num_effective"]
    tokens = parallel["batch_size_per_dp_microbatch"] * model["seq_length"]
    keys = model["kv_heads"] * model["head_dim"]
    types = {"float32": 4, "float16": 2, "bfloat16": 2}
    rotary, compute = model["rotary_dtype"], model["compute_dtype"]
    turned = ROTARY["wide" if rotary == "float32" else "same" if rotary == compute else "other"]
    weight = types[model["param_init_type"]]
    weights = model["n_params_layers_active"]
    parameters = model["n_params_total"] / parallel["data_parallel"]
    micro_batch = {
        "norms": layers * 2 * 50 * tokens * hidden,
        "residual adds": layers * 2 * 12 * tokens * hidden,
        "RoPE": layers * 2 * turned * tokens * (hidden + keys) if rotary else 0,
        "transposes": layers * 8 * tokens * (2 * hidden + 2 * keys),
        "silu, multiply": layers * 28 * tokens * model["intermediate_size"],
        "sums of gradients": layers * 14 * tokens * hidden,
        "casts of weights": 12 * weights if weight == 4 else 0,
        "accumulation": 3 * weight * weights if steps > 1 else 0,
        "logits, loss": 108 * tokens * model["vocab_size"],
    }
    result = Counter({name: steps * count for name, count in micro_batch.items()})
    result["optimizer, clipping"] = 112 * parameters
    return result


def count_launched(bin_folder, target, step, folder):
    """Bytes by category of a program's kernels, and those with the target's passes."""
    trace, described = os.path.join(folder, "trace.json"), os.path.join(folder, "target.txt")
    run = [os.path.join(bin_folder, "mf-run")]
    text = subprocess.run(run + ["--print-target", "--target=" + target], check=True, capture_output=True, text=True)
    passes = {}
    for kind, entry in re.findall(r"(\w+) = <([^<>]*(?:<[^<>]*>[^<>]*)*)>", text.stdout):
        found = re.search(r"\bpasses = ([\d.e+-]+)", entry)
        passes[kind] = float(found[1]) if found else 1
    subprocess.run(run + ["--simulate", "--target=" + target, "--trace", trace, step], check=True, capture_output=True)
    launched, moved, known = Counter(), Counter(), {}
    with open(trace) as file:
        events = json.load(file)
    for event in events["traceEvents"] if isinstance(events, dict) else events:
        args = event.get("args", {})
        if event.get("ph") != "X" or not event["name"].startswith(("aclnn", "mf")):
            continue
        key = (event["name"], args.get("kind", ""), args.get("operator", ""))
        known.setdefault(key, args.get("bytes", 0))
        count = args.get("bytes", known[key])
        category = get_category(key[1], key[2], key[0])
        if key[1] in ("matmul", "attention", "attention_grad"):
            continue
        launched[category] += count
        moved[category] += count * passes.get(key[1], 1)
    return launched, moved


def main():
    bin_folder, target, rows_path, yamls = sys.argv[1:5]
    with open(rows_path) as file:
        rows = json.load(file)
    for row in rows:
        parallel = row["parallel"]
        if not any(part in row["id"] for part in sys.argv[5:] or [""]):
            continue
        if parallel["pipeline_stage"] > 1 or parallel["model_parallel"] > 1 or row["recompute_config"].get("recompute"):
            continue
        path = os.path.join(yamls, os.path.basename(row["yaml"]["file"]))
        with tempfile.TemporaryDirectory() as folder:
            model, step = os.path.join(folder, "model.mlir"), os.path.join(folder, "step.mlir")
            translate = [os.path.join(bin_folder, "mf-translate"), "--import-mindformers", path, "-o", model]
            lower = [os.path.join(bin_folder, "mf-opt"), "--quiet", "--fuse-elementwise=false", "--recompute-config=" + path, model, "-o", step]
            if any(subprocess.run(command, capture_output=True).returncode for command in (translate, lower)):
                continue
            launched, moved = count_launched(bin_folder, target, step, folder)
        specified = count_specified(row)
        print(row["id"])
        print("  %-20s %10s %10s %12s" % ("GB of a step", "the spec", "kernels", "with passes"))
        for name in list(specified) + ["others"]:
            print("  %-20s %10.1f %10.1f %12.1f" % (name, specified[name] / 1e9, launched[name] / 1e9, moved[name] / 1e9))
        totals = [sum(counts.values()) / 1e9 for counts in (specified, launched, moved)]
        print("  %-20s %10.1f %10.1f %12.1f" % ("all", *totals))


if __name__ == "__main__":
    main()
