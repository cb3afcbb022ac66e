# SPDX-License-Identifier: Apache-2.0
"""Models with experts as mf IR, for the end-to-end tests: an embedding, layers of experts and a head.

The importer makes the same of a YAML, with more around it; here each size is free.
"""


class Model:
    """`rows` of the router, each of batch * sequence / rows tokens, choose `choices` of `experts`. With a `capacity`
    experts take so many tokens of each row and no more; without, `parallel` ranks share them out, each with room for
    `room` rows."""

    batch, sequence, hidden, vocabulary, layers = 4, 8, 8, 32, 1
    rows, experts, choices, width = 4, 4, 2, 12
    capacity, parallel, room = None, 1, None
    # The cuts of the weights of experts with a capacity, and of the rest.
    expert_cuts = ('[["ep"], ["mp"], []]', '[["ep"], [], ["mp"]]')
    product = "expert_matmul"
    # Blocks of a weight that has gates and ups, which model-parallel ranks share out; 0 for two weights.
    blocks = 0

    def __init__(self, **sizes):
        self.__dict__.update(sizes)
        self.tokens = self.batch * self.sequence // self.rows

    def __str__(self):
        return Writer(self).write()


class Writer:
    def __init__(self, model):
        self.model, self.lines, self.types, self.count = model, [], {}, 0

    def get_type(self, shape, element="f32"):
        return "tensor<%s>" % "x".join([*map(str, shape), element])

    def add(self, operator, operands, shape, element="f32", attributes="", results=None):
        """An operator of one result; of several with `results`, a list of shapes and element types."""
        results = results or [(shape, element)]
        names = []
        for _ in results:
            self.count += 1
            names.append("%%v%d" % self.count)
        types = [self.get_type(*result) for result in results]
        for name, type in zip(names, types):
            self.types[name] = type
        attributes = ", ".join(filter(None, [attributes, 'name = "%s.%d"' % (operator, self.count)]))
        self.lines.append("    %s = mf.%s %s {%s} : (%s) -> (%s)" % (
            ", ".join(names), operator, ", ".join(operands), attributes,
            ", ".join(self.types[operand] for operand in operands), ", ".join(types),
        ))  # fmt: skip
        return names[0] if len(names) == 1 else names

    def parameter(self, name, shape):
        self.count += 1
        value = "%%p%d" % self.count
        self.types[value] = self.get_type(shape)
        self.lines.append("    %s = mf.get_param @%s : %s" % (value, name, self.types[value]))
        return value

    def route(self, x, layer):
        """The choices [rows, tokens, k] of each token, and their gates."""
        m = self.model
        weight = self.parameter("layers.%d.router.weight" % layer, (m.experts, m.hidden))
        logits = self.add("matmul", [x, weight], (m.rows, m.tokens, m.experts), attributes="transpose_b = true")
        scores = self.add("softmax", [logits], (m.rows, m.tokens, m.experts))
        shape = (m.rows, m.tokens, m.choices)
        return self.add("top_k", [scores], None, attributes="k = %d : i64" % m.choices,
                        results=[(shape, "f32"), (shape, "i32")])  # fmt: skip

    def add_up(self, y, gates):
        """[rows, tokens, k, hidden] times gates [rows, tokens, k], summed."""
        m = self.model
        shape = (m.rows, m.tokens, m.choices, m.hidden)
        gates = self.add("reshape", [gates], (*shape[:3], 1))
        y = self.add("mul", [y, gates], shape)
        return self.add("reduce_sum", [y], (m.rows, m.tokens, m.hidden), attributes="axes = array<i64: 2>")

    def run_capacity(self, x, layer):
        m = self.model
        r, t, e, n, k, h = m.rows, m.tokens, m.experts, m.capacity, m.choices, m.hidden
        gates, chosen = self.route(x, layer)
        dispatch, combine = self.add("top_k_router", [chosen], None, attributes="k_major = true",
                                     results=[((r, e, n), "i32"), ((r, t, k), "i32")])  # fmt: skip
        padded = self.add("pad", [x], (r, 1 + t, h), attributes="low = array<i64: 0, 1, 0>, high = array<i64: 0, 0, 0>")
        dispatch = self.add("reshape", [dispatch], (r, e * n), "i32")
        y = self.add("gather_rows", [padded, dispatch], (r, e * n, h))
        y = self.add("reshape", [y], (r, e, n, h))
        y = self.add("transpose", [y], (e, r, n, h), attributes="perm = array<i64: 1, 0, 2, 3>")
        y = self.add("reshape", [y], (e, r * n, h))
        gate, up = self.run_gate_up(y, layer)
        gate = self.add("silu", [gate], (e, r * n, m.width))
        y = self.add("mul", [up, gate], (e, r * n, m.width))
        down = self.parameter("layers.%d.ffn.w2.weight" % layer, (e, h, m.width))
        y = self.add("matmul", [y, down], (e, r * n, h), attributes="transpose_b = true")
        y = self.add("reshape", [y], (e, r, n, h))
        y = self.add("transpose", [y], (r, e, n, h), attributes="perm = array<i64: 1, 0, 2, 3>")
        y = self.add("pad", [y], (r, e, 1 + n, h), attributes="low = array<i64: 0, 0, 1, 0>, high = array<i64: 0, 0, 0, 0>")
        y = self.add("reshape", [y], (r, e * (1 + n), h))
        places = self.add("reshape", [combine], (r, t * k), "i32")
        y = self.add("gather_rows", [y, places], (r, t * k, h))
        y = self.add("reshape", [y], (r, t, k, h))
        # Tokens that were dropped have place 0 of their expert.
        place = self.add("cast", [combine], (r, t, k))
        place = self.add("remainder", [place], (r, t, k), attributes="value = %d.0 : f64" % (n + 1))
        kept = self.add("compare_scalar", [place], (r, t, k), attributes="comparison = #mf.comparison<greater>, value = 0.0 : f64")
        return self.add_up(y, self.add("mul", [gates, kept], (r, t, k)))

    def run_gate_up(self, y, layer):
        m = self.model
        e, s, h, w = m.experts, m.rows * m.capacity, m.hidden, m.width
        product = lambda w, size: self.add("matmul", [y, w], (e, s, size), attributes="transpose_b = true")
        if not m.blocks:
            names = ["layers.%d.ffn.w%d.weight" % (layer, i) for i in (1, 3)]
            return [product(self.parameter(name, (e, w, h)), w) for name in names]
        both = product(self.parameter("layers.%d.ffn.w_gate_hidden.weight" % layer, (e, 2 * w, h)), 2 * w)
        size = w // m.blocks
        both = self.add("reshape", [both], (e, s, m.blocks, 2 * size))
        halves = [
            self.add("slice", [both], (e, s, m.blocks, size),
                     attributes="starts = array<i64: 0, 0, 0, %d>, sizes = array<i64: %d, %d, %d, %d>" % (i * size, e, s, m.blocks, size))
            for i in (0, 1)
        ]  # fmt: skip
        return [self.add("reshape", [half], (e, s, w)) for half in halves]

    def run_dropless(self, x, layer):
        m = self.model
        r, t, e, k, h = m.rows, m.tokens, m.experts, m.choices, m.hidden
        p, g, own, places = m.parallel, m.rows // m.parallel, m.experts // m.parallel, m.tokens * m.choices
        room = m.room or p * places
        gates, chosen = self.route(x, layer)
        chosen = self.add("transpose", [chosen], (r, k, t), "i32", "perm = array<i64: 0, 2, 1>")
        chosen = self.add("reshape", [chosen], (r, places), "i32")
        keys = self.add("cast", [chosen], (r, places))
        ids, order = self.add("sort", [keys], None, results=[((r, places), "f32"), ((r, places), "i32")])
        order = self.add("cast", [order], (r, places))
        token = self.add("remainder", [order], (r, places), attributes="value = %d.0 : f64" % t)
        token = self.add("cast", [token], (r, places), "i32")
        y = self.add("gather_rows", [x, token], (r, places, h))
        counts = self.add("one_hot", [chosen], (r, places, e))
        counts = self.add("reduce_sum", [counts], (r, e), attributes="axes = array<i64: 1>")
        send = self.add("reshape", [counts], (g, p, p, own))
        receive = self.add("transpose", [send], (g, p, p, own), attributes="perm = array<i64: 0, 2, 1, 3>")
        y = self.add("reshape", [y], (g, p, places, h))
        y = self.add("exchange_tokens", [y, send, receive], (g, p, room, h), attributes="fill = 0.0 : f64")
        ids = self.add("reshape", [ids], (g, p, places, 1))
        ids = self.add("exchange_tokens", [ids, send, receive], (g, p, room, 1), attributes="fill = %d.0 : f64" % e)
        ids = self.add("reshape", [ids], (g, p, room))
        y, back = self.add("token_permute", [y, ids], None, results=[((g, p, room, h), "f32"), ((g, p, room), "i32")])
        counts = self.add("reduce_sum", [receive], (g, p, own), attributes="axes = array<i64: 2>")
        up = self.parameter("layers.%d.ffn.w1" % layer, (e, h, 2 * m.width))
        up = self.add("reshape", [up], (p, own, h, 2 * m.width))
        y = self.add(m.product, [y, up, counts], (g, p, room, 2 * m.width))
        gate, up = self.add("split", [y], None, attributes="axis = 3 : i64", results=[((g, p, room, m.width), "f32")] * 2)
        gate = self.add("silu", [gate], (g, p, room, m.width))
        y = self.add("mul", [up, gate], (g, p, room, m.width))
        down = self.parameter("layers.%d.ffn.w2" % layer, (e, m.width, h))
        down = self.add("reshape", [down], (p, own, m.width, h))
        y = self.add(m.product, [y, down, counts], (g, p, room, h))
        y = self.add("token_unpermute", [y, back], (g, p, room, h))
        y = self.add("exchange_tokens", [y, receive, send], (g, p, places, h), attributes="fill = 0.0 : f64")
        y = self.add("reshape", [y], (r, places, h))
        _, unsort = self.add("sort", [order], None, results=[((r, places), "f32"), ((r, places), "i32")])
        y = self.add("gather_rows", [y, unsort], (r, places, h))
        y = self.add("reshape", [y], (r, k, t, h))
        y = self.add("transpose", [y], (r, t, k, h), attributes="perm = array<i64: 0, 2, 1, 3>")
        return self.add_up(y, gates)

    def write_layer(self, layer):
        m = self.model
        shape = (m.batch, m.sequence, m.hidden)
        stream = self.get_type(shape)
        self.types["%x"] = stream
        self.lines.append("  mf.layer @layers.%d body (%%x: %s) -> %s {" % (layer, stream, stream))
        gamma = self.parameter("layers.%d.ffn_norm.weight" % layer, (m.hidden,))
        x, _ = self.add("rms_norm", ["%x", gamma], None, attributes="epsilon = 1.0e-5",
                        results=[(shape, "f32"), (shape[:2], "f32")])  # fmt: skip
        x = self.add("reshape", [x], (m.rows, m.tokens, m.hidden))
        y = self.run_capacity(x, layer) if m.capacity else self.run_dropless(x, layer)
        y = self.add("reshape", [y], shape)
        y = self.add("add", ["%x", y], shape)
        self.lines += ["    mf.return %s : %s" % (y, stream), "  }"]

    def write_parameters(self):
        m = self.model
        parameters = [("embedding.weight", (m.vocabulary, m.hidden), "")]
        for layer in range(m.layers):
            name = "layers.%d." % layer
            parameters += [(name + "ffn_norm.weight", (m.hidden,), "parallel_optimizer = false")]
            parameters += [(name + "router.weight", (m.experts, m.hidden), "")]
            first, second = ("cuts = " + cuts for cuts in m.expert_cuts)
            if m.capacity:
                if m.blocks:
                    parameters += [(name + "ffn.w_gate_hidden.weight", (m.experts, 2 * m.width, m.hidden), first)]
                else:
                    parameters += [(name + "ffn.w%d.weight" % i, (m.experts, m.width, m.hidden), first) for i in (1, 3)]
                parameters += [(name + "ffn.w2.weight", (m.experts, m.hidden, m.width), second)]
            else:
                cuts = 'cuts = [["ep"], [], []]'
                parameters += [(name + "ffn.w1", (m.experts, m.hidden, 2 * m.width), cuts)]
                parameters += [(name + "ffn.w2", (m.experts, m.width, m.hidden), cuts)]
        parameters += [("lm_head.weight", (m.vocabulary, m.hidden), "")]
        for name, shape, attributes in parameters:
            init = "<ones>" if len(shape) == 1 else "<normal, value = 0.02>"
            self.lines.append("  mf.param @%s : %s init %s%s" % (
                name, self.get_type(shape), init, attributes and " {%s}" % attributes))  # fmt: skip

    def write(self):
        m = self.model
        tokens, stream = self.get_type((m.batch, m.sequence), "i32"), self.get_type((m.batch, m.sequence, m.hidden))
        count = m.batch * m.sequence
        labels = tokens
        self.lines.append("mf.model @experts attributes {micro_batch_size = %d : i64, sequence_length = %d : i64, "
                          "vocab_size = %d : i64} {" % (m.batch, m.sequence, m.vocabulary))  # fmt: skip
        self.write_parameters()
        self.lines.append("  mf.layer @embedding embedding (%%tokens: %s) -> %s {" % (tokens, stream))
        self.types.update({"%tokens": tokens, "%labels": labels, "%x": stream})
        table = self.parameter("embedding.weight", (m.vocabulary, m.hidden))
        x = self.add("embedding", [table, "%tokens"], (m.batch, m.sequence, m.hidden))
        self.lines += ["    mf.return %s : %s" % (x, stream), "  }"]
        for layer in range(m.layers):
            self.write_layer(layer)
        self.lines.append("  mf.layer @lm_head head (%%x: %s, %%labels: %s) -> tensor<f32> {" % (stream, labels))
        head = self.parameter("lm_head.weight", (m.vocabulary, m.hidden))
        logits = self.add("matmul", ["%x", head], (m.batch, m.sequence, m.vocabulary), attributes="transpose_b = true")
        logits = self.add("reshape", [logits], (count, m.vocabulary))
        labels = self.add("reshape", ["%labels"], (count,), "i32")
        loss, _, _ = self.add("cross_entropy", [logits, labels], None,
                              results=[((), "f32"), ((count,), "f32"), ((), "f32")])  # fmt: skip
        self.lines += ["    mf.return %s : tensor<f32>" % loss, "  }", "}"]
        return "\n".join(self.lines) + "\n"
