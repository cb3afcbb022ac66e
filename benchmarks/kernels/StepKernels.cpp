//===- StepKernels.cpp - The kernels of a step of a 134M Llama ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepKernels.h"

namespace mf {

namespace {

constexpr int64_t layers = 12, batch = 4, sequence = 512, hidden = 768,
                  ffn = 2048, vocabulary = 32000, heads = 12, dim = 64,
                  rows = batch * sequence;

/// The shapes of one type.
class MeasuredStep {
public:
  explicit MeasuredStep(DType type) : type(type) {}

  std::vector<StepKernel> list() {
    addMatmuls();
    addAttention();
    addLayerVectors();
    addHead();
    addUpdate();
    return std::move(kernels);
  }

private:
  TensorShape shape(std::initializer_list<int64_t> dims) const {
    return {type, dims};
  }
  static TensorShape wide(std::initializer_list<int64_t> dims) {
    return {DType::F32, dims};
  }

  void matmul(llvm::StringRef what, int64_t m, int64_t n, int64_t k,
              bool transposeA, bool transposeB, int calls) {
    KernelSpec spec;
    spec.name = "aclnnMatmul";
    spec.inputs = {transposeA ? shape({k, m}) : shape({m, k}),
                   transposeB ? shape({n, k}) : shape({k, n})};
    spec.outputs = {shape({m, n})};
    spec.attributes = {{"transpose_a", transposeA},
                       {"transpose_b", transposeB}};
    add(what.str(), std::move(spec), calls);
  }

  void addMatmuls() {
    // y = x w^T, dx = dy w, dw = dy^T x with w stored [out, in].
    struct Linear {
      const char *name;
      int64_t in, out;
      int count;
    };
    for (const Linear &linear : {Linear{"qkvo", hidden, hidden, 4 * layers},
                                 Linear{"ffn up", hidden, ffn, 2 * layers},
                                 Linear{"ffn down", ffn, hidden, layers},
                                 Linear{"head", hidden, vocabulary, 1}}) {
      std::string name = linear.name;
      matmul("matmul " + name, rows, linear.out, linear.in, false, true,
             linear.count);
      matmul("matmul " + name + " dx", rows, linear.in, linear.out, false,
             false, linear.count);
      matmul("matmul " + name + " dw", linear.out, linear.in, rows, true, false,
             linear.count);
    }
  }

  /// Causal attention and its gradient; `keyHeads` are shared by `queryHeads`.
  void attention(const std::string &what, int64_t samples, int64_t queryHeads,
                 int64_t keyHeads, int64_t length, int64_t width, int calls) {
    TensorShape q = shape({samples, queryHeads, length, width});
    TensorShape k = shape({samples, keyHeads, length, width});
    TensorShape statistic = wide({samples, queryHeads, length});
    AttributeMap attributes = {{"scale", 0.125}, {"causal", true}};
    add("flash attention" + what,
        {"aclnnFlashAttentionScore",
         {q, k, k},
         {statistic, statistic, q},
         attributes},
        calls);
    add("flash attention grad" + what,
        {"aclnnFlashAttentionScoreGrad",
         {q, k, k, q, statistic, statistic, q},
         {q, k, k},
         attributes},
        calls);
  }

  void addAttention() {
    TensorShape q = shape({batch, heads, sequence, dim});
    attention("", batch, heads, heads, sequence, dim, layers);
    attention(" of 4096", 1, heads, heads, 4096, dim, 0);
    attention(" of dim 128", batch, heads / 2, heads / 2, sequence, 128, 0);
    attention(" of groups", 1, 32, 8, 1024, 128, 0);
    using Ints = std::vector<int64_t>;
    add("permute heads",
        {"aclnnPermute",
         {shape({batch, sequence, heads, dim})},
         {q},
         {{"perm", Ints{0, 2, 1, 3}}}},
        8 * layers);
    TensorShape half = shape({batch, heads, sequence, dim / 2});
    TensorShape table = shape({sequence, dim});
    add("rotary", {"aclnnRotaryPositionEmbedding", {q, table, table}, {q}, {}},
        0);
    add("rotary slice",
        {"aclnnSliceV2",
         {q},
         {half},
         {{"starts", Ints{0, 0, 0, dim / 2}},
          {"sizes", Ints{batch, heads, sequence, dim / 2}}}},
        8 * layers);
    add("rotary neg", {"aclnnNeg", {half}, {half}, {}}, 4 * layers);
    add("rotary cat", {"aclnnCat", {half, half}, {q}, {{"axis", int64_t{3}}}},
        4 * layers);
    add("rotary mul", {"aclnnMul", {q, table}, {q}, {}}, 8 * layers);
    add("rotary add", {"aclnnAdd", {q, q}, {q}, {}}, 4 * layers);
  }

  void addLayerVectors() {
    TensorShape x = shape({rows, hidden}), wideX = shape({rows, ffn});
    TensorShape gamma = shape({hidden}), rstd = wide({rows});
    add("rms norm",
        {"aclnnRmsNorm", {x, gamma}, {x, rstd}, {{"epsilon", 1e-5}}},
        2 * layers + 1);
    add("rms norm grad",
        {"aclnnRmsNormGrad", {x, x, rstd, gamma}, {x, gamma}, {}},
        2 * layers + 1);
    add("residual add", {"aclnnAdd", {x, x}, {x}, {}}, 8 * layers);
    add("silu", {"aclnnSilu", {wideX}, {wideX}, {}}, layers);
    add("silu grad", {"aclnnSiluBackward", {wideX, wideX}, {wideX}, {}},
        layers);
    add("gate mul", {"aclnnMul", {wideX, wideX}, {wideX}, {}}, 3 * layers);
    add("bias add", {"aclnnAdd", {x, gamma}, {x}, {}}, 0);
    add("bias grad",
        {"aclnnReduceSum", {x}, {gamma}, {{"axes", std::vector<int64_t>{0}}}},
        0);
    TensorShape packed = shape({rows, 2 * ffn});
    add("swiglu", {"aclnnSwiGlu", {packed}, {wideX}, {}}, 0);
    add("swiglu grad", {"aclnnSwiGluGrad", {wideX, packed}, {packed}, {}}, 0);
    TensorShape scores = shape({batch, heads, sequence, sequence});
    add("softmax of scores", {"aclnnSoftmax", {scores}, {scores}, {}}, 0);
    if (type != DType::F32)
      add("cast weight to",
          {"aclnnCast", {wide({hidden, ffn})}, {shape({hidden, ffn})}, {}}, 0);
  }

  void addHead() {
    TensorShape logits = shape({rows, vocabulary}), scalar = wide({});
    TensorShape labels{DType::I32, {rows}}, x = shape({rows, hidden});
    TensorShape table = shape({vocabulary, hidden});
    add("cross entropy",
        {"aclnnCrossEntropyLoss",
         {logits, labels},
         {scalar, wide({rows}), scalar},
         {}},
        1);
    add("cross entropy grad",
        {"aclnnCrossEntropyLossGrad",
         {scalar, logits, labels, wide({rows}), scalar},
         {logits},
         {}},
        1);
    add("embedding", {"aclnnEmbedding", {table, labels}, {x}, {}}, 1);
    add("embedding grad",
        {"aclnnEmbeddingDenseBackward", {x, labels}, {table}, {}}, 1);
  }

  void addUpdate() {
    // All parameters as one tensor of the hidden width.
    const int64_t parameters =
        2 * vocabulary + layers * (4 * hidden + 3 * ffn + 2);
    TensorShape gradient = shape({parameters, hidden}), scalar = wide({});
    TensorShape state = wide({parameters, hidden});
    add("gradient norm", {"aclnnForeachNorm", {gradient}, {scalar}, {}}, 1);
    add("gradient scale", {"aclnnForeachMulScalar", {scalar}, {gradient}, {}},
        1);
    add("gradient accumulate", {"aclnnInplaceAdd", {gradient}, {gradient}, {}},
        0);
    add("adamw",
        {"aclnnApplyAdamWV2",
         {gradient, scalar, scalar},
         {gradient, state, state},
         {{"beta1", 0.9},
          {"beta2", 0.95},
          {"eps", 1e-8},
          {"weight_decay", 0.1},
          {"bias_correction", false}}},
        1);
  }

  void add(std::string title, KernelSpec spec, int calls) {
    kernels.push_back({std::move(title), std::move(spec), calls});
  }

  std::vector<StepKernel> kernels;
  DType type;
};

} // namespace

std::vector<StepKernel> listStepKernels(DType type) {
  return MeasuredStep(type).list();
}

} // namespace mf
