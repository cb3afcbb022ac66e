# SPDX-License-Identifier: Apache-2.0
"""Checks which graph of forward and backward is made of a layer.

usage: check_graphs.py FILE MF_OPT --pass-pipeline=PASSES

Paragraphs of FILE are graphs: a layer's operators up to `mf.cut`, and the operators that PASSES put behind it. Values that no operator
makes are the layer's arguments. Parameters are trained and begin with ones unless the graph begins with an mf.param. Names of operators
are without their layer's.
"""

import difflib
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), *[".."] * 3))
from prints_itself import get_lines
from variants import pair_operands, split

MODEL = """mf.model @model attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
%s  mf.layer @layer body (%s) -> (%s) attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
%s    mf.return %s : %s
  }
}
"""


class Graph:
    def __init__(self, lines):
        lines = [line.strip() for line in lines if not line.startswith("//")]
        self.parameters = [line for line in lines if line.startswith("mf.param ")]
        self.operators = [line for line in lines if line not in self.parameters]
        cut = next(index for index, line in enumerate(self.operators) if " = mf.cut " in line)
        self.forward, self.outputs = self.operators[:cut], pair_operands(self.operators[cut])
        self.arguments = self.find_arguments()

    def find_arguments(self):
        defined, arguments = set(), {}
        for line in self.forward:
            arguments.update((name, kind) for name, kind in pair_operands(line) if name not in defined)
            defined.update(re.findall(r"%\w+", line.split(" = ")[0]))
        arguments.update(pair for pair in self.outputs if pair[0] not in defined)
        # Tokens and draws stand behind what layers hand to each other.
        return sorted(arguments.items(), key=lambda pair: not re.search(r"x(?:f32|bf16|f16)>$", pair[1]))

    def get_model(self):
        named = {re.search(r"@([\w.]+)", line)[1] for line in self.parameters}
        read = [re.search(r"mf.get_param @([\w.]+) : (.*)", line) for line in self.forward]
        made = ["mf.param @%s : %s init <ones>" % match.groups() for match in read if match and match[1] not in named]
        arguments = ", ".join("%s: %s" % pair for pair in self.arguments)
        values, kinds = (", ".join(words) for words in zip(*self.outputs))
        lines = ["".join("    %s\n" % line for line in part) for part in (self.parameters + made, self.forward)]
        return MODEL % (lines[0], arguments, kinds, lines[1], values, kinds)

    def get_lines(self):
        return get_lines("(%s)\n%s" % (", ".join("%s: %s" % pair for pair in self.arguments), "\n".join(self.operators)))


def read_chunk(text):
    """The graph that is printed."""
    arguments, body = re.search(r"mf\.chunk @chunk0 (\(.*?\)) -> .*?\{\n(.*?)\n *\}", text, re.DOTALL).groups()
    return get_lines(arguments + "\n" + body.replace('"layer.', '"'))


def main():
    path, *command = sys.argv[1:]
    with open(path) as file:
        graphs = [Graph(lines) for _, lines in split(file.read()) if not all(line.startswith("//") for line in lines)]
    models = "// -----\n".join(graph.get_model() for graph in graphs)
    result = subprocess.run([*command, "-split-input-file"], input=models, capture_output=True, text=True)
    printed = result.stdout.split("// -----\n")
    if result.returncode != 0 or len(printed) != len(graphs):
        sys.exit(result.stderr or "expected %d models, but %d are printed" % (len(graphs), len(printed)))
    failed = False
    for graph, text in zip(graphs, printed):
        difference = list(difflib.unified_diff(graph.get_lines(), read_chunk(text), "written", "made", lineterm="", n=0))
        print("\n".join(difference), end="\n" if difference else "")
        failed |= bool(difference)
    sys.exit(failed)


if __name__ == "__main__":
    main()
