//===- KernelFormulas.cpp - What kernels cost -----------------------------===//

#include "KernelFormulas.h"
#include "mf/Signatures/KernelBlocks.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

namespace mf {

static int64_t multiply(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (int64_t factor : factors)
    if (llvm::MulOverflow(product, factor, product))
      return std::numeric_limits<int64_t>::max();
  return product;
}

/// The dimension `fromLast` places before the last, or 1.
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
  // The batch, rows and columns of `a` are its elements in either order.
  return multiply({2, a.getNumElements(), getDimension(b, transposeB ? 1 : 0)});
}

int64_t getAttentionFlops(const KernelSpec &spec, int64_t products) {
  const TensorShape &query = spec.inputs[0], &key = spec.inputs[1];
  const int64_t flops =
      multiply({2, products, query.getNumElements(), getDimension(key, 1)});
  return getFlag(spec, "causal", true) ? flops / 2 : flops;
}

int64_t getExpertMatmulFlops(const KernelSpec &spec) {
  return multiply(
      {2, spec.inputs[0].getNumElements(), getDimension(spec.outputs[0], 0)});
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

int64_t getNoWorkspace(const KernelSpec &spec) { return 0; }

static constexpr int64_t bytesPerSum = sizeof(float);

static int64_t getWideGammaBytes(const TensorShape &x,
                                 const TensorShape &gamma) {
  return gamma.type == DType::F32 ? 0 : getDimension(x, 0) * bytesPerSum;
}

int64_t getRmsNormWorkspace(const KernelSpec &spec) {
  return getWideGammaBytes(spec.inputs[0], spec.inputs[1]);
}

int64_t getRmsNormGradWorkspace(const KernelSpec &spec) {
  const TensorShape &x = spec.inputs[1];
  const int64_t elements = x.getNumElements(), columns = getDimension(x, 0);
  if (elements == 0)
    return 0;
  const int64_t rows = elements / columns;
  const int64_t blocks = llvm::divideCeil(rows, getRmsNormGradBlockRows(rows));
  return blocks * columns * bytesPerSum + getWideGammaBytes(x, spec.inputs[3]);
}

int64_t getNormWorkspace(const KernelSpec &spec) {
  return llvm::divideCeil(spec.inputs[0].getNumElements(),
                          elementsPerNormBlock) *
         bytesPerSum;
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

} // namespace mf
