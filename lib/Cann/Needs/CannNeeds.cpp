//===- CannNeeds.cpp - What CANN needs beside operands --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Cann/Needs/CannNeeds.h"
#include "mf_cann.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

// This namespace has the names that programs give to what statements of records
// use.
namespace mf_cann {

namespace {

using mf::DType;
using mf::KernelSpec;
using mf::TensorShape;
using mf::cann::CannNeeds;

aclDataType getCannType(DType type) {
  switch (type) {
  case DType::F32:
    return ACL_FLOAT;
  case DType::BF16:
    return ACL_BF16;
  case DType::F16:
    return ACL_FLOAT16;
  case DType::I32:
    return ACL_INT32;
  case DType::I64:
    return ACL_INT64;
  case DType::I1:
    return packedBits;
  }
  return ACL_DT_UNDEFINED;
}

/// Returns the name of a temporary's type for messages. Masks have types that
/// files of tensors do not support, so that getTypeName does not know them.
llvm::StringRef getScratchType(aclDataType type) {
  if (const char *name = getTypeName(type))
    return name;
  return type == ACL_BOOL ? "bool" : "u8";
}

/// Returns the operands of a launch one after another, as tensors without
/// memory.
class OperandShapes {
public:
  explicit OperandShapes(llvm::ArrayRef<TensorShape> given) : rest(given) {}

  /// Returns a tensor without a type if no operand is left.
  CannTensor take() {
    if (rest.empty())
      return {};
    const TensorShape &shape = rest.front();
    rest = rest.drop_front();
    return {nullptr,
            getCannType(shape.type),
            Dims(shape.dims.begin(), shape.dims.end()),
            {}};
  }
  std::vector<CannTensor> takeRest() {
    std::vector<CannTensor> taken;
    while (!rest.empty())
      taken.push_back(take());
    return taken;
  }

private:
  llvm::ArrayRef<TensorShape> rest;
};

/// Returns 0, false or an empty list for an attribute that is not given.
template <typename Value>
Value getAttributeValue(const KernelSpec &spec, const char *name) {
  auto given = spec.attributes.find(name);
  if (given == spec.attributes.end())
    return Value();
  const auto *value = std::get_if<Value>(&given->second);
  return value ? *value : Value();
}
template <>
[[maybe_unused]] Dims getAttributeValue<Dims>(const KernelSpec &spec,
                                              const char *name) {
  const auto values = getAttributeValue<std::vector<int64_t>>(spec, name);
  return {values.data(), values.data() + values.size()};
}

/// Takes the place of a program's stream while statements of kernels run. It
/// adds up the temporaries that they ask for and the functions that they call,
/// and launches nothing.
class NeedsStream {
public:
  explicit NeedsStream(CannNeeds &found) : needs(found) {}

  void require(bool holds, const char *message) {
    if (!holds && needs.refusal.empty())
      needs.refusal = message;
  }
  void allowAnyOrder() { needs.isInAnyOrder = true; }
  /// Counts a call that is left out.
  void skip() { ++needs.functions; }
  template <typename... Given> static void drawMask(const Given &...) {}
  static CannTensor getCausalMask() { return {}; }
  static float getHostValue(const CannTensor &) { return 0; }
  static int64_t getPosition(const CannTensor &) { return 0; }
  static bool isSet(const CannTensor &) { return false; }
  CannTensor makeScratch(const Dims &dims, aclDataType type) {
    std::string text = getScratchType(type).str() + "[";
    for (const int64_t size : dims)
      text += (text.back() == '[' ? "" : "x") + std::to_string(size);
    needs.temporaries += (needs.temporaries.empty() ? "" : ", ") + text + "]";
    needs.bytes += static_cast<int64_t>(
        getRoom(static_cast<size_t>(count(dims) * getBytes(type))));
    return {nullptr, type, dims, {}};
  }
  CannTensor makeFloat(const CannTensor &x) {
    return x.type == ACL_FLOAT ? x : makeScratch(x.dims, ACL_FLOAT);
  }

private:
  CannNeeds &needs;
};

/// A kernel that programs can launch. `measure` is null if the kernel is a
/// single function without temporaries.
struct LaunchedOnCann {
  llvm::StringLiteral kernel;
  void (*measure)(NeedsStream &, const KernelSpec &);
};

// Arguments of calls are not evaluated.
#define call(...) skip()
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused"
#include "CannNeeds.inc"
#pragma GCC diagnostic pop
#undef call

CannNeeds find(const KernelSpec &spec) {
  CannNeeds needs;
  const auto *found =
      llvm::find_if(launchedOnCann, [&](const LaunchedOnCann &launched) {
        return launched.kernel == spec.name;
      });
  if (found == std::end(launchedOnCann))
    return needs;
  needs.isOnCann = true;
  NeedsStream stream(needs);
  if (found->measure)
    found->measure(stream, spec);
  else
    needs.functions = 1;
  return needs;
}

} // namespace

} // namespace mf_cann

mf::cann::CannNeeds mf::cann::getCannNeeds(const KernelSpec &spec) {
  return mf_cann::find(spec);
}
