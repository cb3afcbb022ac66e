//===- Comparisons.cpp - Ways to the same result --------------------------===//

#include "Comparisons.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>

namespace mf {
namespace {

using Ints = std::vector<int64_t>;

/// Rows of experts, and what to call them.
struct Load {
  const char *name;
  std::vector<float> counts;
};

std::vector<Load> getLoads() {
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

  void compareExperts(int64_t in, int64_t out, const Load &load) {
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
    const Chain fused = {
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

private:
  TensorShape shape(std::initializer_list<int64_t> dims) const {
    return {type, dims};
  }

  Benchmark &benchmark;
  DType type;
};

} // namespace

void compareKernels(Benchmark &benchmark, DType type) {
  Comparisons comparisons(benchmark, type);
  for (const Load &load : getLoads()) {
    comparisons.compareExperts(512, 1024, load);
    if (load.counts.front() == 32)
      comparisons.compareExperts(1024, 1024, load);
  }
  comparisons.compareRotary();
  comparisons.compareSwiGlu();
  llvm::outs() << "\n";
}

} // namespace mf
