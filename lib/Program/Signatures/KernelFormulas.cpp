//===- KernelFormulas.cpp - FLOPs and bytes of kernels --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelFormulas.h"
#include "mf/Program/Signatures/KernelBlocks.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>
#include <utility>

namespace mf {

FusionKind getFusionOfResize(const KernelSpec &spec) {
  const llvm::ArrayRef<int64_t> from = spec.inputs[0].dims;
  const llvm::ArrayRef<int64_t> to = spec.outputs[0].dims;
  const bool isInRows = !from.empty() && from.size() == to.size() &&
                        from.drop_back() == to.drop_back();
  // The padding around the rows must be zero.
  auto value = spec.attributes.find("value");
  const bool hasZeros =
      value == spec.attributes.end() || std::get<int64_t>(value->second) == 0;
  return isInRows && hasZeros ? FusionKind::Rows : FusionKind::None;
}

FusionKind getFusionOfConcatenation(const KernelSpec &spec) {
  const auto rank = static_cast<int64_t>(spec.outputs[0].dims.size());
  const auto axis = std::get<int64_t>(spec.attributes.at("axis"));
  const bool isInRows = rank > 0 && (axis == -1 || axis == rank - 1);
  return isInRows ? FusionKind::Rows : FusionKind::None;
}

static int64_t multiply(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (int64_t factor : factors)
    if (llvm::MulOverflow(product, factor, product))
      return std::numeric_limits<int64_t>::max();
  return product;
}

/// Returns the dimension `fromLast` places before the last, or 1 if there is
/// none.
static int64_t getDimension(const TensorShape &shape, size_t fromLast) {
  const size_t rank = shape.dims.size();
  return fromLast < rank ? shape.dims[rank - 1 - fromLast] : 1;
}

bool getFlag(const KernelSpec &spec, llvm::StringRef name, bool whenAbsent) {
  auto found = spec.attributes.find(name.str());
  return found == spec.attributes.end() ? whenAbsent
                                        : std::get<bool>(found->second);
}

int64_t getLargestOutput(const KernelSpec &spec) {
  int64_t largest = 0;
  for (const TensorShape &output : spec.outputs)
    largest = std::max(largest, output.getNumElements());
  return largest;
}

int64_t getMatmulFlops(const KernelSpec &spec) {
  const TensorShape &a = spec.inputs[0], &b = spec.inputs[1];
  const bool transposeB = getFlag(spec, "transpose_b", false);
  // The number of elements of `a` is the product of batch, rows and columns in
  // either order.
  return multiply({2, a.getNumElements(), getDimension(b, transposeB ? 1 : 0)});
}

MatmulSize getMatmulSize(const KernelSpec &spec) {
  const TensorShape &a = spec.inputs[0], &b = spec.inputs[1];
  const bool transposeA = getFlag(spec, "transpose_a", false);
  MatmulSize size;
  size.rows = getDimension(a, transposeA ? 0 : 1);
  size.inner = getDimension(a, transposeA ? 1 : 0);
  size.columns = getDimension(b, getFlag(spec, "transpose_b", false) ? 1 : 0);
  const int64_t matrix = multiply({size.rows, size.inner});
  size.batch = matrix == 0 ? 0 : a.getNumElements() / matrix;
  if (getFlag(spec, "contract_batch", false))
    size.inner = multiply({size.inner, std::exchange(size.batch, 1)});
  else if (b.dims.size() <= 2)
    size.rows = multiply({size.rows, std::exchange(size.batch, 1)});
  return size;
}

/// `keysOfQuery` is twice the mean number of keys that a query sees.
static int64_t getAttentionFlops(const KernelSpec &spec, int64_t keyProducts,
                                 int64_t valueProducts, int64_t keysOfQuery) {
  const TensorShape &query = spec.inputs[0], &value = spec.inputs[2];
  int64_t columns = 0;
  if (llvm::AddOverflow(multiply({keyProducts, getDimension(query, 0)}),
                        multiply({valueProducts, getDimension(value, 0)}),
                        columns))
    columns = std::numeric_limits<int64_t>::max();
  const int64_t rows = multiply({getRows(query), keysOfQuery});
  return multiply({rows, columns});
}

int64_t getAttentionFlops(const KernelSpec &spec, int64_t keyProducts,
                          int64_t valueProducts) {
  const int64_t queries = getDimension(spec.inputs[0], 1);
  const int64_t keys = getDimension(spec.inputs[1], 1);
  // Shapes that the kernel rejects may have more queries than keys.
  const int64_t unseen =
      getFlag(spec, "causal", true) ? std::min(queries, keys) : 0;
  return getAttentionFlops(spec, keyProducts, valueProducts,
                           multiply({2, keys}) - unseen);
}

int64_t getFullAttentionFlops(const KernelSpec &spec, int64_t keyProducts,
                              int64_t valueProducts) {
  return getAttentionFlops(spec, keyProducts, valueProducts,
                           multiply({2, getDimension(spec.inputs[1], 1)}));
}

int64_t getQueryRows(const KernelSpec &spec) {
  const TensorShape &query = spec.inputs[0];
  return multiply({getDimension(query, 2), getDimension(query, 1)});
}

int64_t getExpertMatmulFlops(const KernelSpec &spec) {
  return multiply(
      {2, spec.inputs[0].getNumElements(), getDimension(spec.outputs[0], 0)});
}

int64_t getExperts(const TensorShape &weight) {
  return multiply({getDimension(weight, 3), getDimension(weight, 2)});
}

int64_t getMeanExpertRows(const TensorShape &x, const TensorShape &weight) {
  const int64_t experts = getExperts(weight);
  return experts == 0
             ? 0
             : static_cast<int64_t>(llvm::divideCeil(getRows(x), experts));
}

int64_t getProjectionFlops(const KernelSpec &spec, size_t rows, size_t matrix,
                           int64_t products) {
  // The matrix of MhcPost is a vector for each token, whose last dimension is
  // the number of streams.
  const TensorShape &numbers = spec.inputs[matrix];
  const int64_t columns = numbers.dims.size() == 2 ? getDimension(numbers, 1)
                                                   : getDimension(numbers, 0);
  return multiply({2, products, spec.inputs[rows].getNumElements(), columns});
}

int64_t getSecondDimension(const TensorShape &shape) {
  return shape.dims.size() > 1 ? shape.dims[1] : 1;
}

static int64_t getInteger(const KernelSpec &spec, llvm::StringRef name) {
  auto found = spec.attributes.find(name.str());
  return found == spec.attributes.end() ? 0 : std::get<int64_t>(found->second);
}

int64_t getHybridKeys(const KernelSpec &spec, size_t keys, size_t entries) {
  // The rows of keys are before their width.
  int64_t count = std::clamp<int64_t>(getInteger(spec, "window"), 0,
                                      getDimension(spec.inputs[keys], 1));
  int64_t seen = 0;
  if (spec.inputs.size() > entries + 1)
    seen = getDimension(spec.inputs[entries + 1], 0);
  else if (spec.inputs.size() > entries)
    seen = (getSecondDimension(spec.inputs[entries]) + 1) / 2;
  if (llvm::AddOverflow(count, seen, count))
    count = std::numeric_limits<int64_t>::max();
  return count;
}

int64_t getHybridFlops(const KernelSpec &spec, int64_t keys, int64_t products) {
  // Of an indexer's gradient the first input is that of the scores.
  const TensorShape &query =
      spec.inputs[spec.inputs[0].dims.size() == 4 ? 0 : 1];
  return multiply({2, products, query.getNumElements(), keys});
}

int64_t getSinkhornFlops(const KernelSpec &spec) {
  auto found = spec.attributes.find("iterations");
  const int64_t iterations =
      found == spec.attributes.end() ? 1 : std::get<int64_t>(found->second);
  return (6 * std::max<int64_t>(iterations, 1) + 2) * getLargestOutput(spec);
}

int64_t getColumns(const TensorShape &shape) { return getDimension(shape, 0); }

int64_t getRows(const TensorShape &shape) {
  const int64_t columns = getColumns(shape);
  return columns == 0 ? 0 : shape.getNumElements() / columns;
}

int64_t getRowsOfMatrix(const TensorShape &shape) {
  return getDimension(shape, 1);
}

int64_t getPermutedRunBytes(const KernelSpec &spec) {
  const TensorShape &x = spec.inputs[0];
  auto found = spec.attributes.find("perm");
  if (found == spec.attributes.end())
    return x.getBytes();
  const auto &permutation = std::get<std::vector<int64_t>>(found->second);
  const size_t rank = std::min(x.dims.size(), permutation.size());
  int64_t bytes = getBytes(x.type);
  for (size_t i = rank; i > 0; --i) {
    if (permutation[i - 1] != static_cast<int64_t>(i - 1))
      break;
    bytes = multiply({bytes, x.dims[i - 1]});
  }
  return bytes;
}

int64_t getLargestOperandBytes(const KernelSpec &spec) {
  int64_t largest = 0;
  for (llvm::ArrayRef<TensorShape> shapes : {spec.inputs, spec.outputs})
    for (const TensorShape &shape : shapes)
      largest = std::max(largest, shape.getBytes());
  return largest;
}

int64_t getElementBytes(const KernelSpec &spec) {
  return mf::getBytes(getWorkType(spec));
}

int64_t getBytes(llvm::ArrayRef<TensorShape> shapes) {
  int64_t bytes = 0;
  for (const TensorShape &shape : shapes)
    bytes += shape.getBytes();
  return bytes;
}

int64_t getMovedBytes(const KernelSpec &spec, uint32_t readOutputs) {
  int64_t bytes = getBytes(spec.inputs) + getBytes(spec.outputs);
  for (auto [index, output] : llvm::enumerate(spec.outputs))
    if (readOutputs >> index & 1)
      bytes += output.getBytes();
  return bytes;
}

int64_t getMeanOfSteps(const KernelSpec &spec, int64_t amount) {
  auto found = spec.attributes.find("interval");
  const int64_t interval =
      found == spec.attributes.end() ? 1 : std::get<int64_t>(found->second);
  return amount / std::max<int64_t>(interval, 1);
}

int64_t getNoWorkspace(const KernelSpec &spec) { return 0; }

static constexpr int64_t bytesPerSum = sizeof(float);

static int64_t getWideGammaBytes(const TensorShape &x,
                                 const TensorShape &gamma) {
  return gamma.type == DType::F32 ? 0 : getDimension(x, 0) * bytesPerSum;
}

int64_t getRmsNormWorkspace(const KernelSpec &spec) {
  return getWideGammaBytes(spec.inputs[0], spec.inputs[1]);
}

/// Returns the bytes of a norm's factors in fp32, if they have another type,
/// and of `sums` sums per column for each block of rows of `x`.
static int64_t getNormGradBytes(const TensorShape &x, const TensorShape &gamma,
                                int64_t sums) {
  const int64_t elements = x.getNumElements(), columns = getDimension(x, 0);
  if (elements == 0)
    return 0;
  const int64_t rows = elements / columns;
  const auto blocks = static_cast<int64_t>(
      llvm::divideCeil(rows, getRmsNormGradBlockRows(rows)));
  return sums * blocks * columns * bytesPerSum + getWideGammaBytes(x, gamma);
}

int64_t getRmsNormGradWorkspace(const KernelSpec &spec) {
  return getNormGradBytes(spec.inputs[1], spec.inputs[3], /*sums=*/1);
}

int64_t getLayerNormWorkspace(const KernelSpec &spec) {
  return 2 * getWideGammaBytes(spec.inputs[0], spec.inputs[1]);
}

int64_t getLayerNormBackwardWorkspace(const KernelSpec &spec) {
  return getNormGradBytes(spec.inputs[1], spec.inputs[4],
                          static_cast<int64_t>(spec.outputs.size()) - 1);
}

int64_t getNormWorkspace(const KernelSpec &spec) {
  return static_cast<int64_t>(
      llvm::divideCeil(spec.inputs[0].getNumElements(), elementsPerNormBlock) *
      bytesPerSum);
}

int64_t getReduceSumWorkspace(const KernelSpec &spec) {
  const TensorShape &x = spec.inputs[0];
  if (x.getNumElements() == 0)
    return 0;
  return ReductionCut(x.dims, getReducedDimensions(spec)).getWorkspaceBytes();
}

int64_t getSortWorkspace(const KernelSpec &spec) {
  const TensorShape &x = spec.inputs[0];
  if (x.getNumElements() == 0)
    return 0;
  const int64_t columns = getDimension(x, 0);
  return multiply({2, sizeof(SortedElement), columns,
                   getSortGroups(x.getNumElements() / columns)});
}

int64_t getGatherRowsGradWorkspace(const KernelSpec &spec) {
  const TensorShape &index = spec.inputs[1];
  const int64_t places = getDimension(index, 0);
  if (places == 0)
    return 0;
  const int64_t batches = index.getNumElements() / places;
  return batches * (getDimension(spec.outputs[0], 1) + 1 + places) *
         static_cast<int64_t>(sizeof(int32_t));
}

int64_t getMhcPreBackwardWorkspace(const KernelSpec &spec) {
  return multiply({4, spec.inputs[8].getNumElements()});
}

/// Returns the bytes of `count` numbers for each block of queries.
static int64_t getBlockSumBytes(const TensorShape &query, int64_t count) {
  return multiply({4, getDimension(query, 3),
                   getNumQueryBlocks(getDimension(query, 2)), count});
}

int64_t getHybridGradWorkspace(const KernelSpec &spec, size_t entries) {
  const TensorShape &query = spec.inputs[1];
  // Keys are [batch, rows, width] or [batch, blocks, rows, width].
  const TensorShape &keys = spec.inputs[2];
  int64_t rows = multiply({getSecondDimension(keys),
                           keys.dims.size() == 4 ? getDimension(keys, 1) : 1});
  if (spec.inputs.size() > entries &&
      llvm::AddOverflow(rows, getSecondDimension(spec.inputs[entries]), rows))
    rows = std::numeric_limits<int64_t>::max();
  int64_t count = multiply({rows, getDimension(query, 0)});
  if (llvm::AddOverflow(count, getDimension(query, 1), count))
    count = std::numeric_limits<int64_t>::max();
  return getBlockSumBytes(query, count);
}

int64_t getIndexerGradWorkspace(const KernelSpec &spec) {
  const TensorShape &query = spec.inputs[1];
  return getBlockSumBytes(query, multiply({getSecondDimension(spec.inputs[2]),
                                           getDimension(query, 0)}));
}

} // namespace mf
