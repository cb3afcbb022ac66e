# SPDX-License-Identifier: Apache-2.0
"""Prints DeepSeek-V3 as mf IR: its parameters, as strategies cut them, in layers that only read them."""

HIDDEN, VOCABULARY, LAYERS, DENSE, EXPERTS, WIDTH = 7168, 129280, 62, 3, 256, 2048
ROWS, COLUMNS, WHOLE, SHARED = '[["mp"], []]', '[[], ["mp"]]', None, '[["ep"], [], []]'
ATTENTION = [
    ("q2l_proj", (1536, HIDDEN), WHOLE), ("l2q_nope_proj", (128 * 128, 1536), ROWS), ("l2q_pe_proj", (128 * 64, 1536), ROWS),
    ("kv2l_k_pe", (64, HIDDEN), WHOLE), ("kv2l_latent_kv", (512, HIDDEN), WHOLE), ("lkv2kv_k_nope", (128 * 128, 512), ROWS),
    ("lkv2kv_v", (128 * 128, 512), ROWS), ("wo", (HIDDEN, 128 * 128), COLUMNS),
]  # fmt: skip
STREAM = "tensor<16x4096x%dxf32>" % HIDDEN


def get_norms(*sizes):
    return [("norm%d" % number, (size,), WHOLE) for number, size in enumerate(sizes)]


def get_layer(number):
    parameters = get_norms(HIDDEN, HIDDEN, 1536, 512) + ATTENTION
    if number < DENSE:
        return parameters + [("w1", (18432, HIDDEN), ROWS), ("w3", (18432, HIDDEN), ROWS), ("w2", (HIDDEN, 18432), COLUMNS)]
    parameters = parameters + [("router", (EXPERTS, HIDDEN), WHOLE)]
    parameters += [("shared.w%d" % i, (HIDDEN, WIDTH) if i == 2 else (WIDTH, HIDDEN), WHOLE) for i in (1, 2, 3)]
    parameters += [("ffn.w1", (EXPERTS, HIDDEN, 2 * WIDTH), SHARED), ("ffn.w2", (EXPERTS, WIDTH, HIDDEN), SHARED)]
    if number == LAYERS - 1:
        parameters += [("fuser", (HIDDEN, 2 * HIDDEN), WHOLE)] + [("fuser." + n, s, c) for n, s, c in get_norms(HIDDEN, HIDDEN)]
    return parameters


def get_type(shape):
    return "tensor<%sxf32>" % "x".join(map(str, shape))


def main():
    layers = [("embedding", "embedding", [("table", (VOCABULARY, HIDDEN), '[["cp", "mp"], []]')])]
    layers += [("layers.%d" % number, "body", get_layer(number)) for number in range(LAYERS)]
    layers += [("lm_head", "head", get_norms(HIDDEN, HIDDEN) + [("weight", (VOCABULARY, HIDDEN), ROWS)])]
    print("mf.model @deepseek attributes {micro_batch_size = 16 : i64, sequence_length = 4096 : i64, vocab_size = %d : i64} {" % VOCABULARY)
    for layer, _, parameters in layers:
        for name, shape, cuts in parameters:
            attributes = ["parallel_optimizer = false"] if len(shape) == 1 else ["cuts = " + cuts] if cuts else []
            print("mf.param @%s.%s : %s init <zeros> {%s}" % (layer, name, get_type(shape), ", ".join(attributes)))
    for layer, kind, parameters in layers:
        tokens = ", %tokens: tensor<16x4096xi32>" if kind != "body" else ""
        print("mf.layer @%s %s (%%x: %s%s) -> %s {" % (layer, kind, STREAM, tokens, STREAM))
        for number, (name, shape, _) in enumerate(parameters):
            print("%%p%d = mf.get_param @%s.%s : %s" % (number, layer, name, get_type(shape)))
        print("mf.return %%x : %s\n}" % STREAM)
    print("}")


if __name__ == "__main__":
    main()
