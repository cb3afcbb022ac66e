#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicted beside published throughput of other stacks on Ascend: MindSpeed-LLM and papers.

    benchmarks/published_rows.py [ROWS.json] [--bin=build/bin] [--set PATH=VALUE]...

A row has a model's sizes, its layout and its batch instead of a YAML of MindSpore
Transformers. The script writes the YAML that says the same, lowers it, simulates it on the
target of the row's hardware label, and prints errors by source and by class of layout. Rows
that no YAML can say are listed with the reason. Nothing is fitted to a row.
"""

import argparse
import functools
import json
import os
import re
import statistics
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEEPSEEK = os.path.join(ROOT, "test", "data", "mindformers", "yamls", "pretrain_deepseek3_671b.yaml")
# MC2 exchanges the operand or the result of a product piece by piece, beside the product. The
# target has no such kernel: where a row has it, collectives inside a node are taken to be
# faster by the share of them that it hides, one number for all rows.
EXCHANGE_RATE = "networks.hccs.collective_share"


def find_target(device):
    if "A3" in device:
        return "atlas-900-a3"
    if "PODc" in device or "PoDc" in device:
        return "atlas-900-a2-podc"
    return "atlas-800t-a2" if "800T" in device else None


def find_obstacle(row):
    """Why a row has no YAML, or nothing."""
    hyper, layout = row["hyper"], row["layout"]
    if row["usable"] != "yes":
        return row["usable"]
    if row["metric"] not in ("tokens_per_s_per_npu", "tokens_per_s_per_package_presumed"):
        return "metric " + row["metric"]
    if not find_target(row["device"]):
        return "no target for " + row["device"]
    if "moe-fb-overlap" in row["flags"] and layout.get("schedule") != "dualpipev":
        return "pairs of forward and backward in another order than DualPipeV"
    if layout["cp"] > 1 and layout.get("cp_algo", "").startswith("megatron"):
        return "ring attention"
    if not hyper.get("gated_ffn") and hyper.get("norm") == "rms":
        return "a feed-forward that is gated, which the row denies"
    if not hyper.get("gated_ffn") and hyper.get("position"):
        return hyper["position"] + " positions with LayerNorm"
    return None


def choose_model(row):
    """Class and sizes of the model, in the words of the class."""
    hyper, layout = row["hyper"], row["layout"]
    step = hyper.get("make_vocab_divisible_by", 1) * layout["tp"]
    vocabulary = -(-(hyper.get("vocab") or hyper["vocab_hf"]) // step) * step
    compute = "float16" if "fp16" in row["flags"] else "bfloat16"
    common = {"seq_length": row["seq"], "hidden_size": hyper["hidden"], "vocab_size": vocabulary,
              "compute_dtype": compute, "use_flash_attention": row["id"].startswith("mindformers/") or "use-flash-attn" in row["flags"]}  # fmt: skip
    head_size = hyper.get("kv_channels", hyper["hidden"] // hyper["heads"])
    if hyper.get("experts") or head_size * hyper["heads"] != hyper["hidden"]:
        # Its norms of queries and keys are the only ones that Gemma does not have.
        kind = "Qwen3Moe" if hyper.get("experts") else "Qwen3"
        sizes = {
            **common, "model_type": "qwen3_moe" if hyper.get("experts") else "qwen3", "architectures": kind + "ForCausalLM",
            "num_hidden_layers": hyper["layers"], "num_attention_heads": hyper["heads"],
            "num_key_value_heads": hyper["kv_heads"], "head_dim": head_size, "intermediate_size": hyper["ffn"],
            "params_dtype": "float32", "layernorm_compute_dtype": "float32", "softmax_compute_dtype": "float32",
            "rotary_dtype": "float32", "tie_word_embeddings": not hyper.get("untied_head", False),
        }
        if hyper.get("experts"):
            sizes.update({
                "moe_grouped_gemm": True, "num_experts": hyper["experts"], "num_experts_per_tok": hyper["topk"],
                "moe_intermediate_size": hyper["moe_ffn"], "norm_topk_prob": True, "routed_scaling_factor": 1.0,
                "moe_aux_loss_coeff": 0.001, "moe_router_load_balancing_type": "seq_aux_loss",
            })
        return None, sizes
    sizes = {**common, "batch_size": row["mbs"], "num_layers": hyper["layers"], "num_heads": hyper["heads"],
             "param_init_type": "float32", "layernorm_compute_type": "float32", "softmax_compute_type": "float32"}  # fmt: skip
    if hyper.get("norm") == "layer":
        return "GPT2LMHeadModel", {**sizes, "type": "GPT2Config", "expand_ratio": 4, "embedding_dropout_prob": 0.0,
                                   "hidden_dropout_rate": 0.0, "attention_dropout_rate": 0.0}  # fmt: skip
    sizes.update({"type": "LlamaConfig", "n_kv_heads": hyper["kv_heads"], "intermediate_size": hyper["ffn"],
                  "rotary_dtype": "float32", "tie_word_embeddings": not hyper.get("untied_head", False)})  # fmt: skip
    if hyper.get("position") == "alibi":
        return "Baichuan13BV2ForCausalLM", {key: value for key, value in sizes.items() if key != "tie_word_embeddings"}
    return "LlamaForCausalLM", sizes


def write_deepseek_yaml(row, path):
    """MindSpore Transformers' YAML of the same model with the row's layout, all layers recomputed. Slots without a layer are the last."""
    hyper, layout = row["hyper"], row["layout"]
    stages = layout["pp"]
    each = hyper["layers"] // (2 * stages)
    layers = hyper["layers"] - len(layout["noop_layers"].split(",")) + hyper["mtp_layers"]
    more = [min(each, layers - each * chunk) - layers // (2 * stages) for chunk in range(2 * stages)]
    changes = {
        r"  data_parallel: &dp ": layout["dp"], r"  model_parallel: ": layout["tp"], r"  pipeline_stage: ": stages,
        r"  expert_parallel: ": layout["ep"], r"  micro_batch_num: &micro_batch_num ": row["gbs"] // layout["dp"] // row["mbs"],
        r"  recompute: ": True, r"    offset: ": "%s\n    pp_interleave_num: 2" % [more[:stages], more[:stages - 1:-1]],
        r"parallel:": "\n  pipeline_config: {pipeline_interleave: True, pipeline_scheduler: zero_bubble_v}",
    }  # fmt: skip
    with open(DEEPSEEK) as file:
        text = file.read()
    for key, value in changes.items():
        text, count = re.subn("^%s.*" % key, "%s%s" % (key, value), text, count=1, flags=re.MULTILINE)
        assert count == 1, key
    with open(path, "w") as file:
        file.write(text)


def write_yaml(row, path):
    if "q_lora_rank" in row["hyper"]:
        return write_deepseek_yaml(row, path)
    hyper, layout = row["hyper"], row["layout"]
    stages, parts = layout["pp"], layout["tp"]
    samples = row["gbs"] // layout["dp"] // row["mbs"]
    offset = 0
    if "layer_list" in layout:
        base = hyper["layers"] // stages
        offset = [int(layers) - base for layers in layout["layer_list"].split(",")]
    elif hyper["layers"] % stages:
        offset = [int(stage < hyper["layers"] % stages) for stage in range(stages)]
    architecture, sizes = choose_model(row)
    recompute = row["recompute"].get("recompute-granularity") == "full"
    text = {
        "seed": 0,
        "use_parallel": True,
        "runner_config": {"epochs": 1, "batch_size": row["mbs"], "gradient_accumulation_steps": 1 if stages > 1 else samples},
        "runner_wrapper": {"type": "MFTrainOneStepCell", "scale_sense": 1.0, "use_clip_grad": True},
        "optimizer": {"type": "AdamW", "betas": [0.9, 0.95], "eps": 1.0e-8, "weight_decay": 0.1},
        "lr_schedule": {"type": "ConstantWarmUpLR", "learning_rate": 1.0e-5, "warmup_ratio": 0.0},
        "parallel": {"enable_parallel_optimizer": "use-distributed-optimizer" in row["flags"] and layout["dp"] * layout["cp"] > 1},
        "parallel_config": {
            "data_parallel": layout["dp"], "model_parallel": parts, "pipeline_stage": stages,
            "context_parallel": layout["cp"],
            **({"context_parallel_algo": "ulysses_cp"} if layout["cp"] > 1 else {}),
            **({"expert_parallel": layout["ep"]} if layout["ep"] > 1 else {}),
            "use_seq_parallel": bool(layout["sequence_parallel"]) and parts > 1,
            "micro_batch_num": samples if stages > 1 else 1, "vocab_emb_dp": False,
        },
        "recompute_config": {"recompute": recompute},
        "context": {"max_device_memory": "59GB", "jit_config": {"jit_level": "O1"}},
        "model": {
            **({"arch": {"type": architecture}} if architecture else {}),
            "model_config": {**sizes, "offset": offset, "pp_interleave_num": layout.get("vpp", 1)},
        },
    }
    with open(path, "w") as file:
        # JSON is YAML, but for numbers such as 1e-08.
        file.write(json.dumps(text, indent=1).replace("e-0", ".0e-0"))


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        lines = [line for line in done.stderr.split("\n") if "error: " in line] or ["failed"]
        raise RuntimeError(lines[0].split("error: ")[-1])


class Bench:
    def __init__(self, options, work):
        self.options, self.work = options, work

    def tool(self, name):
        return os.path.join(self.options.bin, name)

    @functools.lru_cache(maxsize=None)
    def read_number(self, target, path):
        text = subprocess.run([self.tool("mf-run"), "--list-parameters", "--target=" + target], capture_output=True, text=True, check=True).stdout
        return float(dict(line.split() for line in text.strip().split("\n"))[path])

    def predict(self, row):
        """Tokens per second and NPU."""
        stem = os.path.join(self.work, row["id"].replace("/", "_"))
        write_yaml(row, stem + ".yaml")
        run([self.tool("mf-translate"), "--import-mindformers", stem + ".yaml", "-o", stem + ".mlir"])
        pairs = ["--schedule=dualpipe-v-paired"] if "moe-fb-overlap" in row["flags"] else []
        run([self.tool("mf-opt"), "--quiet", "--recompute-config=" + stem + ".yaml", "--hbm=none", *pairs, "-emit-bytecode",
             stem + ".mlir", "-o", stem + ".mlirbc"])
        settings = list(self.options.set)
        if "use-mc2" in row["flags"] and row["layout"]["tp"] > 1:
            rate = self.read_number(find_target(row["device"]), EXCHANGE_RATE)
            settings.append("%s=%g" % (EXCHANGE_RATE, min(1.0, rate / (1 - self.options.mc2))))
        run([self.tool("mf-run"), "--simulate", "--quiet", "--target=" + find_target(row["device"]),
             "--report=" + stem + ".json", stem + ".mlirbc"] + ["--set=" + item for item in settings])
        with open(stem + ".json") as file:
            return json.load(file)["tokens_per_second_per_npu"]

    def try_to_predict(self, row):
        try:
            return self.predict(row)
        except RuntimeError as error:
            return str(error)


def classify(row):
    layout = row["layout"]
    names = [name for name, axis in (("tensor", "tp"), ("pipeline", "pp"), ("context", "cp")) if layout[axis] > 1]
    return " + ".join(names) or "data"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="?", default=os.path.join(ROOT, "test", "data", "ascend_rows_2026.json"))
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--set", action="append", default=[], help="a number of the target, as mf-run takes it")
    parser.add_argument("--mc2", type=float, default=0.5, help="share of exchanges that MC2 hides")
    options = parser.parse_args()
    with open(options.rows) as file:
        rows = json.load(file)
    refused = [(row, find_obstacle(row)) for row in rows]
    usable = [row for row, obstacle in refused if not obstacle]
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(options, work)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            predictions = list(pool.map(bench.try_to_predict, usable))
    errors, groups = [], {}
    print("%-44s %5s %-20s %10s %10s %8s" % ("row", "NPUs", "layout", "measured", "predicted", "error"))
    for row, predicted in zip(usable, predictions):
        measured = row["value"] / (2 if "package" in row["metric"] else 1)
        layout = row["layout"]
        text = "dp%d tp%d pp%d%s" % (layout["dp"], layout["tp"], layout["pp"], " mc2" if "use-mc2" in row["flags"] else "")
        if isinstance(predicted, str):
            print("%-44s %5d %-20s %10.1f %s" % (row["id"], row["num_npus"], text, measured, predicted))
            continue
        error = 100 * (predicted / measured - 1)
        errors.append(abs(error))
        groups.setdefault("source " + row["id"].split("/")[0], []).append(abs(error))
        groups.setdefault("class " + classify(row), []).append(abs(error))
        print("%-44s %5d %-20s %10.1f %10.1f %+7.1f%%" % (row["id"], row["num_npus"], text, measured, predicted, error))
    print()
    for name, found in sorted(groups.items()) + [("all", errors)]:
        print("%-44s rows %3d, mean %5.1f %%, median %5.1f %%, worst %5.1f %%" % (name, len(found), statistics.mean(found), statistics.median(found), max(found)))
    reasons = {}
    for row, obstacle in refused:
        if obstacle:
            reasons.setdefault(obstacle, []).append(row["id"])
    print("\nrows without a prediction")
    for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print("%4d  %s" % (len(names), reason))


if __name__ == "__main__":
    main()
