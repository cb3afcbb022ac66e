//===- Kernel.cpp - The kernels by their aclnn names ----------------------===//

#include "mf/Kernels/Kernel.h"
#include "Factories.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

Kernel::~Kernel() = default;

namespace {

struct Entry {
  llvm::StringLiteral name;
  KernelOrError (*make)(const KernelSpec &);
};

// Sorted by name: getKernelNames and the search rely on it.
constexpr Entry entries[] = {
    {"aclnnAdd", makeBinary},
    {"aclnnAdds", makeUnary},
    {"aclnnApplyAdamWV2", makeAdamW},
    {"aclnnCast", makeCast},
    {"aclnnCat", makeCat},
    {"aclnnClampMax", makeUnary},
    {"aclnnClampMin", makeUnary},
    {"aclnnConstantPadNd", makePad},
    {"aclnnCrossEntropyLoss", makeCrossEntropyLoss},
    {"aclnnCrossEntropyLossGrad", makeCrossEntropyLossGrad},
    {"aclnnEmbedding", makeEmbedding},
    {"aclnnEmbeddingDenseBackward", makeEmbeddingBackward},
    {"aclnnFlashAttentionScore", makeFlashAttention},
    {"aclnnFlashAttentionScoreGrad", makeFlashAttentionGrad},
    {"aclnnForeachMulScalarV2", makeMulScalar},
    {"aclnnForeachNonFiniteCheck", makeNonFiniteCheck},
    {"aclnnForeachNorm", makeNorm},
    {"aclnnGelu", makeUnary},
    {"aclnnGeluBackward", makeActivationBackward},
    {"aclnnInplaceAdd", makeInplaceAdd},
    {"aclnnInplaceCopy", makeInplaceCopy},
    {"aclnnInplaceZero", makeInplaceZero},
    {"aclnnMatmul", makeMatmul},
    {"aclnnMul", makeBinary},
    {"aclnnMuls", makeUnary},
    {"aclnnNeg", makeUnary},
    {"aclnnPermute", makePermute},
    {"aclnnReciprocal", makeUnary},
    {"aclnnReduceSum", makeReduceSum},
    {"aclnnRepeatInterleave", makeRepeat},
    {"aclnnRmsNorm", makeRmsNorm},
    {"aclnnRmsNormGrad", makeRmsNormGrad},
    {"aclnnRotaryPositionEmbedding", makeRotary},
    {"aclnnRotaryPositionEmbeddingGrad", makeRotary},
    {"aclnnSilu", makeUnary},
    {"aclnnSiluBackward", makeActivationBackward},
    {"aclnnSlice", makeSlice},
    {"aclnnSoftmax", makeSoftmax},
    {"aclnnSoftmaxBackward", makeSoftmaxBackward},
    {"aclnnSqrt", makeUnary},
    {"aclnnSub", makeBinary},
    {"aclnnSwiGlu", makeSwiGlu},
    {"aclnnSwiGluGrad", makeSwiGluGrad},
};

/// The known name with the smallest edit distance.
llvm::StringRef getNearestName(llvm::StringRef name) {
  return *llvm::min_element(
      getKernelNames(), [&](llvm::StringRef a, llvm::StringRef b) {
        return a.edit_distance(name) < b.edit_distance(name);
      });
}

} // namespace

llvm::ArrayRef<llvm::StringRef> getKernelNames() {
  static const std::vector<llvm::StringRef> names = [] {
    std::vector<llvm::StringRef> list;
    for (const Entry &entry : entries)
      list.push_back(entry.name);
    return list;
  }();
  return names;
}

llvm::Expected<std::unique_ptr<Kernel>> makeKernel(const KernelSpec &spec) {
  const Entry *entry = llvm::lower_bound(
      entries, llvm::StringRef(spec.name),
      [](const Entry &e, llvm::StringRef name) { return e.name < name; });
  if (entry != std::end(entries) && entry->name == spec.name)
    return entry->make(spec);
  return llvm::createStringError("unknown kernel '" + spec.name +
                                 "'; did you mean '" +
                                 getNearestName(spec.name) + "'?");
}

} // namespace mf
