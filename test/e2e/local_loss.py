# SPDX-License-Identifier: Apache-2.0
"""Compares the loss of ranks whose numbers of counting tokens differ with that of a PyTorch model.

usage: local_loss.py BIN_FOLDER WORK_FOLDER

As in MindSpore Transformers' dynamic graph each rank has the mean of its own tokens in a micro-batch, whose mean over
ranks and micro-batches is the step's loss. With disable_gradient_division False gradients are divided by the ranks that
share a parameter out.
"""

import sys

import numpy
import safetensors
import step_results
import torch
import training
from dynamic_configurations import COMMON, DEEPSEEK, LAYERS, SEQUENCE_LENGTH, STANDARD, VOCABULARY, Configuration
from latent_attention_matches_torch import MCORE_SHARPNESS
from torch_decoder import MCORE, Decoder

PAD, BOUND = 0, 2e-5
# All layers are dense.
MODEL = dict(DEEPSEEK, first_k_dense_replace=LAYERS, pad_token_id=PAD, rms_norm_eps="1.e-6", num_nextn_predict_layers=0)
SAMPLES = 4
CASES = {
    "data": ({"data": 2, "shard": 2}, {}, {}),
    "replicas": ({"data": 4, "shard": 2}, {}, {}),
    "tensor": ({"data": 2, "shard": 2, "tensor": 2}, {}, {}),
    "stages": ({"data": 2, "shard": 2, "pipeline": 2}, {}, {}),
    "stages, divided": ({"data": 2, "shard": 2, "pipeline": 2}, {"disable_gradient_division": "False"}, {}),
    "replicas, divided": ({"data": 4, "shard": 2}, {"disable_gradient_division": "False"}, {}),
    "parts of the sequence": ({"data": 2, "shard": 1, "context": 2}, {}, {}),
    "pieces": ({"data": 2, "shard": 2, "tensor": 2}, {}, {"chunk_loss_num": 3}),
    "grouped heads": ({"data": 2, "shard": 2}, {}, STANDARD),
    "grouped heads, tensor": ({"data": 2, "shard": 2, "tensor": 2}, {}, dict(STANDARD, qk_layernorm="True", head_dim=32)),
    "grouped heads, stages": ({"data": 2, "shard": 2, "pipeline": 2}, {}, STANDARD),
    "grouped heads, parts of the sequence": ({"data": 2, "shard": 1, "context": 2}, {}, STANDARD),
    # As in the class without the key there are more groups than heads, so that each head is one.
    "ungrouped heads": ({"data": 2, "shard": 2}, {}, {"multi_latent_attention": "False"}),
}


class Reference(Decoder):
    def accumulate(self, tokens, labels, groups):
        """Adds the gradients of the mean of the means of `groups`, which say where their tokens are."""
        (state,) = self.get_states(tokens)
        losses = torch.nn.functional.cross_entropy(
            self.get_logits(state).flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="none"
        ).view_as(labels)
        counted = labels != -100
        means = [losses[group].sum() / (counted[group].sum() + 1e-8) for group in groups]
        loss = sum(means) / len(means)
        loss.backward()
        return loss.item()


def make_samples():
    """Rows whose first tokens are padding, of each another number."""
    generator = numpy.random.RandomState(5)
    rows = generator.randint(1, VOCABULARY, (SAMPLES, SEQUENCE_LENGTH + 1), dtype=numpy.int32)
    for row, padded in enumerate((0, 25, 7, 31)):
        rows[row, :padded] = PAD
    return rows


def get_reference(keys, values, rows, groups):
    model = Reference(MCORE, dict(keys, num_hidden_layers=LAYERS, sharpness=MCORE_SHARPNESS), values)
    tokens = torch.from_numpy(rows[:, :-1].astype(numpy.int64))
    labels = torch.from_numpy(rows[:, 1:].astype(numpy.int64))
    loss = model.accumulate(tokens, labels.masked_fill(tokens == PAD, -100), groups)
    return loss, {name: p.grad.numpy() for name, p in model.params.items()}


def check(tools, name, rows):
    parallel, schedule, model = CASES[name]
    data, keys = parallel["data"], dict(MODEL, **model)
    configuration = Configuration(
        keys, parallel, schedule, (SAMPLES // data, 1), training={"max_norm": "1.e+9"}
    )
    (mlir, step), file = configuration.lower(tools), tools.path("case.npy")
    numpy.save(file, rows)
    initial = step_results.initialize(tools, mlir)
    actual = step_results.run(tools, step, file, 1, initial)
    # A rank has one sample, or a part of its tokens, in each micro-batch.
    parts = numpy.split(numpy.arange(SEQUENCE_LENGTH), parallel.get("context", 1))
    groups = [(row, torch.from_numpy(part)) for row in range(SAMPLES) for part in parts]
    loss, gradients = get_reference(keys, safetensors.load(initial), rows, groups)
    distance = abs(actual.losses[0][0] - loss) / loss
    divisor = parallel["shard"] if "disable_gradient_division" in schedule else 1
    for parameter, gradient in gradients.items():
        difference = numpy.abs(actual.gradients[parameter] * divisor - gradient).max()
        distance = max(distance, difference / numpy.abs(gradient).max())
    _, whole = get_reference(keys, safetensors.load(initial), rows, [...])
    other = max(numpy.abs(whole[key] - value).max() / numpy.abs(value).max() for key, value in gradients.items())
    print("%s: %.1e off; a mean over all tokens would be %.1e off" % (name, distance, other))
    return distance < BOUND < other


def main():
    tools = training.Tools(sys.argv[1], sys.argv[2])
    torch.set_num_threads(1)
    assert COMMON["seq_length"] == SEQUENCE_LENGTH
    rows = make_samples()
    failed = [name for name in CASES if not check(tools, name, rows)]
    if failed:
        sys.exit("error: beyond the tolerance: " + ", ".join(failed))


if __name__ == "__main__":
    main()
