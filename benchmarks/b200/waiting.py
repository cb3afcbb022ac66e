# SPDX-License-Identifier: Apache-2.0
"""Launches and waits of Megatron-LM that differ from those of mf (docs/dev/b200.md).

Context parallel: each rank has a piece from the front of the sequence and one
from its end, so that all ranks see as many keys. Ranks of mf have neighbouring rows,
and the last rank sees the most keys.

Megatron-LM reduces gradients behind the last backward, not beside it.

In Megatron-LM products of weight gradients add to the main gradient, so no separate
launch adds them.
"""

import re

LAUNCH = re.compile(
    r'( *)ascend\.launch "mfFlashAttentionPart(Grad)?"\(([^)]*)\) -> \(([^)]*)\)(.*)\{causal = true, (.*)\}( cell "[^"]*")?'
    r" : \((.*)\) -> \((.*)\)"
)
ROWS = re.compile(r"<(\d+x\d+)x(\d+)x(\d+x\w+), (\w+)>")


def halve(buffer_type):
    """A buffer of keys or values with half of the rows."""
    return ROWS.sub(lambda match: "<%sx%dx%s, %s>" % (match[1], int(match[2]) // 2, match[3], match[4]), buffer_type)


def get_kind(buffer_type):
    return buffer_type.removeprefix("!ascend.buffer")


CALL = re.compile(r"( *)(%\w+):\d+ = (ascend\.call @\S*backward\(.*)\n")
# The send of the backward's result, with the event that starts it.
SEND = re.compile(r" *(%\w+) = ascend\.record @compute\n *%\w+ = ascend\.send .* after \1 .*\n")


def reduce_last(program):
    """The lowered program with all sums of gradients behind the last backward, and behind what it sends, on each stage."""
    parts, end = [], 0
    for number, match in enumerate(CALL.finditer(program)):
        behind = program[match.end() : program.find("\n    }", match.end())]
        event = "%%reduced%d" % number
        send = SEND.search(behind)
        rest = behind[: send.start()] + behind[send.end() :] if send else behind
        call = re.sub(r" records \[[^]]*\]", "", match[3]).rpartition(" -> ")[0] + " -> ()"
        parts += [program[end : match.start()], match[1] + call + "\n", send[0] if send else ""]
        parts.append("%s%s = ascend.record @compute\n" % (match[1], event))
        parts.append(re.sub(re.escape(match[2]) + r"#\d+", event, rest))
        end = match.end() + len(behind)
    return "".join([*parts, program[end:]])


def add_in_products(program):
    """The lowered program without launches that add a product to a gradient."""
    lines, previous = [], ""
    for line in program.split("\n"):
        launched = re.match(r' *ascend\.launch "(\w+)"', line)
        if launched and launched[1] == "aclnnInplaceAdd" and "Matmul" in previous:
            continue
        previous = launched[1] if launched else previous
        lines.append(line)
    return "\n".join(lines)


def balance(program):
    """The lowered program with all ranks' attention over half of the keys, the mean of what ranks see."""
    count = 0

    def rebuild(match):
        nonlocal count
        indent, grad, inputs, outputs, workspace, attributes, cell, input_types, output_types = match.groups()
        inputs, outputs = inputs.split(", "), outputs.split(", ")
        input_types = re.findall(r"!ascend\.buffer<[^>]*>", input_types)
        output_types = re.findall(r"!ascend\.buffer<[^>]*>", output_types)
        # The position of the first row is the last operand, since no model here has slopes of ALiBi.
        inputs, input_types = inputs[:-1], input_types[:-1]
        views = []
        for values, types, places in ((inputs, input_types, (1, 2)), (outputs, output_types, (1, 2) if grad else ())):
            for place in places:
                half = halve(types[place])
                view = "%s%%half%d = ascend.view %s : %s to %s"
                views.append(view % (indent, count, values[place], get_kind(types[place]), get_kind(half)))
                values[place], types[place] = "%%half%d" % count, half
                count += 1
        launch = '%sascend.launch "aclnnFlashAttentionScore%s"(%s) -> (%s)%s{causal = false, %s}%s : (%s) -> (%s)' % (
            indent, grad or "", ", ".join(inputs), ", ".join(outputs), workspace, attributes, cell or "",
            ", ".join(input_types), ", ".join(output_types),
        )  # fmt: skip
        return "\n".join([*views, launch])

    return LAUNCH.sub(rebuild, program)


def as_megatron(program):
    """The lowered program with Megatron's launches and waits."""
    return add_in_products(reduce_last(balance(program)))
