//===- kernels.cpp - Speed of the kernels at a model's shapes -------------===//
//
// Every kernel of a training step of a 134M Llama (12 layers, hidden 768, ffn
// 2048, vocabulary 32000, batch 4, sequence 512, 12 heads), in fp32 and bf16:
// the best of several runs, its GFLOP/s or GB/s, and for matrix products the
// share of what oneDNN reaches in the same run when it is called directly for
// the whole product with as many threads. The last line is the sum over a step.
// Behind it, ways to the same result: the products of experts grouped against
// one after another, and fused kernels against the chain that they stand for.
//
// Usage: mf-benchmark-kernels [--threads=2] [--seconds=0.3] [--only=TEXT]
//        [--processor-time]
// --seconds is the time spent on each kernel, --only picks kernels by name.
// --processor-time counts what this process used of the processors, divided by
// the threads, instead of the time on the wall: for busy machines.
//
//===----------------------------------------------------------------------===//

#include "Comparisons.h"
#include "KernelBenchmark.h"
#include "llvm/Support/raw_ostream.h"

using namespace mf;

namespace {

constexpr int64_t layers = 12, batch = 4, sequence = 512, hidden = 768,
                  ffn = 2048, vocabulary = 32000, heads = 12, dim = 64,
                  rows = batch * sequence;

/// The shapes of one type.
class Step {
public:
  Step(Benchmark &benchmark, DType type) : benchmark(benchmark), type(type) {}

  void run() {
    llvm::outs() << getName(type) << "\n";
    runMatmuls();
    runAttention();
    runLayerVectors();
    runHead();
    runUpdate();
    benchmark.printTotal(getName(type));
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
    benchmark.run(what, spec, calls, 2.0 * m * n * k);
  }

  void runMatmuls() {
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
  void attention(llvm::StringRef what, int64_t samples, int64_t queryHeads,
                 int64_t keyHeads, int64_t length, int64_t width, int calls) {
    TensorShape q = shape({samples, queryHeads, length, width});
    TensorShape k = shape({samples, keyHeads, length, width});
    TensorShape statistic = wide({samples, queryHeads, length});
    AttributeMap attributes = {{"scale", 0.125}, {"causal", true}};
    // As counted for causal attention: half of all scores.
    double product = 1.0 * samples * queryHeads * length * length * width;
    benchmark.run("flash attention" + what.str(),
                  {"aclnnFlashAttentionScore",
                   {q, k, k},
                   {statistic, statistic, q},
                   attributes},
                  calls, 2 * product);
    benchmark.run("flash attention grad" + what.str(),
                  {"aclnnFlashAttentionScoreGrad",
                   {q, k, k, q, statistic, statistic, q},
                   {q, k, k},
                   attributes},
                  calls, 5 * product);
  }

  void runAttention() {
    TensorShape q = shape({batch, heads, sequence, dim});
    attention("", batch, heads, heads, sequence, dim, layers);
    attention(" of 4096", 1, heads, heads, 4096, dim, 0);
    attention(" of dim 128", batch, heads / 2, heads / 2, sequence, 128, 0);
    attention(" of groups", 1, 32, 8, 1024, 128, 0);
    using Ints = std::vector<int64_t>;
    benchmark.run("permute heads",
                  {"aclnnPermute",
                   {shape({batch, sequence, heads, dim})},
                   {q},
                   {{"perm", Ints{0, 2, 1, 3}}}},
                  8 * layers);
    TensorShape half = shape({batch, heads, sequence, dim / 2});
    TensorShape table = shape({sequence, dim});
    benchmark.run("rotary",
                  {"aclnnRotaryPositionEmbedding", {q, table, table}, {q}, {}},
                  0);
    benchmark.run("rotary slice",
                  {"aclnnSliceV2",
                   {q},
                   {half},
                   {{"starts", Ints{0, 0, 0, dim / 2}},
                    {"sizes", Ints{batch, heads, sequence, dim / 2}}}},
                  8 * layers);
    benchmark.run("rotary neg", {"aclnnNeg", {half}, {half}, {}}, 4 * layers);
    benchmark.run("rotary cat",
                  {"aclnnCat", {half, half}, {q}, {{"axis", int64_t{3}}}},
                  4 * layers);
    benchmark.run("rotary mul", {"aclnnMul", {q, table}, {q}, {}}, 8 * layers);
    benchmark.run("rotary add", {"aclnnAdd", {q, q}, {q}, {}}, 4 * layers);
  }

  void runLayerVectors() {
    TensorShape x = shape({rows, hidden}), wideX = shape({rows, ffn});
    TensorShape gamma = shape({hidden}), rstd = wide({rows});
    benchmark.run("rms norm",
                  {"aclnnRmsNorm", {x, gamma}, {x, rstd}, {{"epsilon", 1e-5}}},
                  2 * layers + 1);
    benchmark.run("rms norm grad",
                  {"aclnnRmsNormGrad", {x, x, rstd, gamma}, {x, gamma}, {}},
                  2 * layers + 1);
    benchmark.run("residual add", {"aclnnAdd", {x, x}, {x}, {}}, 8 * layers);
    benchmark.run("silu", {"aclnnSilu", {wideX}, {wideX}, {}}, layers);
    benchmark.run("silu grad",
                  {"aclnnSiluBackward", {wideX, wideX}, {wideX}, {}}, layers);
    benchmark.run("gate mul", {"aclnnMul", {wideX, wideX}, {wideX}, {}},
                  3 * layers);
    benchmark.run("bias add", {"aclnnAdd", {x, gamma}, {x}, {}}, 0);
    benchmark.run(
        "bias grad",
        {"aclnnReduceSum", {x}, {gamma}, {{"axes", std::vector<int64_t>{0}}}},
        0);
    TensorShape packed = shape({rows, 2 * ffn});
    benchmark.run("swiglu", {"aclnnSwiGlu", {packed}, {wideX}, {}}, 0);
    benchmark.run("swiglu grad",
                  {"aclnnSwiGluGrad", {wideX, packed}, {packed}, {}}, 0);
    TensorShape scores = shape({batch, heads, sequence, sequence});
    benchmark.run("softmax of scores", {"aclnnSoftmax", {scores}, {scores}, {}},
                  0);
    if (type != DType::F32)
      benchmark.run(
          "cast weight to",
          {"aclnnCast", {wide({hidden, ffn})}, {shape({hidden, ffn})}, {}}, 0);
  }

  void runHead() {
    TensorShape logits = shape({rows, vocabulary}), scalar = wide({});
    TensorShape labels{DType::I32, {rows}}, x = shape({rows, hidden});
    TensorShape table = shape({vocabulary, hidden});
    benchmark.run("cross entropy",
                  {"aclnnCrossEntropyLoss",
                   {logits, labels},
                   {scalar, wide({rows}), scalar},
                   {}},
                  1);
    benchmark.run("cross entropy grad",
                  {"aclnnCrossEntropyLossGrad",
                   {scalar, logits, labels, wide({rows}), scalar},
                   {logits},
                   {}},
                  1);
    benchmark.run("embedding", {"aclnnEmbedding", {table, labels}, {x}, {}}, 1);
    benchmark.run("embedding grad",
                  {"aclnnEmbeddingDenseBackward", {x, labels}, {table}, {}}, 1);
  }

  void runUpdate() {
    // All parameters as one tensor of the hidden width.
    const int64_t parameters =
        2 * vocabulary + layers * (4 * hidden + 3 * ffn + 2);
    TensorShape gradient = shape({parameters, hidden}), scalar = wide({});
    TensorShape state = wide({parameters, hidden});
    benchmark.run("gradient norm",
                  {"aclnnForeachNorm", {gradient}, {scalar}, {}}, 1);
    benchmark.run("gradient scale",
                  {"aclnnForeachMulScalar", {scalar}, {gradient}, {}}, 1);
    benchmark.run("gradient accumulate",
                  {"aclnnInplaceAdd", {gradient}, {gradient}, {}}, 0);
    benchmark.run("adamw",
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

  Benchmark &benchmark;
  DType type;
};

} // namespace

int main(int argc, char **argv) {
  Settings settings;
  for (llvm::StringRef argument : llvm::ArrayRef(argv, argc).drop_front()) {
    llvm::StringRef value = argument;
    bool understood = argument == "--processor-time";
    settings.processorTime |= understood;
    if (value.consume_front("--threads="))
      understood = !value.getAsInteger(10, settings.threads);
    else if (value.consume_front("--seconds="))
      understood = !value.getAsDouble(settings.seconds);
    else if (value.consume_front("--only=")) {
      settings.filter = value.str();
      understood = true;
    }
    if (!understood || settings.threads < 1) {
      llvm::errs() << "cannot understand the argument '" << argument << "'\n";
      return 1;
    }
  }
  Benchmark benchmark(settings);
  for (DType type : {DType::F32, DType::BF16}) {
    Step(benchmark, type).run();
    compareKernels(benchmark, type);
  }
  return 0;
}
