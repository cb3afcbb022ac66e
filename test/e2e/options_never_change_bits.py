# SPDX-License-Identifier: Apache-2.0
"""Checks that memory options and stages never change a bit of loss or gradients.

usage: options_never_change_bits.py [--part=K/N] [--tests=FOLDER] BIN_FOLDER WORK_FOLDER [SEED [COUNT]]

Trains a dense model and two with experts, of which one drops tokens and one
balances its router, for three steps with nothing recomputed on one stage, then
with fixed and with randomly drawn recompute and swap settings, stages and
threads, with fused operators now and then. All losses, accumulated gradients and trained parameters must be the
same bytes. What swaps runs on a slow link to the host now and then, so that
copies are late. With --tests what has other bits is minimised (minimise_pair.py).
"""

import sys

import minimise_pair
import parts
import step_results
import training

STEPS, BATCH, MICRO_BATCHES, LAYERS = 3, 1, 4, 4

# Keys of moe_config and of callbacks.
MODELS = [
    ({}, {}),
    ({"expert_num": 4, "num_experts_chosen": 2, "capacity_factor": 0.8, "routing_policy": "TopkRouterV2"}, {}),
    ({"expert_num": 4, "num_experts_chosen": 2, "use_gmm": True, "use_gating_sigmoid": True, "shared_expert_num": 1,
      "balance_via_topk_bias": True},
     {"TopkBiasBalanceCallback": {"balance_via_topk_bias": True, "topk_bias_update_rate": 0.01, "expert_num": 4,
                                  "micro_batch_num": MICRO_BATCHES}}),
]  # fmt: skip

CUSTOM = r"['feed_forward\.w1\.matmul', 'attention\.flash_attention', 'attention_norm\.norm']"
TABLE = r"{'feed_forward\.mul': True, 'feed_forward\.w3\.matmul': [1], 'attention\.wq\.matmul': [2]}"

FIXED = [
    (1, {"recompute": "True"}),
    (2, {"recompute": "[2, 1]"}),
    (4, {"recompute": "[1, 0, 1, 0]"}),
    (1, {"select_recompute": "True"}),
    (4, {"select_recompute": "True"}),
    (2, {"select_recompute": CUSTOM}),
    (1, {"select_recompute": TABLE}),
    (2, {"recompute": "[1, 1]", "select_recompute": "['feed_forward', 'attention']"}),
    (1, {"recompute": "True", "select_recompute_exclude": r"['feed_forward\.w2\.matmul']"}),
    (4, {}),
]

# Grows once in three steps.
SCALE = "{type: DynamicLossScaleUpdateCell, loss_scale_value: 512, scale_window: 2}"

ALL = "[{backward_prefetch: %d, layers: True}]"

FIXED_SWAPS = [
    (1, {}, {}),
    (4, {}, {"default_prefetch": "7"}),
    (1, {}, {"layer_swap": ALL % 1}),
    (2, {}, {"layer_swap": ALL % 3}),
    (4, {}, {"layer_swap": ALL % 20}),
    (2, {}, {"layer_swap": ALL % 1000}),
    (1, {}, {"op_swap": r"[{op_name: 'feed_forward\.w1\.matmul', backward_prefetch: 2, layers: [1, 3]}]"}),
    (2, {"recompute": "[1]", "select_recompute": r"{'feed_forward\.mul': [0, 2]}"},
     {"layer_swap": ALL % 5, "op_swap": r"[{op_name: '.*\.norm', backward_prefetch: 9, layers: True}]"}),
]  # fmt: skip

CELLS = [
    r"attention", r"feed_forward", r"attention_norm", r"ffn_norm",
    r"attention\.wq", r"attention\.apply_rotary_emb", r"feed_forward\.w1",
    r"attention\.wk\.matmul", r"attention\.wv\.matmul", r"attention\.wo\.matmul",
    r"attention\.apply_rotary_emb\.mul", r"attention\.apply_rotary_emb\.concat",
    r"attention\.transpose", r"attention\.merger_head_transpose",
    r"attention\.flash_attention\.flash_attention", r"attention\.flash_attention",
    r"feed_forward\.w1\.matmul", r"feed_forward\.w1\.activation\.silu",
    r"feed_forward\.w3\.matmul", r"feed_forward\.w2\.matmul", r"feed_forward\.mul",
    r"attention_norm\.norm", r"ffn_norm\.norm", r"add", r".*\.norm",
    r"feed_forward\.swiglu", r"feed_forward\.w13_concat", r"attention\.apply_rotary_emb\.rope",
    r"feed_forward\.w[13]\.matmul", r"feed_forward\.ffn", r"feed_forward\.ffn\.mul",
    r"feed_forward\.router\.router\.topk", r"feed_forward\.router\.router", r"feed_forward\.routed_experts",
    r"feed_forward\.routed_experts\.ffn\.hook_ffn_forward", r"feed_forward\.shared_experts\.w1\.matmul",
    r"feed_forward\.routed_experts\.ffn\.level0", r"feed_forward\.routed_experts\.ffn\.level1",
]  # fmt: skip


def draw_counts(generator, stages):
    return "[%s]" % ", ".join(
        str(generator.choice([0, 1, 2, LAYERS, True, False])) for _ in range(stages)
    )


def draw(generator):
    """One random configuration: stages and recompute settings."""
    stages = generator.choice([1, 2, 4])
    settings = {}
    settings["recompute"] = generator.choice(
        ["False", "False", "True", draw_counts(generator, stages)]
    )
    patterns = generator.sample(CELLS, generator.randint(0, 5))
    form = generator.randint(0, 2)
    if form == 0:
        settings["select_recompute"] = "[%s]" % ", ".join("'%s'" % p for p in patterns)
    elif form == 1:
        settings["select_recompute"] = "{%s}" % ", ".join(
            "'%s': %s" % (p, generator.choice(["True", draw_counts(generator, stages)]))
            for p in patterns
        )
    else:
        settings["select_recompute"] = draw_counts(generator, stages)
    if generator.random() < 0.3:
        excluded = generator.sample([c for c in CELLS if c.count(".") > 1], 2)
        settings["select_recompute_exclude"] = "[%s]" % ", ".join(
            "'%s'" % p for p in excluded
        )
    return stages, settings


def draw_layers(generator):
    return str(sorted(generator.sample(range(LAYERS), generator.randint(0, LAYERS))))


def draw_swap(generator):
    """One random configuration with swap on: lists mean layers, not counts."""
    stages = generator.choice([1, 2, 4])
    settings = {"recompute": generator.choice(["False", draw_layers(generator)])}
    patterns = generator.sample(CELLS, generator.randint(0, 2))
    settings["select_recompute"] = "{%s}" % ", ".join(
        "'%s': %s" % (p, draw_layers(generator)) for p in patterns
    )
    distances = [1, 1, 2, 5, 17, 60, 1000]
    items = [
        "{op_name: '%s', backward_prefetch: %d, layers: %s}"
        % (p, generator.choice(distances), generator.choice(["True", draw_layers(generator)]))
        for p in generator.sample(CELLS, generator.randint(0, 4))
    ]
    swap = {"op_swap": "[%s]" % ", ".join(items)}
    if generator.random() < 0.6:
        swap["layer_swap"] = "[{backward_prefetch: %d, layers: %s}]" % (
            generator.choice(distances), generator.choice(["True", draw_layers(generator)])
        )  # fmt: skip
    return stages, settings, swap


def run(tools, data, stages, settings, threads, swap=None, rate=0, is_fused=False, model=0):
    """The result of one configuration."""
    experts, callbacks = MODELS[model]
    fused = {"use_fused_rope": True, "use_fused_swiglu": True} if is_fused else {}
    _, step = tools.lower(
        "case", dict(training.MODEL, **fused), stages=stages, micro_batches=MICRO_BATCHES,
        batch_size=BATCH, recompute=settings, swap=swap, scale_sense=SCALE,
        experts=experts, callbacks=callbacks,
    )  # fmt: skip
    return step_results.run(tools, step, data, STEPS, threads=threads, extra=["--d2h-gbps=%g" % rate])


def main():
    part = parts.pop_part()
    folder = minimise_pair.FoundTests.pop_folder()
    tools = training.Tools(sys.argv[1], sys.argv[2])
    tests = minimise_pair.FoundTests(tools, folder, "options-never-change-bits")
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 12
    data = tools.path("text.txt")
    generator = training.start_drawing(data, seed)

    expected = {}
    cases = [(*case, None) for case in FIXED] + FIXED_SWAPS
    cases += [(*draw(generator), None) for _ in range(count)]
    cases += [draw_swap(generator) for _ in range(count)]
    failures = 0
    selected = part.select(enumerate(cases))
    for index, (stages, settings, swap) in selected:
        model = index // 2 % len(MODELS)
        if model not in expected:
            expected[model] = run(tools, data, 1, {}, threads=2, model=model)
        actual = run(
            tools, data, stages, settings, threads=1 + index % 3, swap=swap,
            rate=0.05 * (index % 2), is_fused=index % 5 > 2, model=model,
        )  # fmt: skip
        found = step_results.find_difference(expected[model], actual)
        if found:
            failures += 1
            print("model %d, stages %d, %s, swap %s: different %s" % (model, stages, settings, swap, found))
            for line in tests.add(expected[model].description, actual.description):
                print("    " + line, flush=True)
    print("%d configurations, %d different (seed %d)" % (len(selected), failures, seed))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
