//===- KernelSequence.cpp - Kernels that one launch runs ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/KernelSequence.h"
#include "KernelFormulas.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

namespace mf {

std::vector<KernelSpec> getSpecs(std::vector<SequencedKernel> kernels) {
  std::vector<KernelSpec> specs;
  specs.reserve(kernels.size());
  for (SequencedKernel &kernel : kernels)
    specs.push_back(std::move(kernel.spec));
  return specs;
}

static int64_t sum(llvm::ArrayRef<KernelSpec> kernels,
                   int64_t (*KernelSignature::*get)(const KernelSpec &)) {
  int64_t total = 0;
  for (const KernelSpec &kernel : kernels) {
    const KernelSignature *signature = findKernelSignature(kernel.name);
    if (signature && llvm::AddOverflow(total, (signature->*get)(kernel), total))
      return std::numeric_limits<int64_t>::max();
  }
  return total;
}

int64_t sumFlops(llvm::ArrayRef<KernelSpec> kernels) {
  return sum(kernels, &KernelSignature::getFlops);
}

int64_t sumBytes(llvm::ArrayRef<KernelSpec> kernels) {
  return sum(kernels, &KernelSignature::getBytes);
}

//===----------------------------------------------------------------------===//
// Newton-Schulz iterations
//===----------------------------------------------------------------------===//

namespace {

/// The tensors of mfNewtonSchulz and where they lie in its workspace. The
/// squares in fp32 are read before the first product is made, so that the
/// products lie where they were.
class NewtonSchulz {
public:
  explicit NewtonSchulz(const KernelSpec &spec) : spec(spec) {
    const TensorShape &given = spec.inputs[0];
    const int64_t rows = getRowsOfMatrix(given), columns = getColumns(given);
    // The bytes of fp32, with room to add a few of them up.
    const int64_t elements = given.getNumElements();
    if (elements <= 0 || elements > std::numeric_limits<int64_t>::max() / 64)
      return;
    const int64_t experts = elements / (rows * columns);
    const int64_t side = std::min(rows, columns);
    isTall = rows > columns;
    matrices = {given.type, {experts, rows, columns}};
    squares = {DType::F32, matrices.dims};
    inner = {given.type, {experts, side, side}};
    sums = {DType::F32, {experts}};
    norms = {given.type, {experts}};
    productAt = align(inner.getBytes());
    sumsAt =
        align(std::max(squares.getBytes(), productAt + matrices.getBytes()));
    normsAt = align(sumsAt + sums.getBytes());
    ownAt = align(normsAt + norms.getBytes());
    isCountable = true;
  }

  std::vector<SequencedKernel> getKernels() const {
    if (!isCountable)
      return {};
    std::vector<SequencedKernel> kernels;
    addNormalization(kernels);
    auto given = spec.attributes.find("coefficients");
    if (given == spec.attributes.end())
      return kernels;
    const auto &coefficients = std::get<std::vector<double>>(given->second);
    for (size_t i = 0; i + 3 <= coefficients.size(); i += 3)
      addIteration(llvm::ArrayRef(coefficients).slice(i), kernels);
    return kernels;
  }

  int64_t getWorkspaceBytes() const {
    return isCountable ? ownAt + getReduceSumWorkspace(getSumOfSquares())
                       : std::numeric_limits<int64_t>::max();
  }

private:
  static int64_t align(int64_t offset) {
    return static_cast<int64_t>(llvm::alignTo(offset, 64));
  }

  KernelSpec getSumOfSquares() const {
    return {"aclnnReduceSum",
            {squares},
            {sums},
            {{"axes", std::vector<int64_t>{1, 2}}}};
  }

  static KernelSpec getChain(llvm::ArrayRef<TensorShape> inputs,
                             const std::vector<FusedKernel> &steps) {
    KernelSpec chain;
    chain.name = "mfChain";
    llvm::append_range(chain.inputs, inputs);
    chain.outputs = {steps.back().result};
    chain.attributes["steps"] = steps;
    return chain;
  }

  /// Makes x = matrices / (norm + eps).
  void addNormalization(std::vector<SequencedKernel> &kernels) const {
    auto eps = spec.attributes.find("eps");
    const double added =
        eps == spec.attributes.end() ? 0 : std::get<double>(eps->second);
    const int64_t experts = matrices.dims[0];
    KernelSpec square =
        getChain(matrices, {{"aclnnCast", {0}, squares, {}},
                            {"aclnnMul", {~0, ~0}, squares, {}}});
    KernelSpec norm =
        getChain(sums, {{"aclnnSqrt", {0}, sums, {}},
                        {"aclnnCast", {~0}, norms, {}},
                        {"aclnnAdds", {~1}, norms, {{"value", added}}}});
    KernelSpec divide = {
        "aclnnDiv", {matrices, {norms.type, {experts, 1, 1}}}, {matrices}, {}};
    kernels.push_back({std::move(square), {input}, at(0), 0});
    kernels.push_back({getSumOfSquares(), {at(0)}, at(sumsAt), ownAt});
    kernels.push_back({std::move(norm), {at(sumsAt)}, at(normsAt), 0});
    kernels.push_back({std::move(divide), {input, at(normsAt)}, x, 0});
  }

  /// Makes x = a x + (b A + c A A) x with A = x xT, or for a tall matrix the
  /// same from the other side.
  void addIteration(llvm::ArrayRef<double> factors,
                    std::vector<SequencedKernel> &kernels) const {
    auto multiply = [](const TensorShape &left, const TensorShape &right,
                       const TensorShape &result, bool transposeA,
                       bool transposeB) -> KernelSpec {
      return {"aclnnMatmul",
              {left, right},
              {result},
              {{"contract_batch", false},
               {"transpose_a", transposeA},
               {"transpose_b", transposeB}}};
    };
    KernelSpec add = getChain(
        {inner, inner}, {{"aclnnMuls", {0}, inner, {{"value", factors[1]}}},
                         {"aclnnMuls", {1}, inner, {{"value", factors[2]}}},
                         {"aclnnAdd", {~0, ~1}, inner, {}}});
    KernelSpec move =
        getChain({matrices, matrices},
                 {{"aclnnMuls", {0}, matrices, {{"value", factors[0]}}},
                  {"aclnnAdd", {~0, 1}, matrices, {}}});
    SequencedKernel product = {
        multiply(inner, matrices, matrices, false, false),
        {at(0), x},
        at(productAt),
        0};
    if (isTall)
      product = {multiply(matrices, inner, matrices, false, true),
                 {x, at(0)},
                 at(productAt),
                 0};
    kernels.push_back({multiply(matrices, matrices, inner, isTall, !isTall),
                       {x, x},
                       at(0),
                       0});
    kernels.push_back({multiply(inner, inner, inner, false, false),
                       {at(0), at(0)},
                       at(productAt),
                       0});
    kernels.push_back({std::move(add), {at(0), at(productAt)}, at(0), 0});
    kernels.push_back(std::move(product));
    kernels.push_back({std::move(move), {x, at(productAt)}, x, 0});
  }

  static SequencePlace at(int64_t offset) {
    return {SequencePlace::Memory::Workspace, offset};
  }
  static constexpr SequencePlace input = {SequencePlace::Memory::Input, 0};
  static constexpr SequencePlace x = {SequencePlace::Memory::Output, 0};

  const KernelSpec &spec;
  bool isCountable = false, isTall = false;
  TensorShape matrices, squares, inner, sums, norms;
  /// `A` and the squares begin at 0, `A A` and the product with x here.
  int64_t productAt = 0;
  int64_t sumsAt = 0, normsAt = 0, ownAt = 0;
};

} // namespace

std::vector<SequencedKernel> getNewtonSchulzSequence(const KernelSpec &spec) {
  return NewtonSchulz(spec).getKernels();
}

int64_t getNewtonSchulzWorkspace(const KernelSpec &spec) {
  return NewtonSchulz(spec).getWorkspaceBytes();
}

} // namespace mf
