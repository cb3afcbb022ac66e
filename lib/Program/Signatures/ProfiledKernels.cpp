//===- ProfiledKernels.cpp - Kernels by their names in profiles -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/ProfiledKernels.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;

namespace mf {

static StringMap<const KernelSignature *> getKernelsByProfiledName() {
  StringMap<const KernelSignature *> kernels;
  for (const KernelSignature &signature : getKernelSignatures())
    for (StringRef name : signature.profiled)
      kernels[name] = &signature;
  return kernels;
}

const KernelSignature *findProfiledKernel(StringRef type) {
  static const StringMap<const KernelSignature *> kernels =
      getKernelsByProfiledName();
  if (const KernelSignature *own = findKernelSignature(type))
    return own;
  return kernels.lookup(type);
}

/// Returns a value for an attribute that shapes do not determine. Neither FLOPs
/// nor bytes depend on it.
static AttributeValue getUnknown(AttributeKind kind) {
  switch (kind) {
  case AttributeKind::Bool:
    return false;
  case AttributeKind::Int:
    return int64_t{0};
  case AttributeKind::Double:
    return 1.0;
  case AttributeKind::Ints:
    return std::vector<int64_t>{};
  case AttributeKind::Kernels:
    return std::vector<FusedKernel>{};
  case AttributeKind::Doubles:
    return std::vector<double>{};
  }
  llvm_unreachable("covered switch");
}

/// Removes operands beyond those of the kernel. Returns false if there are
/// fewer.
static bool cut(SmallVectorImpl<TensorShape> &operands,
                ArrayRef<OperandSignature> signatures) {
  const size_t required = count_if(
      signatures, [](const OperandSignature &o) { return !o.isOptional; });
  if (operands.size() < required)
    return false;
  const bool isVariadic = !signatures.empty() && signatures.back().isVariadic;
  if (!isVariadic && operands.size() > signatures.size())
    operands.resize(signatures.size());
  return true;
}

/// Returns whether elements and bytes can be counted.
static bool isCountable(const TensorShape &shape) {
  // FLOPs are products of at most three such sizes.
  constexpr int64_t maximumElements = int64_t{1} << 40;
  int64_t elements = 1;
  for (int64_t dim : shape.dims) {
    if (dim < 0 || dim > maximumElements)
      return false;
    elements *= dim;
    if (elements > maximumElements)
      return false;
  }
  return true;
}

std::optional<KernelSpec> getProfiledSpec(const KernelSignature &signature,
                                          ArrayRef<TensorShape> inputs,
                                          ArrayRef<TensorShape> outputs) {
  if (!all_of(inputs, isCountable) || !all_of(outputs, isCountable))
    return std::nullopt;
  KernelSpec spec;
  spec.name = signature.name.str();
  spec.inputs.assign(inputs.begin(), inputs.end());
  spec.outputs.assign(outputs.begin(), outputs.end());
  if (signature.takeProfiled && !signature.takeProfiled(spec))
    return std::nullopt;
  if (!cut(spec.inputs, signature.inputs) ||
      !cut(spec.outputs, signature.outputs))
    return std::nullopt;
  for (const AttributeSignature &attribute : signature.attributes)
    if (!attribute.isOptional)
      spec.attributes.try_emplace(attribute.name.str(),
                                  getUnknown(attribute.kind));
  return spec;
}

} // namespace mf
