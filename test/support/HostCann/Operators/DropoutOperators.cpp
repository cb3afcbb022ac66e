//===- DropoutOperators.cpp - Masks of bits -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DropoutOperators.h"

using namespace mf::hostcann;

std::pair<size_t, mf::TensorShape>
mf::hostcann::readBitMask(OperatorCall &call, const aclTensor *mask,
                          llvm::StringRef operand,
                          llvm::ArrayRef<int64_t> sizes) {
  TensorShape bits{DType::I1, {}};
  bits.dims.assign(sizes.begin(), sizes.end());
  const size_t number = call.read(mask, operand);
  if (!call.hasFailed())
    call.require(mask->type == ACL_UINT8 &&
                     mask->getNumElements() >= bits.getBytes(),
                 operand + " is not UINT8 with a bit for each element, in "
                           "units of 128");
  return {number, bits};
}

aclnnStatus mf::hostcann::makeDropoutDoMask(OperatorCall &call,
                                            const aclTensor *self,
                                            const aclTensor *mask, double prob,
                                            aclTensor *out) {
  call.requireThere(out, "out");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  mf::KernelSpec spec;
  spec.name = "aclnnDropoutDoMask";
  spec.inputs = {call.getShape(0),
                 readBitMask(call, mask, "mask", self->dims).second};
  call.write(out, "out");
  call.require(prob > 0 && prob < 1,
               "prob other than between 0 and 1 is not in this host library");
  if (call.hasFailed())
    return call.finish(0, nullptr);
  spec.outputs = {call.getShape(2)};
  spec.attributes["rate"] = prob;
  return call.finishSpec(spec);
}
