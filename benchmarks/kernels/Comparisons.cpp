//===- Comparisons.cpp - Pairs of computations with equal results ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "Comparisons.h"
#include "mf/Program/Signatures/KernelChain.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>

namespace mf {
namespace {

using Ints = std::vector<int64_t>;

/// Rows of experts, and what to call them.
struct BenchmarkLoad {
  const char *name;
  std::vector<float> counts;
};

std::vector<BenchmarkLoad> getLoads() {
  // The first experts have most of the rows, as without a balanced router.
  std::vector<float> uneven;
  for (int expert = 0; expert < 64; ++expert)
    uneven.push_back(static_cast<float>(expert < 8    ? 160
                                        : expert < 32 ? 24
                                        : expert < 56 ? 8
                                                      : 0));
  return {{"64 x 32 rows", std::vector<float>(64, 32)},
          {"64 x 256 rows", std::vector<float>(64, 256)},
          {"64 uneven", uneven}};
}

class Comparisons {
public:
  Comparisons(Benchmark &benchmark, DType type)
      : benchmark(benchmark), type(type) {}

  void compareExperts(int64_t in, int64_t out, const BenchmarkLoad &load) {
    const auto experts = static_cast<int64_t>(load.counts.size());
    const auto rows = static_cast<int64_t>(
        std::accumulate(load.counts.begin(), load.counts.end(), 0.0F));
    const TensorShape x = shape({1, 1, rows, in}),
                      dy = shape({1, 1, rows, out});
    const TensorShape weight = shape({1, experts, in, out});
    const TensorShape counts = {DType::F32, {1, 1, experts}};
    const std::string size =
        llvm::formatv(" {0}x{1}, {2}", in, out, load.name).str();
    auto compare = [&](const char *what, const char *loop, const char *grouped,
                       llvm::SmallVector<TensorShape, 4> inputs,
                       const TensorShape &output,
                       const AttributeMap &attributes) {
      inputs.push_back(counts);
      benchmark.compare(
          {"loop" + (what + size), {{loop, inputs, {output}, attributes}}},
          {"grouped" + (what + size),
           {{grouped, inputs, {output}, attributes}}},
          load.counts);
    };
    compare("", "mfExpertMatmul", "aclnnGroupedMatmul", {x, weight}, dy, {});
    compare(" dx", "mfExpertMatmul", "aclnnGroupedMatmul", {dy, weight}, x,
            {{"transpose_weight", true}});
    compare(" dw", "mfExpertMatmulWeightGrad", "mfGroupedMatmulWeightGrad",
            {x, dy}, weight, {});
  }

  void compareRotary() {
    constexpr int64_t batch = 4, heads = 12, sequence = 512, dim = 64;
    const TensorShape q = shape({batch, heads, sequence, dim});
    const TensorShape half = shape({batch, heads, sequence, dim / 2});
    const TensorShape table = shape({sequence, dim});
    auto slice = [&](int64_t first) {
      return KernelSpec{"aclnnSliceV2",
                        {q},
                        {half},
                        {{"starts", Ints{0, 0, 0, first}},
                         {"sizes", Ints{batch, heads, sequence, dim / 2}}}};
    };
    // Without the slices, the kernels of a chain that reads halves in place.
    const std::vector<KernelSpec> arithmetic = {
        {"aclnnNeg", {half}, {half}, {}},
        {"aclnnCat", {half, half}, {q}, {{"axis", int64_t{3}}}},
        {"aclnnMul", {q, table}, {q}, {}},
        {"aclnnMul", {q, table}, {q}, {}},
        {"aclnnAdd", {q, q}, {q}, {}}};
    std::vector<KernelSpec> chain = {slice(0), slice(dim / 2)};
    chain.insert(chain.end(), arithmetic.begin(), arithmetic.end());
    const BenchmarkChain fused = {
        "fused rotary",
        {{"aclnnRotaryPositionEmbedding", {q, table, table}, {q}, {}}}};
    benchmark.compare({"neg, cat, mul, mul, add", arithmetic}, fused);
    benchmark.compare({"slice, slice, neg, cat, mul, mul, add", chain}, fused);
  }

  void compareSwiGlu() {
    constexpr int64_t rows = 2048, width = 2048;
    const TensorShape x = shape({rows, width}), both = shape({rows, 2 * width});
    benchmark.compare(
        {"silu, mul",
         {{"aclnnSilu", {x}, {x}, {}}, {"aclnnMul", {x, x}, {x}, {}}}},
        {"fused swiglu", {{"aclnnSwiGlu", {both}, {x}, {}}}});
    benchmark.compare(
        {"mul, mul, silu grad",
         {{"aclnnMul", {x, x}, {x}, {}},
          {"aclnnMul", {x, x}, {x}, {}},
          {"aclnnSiluBackward", {x, x}, {x}, {}}}},
        {"fused swiglu grad", {{"aclnnSwiGluGrad", {x, both}, {both}, {}}}});
  }

  /// Chains as bf16 models have them, beside the same kernels as one.
  void compareChains() {
    const TensorShape x = shape({2048, 2048});
    compareChain("silu, mul", {x, x},
                 {{"aclnnSilu", {0}, x, {}}, {"aclnnMul", {~0, 1}, x, {}}});
    compareChain(
        "mul, silu grad", {x, x, x},
        {{"aclnnMul", {0, 1}, x, {}}, {"aclnnSiluBackward", {~0, 2}, x, {}}});
    compareChain("mul, mul, silu grad", {x, x, x, x},
                 {{"aclnnMul", {0, 1}, x, {}},
                  {"aclnnMul", {~0, 2}, x, {}},
                  {"aclnnSiluBackward", {~1, 3}, x, {}}});
    compareChain("add, add", {x, x, x},
                 {{"aclnnAdd", {0, 1}, x, {}}, {"aclnnAdd", {~0, 2}, x, {}}});
    const TensorShape q = shape({4, 12, 512, 64});
    const TensorShape wide = {DType::F32, q.dims},
                      table = {DType::F32, {512, 64}};
    TensorShape half = wide;
    half.dims.back() = 32;
    auto slice = [&](int64_t first) -> AttributeMap {
      return {{"starts", Ints{0, 0, 0, first}},
              {"sizes", Ints{4, 12, 512, 32}}};
    };
    auto pad = [&](int64_t low) -> AttributeMap {
      return {{"low", Ints{0, 0, 0, low}}, {"high", Ints{0, 0, 0, 32 - low}}};
    };
    compareChain("rotary in fp32", {q, table, table},
                 {{"aclnnCast", {0}, wide, {}},
                  {"aclnnSliceV2", {~0}, half, slice(0)},
                  {"aclnnSliceV2", {~0}, half, slice(32)},
                  {"aclnnNeg", {~2}, half, {}},
                  {"aclnnCat", {~3, ~1}, wide, {{"axis", int64_t{3}}}},
                  {"aclnnMul", {~0, 1}, wide, {}},
                  {"aclnnMul", {~4, 2}, wide, {}},
                  {"aclnnAdd", {~5, ~6}, wide, {}},
                  {"aclnnCast", {~7}, q, {}}});
    compareChain("rotary in fp32, grad", {q, table, table},
                 {{"aclnnCast", {0}, wide, {}},
                  {"aclnnMul", {~0, 1}, wide, {}},
                  {"aclnnMul", {~0, 2}, wide, {}},
                  {"aclnnSliceV2", {~1}, half, slice(0)},
                  {"aclnnSliceV2", {~1}, half, slice(32)},
                  {"aclnnNeg", {~3}, half, {}},
                  {"aclnnConstantPadNd", {~5}, wide, pad(32)},
                  {"aclnnAdd", {~2, ~6}, wide, {}},
                  {"aclnnConstantPadNd", {~4}, wide, pad(0)},
                  {"aclnnAdd", {~7, ~8}, wide, {}},
                  {"aclnnCast", {~9}, q, {}}});
  }

private:
  void compareChain(const char *title, llvm::SmallVector<TensorShape, 4> inputs,
                    const std::vector<FusedKernel> &kernels) {
    KernelSpec chain = {
        "mfChain", std::move(inputs), {kernels.back().result}, {}};
    chain.attributes = {{"steps", kernels}};
    benchmark.compare({title, getFusedSpecs(chain)},
                      {(llvm::Twine("chain of ") + title).str(), {chain}});
  }

  TensorShape shape(std::initializer_list<int64_t> dims) const {
    return {type, dims};
  }

  Benchmark &benchmark;
  DType type;
};

} // namespace

void compareKernels(Benchmark &benchmark, DType type) {
  Comparisons comparisons(benchmark, type);
  for (const BenchmarkLoad &load : getLoads()) {
    comparisons.compareExperts(512, 1024, load);
    if (load.counts.front() == 32)
      comparisons.compareExperts(1024, 1024, load);
  }
  comparisons.compareRotary();
  comparisons.compareSwiGlu();
  comparisons.compareChains();
  llvm::outs() << "\n";
}

} // namespace mf
