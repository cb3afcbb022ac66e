# SPDX-License-Identifier: Apache-2.0
"""Counts the collectives of lowered steps.

usage: collectives_match_closed_forms.py BIN_FOLDER LLAMA_YAML WORK_FOLDER

What mf-opt --json says that a rank exchanges in a step must be what the layout
asks for, row by row: with l layers on a stage, M micro-batches, T bytes of the
rows of a micro-batch on a data- and context-parallel rank,

  model parallel           4 l M all_reduce of T: behind wo and w2, and of the gradients in front of wq and w1
  its sequence parallel    4 l M all_gather to T and 4 l M reduce_scatter of T instead
  context parallel         2 l M all_gather of keys and values, and 2 l M reduce_scatter of their gradients;
                           with ulysses_cp 8 l M all_to_all of queries, keys, values and results and their gradients
  optimizer shards         an all_gather of each parameter per step, with level3 per micro-batch and again in backward;
                           a reduce_scatter of each gradient per step, with level2 and level3 per micro-batch
  what is replicated       an all_reduce of each gradient per step
  pipeline                 a send and a receive of rows per micro-batch, boundary and direction

and what the embedding, the head and the norm of the gradients need.
"""

import collections
import json
import sys

import training

MODEL = {
    "seq_length": 16, "hidden_size": 32, "intermediate_size": 64, "vocab_size": 64, "num_layers": 4,
    "num_heads": 8, "n_kv_heads": 4, "batch_size": 2,
}  # fmt: skip
LAYERS, SEQUENCE, HIDDEN, KEYS, INNER, VOCABULARY, ROWS = 4, 16, 32, 16, 64, 64, 2
NORMS, FLOAT = 2, 4
# The table, the last norm, the head, and seven matrices and two norms of each layer.
PARAMETERS = 3 + 9 * LAYERS


class Case:
    def __init__(self, dp=1, cp=1, mp=1, pp=1, micro=2, sequence=False, ulysses=False, level=0, vocabulary=False):
        self.__dict__.update({key: value for key, value in locals().items() if key != "self"})
        # On several stages the vocabulary is cut over ranks anyway.
        self.vocabulary |= pp > 1

    def __str__(self):
        return ", ".join("%s = %s" % item for item in self.__dict__.items())

    def get_yaml(self):
        layout = "use_seq_parallel: %s, vocab_emb_dp: %s" % (self.sequence, not self.vocabulary)
        if self.ulysses:
            layout += ", context_parallel_algo: ulysses_cp"
        parallel = "enable_parallel_optimizer: %s" % (self.level > 0)
        if self.level:
            parallel += ", parallel_optimizer_config: {optimizer_level: level%d, parallel_optimizer_threshold: 0}" % self.level
        return layout, parallel

    def join(self, *axes):
        """Those of several ranks, in the mesh's order."""
        return ", ".join(axis for axis in ("dp", "cp", "mp") if axis in axes and getattr(self, axis) > 1)


class Expected(collections.Counter):
    """(kind, ranks, bytes) to count."""

    def add(self, kind, ranks, elements, count):
        if ranks and count:
            self[kind, ranks, elements * FLOAT] += count


def get_matrices(case, stage):
    """Elements of the parameters that mp cuts, and how many of each the stage has."""
    layers = LAYERS // case.pp
    matrices = collections.Counter()
    for elements, count in ((HIDDEN * HIDDEN, 2), (HIDDEN * KEYS, 2), (HIDDEN * INNER, 3)):
        matrices[elements // case.mp] += count * layers
    return matrices


def expect(case, stage):
    layers, micro = LAYERS // case.pp, case.micro
    is_first, is_last = stage == 0, stage == case.pp - 1
    rows = ROWS * (SEQUENCE // case.cp) * HIDDEN
    local = rows // case.mp if case.sequence else rows
    expected = Expected()
    # Tensors, rows and heads.
    mp = case.join("mp")
    if case.sequence:
        # The head wants all rows, and the embedding all of their gradients.
        expected.add("all_gather", mp, rows, (4 * layers + is_last + is_first) * micro)
        expected.add("reduce_scatter", mp, rows, 4 * layers * micro)
    else:
        expected.add("all_reduce", mp, rows, 4 * layers * micro)
    cp = case.join("cp")
    keys = ROWS * SEQUENCE * KEYS // case.mp
    if case.ulysses:
        queries = ROWS * SEQUENCE // case.cp * HIDDEN // case.mp
        expected.add("all_to_all", cp, queries, 4 * layers * micro)
        expected.add("all_to_all", cp, keys // case.cp, 4 * layers * micro)
    else:
        expected.add("all_gather", cp, keys, 2 * layers * micro)
        expected.add("reduce_scatter", cp, keys, 2 * layers * micro)
    # The vocabulary: a table over cp and mp, which sees all rows, and a head over mp.
    tokens = ROWS * SEQUENCE // case.cp
    if is_first and case.vocabulary:
        expected.add("all_reduce", case.join("cp", "mp"), ROWS * SEQUENCE * HIDDEN, micro)
        expected.add("all_gather", cp, ROWS * SEQUENCE * HIDDEN, micro)
    if is_last:
        expected.add("all_reduce", case.join("dp", "cp"), 2, micro)
    if is_last and case.vocabulary:
        expected.add("all_reduce max", mp, tokens, micro)
        expected.add("all_reduce", mp, tokens, 2 * micro)
        expected.add("reduce_scatter" if case.sequence else "all_reduce", mp, rows, micro)
    # Gradients and optimizer shards; `cuts` are the axes that cut what the norm of gradients is of.
    replicas = case.join("dp", "cp")
    matrices, cuts = get_matrices(case, stage), {case.join("mp", *(("dp", "cp") if case.level else ()))}
    if is_last and (case.vocabulary or case.mp == 1 or not case.level):
        matrices[VOCABULARY * HIDDEN // (case.mp if case.vocabulary else 1)] += 1
        cuts.add(case.join(*(("mp",) if case.vocabulary else ()), *(("dp", "cp") if case.level else ())))
    elif is_last:
        # All ranks of the stage have the same head, and share it out; only samples make summands of its gradient.
        expected.add("all_gather", case.join("dp", "cp", "mp"), VOCABULARY * HIDDEN, 2 * micro if case.level == 3 else 1)
        expected.add("reduce_scatter", replicas, VOCABULARY * HIDDEN, micro if case.level > 1 else 1)
        cuts.add(case.join("dp", "cp", "mp"))
    for elements, count in matrices.items():
        if case.level and replicas:
            times = 2 * micro if case.level == 3 else 1
            expected.add("all_gather", replicas, elements, count * times)
            expected.add("reduce_scatter", replicas, elements, count * (micro if case.level > 1 else 1))
        else:
            expected.add("all_reduce", replicas, elements, count)
    if is_first and case.vocabulary:
        expected.add("all_reduce", case.join("dp"), VOCABULARY * HIDDEN // (case.cp * case.mp), 1)
        cuts.add(case.join("cp", "mp"))
    elif is_first:
        expected.add("all_reduce", replicas, VOCABULARY * HIDDEN, 1)
    # Rows of norms are those of sequence parallel ranks; the head's norm sees all, but summands of their gradients.
    norms = case.join("dp", "cp", "mp") if case.sequence else replicas
    expected.add("all_reduce", norms, HIDDEN, NORMS * layers)
    expected.add("all_reduce", norms if case.vocabulary else replicas, HIDDEN, int(is_last))
    for axes in cuts:
        expected.add("all_reduce", axes, PARAMETERS, 1)
    expected.add("all_reduce", "pp" if case.pp > 1 else "", PARAMETERS, 1)
    # Stages.
    for other, exists in ((stage + 1, not is_last), (stage - 1, not is_first)):
        expected.add("send", "pp = %d" % other, local, micro * exists)
        expected.add("receive", "pp = %d" % other, local, micro * exists)
    return expected


CASES = [
    Case(mp=2), Case(mp=4, sequence=True), Case(mp=2, vocabulary=True), Case(cp=2), Case(cp=2, ulysses=True), Case(dp=2),
    Case(dp=2, level=1), Case(dp=2, level=2), Case(dp=2, level=3), Case(dp=2, mp=2, sequence=True, level=1),
    Case(dp=2, mp=2, pp=2, sequence=True, level=2, micro=4), Case(pp=4, dp=2, mp=2, micro=4), Case(dp=2, cp=2, pp=2, level=1),
]  # fmt: skip


def measure(tools, yaml, case):
    path, report = tools.path("train.yaml"), tools.path("report.json")
    layout, parallel = case.get_yaml()
    training.write_layout(path, yaml, MODEL, case.dp, case.cp, case.mp, case.pp, case.micro, layout, parallel)
    try:
        tools.lower_yaml(path, lowering=["--json=" + report])
    except RuntimeError as error:
        sys.exit("%s: %s" % (case, error))
    lines = [json.loads(line) for line in open(report)]
    return next(line["stages"] for line in lines if "stages" in line)


def main():
    tools = training.Tools(sys.argv[1], sys.argv[3])
    text = open(sys.argv[2]).read()
    problems, rows = 0, 0
    for case in CASES:
        for stage in measure(tools, text, case):
            found = {(row["kind"], row["ranks"], row["bytes"]): row["count"] for row in stage["exchanges"]}
            assert all(row["total"] == row["bytes"] * row["count"] for row in stage["exchanges"])
            assert stage["ranks"] == case.dp * case.cp * case.mp and stage["first_rank"] == stage["stage"] * stage["ranks"]
            expected = expect(case, stage["stage"])
            for key in sorted(set(found) | set(expected)):
                rows += 1
                if found.get(key, 0) != expected.get(key, 0):
                    problems += 1
                    print("%s: stage %d: %s: %d, expected %d" % (case, stage["stage"], key, found.get(key, 0), expected.get(key, 0)))
    print("%d layouts, %d rows, %d problems" % (len(CASES), rows, problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
