# SPDX-License-Identifier: Apache-2.0
"""Compares adapters in Hugging Face's PEFT format with what PEFT computes from them, written apart in PyTorch.

usage: peft_matches_torch.py BIN_FOLDER WORK_FOLDER

PEFT's forward is read from adapter_config.json and adapter_model.safetensors alone: a linear layer whose path ends with one of
`target_modules` gives W x + b + B A x times alpha / r, or alpha / sqrt(r) with `use_rslora`, and `modules_to_save` have weights
of their own. In ChatGLM2, whose rows have another order there, what merging adds to the exported weights is compared with B A.
Base weights are a Hugging Face checkpoint of a Llama. There, mf-run trains adapters and they are exported; back,
adapters that another tool made are imported. Losses of mf-run agree to a relative 1e-6.
"""

import json
import os
import sys

import numpy
import safetensors
import torch
import torch_cases
import training
from gradients_match_torch import GLM2_MODEL
from torch_decoder import HUGGING_FACE, Decoder

BATCH, RANK, ALPHA, TOLERANCE = 2, 4, 8, 1e-6
MODEL = training.MODEL
HIDDEN, INNER = MODEL["hidden_size"], MODEL["intermediate_size"]
HEAD = HIDDEN // MODEL["num_heads"]
KEYS = HEAD * MODEL["n_kv_heads"]
LINEAR = {
    "self_attn.q_proj": (HIDDEN, HIDDEN),
    "self_attn.k_proj": (KEYS, HIDDEN),
    "self_attn.v_proj": (KEYS, HIDDEN),
    "self_attn.o_proj": (HIDDEN, HIDDEN),
    "mlp.gate_proj": (INNER, HIDDEN),
    "mlp.up_proj": (INNER, HIDDEN),
    "mlp.down_proj": (HIDDEN, INNER),
}
CONFIG = {
    "num_attention_heads": MODEL["num_heads"],
    "num_key_value_heads": MODEL["n_kv_heads"],
    "num_hidden_layers": MODEL["num_layers"],
    "rms_norm_eps": 1e-5,
}
PREFIX = "base_model.model."


class Adapted(Decoder):
    """The base model with the adapters of a PEFT folder, in double precision."""

    def __init__(self, weights, folder):
        with open(os.path.join(folder, "adapter_config.json")) as file:
            self.peft = json.load(file)
        tensors = safetensors.load(os.path.join(folder, "adapter_model.safetensors"))
        assert all(name.startswith(PREFIX) for name in tensors), sorted(tensors)
        self.tensors = {name[len(PREFIX) :]: torch.tensor(value).double() for name, value in tensors.items()}
        self.used = set()
        saved = {
            name: value.numpy() for name, value in self.tensors.items()
            if any(name.split(".")[-2] == module for module in self.peft.get("modules_to_save") or [])
        }  # fmt: skip
        self.used.update(saved)
        super().__init__(HUGGING_FACE, CONFIG, {**weights, **saved})
        root = self.peft["r"] ** (0.5 if self.peft.get("use_rslora") else 1)
        self.scaling = self.peft["lora_alpha"] / root

    def linear(self, x, name):
        result = super().linear(x, name)
        if not any(name == module or name.endswith("." + module) for module in self.peft["target_modules"]):
            return result
        a, b = (self.tensors["%s.lora_%s.weight" % (name, factor)] for factor in "AB")
        assert a.shape[0] == b.shape[1] == self.peft["r"]
        self.used.update("%s.lora_%s.weight" % (name, factor) for factor in "AB")
        return result + x @ a.T @ b.T * self.scaling


def make_weights(random):
    names = {"model.embed_tokens.weight": (256, HIDDEN), "model.norm.weight": (HIDDEN,), "lm_head.weight": (256, HIDDEN)}
    for layer in range(MODEL["num_layers"]):
        prefix = "model.layers.%d." % layer
        names.update({prefix + name + ".weight": shape for name, shape in LINEAR.items()})
        names.update({prefix + name + ".weight": (HIDDEN,) for name in HUGGING_FACE["norms"]})
    return {
        name: ((1 if len(shape) == 1 else 0) + 0.1 * random.standard_normal(shape)).astype(numpy.float32)
        for name, shape in names.items()
    }


def write_adapters(folder, random, modules, config):
    """What another tool may have trained."""
    os.makedirs(folder)
    tensors = {}
    for layer in range(MODEL["num_layers"]):
        for module in modules:
            rows, columns = LINEAR[module]
            name = "%smodel.layers.%d.%s.lora_" % (PREFIX, layer, module)
            tensors[name + "A.weight"] = (0.1 * random.standard_normal((RANK, columns))).astype(numpy.float32)
            tensors[name + "B.weight"] = (0.1 * random.standard_normal((rows, RANK))).astype(numpy.float32)
    safetensors.save(os.path.join(folder, "adapter_model.safetensors"), tensors)
    targets = sorted(module.split(".")[-1] for module in modules)
    keys = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "bias": "none", "lora_dropout": 0.0, "r": RANK}
    with open(os.path.join(folder, "adapter_config.json"), "w") as file:
        json.dump({**keys, "target_modules": targets, **config}, file)


class Comparison:
    def __init__(self):
        self.tools = training.Tools(*sys.argv[1:])
        self.data = self.tools.path("text.txt")
        training.start_drawing(self.data, 3)
        random = numpy.random.RandomState(1)
        self.random, self.weights = random, make_weights(random)
        os.makedirs(self.tools.path("base"))
        safetensors.save(self.tools.path("base/model.safetensors"), self.weights)

    def build(self, name, targets, more=""):
        """The model, its step, and its base weights."""
        keys = "{pet_type: lora, lora_rank: %d, lora_alpha: %d, lora_dropout: 0.0, target_modules: '%s'%s}"
        model = dict(MODEL, pet_config=keys % (RANK, ALPHA, targets, more))
        mlir, step = self.tools.lower(name, model, batch_size=BATCH)
        base = self.tools.path(name + ".base.safetensors")
        self.tools.run("mf-translate", "--import-hf-weights", mlir, "--weights", self.tools.path("base"), "-o", base)
        return mlir, step, base

    def compare(self, name, step, base, adapters, folder):
        extra = ["--init-adapters", adapters]
        ours = self.tools.train(step, self.data, parameters=base, extra=extra)["losses"][0]
        ((batch,),) = torch_cases.read_batches(self.data, MODEL["seq_length"], 1, BATCH, 1)
        model = Adapted(self.weights, folder)
        with torch.no_grad():
            expected = model.loss(*batch).item()
        assert model.used == set(model.tensors), model.used ^ set(model.tensors)
        error = abs(ours - expected) / expected
        print("%s: %d tensors, loss within %g: %s" % (name, len(model.used), TOLERANCE, error <= TOLERANCE))
        if error > TOLERANCE:
            sys.exit("error: %.9g instead of %.9g, off by %.1e" % (ours, expected, error))
        return expected

    def export(self):
        tools = self.tools
        mlir, step, base = self.build("there", ".*wq|.*wv|.*wo|w1|w2", ", freeze_exclude: ['*lm_head*']")
        adapters, folder = tools.path("there.adapters.safetensors"), tools.path("there.peft")
        before = tools.train(step, self.data, steps=4, parameters=base, extra=["--save-trainable", adapters])
        tools.run("mf-translate", "--export-peft", mlir, "--adapters", adapters, "-o", folder)
        after = self.compare("exported", step, base, adapters, folder)
        assert abs(before["losses"][0] - after) > 1e-3, "the adapters have hardly been trained"

    def take(self, name, config):
        mlir, step, base = self.build(name, ".*wk|w3|w2")
        folder, adapters = self.tools.path(name + ".peft"), self.tools.path(name + ".adapters.safetensors")
        write_adapters(folder, self.random, ["self_attn.k_proj", "mlp.up_proj", "mlp.down_proj"], config)
        self.tools.run("mf-translate", "--import-peft", mlir, "--adapters", folder, "-o", adapters)
        self.compare(name, step, base, adapters, folder)

    def merge(self):
        """What merging adds to ChatGLM2's exported weights is B A times alpha / r of the exported adapters."""
        tools = self.tools
        keys = "{pet_type: lora, lora_rank: %d, lora_alpha: %d, lora_dropout: 0.0, target_modules: 'query_key_value|dense_h_to_4h'}"
        family = {"arch": "ChatGLM2ForConditionalGeneration", "model_type": "ChatGLM2Config", "batch_size": BATCH}
        plain, _ = tools.lower("plain", GLM2_MODEL, **family)
        mlir, step = tools.lower("glm2", dict(GLM2_MODEL, pet_config=keys % (RANK, ALPHA)), **family)
        paths = {name: tools.path("glm2.%s.safetensors" % name) for name in ("base", "adapters", "back", "merged", "hf", "hf-merged")}
        safetensors.save(paths["base"], training.random_parameters(tools.parameters(plain)))
        tools.train(step, self.data, steps=2, parameters=paths["base"], extra=["--save-trainable", paths["adapters"]])
        given, folder = ["--adapters", paths["adapters"]], tools.path("glm2.peft")
        tools.run("mf-translate", "--export-peft", mlir, *given, "-o", folder)
        tools.run("mf-translate", "--import-peft", mlir, "--adapters", folder, "-o", paths["back"])
        assert safetensors.load_bytes(paths["back"]) == safetensors.load_bytes(paths["adapters"])
        tools.run("mf-translate", "--merge-adapters", mlir, "--weights", paths["base"], *given, "-o", paths["merged"])
        for source, target in (("base", "hf"), ("merged", "hf-merged")):
            tools.run("mf-translate", "--export-hf", plain, "--weights", paths[source], "-o", paths[target])
        before, after = (safetensors.load(paths[name]) for name in ("hf", "hf-merged"))
        peft = safetensors.load(os.path.join(folder, "adapter_model.safetensors"))
        adapted = [name[: -len("lora_A.weight")] for name in peft if name.endswith("lora_A.weight")]
        worst = 0
        for name in adapted:
            weight = name[len(PREFIX) :] + "weight"
            expected = peft[name + "lora_B.weight"] @ peft[name + "lora_A.weight"] * (ALPHA / RANK)
            change = after[weight] - before[weight]
            worst = max(worst, numpy.linalg.norm(change - expected) / numpy.linalg.norm(expected))
        print("merged: %d layers of ChatGLM2, changes within 1e-3: %s" % (len(adapted), worst <= 1e-3))
        if worst > 1e-3:
            sys.exit("error: off by %.1e" % worst)


def main():
    torch.set_num_threads(1)
    comparison = Comparison()
    comparison.export()
    comparison.take("imported", {"lora_alpha": ALPHA})
    comparison.merge()
    comparison.take("rank-stabilised", {"lora_alpha": ALPHA / 2, "use_rslora": True})


main()
