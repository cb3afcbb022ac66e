//===- ProfiledOperands.cpp - Operands of kernels from profiles -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelFormulas.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

//===----------------------------------------------------------------------===//
// Products of matrices
//===----------------------------------------------------------------------===//

/// Returns whether the shapes are those of a product with the specification's
/// transpositions.
static bool isProduct(const KernelSpec &spec) {
  const TensorShape &a = spec.inputs[0], &b = spec.inputs[1],
                    &out = spec.outputs[0];
  const MatmulSize size = getMatmulSize(spec);
  const bool sharesB = b.dims.size() <= 2;
  return getColumns(out) == size.columns &&
         out.getNumElements() == size.batch * size.rows * size.columns &&
         a.getNumElements() == size.batch * size.rows * size.inner &&
         b.getNumElements() ==
             (sharesB ? 1 : size.batch) * size.inner * size.columns;
}

/// If the result is a matrix, sizes follow from the numbers of elements alone.
static bool takeAsMatrices(KernelSpec &spec) {
  TensorShape &a = spec.inputs[0], &b = spec.inputs[1];
  const TensorShape &out = spec.outputs[0];
  if (out.dims.size() != 2 || out.getNumElements() == 0)
    return false;
  const int64_t rows = out.dims[0], columns = out.dims[1];
  const int64_t inner = a.getNumElements() / rows;
  if (inner == 0 || inner * rows != a.getNumElements() ||
      inner * columns != b.getNumElements())
    return false;
  a.dims = {rows, inner};
  b.dims = {inner, columns};
  spec.attributes.clear();
  return true;
}

bool takeProfiledMatmul(KernelSpec &spec) {
  // A bias may follow them.
  if (spec.inputs.size() < 2 || spec.outputs.empty())
    return false;
  spec.inputs.resize(2);
  spec.outputs.resize(1);
  for (bool contractBatch : {false, true})
    for (bool transposeA : {false, true})
      for (bool transposeB : {false, true}) {
        spec.attributes = {{"transpose_a", transposeA},
                           {"transpose_b", transposeB},
                           {"contract_batch", contractBatch}};
        if (isProduct(spec))
          return true;
      }
  return takeAsMatrices(spec);
}

bool takeProfiledGroupedMatmul(KernelSpec &spec) {
  if (spec.inputs.size() < 3 || spec.outputs.empty())
    return false;
  TensorShape counts = spec.inputs.back();
  // The record's own counts are fp32, and only its weights have groups.
  const bool isOwn = spec.inputs.size() == 3 && spec.inputs[1].dims.size() == 4;
  if (!isOwn && counts.type != DType::I32 && counts.type != DType::I64)
    return false;
  TensorShape &weight = spec.inputs[1];
  if (weight.dims.size() == 3)
    weight.dims.insert(weight.dims.begin(), 1);
  if (weight.dims.size() != 4)
    return false;
  spec.inputs[2] = std::move(counts);
  spec.inputs.resize(3);
  spec.outputs.resize(1);
  const int64_t inner = getColumns(spec.inputs[0]);
  const bool isTransposed = inner != spec.inputs[1].dims[2];
  spec.attributes = {{"transpose_weight", isTransposed}};
  // The output of a gradient of weights has the shape of the weights.
  return spec.inputs[1].dims[isTransposed ? 3 : 2] == inner &&
         getRows(spec.outputs[0]) == getRows(spec.inputs[0]) &&
         getColumns(spec.outputs[0]) ==
             spec.inputs[1].dims[isTransposed ? 2 : 3];
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Returns whether the shape is [batch, heads, sequence, 8] in fp32.
static bool isSoftmaxMaximum(const TensorShape &shape) {
  constexpr int64_t copies = 8;
  return shape.type == DType::F32 && shape.dims.size() == 4 &&
         shape.dims[3] == copies;
}

/// Converts a query, key or value in BNSD, BSND, BSH or SBH to [batch, heads,
/// sequence, size]. `softmax` has the batch and the query's heads and sequence.
/// The size of a head is known from the query; it is 0 for the query itself.
static bool normalize(TensorShape &operand, const TensorShape &softmax,
                      bool isQuery, int64_t headSize) {
  const int64_t batch = softmax.dims[0], heads = softmax.dims[1],
                sequence = softmax.dims[2];
  auto &dims = operand.dims;
  if (dims.size() == 4) {
    const bool isHeadsFirst = dims[1] == heads && dims[2] == sequence;
    const bool isSequenceFirst = dims[1] == sequence && dims[2] == heads;
    // Keys and values have other numbers of heads and rows, which are
    // determined with the help of the query.
    if (dims[0] != batch || (isQuery && !isHeadsFirst && !isSequenceFirst))
      return false;
    if (isQuery && !isHeadsFirst)
      std::swap(dims[1], dims[2]);
    return true;
  }
  if (dims.size() != 3 || headSize <= 0 || dims[2] % headSize != 0)
    return false;
  const bool isBatchFirst =
      dims[0] == batch && (!isQuery || dims[1] == sequence);
  if (!isBatchFirst && dims[1] != batch)
    return false;
  const int64_t own = isBatchFirst ? dims[1] : dims[0];
  dims = {batch, dims[2] / headSize, own, headSize};
  return true;
}

/// Converts query, key and value, and `dy` if there are four operands, to BNSD.
static bool normalizeAll(llvm::MutableArrayRef<TensorShape> operands,
                         const TensorShape &softmax) {
  const int64_t rows = getRows(softmax);
  TensorShape &query = operands[0];
  if (rows == 0 || query.getNumElements() % rows != 0)
    return false;
  const int64_t headSize = query.getNumElements() / rows;
  const bool isSequenceFirst =
      query.dims.size() == 4 && query.dims[1] == softmax.dims[2] &&
      query.dims[2] == softmax.dims[1] && softmax.dims[1] != softmax.dims[2];
  for (const auto &[index, operand] : llvm::enumerate(operands)) {
    const bool isQuery = index == 0 || index == 3;
    if (!isQuery && isSequenceFirst && operand.dims.size() == 4)
      std::swap(operand.dims[1], operand.dims[2]);
    if (!normalize(operand, softmax, isQuery, headSize))
      return false;
  }
  return true;
}

bool takeProfiledAttention(KernelSpec &spec) {
  if (spec.inputs.size() < 3 || spec.outputs.size() < 3)
    return false;
  const TensorShape softmax = spec.outputs[0];
  if (!isSoftmaxMaximum(softmax))
    return softmax.dims.size() == 3 && spec.inputs[0].dims.size() == 4;
  spec.inputs.resize(3);
  // Between the sums and the result the device lists the softmax, which has no
  // elements.
  spec.outputs[2] = TensorShape(spec.outputs.back());
  spec.outputs.resize(3);
  return normalizeAll(spec.inputs, softmax);
}

bool takeProfiledAttentionGrad(KernelSpec &spec) {
  constexpr size_t numGiven = 4, numTaken = 7;
  if (spec.inputs.size() < numTaken || spec.outputs.size() < 3)
    return false;
  const llvm::ArrayRef<TensorShape> extras =
      llvm::ArrayRef(spec.inputs).drop_front(numGiven);
  // The record's own softmax has no copies, and a head may have as many
  // elements as a device has copies.
  if (extras[0].dims.size() == 3 && extras[1].dims.size() == 3)
    return spec.inputs[0].dims.size() == 4;
  const auto *found = llvm::find_if(extras, isSoftmaxMaximum);
  if (found == extras.end())
    return false;
  const TensorShape softmax = *found;
  const TensorShape result = spec.inputs[numGiven - 1];
  spec.inputs.resize(numGiven);
  if (!normalizeAll(spec.inputs, softmax))
    return false;
  spec.inputs.append({softmax, softmax, result});
  spec.outputs.resize(3);
  return true;
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

bool takeProfiledPermutation(KernelSpec &spec) {
  if (spec.inputs.empty() || spec.outputs.empty())
    return false;
  // The permutation may be an input.
  spec.inputs.resize(1);
  spec.outputs.resize(1);
  const auto &from = spec.inputs[0].dims, &to = spec.outputs[0].dims;
  if (from.size() != to.size())
    return false;
  std::vector<int64_t> permutation;
  // The search starts at the last dimension, because a dimension that stays
  // last determines the most.
  for (size_t i = to.size(); i-- > 0;) {
    size_t source = from.size();
    while (source-- > 0)
      if (from[source] == to[i] &&
          !llvm::is_contained(permutation, static_cast<int64_t>(source)))
        break;
    if (source >= from.size())
      return false;
    permutation.insert(permutation.begin(), static_cast<int64_t>(source));
  }
  spec.attributes = {{"perm", std::move(permutation)}};
  return true;
}

bool takeProfiledAdam(KernelSpec &spec) {
  constexpr size_t gradient = 3, numDeviceInputs = 5;
  if (spec.outputs.size() < 3)
    return false;
  spec.outputs.resize(3);
  // The record's own operands have the number of the step, a scalar, behind the
  // gradient; the device's have the first moment there.
  if (spec.inputs.size() < numDeviceInputs || spec.inputs[1].dims.empty())
    return spec.inputs.size() >= 3;
  const TensorShape number{DType::F32, {}};
  spec.inputs = {TensorShape(spec.inputs[gradient]), number, number};
  return true;
}

} // namespace mf
