# SPDX-License-Identifier: Apache-2.0
"""Checks of DeepSeek-V4 that need no reference: models that must agree, and values that must not depend on others.

usage: deepseek4_checks.py BIN_FOLDER WORK_FOLDER [CHECK...]
"""

import math
import sys

import numpy
import safetensors
import step_results
import torch_deepseek4
import training
from deepseek4_matches_torch import BATCH, FUSED, HYBRID, LATENT, SHORT, STREAMS, lower, make_tables, write_data


class Model:
    """A model with parameters by formula, which `change` may change: (name, value) to value."""

    def __init__(self, tools, name, model, change=lambda name, value: value, parallel=None, memory=()):
        self.tools, self.name, self.model = tools, name, model
        self.mlir, self.step = lower(tools, name, model, parallel, memory)
        shapes = {n: s for n, s in tools.parameters(self.mlir).items() if "mtp.embeddings" not in n}
        values = {n: change(n, torch_deepseek4.make_parameter(n, s)) for n, s in shapes.items()}
        self.weights = tools.path(name + ".weights.safetensors")
        safetensors.save(self.weights, {n: numpy.float32(v) for n, v in values.items()})

    def run(self):
        data, _ = write_data(self.tools, self.model)
        return step_results.run(self.tools, self.step, data, 1, self.weights)

    def get_hidden(self, rows):
        """The normalised hidden states before the head of token rows [batch, length + 1]."""
        data, dump = self.tools.path("rows.npy"), self.tools.path("dump.safetensors")
        numpy.save(data, rows.astype(numpy.int32))
        self.tools.train(
            self.step, data, 1, self.weights, extra=["--dump-tensors=norm_out.norm:y", "-o", dump]
        )  # fmt: skip
        (value,) = [v for n, v in safetensors.load(dump).items() if v.ndim == 3]
        return value


def is_close(first, second, bound):
    return abs(first - second) <= bound * abs(first)


def are_near(first, second, names):
    """Whether gradients differ by rounding only: relative to their norm, or to 1 % of that of all for small ones."""
    norm = numpy.linalg.norm
    least = 0.01 * math.sqrt(sum(norm(first.gradients[name]) ** 2 for name in names))
    return all(
        norm(first.gradients[n] - second.gradients[n]) <= 1e-5 * max(least, norm(first.gradients[n])) for n in names
    )


def check_streams(tools):
    """Streams that are not mixed, read with equal weights and collapsed by their mean are one residual stream."""
    def set_plain(name, value):
        leaf = name.rsplit(".", 1)[-1]
        if leaf.startswith("alpha_"):
            return 0 * value
        if leaf == "bias" and "_hc." in name:
            n = round(math.sqrt(len(value) + 1)) - 1
            mixing = 80.0 * (numpy.eye(n) - 1).ravel()
            return numpy.concatenate([[-math.log(n - 1)] * n, [0.0] * n, mixing])
        return value

    model = dict(LATENT, hc_mult=4)
    streams = Model(tools, "unmixed", model, set_plain).run()
    plain = Model(tools, "plain", dict(model, enable_hyper_connections=False)).run()
    yield "streams that do not mix", is_close(plain.losses[0][0], streams.losses[0][0], 1e-4)
    zero = Model(tools, "zero", dict(LATENT, hc_sinkhorn_iters=0)).run()
    one = Model(tools, "one", dict(LATENT, hc_sinkhorn_iters=1)).run()
    yield "no iterations are as one", one.has_same_bits(zero)


def check_limits(tools):
    """A limit that nothing reaches is none."""
    wide = Model(tools, "wide", dict(LATENT, swiglu_limit=1e6)).run()
    none = Model(tools, "none", dict(LATENT, hidden_act="silu")).run()
    yield "a wide limit", none.losses == wide.losses
    narrow = Model(tools, "narrow", dict(LATENT, swiglu_limit=0.1)).run()
    yield "a narrow limit", none.losses != narrow.losses


def check_indexer(tools):
    """The loss of an indexer trains it and nothing else; one that chooses all entries chooses as if there were none."""
    without = Model(tools, "without", dict(SHORT, dsa_indexer_loss_coeff=0)).run()
    first = Model(tools, "first", SHORT).run()
    second = Model(tools, "second", dict(SHORT, dsa_indexer_loss_coeff=0.2)).run()
    names = [name for name in first.gradients if ".indexer." in name]
    yield "an indexer has parameters", len(names) > 0
    yield "no loss, no gradient", all(not without.gradients[name].any() for name in names)
    yield "a loss, a gradient", all(first.gradients[name].any() for name in names)
    others = [name for name in first.gradients if name not in names]
    yield "other gradients", all(
        (first.gradients[n] == other.gradients[n]).all() for n in others for other in (without, second)
    )
    chosen = Model(tools, "chosen", dict(SHORT, index_topk=100, dsa_indexer_loss_coeff=0)).run()
    dense = Model(tools, "dense", dict(SHORT, csa_dense_mode=True)).run()
    yield "all entries", is_close(dense.losses[0][0], chosen.losses[0][0], 1e-6)


def check_fused(tools):
    """The indexer's loss of the fused kernels has another gradient than that of the single operators, and trains nothing
    but the indexer, too. All else differs by rounding: the kernels of attention, and those of streams."""
    fused = Model(tools, "fused", FUSED).run()
    single = Model(tools, "single", dict(FUSED, apply_dsa_kernel_fusion=False)).run()
    names = [name for name in fused.gradients if ".indexer." in name]
    yield "fused: another gradient of the indexer", all((fused.gradients[n] != single.gradients[n]).any() for n in names)
    others = [name for name in fused.gradients if name not in names]
    yield "fused: other gradients", are_near(single, fused, others)
    without = Model(tools, "fused-without", dict(FUSED, dsa_indexer_loss_coeff=0)).run()
    yield "fused: no loss, no gradient", all(not without.gradients[name].any() for name in names)
    yield "fused: the loss trains the indexer alone", all((fused.gradients[n] == without.gradients[n]).all() for n in others)
    model = dict(LATENT, hc_mult=4, **STREAMS)
    kernels, operators = Model(tools, "kernels", model).run(), Model(tools, "operators", dict(model, use_fused_mhc=False)).run()
    yield "fused streams: losses", is_close(operators.losses[0][0], kernels.losses[0][0], 1e-6)
    yield "fused streams: gradients", are_near(operators, kernels, list(kernels.gradients))


def check_sink(tools):
    """A sink far above all scores takes all probability: no token sees another one. One far below takes nothing."""
    length, vocabulary = SHORT["seq_length"], SHORT["vocab_size"]
    model = dict(SHORT, num_hidden_layers=1, compress_ratios=[4], first_k_dense_replace=1, num_hash_layers=0)

    def set_sink(number):
        return lambda name, value: 0 * value + number if name.endswith("attn_sink") else value

    rows = torch_deepseek4.make_tokens(BATCH, length, vocabulary)
    changed = rows.copy()
    changed[:, 0] = (changed[:, 0] + 1) % vocabulary
    taken = Model(tools, "taken", model, set_sink(1e4))
    reached = (taken.get_hidden(rows) != taken.get_hidden(changed)).any(-1).any(0)
    yield "a high sink: each token sees itself", reached[0] and not reached[1:].any()
    low, lower_one = (Model(tools, "low-%d" % n, model, set_sink(-(10.0**n))).get_hidden(rows) for n in (3, 30))
    yield "a low sink takes nothing", (low == lower_one).all()


def check_tables(tools):
    """The tables of hash layers come from a file of weights and go into the files that are written, in each layout."""
    # Each replica has a loss that balances its own tokens.
    base = dict(
        SHORT, num_hidden_layers=4, num_hash_layers=3, compress_ratios=[0, 4, 4, 0], use_attn_mask_compression=True,
        moe_aux_loss_coeff=0,
    )  # fmt: skip
    model = Model(tools, "tables", base)
    weights, tables = safetensors.load(model.weights), make_tables(model.mlir, base)
    name = "decoder.layers.2.mlp.router.tid2eid"

    def run_with(values, step=model.step):
        safetensors.save(model.weights, dict(weights, **values))
        data, _ = write_data(tools, base)
        return step_results.run(tools, step, data, 1, model.weights)

    def find_error(table):
        try:
            run_with(dict(tables, **{name: table}))
        except RuntimeError as error:
            return str(error)
        return ""

    own = numpy.arange(base["vocab_size"])[:, None] + numpy.arange(base["num_experts_per_tok"])
    own = (own % base["n_routed_experts"]).astype(numpy.int32)
    first, whole = run_with({}), run_with(tables)
    yield "tables: one for each hash layer", len(tables) == 3 and name in tables
    yield "tables: first values", all((first.parameters[n] == own).all() for n in tables)
    yield "tables: first values from a file", run_with({n: own for n in tables}).has_same_bits(first)
    yield "tables: other tables", step_results.get_distance(first, whole) > 1e-3
    yield "tables: written as they were read", all(
        whole.parameters[n].dtype == t.dtype and (whole.parameters[n] == t).all() for n, t in tables.items()
    )
    wide = {n: t.astype(numpy.int64) for n, t in tables.items()}
    yield "tables: integers of 64 bits", run_with(wide).has_same_bits(whole)
    some = dict(tables)
    some[name] = own
    without = {n: t for n, t in tables.items() if n != name}
    yield "tables: one is not in the file", run_with(some).has_same_bits(run_with(without))

    table = tables[name]
    for what, wrong, text in (
        ("fp32", table.astype(numpy.float32), "' holds f32, expected i32 or i64: numbers of experts"),
        ("an expert too many", numpy.where(own == 3, 4, own), "' gives token 2 the expert 4, expected 0 to 3"),
        ("a negative expert", own - 1, "' gives token 0 the expert -1, expected 0 to 3"),
        ("a token too few", table[1:], "' has shape [63, 2], expected [64, 2]: the experts of each token"),
        ("transposed", table.T, "' has shape [2, 64], expected [64, 2]"),
    ):
        yield "tables: " + what, "tensor '" + name + text in find_error(wrong)

    for parallel in (
        {"data": 2, "shard": 2, "expert": 2}, {"data": 2, "shard": 2}, {"tensor": 2}, {"pipeline": 2}, {"context": 2},
        {"data": 2, "shard": 2, "expert": 2, "pipeline": 2},
    ):  # fmt: skip
        layout = ", ".join("%s %d" % item for item in parallel.items())
        _, step = lower(tools, "tables-" + "-".join(parallel), base, parallel)
        shared = run_with(tables, step)
        yield "tables: " + layout, step_results.get_distance(whole, shared) < 2e-5
        yield "tables: written by " + layout, all((shared.parameters[n] == t).all() for n, t in tables.items())


def check_checkpoints(tools):
    """A checkpoint has the tables, and ranks of another layout continue with them."""
    base = dict(SHORT, num_hidden_layers=2, num_hash_layers=2)
    one = Model(tools, "kept", base)
    tables = make_tables(one.mlir, base)
    safetensors.save(one.weights, dict(safetensors.load(one.weights), **tables))
    data, _ = write_data(tools, base)
    folder, straight, resumed = (tools.path(name) for name in ("kept", "straight.safetensors", "resumed.safetensors"))
    tools.train(one.step, data, 2, one.weights, extra=["--save-params", straight])
    tools.train(one.step, data, 1, one.weights, extra=["--checkpoint-dir", folder])
    tools.train(one.step, data, 2, None, extra=["--checkpoint-dir", folder, "--resume", "--save-params", resumed])
    yield "a checkpoint: same bits", safetensors.load_bytes(straight) == safetensors.load_bytes(resumed)
    _, step = lower(tools, "kept-pipeline", base, {"pipeline": 2})
    elsewhere = tools.path("elsewhere.safetensors")
    tools.train(
        step, data, 3, None, extra=["--checkpoint-dir", folder, "--resume", "--save-params", elsewhere]
    )  # fmt: skip
    behind = safetensors.load(elsewhere)
    yield "a checkpoint: on two stages", all((behind[n] == t).all() for n, t in tables.items())


def check_names(tools):
    """Tables keep their integers under Hugging Face's names and back, and when weights are rounded."""
    model = dict(LATENT, enable_hyper_connections=False, num_nextn_predict_layers=0, hidden_act="silu")
    one = Model(tools, "names", model)
    tables = {n: t.astype(numpy.int64) for n, t in make_tables(one.mlir, model).items()}
    weights = dict(safetensors.load(one.weights), **tables)
    own, exported, back = (tools.path(name + ".safetensors") for name in ("own", "exported", "back"))
    safetensors.save(own, weights)
    tools.run("mf-translate", "--export-hf", one.mlir, "--weights", own, "-o", exported, "--weights-type=bfloat16")
    theirs = safetensors.load(exported)
    names = {n: n.replace("decoder", "model").replace("router", "gate") for n in tables}
    yield "names: a table for each hash layer", len(tables) == 1
    yield "names: Hugging Face's", all((theirs[names[n]] == t).all() for n, t in tables.items())
    tools.run("mf-translate", "--import-hf-weights", one.mlir, "--weights", exported, "-o", back)
    read = safetensors.load(back)
    yield "names: back", all(read[n].dtype == t.dtype and (read[n] == t).all() for n, t in tables.items())


def check_documents(tools):
    """A token sees nothing of documents before its own, ranks agree on where documents start, and memory options change
    no bit."""
    length, vocabulary, end = HYBRID["seq_length"], HYBRID["vocab_size"], 5
    base = dict(HYBRID, eod=end, num_nextn_predict_layers=0, num_hidden_layers=1, num_hash_layers=0, first_k_dense_replace=1)
    rows = torch_deepseek4.make_tokens(BATCH, length, vocabulary)
    rows[rows == end] += 1
    # A document of 70 tokens, which ends within groups of 4 and of 128.
    rows[:, 69] = end
    changed = rows.copy()
    changed[:, :69] = numpy.where(changed[:, :69] == end + 2, end + 3, end + 2)
    for ratio in (0, 4, 128):
        model = Model(tools, "document-%d" % ratio, dict(base, compress_ratios=[ratio]))
        same = (model.get_hidden(rows) == model.get_hidden(changed)).all(-1).all(0)
        yield "ratio %d: the first document" % ratio, not same[:70].any()
        if ratio == 4:
            # Pooling knows no documents: the first entry of the second one, tokens 72 to 75, has the group before it.
            yield "ratio 4: the second document", same[70:75].all() and not same[75]
        else:
            yield "ratio %d: the second document" % ratio, same[70:].all()
    base = dict(
        SHORT, num_hidden_layers=4, num_nextn_predict_layers=1, compress_ratios=[0, 4, 0, 4, 4], moe_aux_loss_coeff=0, eod=end
    )  # fmt: skip
    whole = Model(tools, "documents", base).run()
    yield "documents change the step", step_results.get_distance(whole, Model(tools, "undivided", dict(base, eod=None)).run()) > 1e-3
    sections = {
        "full recompute": "recompute: {mode: full, full_recompute_layer: ['0-2']}",
        "recomputed attention": "recompute: {mode: select, select_module: {core_attention: ['0-3'], attn_hc: ['1']}}",
        "swap": "swap: {enable: True, default_prefetch: 1, layer_swap: [{layers: ['0-2']}]}",
    }
    for parallel in ({"data": 2, "shard": 2, "expert": 2}, {"tensor": 2}, {"pipeline": 2}):
        layout = ", ".join("%s %d" % item for item in parallel.items())
        name = "documents-" + "-".join(parallel)
        model = Model(tools, name, base, parallel=parallel)
        shared = model.run()
        yield "documents: " + layout, step_results.get_distance(whole, shared) < 2e-5
        for what, section in sections.items() if "data" in parallel else ():
            changed = Model(tools, name + "-" + what.replace(" ", "-"), base, parallel=parallel, memory=[section])
            yield "documents: another program with " + what, open(changed.step).read() != open(model.step).read()
            yield "documents: the same bits with " + what, changed.run().has_same_bits(shared)


def check_sight(tools):
    """Which tokens a query depends on."""
    length, vocabulary = HYBRID["seq_length"], HYBRID["vocab_size"]
    rows = torch_deepseek4.make_tokens(BATCH, length, vocabulary)
    common = dict(HYBRID, num_nextn_predict_layers=0, num_hidden_layers=1, num_hash_layers=0, first_k_dense_replace=1)
    window = common["sliding_window"]
    for ratio in (0, 4, 128):
        model = Model(tools, "ratio-%d" % ratio, dict(common, compress_ratios=[ratio]))
        before = model.get_hidden(rows)
        for place in (2, 3, 4, 126, 127, 128):
            changed = rows.copy()
            changed[:, place + 1 :] = (changed[:, place + 1 :] + 1) % vocabulary
            after = model.get_hidden(changed)
            yield "ratio %d sees nothing behind %d" % (ratio, place), (
                before[:, : place + 1] == after[:, : place + 1]
            ).all() and (before[:, place + 1 :] != after[:, place + 1 :]).any()
        changed = rows.copy()
        changed[:, 0] = (changed[:, 0] + 1) % vocabulary
        reached = (before != model.get_hidden(changed)).any(-1).any(0)
        yield "ratio %d: the window" % ratio, reached[:window].all()
        if ratio == 0:
            yield "ratio 0: nothing before the window", not reached[window:].any()
        if ratio == 128:
            yield "ratio 128: no entry before it is whole", not reached[window:127].any()
            yield "ratio 128: the first token by its entry", reached[127:].all()
        if ratio == 4:
            yield "ratio 4: the first token by its entry", reached[window:].any()


def check_parts(tools):
    """Ranks that share sequences compute what one rank does, from the last keys and tokens of the rank before and all
    entries. A window that is larger than a part needs all keys. The programs are proven."""
    long = dict(HYBRID, num_nextn_predict_layers=0, compress_ratios=[0, 4, 128], use_attn_mask_compression=True)
    short = dict(SHORT, use_attn_mask_compression=True)
    fused = dict(FUSED, use_attn_mask_compression=True, num_attention_heads=1, num_hidden_layers=1, compress_ratios=[4])
    cases = {
        "all ratios": (long, {"context": 2}),
        "one entry of a part": (dict(short, seq_length=16), {"context": 4}),
        "a window of one token": (dict(short, sliding_window=1), {"context": 2}),
        "a window of a part and a token": (dict(short, sliding_window=17), {"context": 2}),
        "a window above a part": (dict(short, sliding_window=18), {"context": 2}),
        "tensors and parts": (dict(short, csa_dense_mode=True), {"context": 2, "tensor": 2}),
        # The tokens of one entry are shared: its gradient is repeated for each rank's part of them.
        "tensors and one entry": (dict(long, seq_length=128), {"tensor": 2}),
        "tensors and one entry of a part": (dict(long, compress_ratios=[128] * 3), {"context": 2, "tensor": 2}),
        # Ranks of tensors cut groups, or have numbers of tokens that are none of whole groups.
        "tensors that do not divide groups": (dict(short, seq_length=20), {"tensor": 2}),
        "tensors that cut groups of a part": (dict(short, seq_length=16), {"context": 4, "tensor": 2}),
        "more tensors than groups of a part": (dict(short, seq_length=16, sliding_window=3), {"context": 2, "tensor": 4}),
        "fused kernels": (dict(fused, seq_length=256, compress_ratios=[128]), {"context": 2}),
        "fused kernels and an indexer": (dict(fused, seq_length=264), {"context": 2}),
        "fused kernels and tensors": (dict(fused, seq_length=256), {"context": 2, "tensor": 2}),
        "fused kernels with a window above a part": (dict(fused, seq_length=136), {"context": 2}),
    }
    for number, (what, (model, parallel)) in enumerate(cases.items()):
        whole = Model(tools, "whole-%d" % number, model).run()
        shared = Model(tools, "shared-%d" % number, model, parallel=parallel)
        tools.run("mf-opt", "--quiet", "--ascend-verify-program", shared.step, "-o", tools.path("verified.mlir"))
        yield "parts: " + what, step_results.get_distance(whole, shared.run()) < 2e-5


def main():
    tools = training.Tools(sys.argv[1], sys.argv[2])
    checks = (
        check_streams, check_limits, check_indexer, check_fused, check_sink, check_tables, check_checkpoints, check_names,
        check_documents, check_sight, check_parts,
    )  # fmt: skip
    wanted = sys.argv[3:]
    checks = [check for check in checks if not wanted or check.__name__ in wanted]
    results = [result for check in checks for result in check(tools)]
    for what, holds in results:
        print("%-45s %s" % (what, "holds" if holds else "FAILS"))
    if not all(holds for _, holds in results):
        sys.exit(1)


if __name__ == "__main__":
    main()
