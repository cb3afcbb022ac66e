# SPDX-License-Identifier: Apache-2.0
"""Bytes of a lowered step that are allocated at once, as torch counts those of Megatron-LM.

The lowered program says what is alive when: statics, the slots of frames in
flight, messages and what a routine allocates. Four things are another
framework's own, and are counted here as that framework allocates them (docs/dev/b200.md):

- gradients are reduced in place, so the reduced gradients at the end of a step
  need no memory of their own;
- products of weight gradients add to the main gradient. TransformerEngine
  returns an empty tensor for each product, one per shape, which stays allocated. The
  head and the table are not layers of TransformerEngine and allocate their gradients
  while they run;
- probabilities of experts are multiplied behind the activation, so rows that
  come back from experts are not kept for them;
- `Overheads`: shares of the tensors above and of activations that stay allocated.
"""

import dataclasses
import re

# Kernels that bring rows back into the order of tokens.
RETURNING = ("mfGatherRows", "aclnnMoeTokenUnpermute")
WIDTH = {"f32": 4, "i32": 4, "bf16": 2, "f16": 2, "i64": 8, "i1": 1, "i8": 1}
TYPE = re.compile(r"<((?:\d+x)*)(\w+), (hbm|host)>")
VALUE = re.compile(r"%[\w:#]+")


def count_bytes(text):
    """Bytes of the first buffer type in `text`; 0 in host memory."""
    match = TYPE.search(text)
    if not match or match[3] == "host":
        return 0
    size = WIDTH[match[2]]
    for extent in match[1].split("x")[:-1]:
        size *= int(extent)
    return size


@dataclasses.dataclass
class Buffer:
    name: str
    bytes: int
    kind: str  # "alloc", "slot", "global" or "argument"
    shape: str
    slot: int = -1
    first: int = -1
    last: int = -1
    writers: list = dataclasses.field(default_factory=list)
    readers: list = dataclasses.field(default_factory=list)


class Routine:
    """The buffers of a routine, and the instructions between which each lives."""

    def __init__(self, lines):
        self.buffers = {}
        self.alias = {}
        self.count = 0
        for line in lines:
            self.read(line)

    def find(self, value):
        while value in self.alias:
            value = self.alias[value]
        return self.buffers.get(value)

    def read(self, line):
        declared = re.match(r"\s*(%\w+) = ascend\.(alloc|slot|global) ?(\S*)(.*)", line)
        if declared:
            name, kind, operand, _ = declared.groups()
            buffer = Buffer(operand.lstrip("@"), count_bytes(line), kind, TYPE.search(line)[1])
            buffer.slot = int(operand) if kind == "slot" else -1
            self.buffers[name] = buffer
            return
        viewed = re.match(r"\s*(%\w+) = ascend\.view (%\w+)", line)
        if viewed:
            self.alias[viewed[1]] = viewed[2]
            return
        launched = re.match(r'\s*ascend\.launch "(\w+)"\(([^)]*)\) -> \(([^)]*)\)(.*)', line)
        if launched:
            kernel, inputs, outputs, rest = launched.groups()
            workspace = re.match(r" workspace\((%\w+)", rest)
            self.use(kernel, VALUE.findall(inputs), VALUE.findall(outputs) + ([workspace[1]] if workspace else []))
            return
        if "ascend." in line:
            # Copies and collectives: what they name is in use.
            values = VALUE.findall(line.split(" : ")[0])
            self.use("other", values, values)

    def use(self, kernel, inputs, outputs):
        for values, is_write in ((inputs, False), (outputs, True)):
            for value in values:
                buffer = self.find(value)
                if buffer is None:
                    continue
                if buffer.first < 0:
                    buffer.first = self.count
                buffer.last = self.count
                (buffer.writers if is_write else buffer.readers).append((kernel, self.count, inputs, outputs))
        self.count += 1

    def find_weight_gradients(self):
        """Buffers that a product makes and that are only added to a gradient, with that gradient's name."""
        found = {}
        for name, buffer in self.buffers.items():
            if buffer.kind != "alloc" or len(buffer.writers) != 1 or len(buffer.readers) != 1:
                continue
            kernel, _, _, outputs = buffer.readers[0]
            if kernel != "aclnnInplaceAdd" or not re.search("Matmul", buffer.writers[0][0]):
                continue
            target = self.find(outputs[0])
            if target is not None and target.kind == "global":
                found[name] = target.name
        return found


@dataclasses.dataclass
class Overheads:
    """What a process allocates besides what its program names, as shares of what it names (fitted; docs/dev/b200.md)."""

    # The share of TransformerEngine's empty gradients; there are more of these with context
    # parallel.
    dummies: float = 1.10
    ring_dummies: float = 0.21
    # With tensor parallel: tensors with all rows of a sequence that stay allocated.
    gathered: float = 2.0
    # With experts: tensors with the rows of all chosen experts that stay allocated.
    chosen: float = 1.53

    def get_bytes(self, row, sizes, dummies):
        rows = row["mbs"] * row["seq"] // row["cp"] * sizes["hidden_size"] * WIDTH["bf16"]
        return (
            (self.dummies + self.ring_dummies * (row["cp"] > 1)) * dummies
            + self.gathered * (row["tp"] > 1) * rows
            + self.chosen * sizes.get("num_experts_per_tok", 0) * rows
        )


class Stage:
    """A program: its statics, routines and the order of its calls."""

    def __init__(self, text):
        self.statics = re.findall(r"ascend\.static @(\S+) (\w+)(?: of \"([^\"]*)\")? : (\S+, \w+>)", text)
        # By layout of a frame, the bytes of its slots, and the cells that they are of.
        self.layouts, self.cells = {}, {}
        for name, slots in re.findall(r"ascend\.frame_layout @(\S+) \[(.*)", text):
            types = re.findall(r"ascend\.buffer(<[^>]*>)", slots.split("] [")[0])
            self.layouts[name] = [count_bytes(entry) for entry in types]
            self.cells[name] = re.findall(r'"([^"]*)"', slots)
        self.returned = {}
        self.routines = {}
        for match in re.finditer(r"ascend\.routine @(\S+?)\(.*\n((?:      .*\n)*)", text):
            self.routines[match[1]] = Routine(match[2].split("\n"))
        step = re.search(r"ascend\.step .*\{\n((?:      .*\n)*)", text)[1]
        self.step = step.split("\n")

    def get_persistent(self):
        accumulated = {of for _, role, of, _ in self.statics if role == "accumulated"}
        return sum(
            count_bytes(kind)
            for _, role, of, kind in self.statics
            if not (role == "gradient" and of in accumulated)
        )

    def get_dummies(self):
        """One empty tensor for each shape of a layer's weights; experts have one weight each."""
        shapes = {}
        for routine in self.routines.values():
            for name, target in routine.find_weight_gradients().items():
                if not is_of_layer(target):
                    continue
                buffer = routine.buffers[name]
                extents = [int(extent) for extent in buffer.shape.split("x")[:-1]]
                size = buffer.bytes
                for extent in extents[:-2]:
                    size //= extent
                shapes[tuple(extents[-2:])] = size
        return sum(shapes.values())

    def get_busiest(self, name, layout):
        """The most bytes alive at an instruction of a routine: of its frame, and allocated."""
        routine = self.routines[name]
        fused = {n for n, target in routine.find_weight_gradients().items() if is_of_layer(target)}
        alive = [0] * (routine.count + 1)
        for key, buffer in routine.buffers.items():
            if buffer.kind == "global" or buffer.kind == "argument" or key in fused:
                continue
            if buffer.kind == "slot":
                size = self.get_slot(layout, buffer.slot)
                begin, end = (buffer.first, routine.count) if is_forward(name) else (0, buffer.last + 1)
            else:
                size, begin, end = buffer.bytes, buffer.first, buffer.last + 1
            if begin < 0:
                continue
            for index in range(begin, end):
                alive[index] += size
        return max(alive)

    def get_slot(self, layout, index):
        return 0 if index in self.find_returned_rows(layout) else self.layouts[layout][index]

    def find_returned_rows(self, layout):
        """Slots with rows that come back from experts, kept for the gradient of their probabilities."""
        if layout not in self.returned:
            self.returned[layout] = {
                buffer.slot
                for routine in self.routines.values()
                for buffer in routine.buffers.values()
                if buffer.kind == "slot"
                and buffer.slot < len(self.cells[layout])
                and ".experts." in self.cells[layout][buffer.slot]
                and any(use[0] in RETURNING for use in buffer.writers)
                and any(use[0] == "aclnnMul" for use in buffer.readers)
            }
        return self.returned[layout]

    def get_frame(self, layout):
        return sum(self.get_slot(layout, index) for index in range(len(self.layouts[layout])))

    def get_messages(self, calls):
        """Bytes of messages alive at each call."""
        alive = [0] * len(calls)
        lines = [index for index, _ in calls]
        for index, line in enumerate(self.step):
            match = re.match(r"\s*(%\w+) = ascend\.message .*", line)
            if not match:
                continue
            uses = [i for i, other in enumerate(self.step) if i != index and re.search(re.escape(match[1]) + r"\b", other)]
            for place, call in enumerate(lines):
                if uses and uses[0] <= call <= uses[-1]:
                    alive[place] += count_bytes(line)
        return alive

    def get_peak(self, held_besides):
        """The most bytes allocated in a step; `held_besides` are all the time."""
        calls = [(i, line) for i, line in enumerate(self.step) if "ascend.call @chunk" in line]
        messages = self.get_messages(calls)
        persistent = self.get_persistent() + held_besides
        busiest, live, peak = {}, {}, 0
        for (_, line), held in zip(calls, messages):
            name = re.search(r"ascend\.call @(\S+?)\(", line)[1]
            layout, micro = re.search(r"ascend\.frame<@(\S+?)>", line)[1], re.search(r"micro_batch (\d+)", line)[1]
            if name not in busiest:
                busiest[name] = self.get_busiest(name, layout)
            live.pop((layout, micro), None)
            peak = max(peak, persistent + sum(live.values()) + held + busiest[name])
            if is_forward(name):
                live[layout, micro] = self.get_frame(layout)
        return peak


def is_forward(name):
    return name.endswith(".forward")


def is_of_layer(parameter):
    return ".layers." in parameter


def read_stages(text):
    """The programs of a lowered module, stage by stage."""
    parts = re.split(r"\n  ascend\.program ", text)
    return [Stage(part) for part in parts[1:]]
