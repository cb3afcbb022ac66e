# SPDX-License-Identifier: Apache-2.0
"""Activation swap beside PyTorch's save_on_cpu on the same model and machine.

usage: save_on_cpu.py [BIN_FOLDER] [--steps N] [--distance P]

Both train a Llama of 6 layers (hidden 512, sequence 256, batch 4, fp32), one
thread computing, without and with all that backward needs moved to the host.
PyTorch runs torch.autograd.graph.save_on_cpu's hooks as they work on a device:
each saved tensor is copied to a new host tensor in forward and to a new device
tensor in backward; here both lie in the same memory, and the link is that of a
copy. "device" is what a device would hold at most: for mf the arena, for
PyTorch what is saved for backward and not a parameter, each storage once.
"copied" is what leaves the device in a step.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))

import prefetch_distance  # noqa: E402
import training  # noqa: E402

BATCH = 4
MIB = float(1 << 20)


class Hooks:
    """save_on_cpu's copies, counted."""

    def __init__(self, torch, parameters, moves):
        self.torch, self.moves = torch, moves
        self.parameters = {p.data_ptr() for p in parameters}
        self.storages, self.copied = {}, 0

    def pack(self, tensor):
        if tensor.data_ptr() not in self.parameters:
            storage = tensor.storage()
            self.storages[storage.data_ptr()] = storage.nbytes()
        if not self.moves:
            return tensor
        self.copied += tensor.numel() * tensor.element_size()
        packed = self.torch.empty(tensor.size(), dtype=tensor.dtype)
        packed.copy_(tensor)
        return packed

    def unpack(self, packed):
        return packed.clone() if self.moves else packed


def time_torch(moves, steps):
    """Prints step times, bytes saved and bytes copied."""
    import numpy
    import torch
    import torch_llama

    torch.set_num_threads(1)
    config = dict(training.MODEL, **prefetch_distance.SIZES)
    with tempfile.TemporaryDirectory() as work:
        tools = training.Tools(os.path.join(ROOT, "build", "bin"), work)
        mlir, _ = tools.lower("step", config, batch_size=BATCH)
        shapes = tools.parameters(mlir)
    model = torch_llama.Llama(config, training.random_parameters(shapes))
    parameters = list(model.params.values())
    optimizer = torch_llama.make_optimizer(model, 1e-4)
    random = numpy.random.RandomState(0)
    for _ in range(steps + 1):
        block = random.randint(0, config["vocab_size"], (BATCH, config["seq_length"] + 1))
        block = torch.tensor(block)
        hooks = Hooks(torch, parameters, moves)
        start = time.time()
        optimizer.zero_grad()
        with torch.autograd.graph.saved_tensors_hooks(hooks.pack, hooks.unpack):
            loss = model.loss(block[:, :-1], block[:, 1:])
        loss.backward()
        torch_llama.clip(parameters, 1.0)
        optimizer.step()
        print("step %.4f" % (time.time() - start), flush=True)
    print("saved %d copied %d" % (sum(hooks.storages.values()), hooks.copied))


def run_torch(moves, steps):
    """Seconds of a step, MiB saved for backward, MiB copied out."""
    output = subprocess.run(
        [sys.executable, __file__, "--torch", str(int(moves)), "--steps", str(steps)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    times = [float(t) for t in re.findall(r"step (\S+)", output)][1:]
    saved, copied = re.search(r"saved (\d+) copied (\d+)", output).groups()
    return prefetch_distance.median(times), int(saved) / MIB, int(copied) / MIB


def run_mf(tools, distance, steps):
    """Seconds of a step, MiB of the arena, MiB copied out."""
    found = prefetch_distance.measure(tools, distance, steps)
    return found.seconds, found.arena, found.host


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin_folder", nargs="?", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--distance", type=int, default=16)
    parser.add_argument("--torch", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.torch is not None:
        time_torch(bool(arguments.torch), arguments.steps)
        return
    row = "%-28s%12s%14s%12s%12s%12s"
    print(row % ("", "step ms", "device MiB", "saved", "copied", "overhead"))

    def show(name, base, moved):
        print(row % (name, "%.1f" % (base[0] * 1e3), "%.1f" % base[1], "", "", ""))
        print(
            row
            % (
                "  moved to the host",
                "%.1f" % (moved[0] * 1e3),
                "%.1f" % moved[1],
                "%.1f" % (base[1] - moved[1]),
                "%.1f" % moved[2],
                "%+.1f %%" % (100 * (moved[0] / base[0] - 1)),
            )
        )

    with tempfile.TemporaryDirectory() as work:
        tools = training.Tools(arguments.bin_folder, work)
        show(
            "mf",
            run_mf(tools, 0, arguments.steps),
            run_mf(tools, arguments.distance, arguments.steps),
        )
    base = run_torch(False, arguments.steps)
    seconds, _, copied = run_torch(True, arguments.steps)
    # All saved tensors leave the device; a tensor that comes back lives as long as its reader.
    show("PyTorch, saved for backward", base, (seconds, 0.0, copied))


if __name__ == "__main__":
    main()
