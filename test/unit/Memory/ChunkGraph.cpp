//===- ChunkGraph.cpp - The operators of a transformer --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ChunkGraph.h"
#include <algorithm>

namespace mf::memory {

int64_t ChunkGraph::addNorm(int64_t input) {
  int64_t tokens = options.sequence, hidden = options.hidden;
  int64_t wide =
      add("norm.cast", {input}, tokens * hidden * 4, {}, false, true);
  int64_t square =
      add("norm.square", {wide}, tokens * hidden * 4, {0}, false, true);
  int64_t mean = add("norm.mean", {square}, tokens * 4, {}, false, true);
  int64_t rstd = add("norm.rsqrt", {mean}, tokens * 4, {}, true, true);
  int64_t scaled =
      add("norm.mul", {wide, rstd}, tokens * hidden * 4, {0, 1}, false, true);
  int64_t narrow =
      add("norm.narrow", {scaled}, tokens * hidden * 2, {}, false, true);
  return add("norm.gain", {narrow}, tokens * hidden * 2, {0}, false, true);
}

int64_t ChunkGraph::addRotary(int64_t input, int64_t size) {
  int64_t left = add("rope.slice_left", {input}, size / 2, {}, false, true);
  int64_t right = add("rope.slice_right", {input}, size / 2, {}, false, true);
  int64_t negated = add("rope.neg", {right}, size / 2, {}, false, true);
  int64_t turned = add("rope.concat", {negated, left}, size, {}, false, true);
  int64_t cosine = add("rope.mul_cos", {input}, size, {}, false, true);
  int64_t sine = add("rope.mul_sin", {turned}, size, {}, false, true);
  return add("rope.add", {cosine, sine}, size, {}, false, true);
}

int64_t ChunkGraph::addAttention(int64_t q, int64_t k, int64_t v) {
  int64_t tokens = options.sequence;
  int64_t width = options.hidden / options.tensorParallel;
  if (!options.unfusedAttention) {
    int64_t sums =
        add("attention.softmax_sum", {q, k},
            tokens * options.heads / options.tensorParallel * 32, {0, 1}, true);
    return add("attention.flash", {q, k, v, sums}, tokens * width * 2,
               {0, 1, 2, 3}, true);
  }
  int64_t square = options.heads / options.tensorParallel * tokens * tokens;
  int64_t scores = add("attention.bmm1", {q, k}, square * 2, {0, 1});
  int64_t masked = add("attention.mask", {scores}, square * 2, {}, false, true);
  int64_t wide = add("attention.cast", {masked}, square * 4, {}, false, true);
  int64_t soft = add("attention.softmax", {wide}, square * 4, {}, true, true);
  int64_t narrow = add("attention.narrow", {soft}, square * 2, {}, false, true);
  return add("attention.bmm2", {narrow, v}, tokens * width * 2, {0, 1});
}

int64_t ChunkGraph::addLayer(int64_t input) {
  int64_t tokens = options.sequence, hidden = options.hidden;
  int64_t width = hidden / options.tensorParallel;
  int64_t kv = std::max<int64_t>(1, options.kvHidden / options.tensorParallel);
  int64_t ffn = options.ffn / options.tensorParallel;
  int64_t normed = addNorm(input);
  int64_t q = linear("wq", normed, hidden, width);
  int64_t k = linear("wk", normed, hidden, kv);
  int64_t v = linear("wv", normed, hidden, kv);
  q = add("q.transpose", {q}, tokens * width * 2, {}, false, true);
  k = add("k.transpose", {k}, tokens * kv * 2, {}, false, true);
  v = add("v.transpose", {v}, tokens * kv * 2, {}, false, true);
  q = addRotary(q, tokens * width * 2);
  k = addRotary(k, tokens * kv * 2);
  if (kv < width) {
    k = add("k.repeat", {k}, tokens * width * 2, {}, false, true);
    v = add("v.repeat", {v}, tokens * width * 2, {}, false, true);
  }
  int64_t context = addAttention(q, k, v);
  context =
      add("context.transpose", {context}, tokens * width * 2, {}, false, true);
  int64_t projected = linear("wo", context, width, hidden);
  int64_t middle =
      add("residual1", {input, projected}, tokens * hidden * 2, {});
  int64_t gateInput = addNorm(middle);
  int64_t gate = linear("w1", gateInput, hidden, ffn);
  int64_t up = linear("w3", gateInput, hidden, ffn);
  int64_t active = add("silu", {gate}, tokens * ffn * 2, {0}, false, true);
  int64_t product =
      add("mul", {active, up}, tokens * ffn * 2, {0, 1}, false, true);
  int64_t down = linear("w2", product, ffn, hidden);
  int64_t output = add("residual2", {middle, down}, tokens * hidden * 2, {});
  ++layer;
  return output;
}

int64_t ChunkGraph::addHead(int64_t input) {
  int64_t tokens = options.sequence;
  int64_t vocab = options.vocab / options.tensorParallel;
  int64_t logits = linear("head", addNorm(input), options.hidden, vocab);
  int64_t wide = add("loss.cast", {logits}, tokens * vocab * 4, {});
  int64_t soft = add("loss.log_softmax", {wide}, tokens * vocab * 4, {}, true);
  int64_t picked = add("loss.pick", {soft}, tokens * 4, {});
  return add("loss.mean", {picked}, 4, {});
}

} // namespace mf::memory
