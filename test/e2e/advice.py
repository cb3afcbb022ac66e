# SPDX-License-Identifier: Apache-2.0
"""Checks the advice of mf check for steps that do not fit, on YAMLs and limits that are drawn at random, of both formats.

usage: advice.py [--part=K/N] [--seed=S] [--count=N] [--first=K] [--combinations=N] [--jobs=N] [--yaml=FILE]... BIN_FOLDER WORK_FOLDER

With --yaml only limits and combinations are drawn, for each file in turn. All values of the named ways, which are found from the
YAML and do not depend on what the advice lists, are combined, in all ways or as many of them as --combinations, and each step is
lowered. The limits of a YAML are the bytes of the smallest of these steps, a few less, and bytes between the smallest and the
given step. Advised settings are pasted into the YAML. The step is lowered with them, fits, needs the bytes that the advice says,
keeps its samples, and has no warning that it did not have before. Where no settings are said to fit, none of the steps does. The nearest step
misses no more than the given one does. The ways are in the order of their seconds, those that fit first.
"""

import argparse
import concurrent.futures
import itertools
import json
import math
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
    config["micro_batch_interleave_num"] = generator.choice([1, 1, 2])
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


def count_samples(config):
    """The samples of a step of the static graph; those of the dynamic graph are a key."""
    if "model_config" not in config["model"]:
        return config.get("training", {}).get("global_batch_size")
    runner, parallel = config.get("runner_config", {}), config.get("parallel_config", {})
    passes = parallel.get("micro_batch_num", 1) if parallel.get("pipeline_stage", 1) > 1 else runner.get("gradient_accumulation_steps", 1)
    return parallel.get("data_parallel", 1) * runner.get("batch_size", 1) * config.get("micro_batch_interleave_num", 1) * passes


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

    NO_LIMIT = "1000000GB"

    def __init__(self, folder, name, config, environment, tools):
        self.yaml, self.environment = os.path.join(folder, name + ".yaml"), {**os.environ, **environment}
        self.check = os.path.join(tools, "mf")
        with open(self.yaml, "w") as file:
            yaml.safe_dump(config, file, sort_keys=False)

    def lower(self, limit, *options):
        """(bytes of the fullest stage or None, whether it fits, standard error)"""
        done = subprocess.run([self.check, "check", "--verify=false", "--hbm=" + limit, "--json=-", *options, self.yaml],
                              capture_output=True, text=True, env=self.environment)  # fmt: skip
        if done.returncode not in (0, 2):
            return None, False, done.stderr
        stages = json.loads(done.stdout)["stages"]
        # The limit is for the trainer of the YAML where its memory is counted.
        held = max(stage.get("trainer_live_bytes", stage["program_bytes"]) for stage in stages)
        return held, done.returncode == 0, done.stderr


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


def combine(ways, most, generator):
    """All combinations of the values of ways, or `most` of them: the largest changes, those without one way, and drawn ones."""
    values = [[(way, None)] + [(way, value) for value in values] for way, values in ways.items()]
    total = math.prod(map(len, values))
    if total <= most:
        return list(itertools.product(*values)), total
    last = [options[-1] for options in values]
    chosen = [last] + [last[:index] + [options[0]] + last[index + 1 :] for index, options in enumerate(values)]
    while len(chosen) < most:
        chosen.append([generator.choice(options) for options in values])
    return list(dict.fromkeys(map(tuple, chosen))), total


class Checks:
    def __init__(self, arguments):
        self.arguments, self.tried, self.compiled, self.total = arguments, 0, 0, 0
        self.advised = self.refused = self.cut = 0

    def draw(self, number, generator):
        if self.arguments.yaml:
            path = self.arguments.yaml[number % len(self.arguments.yaml)]
            with open(path) as file:
                return os.path.basename(path), yaml.safe_load(file), {}
        config, environment = (draw_dynamic if number % 2 else draw_static)(generator)
        return str(number), config, environment

    def make(self, name, config, environment):
        return Step(self.arguments.work, name, config, environment, self.arguments.bin)

    def try_all(self, name, config, environment, generator):
        """[(bytes, what was taken)] of the combinations that compile, the smallest first."""
        combinations, total = combine(name_ways(config), self.arguments.combinations, generator)

        def measure(index, combination):
            changed = json.loads(json.dumps(config))
            for way, value in combination:
                if value is not None:
                    apply(changed, way, value)
            return self.make("%s.tried%d" % (name, index % self.arguments.jobs), changed, environment).lower(Step.NO_LIMIT, "--advise=false")[0]

        # A job has a file of its own.
        parts_of_jobs = [range(job, len(combinations), self.arguments.jobs) for job in range(self.arguments.jobs)]
        steps = []
        with concurrent.futures.ThreadPoolExecutor(self.arguments.jobs) as pool:
            for indices, sizes in pool.map(lambda part: (part, [measure(index, combinations[index]) for index in part]), parts_of_jobs):
                for index, size in zip(indices, sizes):
                    if size is not None:
                        taken = ", ".join("%s: %s" % pair for pair in combinations[index] if pair[1] is not None)
                        steps.append((size, taken or "nothing"))
        self.tried, self.compiled, self.total = self.tried + len(combinations), self.compiled + len(steps), self.total + total
        return sorted(steps)

    def check(self, case, generator):
        name, config, environment = case
        peak, _, given = self.make(name, config, environment).lower(Step.NO_LIMIT)
        if peak is None:
            yield "the given step does not compile: " + given[-400:]
            return
        steps = self.try_all(name, config, environment, generator)
        least, taken = steps[0]
        if self.arguments.verbose:
            print("    %s: given %d, least %d of %d steps by %s" % (name, peak, least, len(steps), taken), flush=True)
        limits = [int(least * generator.uniform(0.8, 1)) - 1]
        if least < peak:
            limits += [least, least + int((peak - least) * generator.random() ** 2)]
        for limit in sorted(set(limits)):
            for problem in self.check_limit(case, limit, peak, given, steps):
                yield "limit %d: %s" % (limit, problem)

    def check_limit(self, case, limit, peak, given, steps):
        name, config, environment = case
        size = "%dB" % limit
        _, fits, text = self.make(name, config, environment).lower(size, "--advise-time-limit=%d" % self.arguments.time_limit)
        if fits:
            yield "a step of %d bytes fits" % peak
        yield from check_order(text)
        proven = re.search(r"^note: proven .* needs most, (\d+) bytes", text, re.MULTILINE)
        if proven:
            self.advised += 1
            lines = list(itertools.takewhile(lambda line: line.startswith("  "), text[proven.end() :].split("\n")[1:]))
            pasted = json.loads(json.dumps(config))
            merge(pasted, yaml.safe_load("\n".join(lines)))
            if count_samples(pasted) != count_samples(config):
                yield "the advised step has %s samples, the given one %s" % (count_samples(pasted), count_samples(config))
            taken, fits, errors = self.make(name + ".pasted", pasted, environment).lower(size, "--advise=false")
            if taken != int(proven[1]) or not fits:
                yield "advice says %s bytes, but it has %s: %s" % (proven[1], taken, errors[-400:])
            for warning in sorted(read_warnings(errors) - read_warnings(given)):
                yield "the advised settings lead to a warning: " + warning
            return
        none = re.search(r"^note: no settings fit into .* misses (\d+) bytes", text, re.MULTILINE)
        if "the search ended before" in text:
            self.cut += 1
            return
        if not none:
            yield "no advice: " + text[-400:]
            return
        self.refused += 1
        if int(none[1]) > peak - limit:
            yield "the nearest misses %s bytes, the given step %d" % (none[1], peak - limit)
        if steps[0][0] <= limit:
            yield "no settings are said to fit, the nearest misses %s, but %s takes %d" % (none[1], steps[0][1], steps[0][0])


def main():
    part = parts.pop_part()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--combinations", type=int, default=10**9)
    parser.add_argument("--jobs", type=int, default=1)
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
            print("draw %d of seed %d: %s" % (number, arguments.seed, case[0] if arguments.yaml else case))
        for problem in found:
            print("    " + problem, flush=True)
    print("%d YAMLs, %d of %d combinations lowered, of which %d compile" % (len(numbers), checks.tried, checks.total, checks.compiled))
    print("%d limits with advice that was taken, %d where nothing fits, %d where time was over, %d problems"
          % (checks.advised, checks.refused, checks.cut, problems))  # fmt: skip


if __name__ == "__main__":
    main()
