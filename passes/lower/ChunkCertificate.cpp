//===- ChunkCertificate.cpp - The certificate of a frame layout -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/lower/ChunkCertificate.h"
#include "dialects/mf/CertificateAttribute.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;

/// Returns the values of the chunk that the first arguments of a routine hold
/// (mf/Program/Certificate.h).
template <typename FunctionT>
static Attribute getTaken(FunctionT function, const ChunkFunctions &chunk,
                          ArrayRef<int64_t> gradients) {
  ir::ForwardOp forward = chunk.forward;
  const auto numGradients =
      static_cast<int64_t>(forward.getGradientTypes().size());
  SmallVector<int64_t> taken(gradients);
  auto append = [&](ArrayAttr numbers, int64_t first, auto getNumber) {
    for (auto number : numbers.getAsRange<IntegerAttr>())
      taken.push_back(first + getNumber(number.getInt()));
  };
  append(function.getForwardArguments(), numGradients,
         [](int64_t number) { return number; });
  // Forward passes on outputs that are not losses.
  if constexpr (!std::is_same_v<FunctionT, ir::BackwardWeightsOp>)
    append(function.getForwardOutputs(),
           numGradients + static_cast<int64_t>(forward.getNumArguments()),
           [&](int64_t number) {
             return number -
                    llvm::count_if(forward.getOutputTypes().take_front(number),
                                   ir::isLoss);
           });
  return DenseI64ArrayAttr::get(forward.getContext(), taken);
}

DictionaryAttr mf::passes::getCertificate(const ChunkFunctions &chunk) {
  ir::ForwardOp forward = chunk.forward;
  auto computes =
      forward->getAttrOfType<DictionaryAttr>(ir::certificateAttribute);
  if (!computes)
    return {};
  NamedAttrList taken;
  SmallVector<int64_t> none, all, some;
  if (ir::RecomputeOp recompute = chunk.recompute)
    taken.set(recompute.getSymName(), getTaken(recompute, chunk, none));
  if (ir::BackwardOp backward = chunk.backward) {
    for (int64_t i = 0; i < static_cast<int64_t>(backward.getOutputs()); ++i)
      all.push_back(i);
    taken.set(backward.getSymName(), getTaken(backward, chunk, all));
  }
  if (ir::BackwardWeightsOp weights = chunk.weights) {
    for (auto number : weights.getOutputGradients().getAsRange<IntegerAttr>())
      some.push_back(number.getInt());
    taken.set(weights.getSymName(), getTaken(weights, chunk, some));
  }
  NamedAttrList entries(computes);
  if (!taken.empty())
    entries.set("taken", taken.getDictionary(forward.getContext()));
  return entries.getDictionary(forward.getContext());
}
