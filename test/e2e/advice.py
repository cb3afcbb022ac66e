# SPDX-License-Identifier: Apache-2.0
"""Checks the advice of mf-opt for steps that do not fit, on YAMLs and limits that are drawn at random, of both formats.

usage: advice.py [--part=K/N] [--seed=S] [--count=N] [--first=K] [--combinations=N] [--yaml=FILE]... BIN_FOLDER WORK_FOLDER

With --yaml only the limits are drawn, for each file in turn. Advised settings are pasted into the YAML. The step is lowered
with them, fits, needs the bytes that the advice says, and has no warning that it did not have before. Where no settings are
said to fit, the values of all named ways, which do not depend on what the advice lists, are combined, in all ways or as many of
them as --combinations, and none of these steps fits. The nearest step misses no more than the given one does. The ways are in
the order of their seconds, those that fit first.
"""

import argparse
import itertools
import json
import os
import random
import re
import subprocess

import parts
import yaml

STATIC = {
    "use_parallel": True,
    "runner_config": {"batch_size": 1, "gradient_accumulation_steps": 1},
    "optimizer": {"type": "AdamW", "betas": [0.9, 0.95], "eps": 0.001, "weight_decay": 0.1},
    "lr_schedule": {"type": "ConstantWarmUpLR", "learning_rate": 0.001, "warmup_steps": 0},
    "runner_wrapper": {"type": "MFTrainOneStepCell", "scale_sense": 1.0, "use_clip_grad": True},
    "parallel": {"parallel_mode": 1, "full_batch": True},
    "context": {"max_device_memory": "58GB"},
}
MODEL = {
    "type": "LlamaConfig", "seq_length": 128, "hidden_size": 128, "num_layers": 4, "num_heads": 4, "n_kv_heads": 4,
    "vocab_size": 512, "intermediate_size": 344, "rms_norm_eps": 0.001, "pad_token_id": -1, "ignore_token_id": -100,
    "compute_dtype": "bfloat16", "layernorm_compute_type": "float32", "softmax_compute_type": "float32",
    "rotary_dtype": "float32", "param_init_type": "float32", "use_flash_attention": True,
}  # fmt: skip
DYNAMIC = {
    "optimizer": {"type": "AdamW", "betas": [0.9, 0.95], "eps": 0.001, "weight_decay": 0.1},
    "lr_scheduler": {"type": "ConstantWarmUpLR", "learning_rate": 0.001, "warmup_ratio": 0},
    "train_dataset": {"dataloader": {"type": "MindDataset"}},
    "model": {
        "model_type": "qwen3", "architectures": "Qwen3ForCausalLM", "vocab_size": 1024, "seq_length": 128, "hidden_size": 128,
        "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
        "hidden_dropout": 0.0, "attention_dropout": 0.0, "use_attn_mask_compression": True,
    },
}  # fmt: skip


def draw_static(generator):
    model = {**MODEL, "num_layers": generator.choice([2, 4])}
    stages = generator.choice([1, 2])
    parallel = {
        "data_parallel": generator.choice([1, 2]),
        "model_parallel": generator.choice([1, 2]),
        "use_seq_parallel": generator.random() < 0.5,
        "pipeline_stage": stages,
        "micro_batch_num": generator.choice([2, 4]) if stages > 1 else 1,
    }
    recompute = {"recompute": generator.random() < 0.5, "mp_comm_recompute": generator.random() < 0.5}
    config = json.loads(json.dumps(STATIC))
    config["runner_config"]["batch_size"] = generator.choice([1, 2, 4])
    config["parallel"]["enable_parallel_optimizer"] = generator.random() < 0.5
    config.update(parallel_config=parallel, recompute_config=recompute)
    config["model"] = {"model_config": model, "arch": {"type": "LlamaForCausalLM"}}
    return config, {}


def draw_dynamic(generator):
    ranks = generator.choice([1, 2])
    config = json.loads(json.dumps(DYNAMIC))
    config["training"] = {"local_batch_size": generator.choice([1, 2]), "global_batch_size": 8}
    config["parallelism"] = {"data_parallel_shard": -1, "reshard_after_forward_policy": generator.choice(["never", "default"])}
    return config, {"RANK_SIZE": str(ranks)}


def merge(into, changes):
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict) and key not in ("swap_config", "select_recompute"):
            merge(into[key], value)
        else:
            into[key] = value


def set_path(config, path, value):
    *sections, key = path.split(".")
    for section in sections:
        config = config.setdefault(section, {})
    config[key] = value


class Step:
    """A YAML that is lowered with a limit."""

    def __init__(self, folder, name, config, environment, tools):
        self.yaml, self.model = (os.path.join(folder, name + suffix) for suffix in (".yaml", ".mlir"))
        self.environment, self.tools = {**os.environ, **environment}, tools
        with open(self.yaml, "w") as file:
            yaml.safe_dump(config, file, sort_keys=False)

    def run(self, tool, *arguments):
        return subprocess.run([os.path.join(self.tools, tool), *arguments], capture_output=True, text=True, env=self.environment)

    def lower(self, limit, *options):
        """(bytes of the fullest stage or None, standard error)"""
        made = self.run("mf-translate", "--import-mindformers", self.yaml, "-o", self.model)
        if made.returncode != 0:
            return None, made.stderr
        report = self.model + ".json"
        done = self.run("mf-opt", "--quiet", "--verify=false", "--hbm=" + limit, "--recompute-config=" + self.yaml, self.model,
                        "--json=" + report, "-o", os.devnull, *options)  # fmt: skip
        if done.returncode != 0:
            return None, done.stderr
        with open(report) as file:
            stages = next(part["stages"] for part in map(json.loads, file) if "stages" in part)
        # The limit is for the trainer of the YAML where its memory is counted.
        return max(stage.get("trainer_live_bytes", stage["program_bytes"]) for stage in stages), done.stderr


def read_ways(text):
    """{way: its other values} of the table of ways, each compiled alone."""
    ways = {}
    table = text.split("each compiled alone;")[-1].split("\nnote:")[0]
    for name, value in re.findall(r"^(\S+): .*? -> (.*?) +-?[0-9.]+ +-?[0-9.]+ +[0-9.e-]+ +[-+]", table, re.MULTILINE):
        ways.setdefault(name, []).append(value)
    return ways


def check_order(text):
    """Ways that fit come first, and both kinds in the order of their seconds."""
    rows = []
    for line in text.split("each compiled alone;")[-1].split("\nnote:")[0].split("\n"):
        row = re.search(r"([0-9.e-]+) +[-+][0-9.]+ % +(yes|no)$", line)
        if row:
            rows.append((row[2] == "no", float(row[1])))
    if rows != sorted(rows):
        yield "the ways are not in the order of their costs: %s" % rows


def read_warnings(errors):
    """The texts of warnings, without their places."""
    return set(re.findall(r"^\S+:\d+:\d+: warning: (.*)$", errors, re.MULTILINE))


def count_layers(model):
    """The layers of a model; those of its class if the YAML does not say."""
    named = [model[name] for name in ("num_layers", "num_hidden_layers") if name in model]
    return named[0] if named else 32 if model.get("model_type") == "qwen3" else 61


def apply(config, name, value):
    """Takes one value of a way, as a user would who reads the table."""
    runner, parallel = config.get("runner_config", {}), config.get("parallel_config", {})
    has_stages = parallel.get("pipeline_stage", 1) > 1
    if name in ("runner_config.batch_size", "micro_batch_interleave_num"):
        where, key = (runner, "batch_size") if name.startswith("runner") else (config, "micro_batch_interleave_num")
        more = where[key] // int(value)
        where[key] = int(value)
        if has_stages:
            parallel["micro_batch_num"] *= more
        else:
            runner["gradient_accumulation_steps"] = runner.get("gradient_accumulation_steps", 1) * more
    elif name == "parallel_config.seq_split_num":
        parallel["seq_split_num"] = int(value)
        if has_stages:
            config["parallel"]["pipeline_config"] = {"pipeline_interleave": True, "pipeline_scheduler": "seqpipe"}
    elif name == "recompute_config.recompute":
        set_path(config, name, True)
    elif name == "recompute":
        config["recompute"] = {"mode": "full", "full_recompute_layer": ["0-%d" % (count_layers(config["model"]) - 1)]}
    elif name == "swap_config":
        layers = list(range(count_layers(config["model"]["model_config"])))
        config["swap_config"] = {"swap": True, "layer_swap": [{"backward_prefetch": 1, "layers": layers}]}
    elif name == "swap":
        layers = "0-%d" % (count_layers(config["model"]) - 1)
        config["swap"] = {"enable": True, "layer_swap": [{"layers": [layers]}]}
    else:
        set_path(config, name, yaml.safe_load(value))


def halves(number, least=1):
    values = []
    while number % 2 == 0 and number // 2 >= least:
        number //= 2
        values.append(str(number))
    return values


def name_ways(config):
    """{way: its other values} that lower the memory of a step, found from the YAML alone."""
    if "model_config" not in config["model"]:
        training = config.get("training", {})
        return {
            "model.chunk_loss_num": ["4", "16"],
            "recompute": ["all layers"],
            "swap": ["all layers"],
            "training.local_batch_size": halves(training.get("local_batch_size", 1)),
            "parallelism.reshard_after_forward_policy": ["always"],
        }
    runner, parallel, recompute = (config.get(key, {}) for key in ("runner_config", "parallel_config", "recompute_config"))
    stages = parallel.get("pipeline_stage", 1)
    ways = {
        "recompute_config.recompute": ["all layers"],
        "swap_config": ["all layers"],
    }
    # Elsewhere gradients are not accumulated, so that smaller batches would be other steps.
    if config.get("use_parallel") and config.get("parallel", {}).get("parallel_mode") == 1:
        ways["runner_config.batch_size"] = halves(runner.get("batch_size", 1))
        ways["micro_batch_interleave_num"] = halves(config.get("micro_batch_interleave_num", 1))
        ways["parallel_config.seq_split_num"] = ["2"]
    ranks = 1
    for key in ("data_parallel", "model_parallel", "context_parallel"):
        ranks *= parallel.get(key, 1)
    if ranks > 1:
        ways["parallel.enable_parallel_optimizer"] = ["True"]
        ways["parallel.parallel_optimizer_config.optimizer_level"] = ["level2", "level3"]
        if stages == 1:
            ways["recompute_config.parallel_optimizer_comm_recompute"] = ["True"]
    if parallel.get("model_parallel", 1) > 1:
        ways["parallel_config.use_seq_parallel"] = ["True"]
        ways["recompute_config.mp_comm_recompute"] = ["True"]
        ways["recompute_config.select_comm_recompute"] = ["True"]
    return ways


class Checks:
    def __init__(self, arguments):
        self.arguments, self.advised, self.refused = arguments, 0, 0

    def draw(self, number, generator):
        if self.arguments.yaml:
            path = self.arguments.yaml[number % len(self.arguments.yaml)]
            with open(path) as file:
                return os.path.basename(path), yaml.safe_load(file), {}, generator.uniform(0.15, 0.98)
        config, environment = (draw_dynamic if number % 2 else draw_static)(generator)
        return str(number), config, environment, generator.uniform(0.3, 0.98)

    def make(self, name, config, environment):
        return Step(self.arguments.work, name, config, environment, self.arguments.bin)

    def check(self, case, generator):
        name, config, environment, share = case
        peak, given = self.make(name, config, environment).lower("none")
        if peak is None:
            yield "the given step does not compile: " + given[-400:]
            return
        limit = int(share * peak)
        size = "%dB" % limit
        fits, text = self.make(name, config, environment).lower(size, "--advise-time-limit=%d" % self.arguments.time_limit)
        if fits is not None:
            yield "a step of %d bytes fits into %d" % (peak, limit)
        yield from check_order(text)
        if not re.search(" error: (on )?stage ", text):
            yield "no error: " + text[-400:]
        proven = re.search(r"^note: proven .* needs most, (\d+) bytes", text, re.MULTILINE)
        if proven:
            self.advised += 1
            lines = list(itertools.takewhile(lambda line: line.startswith("  "), text[proven.end() :].split("\n")[1:]))
            pasted = json.loads(json.dumps(config))
            merge(pasted, yaml.safe_load("\n".join(lines)))
            taken, errors = self.make(name + ".pasted", pasted, environment).lower(size, "--advise=false")
            if taken != int(proven[1]):
                yield "advice says %s bytes of %d, but it has %s: %s" % (proven[1], limit, taken, errors[-400:])
            for warning in sorted(read_warnings(errors) - read_warnings(given) - read_warnings(text)):
                yield "the advised settings lead to a warning: " + warning
            return
        none = re.search(r"^note: no settings fit into .* misses (\d+) bytes", text, re.MULTILINE)
        if not none:
            yield "no advice: " + text[-400:]
            return
        self.refused += 1
        if int(none[1]) > peak - limit:
            yield "the nearest misses %s bytes, the given step %d" % (none[1], peak - limit)
        ways = read_ways(text)
        for way, values in name_ways(config).items():
            ways[way] = list(dict.fromkeys(ways.get(way, []) + values))
        yield from self.try_all(name, config, environment, size, ways, generator)

    def try_all(self, name, config, environment, size, ways, generator):
        all_values = [[(way, None)] + [(way, value) for value in values] for way, values in ways.items()]
        combinations = list(itertools.product(*all_values))
        chosen = combinations[-1:] + generator.sample(combinations, min(len(combinations), self.arguments.combinations) - 1)
        for combination in chosen:
            changed = json.loads(json.dumps(config))
            for way, value in combination:
                if value is not None:
                    apply(changed, way, value)
            bytes_taken, _ = self.make(name + ".tried", changed, environment).lower(size, "--advise=false")
            if bytes_taken is not None:
                taken = ", ".join("%s: %s" % pair for pair in combination if pair[1] is not None)
                yield "no settings are said to fit into %s, but %s takes %d" % (size, taken, bytes_taken)


def main():
    part = parts.pop_part()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--combinations", type=int, default=10**9)
    parser.add_argument("--yaml", action="append", default=[])
    parser.add_argument("--time-limit", type=int, default=600)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("bin")
    parser.add_argument("work")
    arguments = parser.parse_args()
    os.makedirs(arguments.work, exist_ok=True)
    checks, problems = Checks(arguments), 0
    numbers = part.select(list(range(arguments.first, arguments.first + arguments.count)))
    for number in numbers:
        generator = random.Random("%d %d" % (arguments.seed, number))
        case = checks.draw(number, generator)
        found = list(checks.check(case, generator))
        problems += bool(found)
        if found or arguments.verbose:
            print("draw %d of seed %d: %s" % (number, arguments.seed, (case[0], case[3]) if arguments.yaml else case))
        for problem in found:
            print("    " + problem, flush=True)
    print("%d cases, %d with advice that was taken, %d where nothing fits, %d problems" % (len(numbers), checks.advised, checks.refused, problems))


if __name__ == "__main__":
    main()
