# SPDX-License-Identifier: Apache-2.0
"""Compares fine-tuning with low-rank adapters, prefix tuning and P-tuning v2 with PyTorch's, over several steps.

usage: adapters_match_torch.py [--part=K/N] BIN_FOLDER WORK_FOLDER [CASE...]

The models are Llama, ChatGLM2, and Qwen3 of the mcore training graph and of the dynamic graph. PyTorch computes in double
precision, from the definitions. Low-rank adapters: y = x W^T + b + alpha/r dropout(x) A^T B^T. Prefixes: rows of a table, maybe
through two linear layers with tanh between them, give keys and values for each layer, which stand before those of the tokens
and which all tokens see; their fp16 is replaced by fp32 in the imported model. Masks are made once more from docs/dropout.md.

In each step, from the parameters that mf-run has then, losses agree to a relative 1e-6, and so do the gradients of all that
is trained as one vector; each by itself to 5e-6, as far as fp32 goes. No other parameter has a gradient, and after training
all others have the bits that they started with. In the last step of a prefix recompute and swap have the bits of the step
without, ranks the same gradients but for the order of sums.
"""

import dropout_masks
import dynamic_configurations
import numpy
import safetensors
import torch
import torch_cases
import training
from gradients_match_torch import GLM2_MODEL, QWEN3_MODEL
from torch_decoder import GLM2, LLAMA, MCORE, Decoder

STEPS, BATCH, MICRO_BATCHES = 3, 2, 2
TOLERANCE, EACH_TOLERANCE, RANK_TOLERANCE = 1e-6, 5e-6, 2e-6

ATTENTION = ".*wq|.*wk|.*wv|.*wo"
FEED_FORWARD = "w1|w2|w3"
TYPES = {"prefixtuning": "mindpet_delta_prefixtuning", "ptuning2": "mindpet_delta_ptuning2"}
# What is not trained without a mention.
FROZEN = {"freeze_include": "['*']"}


class Adapted(Decoder):
    """A decoder with low-rank adapters wherever there are parameters of theirs."""

    def __init__(self, names, config, parameters, adapters):
        super().__init__(names, config, parameters)
        self.adapters, self.factor = adapters, adapters["lora_alpha"] / adapters["lora_rank"]

    def find_adapter(self, name):
        """A and B of a linear layer, or None."""
        for leaf, letters in ((".mindpet_delta_lora_%s", "ab"), (".lora_%s", "ab"), (".lora_%s.weight", "AB")):
            if name + leaf % letters[0] in self.params:
                return [self.params[name + leaf % letter] for letter in letters]
        return None

    def linear(self, x, name):
        result, adapter = super().linear(x, name), self.find_adapter(name)
        if adapter is None:
            return result
        a, b = adapter
        dropped = self.masks.drop(x, self.adapters["lora_dropout"], name + ".lora_dropout.dropout")
        return result + dropped @ a.T @ b.T * self.factor

    def is_trained(self, name):
        words = self.adapters.get("freeze_exclude", "")
        if "lora_B" in words:
            return "lora_B" in name
        return "lora" in name or ("tok_embeddings" in words and name.split(".")[-2] in ("tok_embeddings", "lm_head"))


class Prefixed(Decoder):
    """A decoder with keys and values before those of the tokens."""

    def __init__(self, names, config, parameters, adapters):
        super().__init__(names, config, parameters)
        self.parent = "prefix_encoder" if names is GLM2 else "prefix_layers"
        self.at = self.parent + "." + TYPES[adapters["pet_type"]]
        self.rate = adapters.get("dropout_rate", adapters.get("dropout_prob"))

    def embed(self, tokens):
        x = self.params[self.at + "_embedding.embedding_table"].expand(len(tokens), -1, -1)
        if self.at + "_dense_in.weight" in self.params:
            x = self.linear(torch.tanh(self.linear(x, self.at + "_dense_in")), self.at + "_dense_out")
        x = x.unflatten(-1, (2 * self.num_layers, -1))
        x = self.masks.drop(x, self.rate, self.parent + ".dropout.dropout")
        # For each layer keys and values, [batch, groups, prefix, head size].
        self.prefixes = iter(x.unflatten(2, (-1, 2)).unflatten(-1, (self.groups, -1)).permute(2, 3, 0, 4, 1, 5))
        return super().embed(tokens)

    def extend(self, key, value, at):
        own = next(self.prefixes)
        return torch.cat([own[0], key], 2), torch.cat([own[1], value], 2)

    def is_trained(self, name):
        return name.startswith("prefix_")


class Case:
    """A model, stages, and keys of its adapters. `graph` is classic, or one whose low-rank adapters are Qwen3's."""

    def __init__(self, adapters, stages=1, names=LLAMA, reference=Adapted, graph="classic", model=None, **changes):
        self.adapters, self.stages, self.names, self.reference, self.graph = adapters, stages, names, reference, graph
        self.model = dict(training.MODEL if model is None else model, **changes)


def lora(targets, stages=1, more=(), **options):
    keys = {"lora_rank": 4, "lora_alpha": 8, "lora_dropout": 0.0, "target_modules": targets}
    return Case(dict(keys, **dict(more)), stages, **options)


def mcore(targets, stages=1, more=()):
    return lora(targets, stages, more, names=MCORE, graph="mcore", model=QWEN3_MODEL, head_dim=16)


def dynamic(targets, more=()):
    keys = dict(QWEN3_MODEL, head_dim=16, vocab_size=dynamic_configurations.VOCABULARY, rope_theta="10000.0", pad_token_id=0)
    return lora(targets, 1, more, names=MCORE, graph="dynamic", model=keys)


def prefix(pet_type, stages=1, model=None, changes=(), **keys):
    """Llama with as many heads of keys and values as of queries, or `model`."""
    own = dict(training.MODEL, n_kv_heads=training.MODEL["num_heads"]) if model is None else model
    names = LLAMA if model is None else GLM2
    return Case(dict(keys, pet_type=pet_type), stages, names, Prefixed, model=own, **dict(changes))


CASES = {
    "attention": lora(ATTENTION),
    "attention-dropout": lora(ATTENTION, more={"lora_dropout": 0.2}),
    "feed-forward": lora(FEED_FORWARD, more={"lora_rank": 3}),
    "all-stages-dropout": lora(".*w", 2, {"lora_dropout": 0.05, "exclude_layers": "['0']"}, qkv_has_bias=True),
    "head-too": lora("wq|wv", more={"freeze_exclude": "['*tok_embeddings*', 'lm_head*']"}),
    "concatenated": lora("w_qkv", 2, {"lora_rank": 1}, qkv_concat=True),
    "mcore": mcore(".*linear"),
    "mcore-dropout": mcore(".*linear_qkv|.*fc2", 2, dict(FROZEN, lora_dropout=0.2, freeze_exclude="['*lora*']")),
    "mcore-head": mcore("output_layer|linear_fc1"),
    "mcore-half": mcore("linear_proj", more=dict(FROZEN, freeze_exclude="['*lora_B*']")),
    "dynamic": dynamic("linear_(qkv|proj)"),
    "dynamic-dropout": dynamic("self_attention|mlp", {"lora_dropout": 0.2, "exclude_layers": "layers.0"}),
    "dynamic-head": dynamic("output_layer|fc1", {"lora_b_std": 0.02}),
    "prefix": prefix("prefixtuning", prefix_token_num=5, mid_dim=12, dropout_rate=0.0),
    "prefix-dropout": prefix(
        "prefixtuning", 2, changes={"use_flash_attention": False}, prefix_token_num=3, mid_dim=8, dropout_rate=0.2
    ),
    "p-tuning": prefix("ptuning2", 2, changes={"qkv_concat": True}, pre_seq_len=40, dropout_prob=0.0),
    "p-tuning-projection": prefix("ptuning2", pre_seq_len=4, prefix_projection=True, projection_dim=6, dropout_prob=0.1),
    "glm2": prefix("ptuning2", model=GLM2_MODEL, pre_seq_len=5, dropout_prob=0.0),
    "glm2-dropout": prefix(
        "ptuning2", 2, GLM2_MODEL, {"use_flash_attention": False}, pre_seq_len=7, dropout_prob=0.2
    ),
}  # fmt: skip
# What may change a step of a prefix: keys of the YAML, and whether bits stay.
VARIANTS = {
    "recompute": ({"recompute": {"recompute": "True"}}, True),
    "swap": ({"swap": {"layer_swap": "[{backward_prefetch: 1, layers: True}]"}}, True),
    "dp2": ({"ranks": {"data_parallel": 2}}, False),
    "mp2": ({"ranks": {"model_parallel": 2}}, False),
    "dp2-mp2": ({"ranks": {"data_parallel": 2, "model_parallel": 2}}, False),
    "dp2-shared": ({"ranks": {"data_parallel": 2}, "parallel": {"enable_parallel_optimizer": "True"}}, False),
}


def get_errors(ours, expected):
    """Errors of all gradients as one vector and of the worst gradient, relative to their norms, and the name of the worst."""
    assert set(ours) == set(expected), set(ours) ^ set(expected)
    differences = {name: numpy.linalg.norm(ours[name].astype(numpy.float64) - value) for name, value in expected.items()}
    norms = {name: numpy.linalg.norm(value) for name, value in expected.items()}
    worst = max(expected, key=lambda name: differences[name] / norms[name])
    whole = numpy.linalg.norm(list(differences.values())) / numpy.linalg.norm(list(norms.values()))
    return whole, differences[worst] / norms[worst], worst


class Checker:
    def __init__(self, name, tools, data):
        self.name, self.case, self.tools, self.data = name, CASES[name], tools, data
        self.mlir, self.step = self.lower(name)
        self.parameters = training.random_parameters(tools.parameters(self.mlir))
        self.weights = tools.path(name + ".weights.safetensors")
        safetensors.save(self.weights, self.parameters)

    def lower(self, name, **options):
        """The model file and the step file."""
        case, tools = self.case, self.tools
        # A pattern has commas and quotes of its own.
        keys = ", ".join("%s: %s" % (k, repr(v) if k == "target_modules" else v) for k, v in case.adapters.items())
        options = dict({"stages": case.stages, "micro_batches": MICRO_BATCHES, "batch_size": BATCH}, **options)
        if case.graph == "dynamic":
            model = dict(dynamic_configurations.QWEN, **case.model)
            configuration = dynamic_configurations.Configuration(model, {}, {}, (MICRO_BATCHES, BATCH), adapters="{%s}" % keys)
            return configuration.lower(tools, name)
        if case.reference is Adapted:
            classes = {"model_type": "Qwen3Config", "arch": "Qwen3ForCausalLM"} if case.graph == "mcore" else {}
            return tools.lower(name, dict(case.model, pet_config="{pet_type: lora, %s}" % keys), **classes, **options)
        classes = {"model_type": "ChatGLM2Config", "arch": "ChatGLM2WithPtuning2"} if case.names is GLM2 else {}
        mlir, step = tools.lower(name, dict(case.model, pet_config="{%s}" % keys), **classes, **options)
        with open(mlir) as file:
            text = file.read().replace("xf16>", "xf32>")
        with open(mlir, "w") as file:
            file.write(text)
        tools.run("mf-opt", "--quiet", "--recompute-config=" + tools.path(name + ".yaml"), mlir, "-o", step)
        return mlir, step

    def run(self, name, step, number):
        """The loss of a step, and files of its gradients and of the parameters behind it."""
        files = [self.tools.path("%s.%s.safetensors" % (name, what)) for what in ("gradients", "saved")]
        extra = ["--seed", dropout_masks.SEED, "--dump-gradients", files[0], "--save-params", files[1]]
        return self.tools.train(step, self.data, number, self.weights, extra=extra)["losses"][-1], *files

    def run_torch(self, parameters, batches, number):
        """Loss and gradients (before clipping) of a step."""
        case = self.case
        model = case.reference(case.names, case.model, parameters, case.adapters)
        for name, value in model.params.items():
            value.requires_grad = model.is_trained(name)
        loss = torch_cases.accumulate(model, batches, lambda micro_batch: (dropout_masks.Masks(number, micro_batch),))
        return loss, {name: p.grad.numpy() for name, p in model.unique_parameters().items()}

    def compare_steps(self):
        parameters, rows = self.parameters, []
        steps = torch_cases.read_batches(self.data, self.case.model["seq_length"], STEPS, BATCH, MICRO_BATCHES)
        for number, batches in enumerate(steps, 1):
            loss, self.dump, self.saved = self.run(self.name, self.step, number)
            expected_loss, gradients = self.run_torch(parameters, batches, number)
            rows.append((abs(loss - expected_loss) / expected_loss, *get_errors(safetensors.load(self.dump), gradients)))
            parameters = safetensors.load(self.saved)
        before, after = safetensors.load_bytes(self.weights), safetensors.load_bytes(self.saved)
        assert set(before) == set(after), set(before) ^ set(after)
        changed = [name for name in before if name not in gradients and before[name] != after[name]]
        (error, whole), (each, key) = (max(row[i] for row in rows) for i in (0, 1)), max(row[2:] for row in rows)
        print("%-20s loss %.1e, gradient %.1e, each %.1e (%s), %d trained, %d frozen of which %d changed"
              % (self.name, error, whole, each, key, len(gradients), len(before) - len(gradients), len(changed)),
              flush=True)  # fmt: skip
        return max(error, whole) <= TOLERANCE and each <= EACH_TOLERANCE and not changed

    def compare_variants(self):
        """Whether all variants are as the last step."""
        is_fine = True
        for variant, (options, keeps_bits) in VARIANTS.items():
            key = self.name + "-" + variant
            # The same micro-batch is cut over dp.
            rows = BATCH // options.get("ranks", {}).get("data_parallel", 1)
            _, dump, saved = self.run(key, self.lower(key, batch_size=rows, **options)[1], STEPS)
            if keeps_bits:
                same = safetensors.load_bytes(saved) == safetensors.load_bytes(self.saved)
                print("%-20s %s: %s bits" % (self.name, variant, "the same" if same else "other"), flush=True)
            else:
                whole, each, worst = get_errors(safetensors.load(dump), safetensors.load(self.dump))
                print("%-20s %s: gradient %.1e, each %.1e (%s)" % (self.name, variant, whole, each, worst), flush=True)
                same = whole <= RANK_TOLERANCE
            is_fine &= bool(same)
        return is_fine


def compare(name, tools, data):
    checker = Checker(name, tools, data)
    is_fine = checker.compare_steps()
    return (checker.compare_variants() and is_fine) if checker.case.reference is Prefixed else is_fine


if __name__ == "__main__":
    torch_cases.run_cases(CASES, compare, lambda path: training.start_drawing(path, 3))
