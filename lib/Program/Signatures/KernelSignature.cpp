//===- KernelSignature.cpp - Signatures and costs of kernels --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/KernelSignature.h"
#include "KernelFormulas.h"
#include "mf/Program/Signatures/KernelChain.h"
#include "mf/Support/NearestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include "lib/Program/Signatures/KernelSignatures.inc"

namespace mf {

bool readsMemory(Access access) { return access != Access::Out; }

bool writesMemory(Access access) { return access != Access::In; }

llvm::StringRef getName(Access access) {
  static constexpr llvm::StringLiteral names[] = {"in", "out", "updated",
                                                  "accumulated"};
  return names[static_cast<size_t>(access)];
}

llvm::StringRef getName(Engine engine) {
  static constexpr llvm::StringLiteral names[] = {"cube", "vector", "copy",
                                                  "communication"};
  return names[static_cast<size_t>(engine)];
}

AttributeKind getKind(const AttributeValue &value) {
  return static_cast<AttributeKind>(value.index());
}

llvm::StringRef getDescription(AttributeKind kind) {
  static constexpr llvm::StringLiteral names[] = {
      "a bool",
      "an integer",
      "a floating-point number",
      "a list of integers",
      "a list of fused kernels",
      "a list of floating-point numbers"};
  return names[static_cast<size_t>(kind)];
}

//===----------------------------------------------------------------------===//
// Lookup
//===----------------------------------------------------------------------===//

llvm::ArrayRef<KernelSignature> getKernelSignatures() { return signatures; }

llvm::ArrayRef<llvm::StringRef> getKernelKinds() { return kinds; }

const KernelSignature *findKernelSignature(llvm::StringRef name) {
  const KernelSignature *found = llvm::lower_bound(
      signatures, name,
      [](const KernelSignature &signature, llvm::StringRef key) {
        return signature.name < key;
      });
  return found != std::end(signatures) && found->name == name ? found : nullptr;
}

std::string suggestKernelName(llvm::StringRef name) {
  return suggestName(name, llvm::map_range(signatures, [](const auto &known) {
                       return known.name;
                     }));
}

static size_t getNumber(llvm::ArrayRef<OperandSignature> operands,
                        size_t position) {
  return std::min(position, operands.size() - 1);
}

const OperandSignature &KernelSignature::getInput(size_t position) const {
  return inputs[getNumber(inputs, position)];
}

const OperandSignature &KernelSignature::getOutput(size_t position) const {
  return outputs[getNumber(outputs, position)];
}

std::optional<int64_t>
KernelSignature::getMeasure(const KernelSpec &spec,
                            llvm::StringRef measure) const {
  for (const MeasureSignature &known : measures)
    if (known.name == measure)
      return known.get(spec);
  return std::nullopt;
}

bool KernelSignature::mayNeedWorkspace() const {
  return getWorkspaceBytes != getNoWorkspace;
}

bool KernelSignature::mayShareMemory(size_t output, size_t input) const {
  return getOutput(output).sharedInputs >> getNumber(inputs, input) & 1;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Returns, for example, "2 inputs", "3 to 4 inputs" or "at least 1 input".
static std::string describeCount(size_t least, size_t most, bool isBounded,
                                 llvm::StringRef noun) {
  std::string text =
      isBounded ? std::to_string(least) : "at least " + std::to_string(least);
  if (isBounded && most > least)
    text += " to " + std::to_string(most);
  text += (" " + noun).str();
  if ((isBounded ? most : least) != 1)
    text += "s";
  return text;
}

static llvm::Error checkCount(llvm::ArrayRef<OperandSignature> operands,
                              size_t given, llvm::StringRef noun) {
  const size_t least =
      llvm::count_if(operands, [](const OperandSignature &operand) {
        return !operand.isOptional;
      });
  const bool isBounded = operands.empty() || !operands.back().isVariadic;
  if (given >= least && (!isBounded || given <= operands.size()))
    return llvm::Error::success();
  return llvm::createStringError(
      "expected " + describeCount(least, operands.size(), isBounded, noun) +
      ", but got " + llvm::Twine(given));
}

static llvm::Error reportUnknownAttribute(const KernelSignature &signature,
                                          llvm::StringRef attribute) {
  auto names = llvm::map_range(
      signature.attributes,
      [](const AttributeSignature &known) { return known.name; });
  return llvm::createStringError(
      "unknown attribute '" + attribute + "'; " +
      (signature.attributes.empty() ? "this kernel takes none"
                                    : "known are " + llvm::join(names, ", ")));
}

llvm::Error checkAgainstSignature(const KernelSignature &signature,
                                  size_t numInputs, size_t numOutputs,
                                  llvm::ArrayRef<GivenAttribute> attributes) {
  if (llvm::Error error = checkCount(signature.inputs, numInputs, "input"))
    return error;
  if (llvm::Error error = checkCount(signature.outputs, numOutputs, "output"))
    return error;
  for (const auto &[name, kind] : attributes) {
    const AttributeSignature *known = llvm::find_if(
        signature.attributes, [&, &name = name](const AttributeSignature &a) {
          return a.name == name;
        });
    if (known == signature.attributes.end())
      return reportUnknownAttribute(signature, name);
    if (known->kind != kind)
      return llvm::createStringError("attribute '" + name +
                                     "' has another type, expected " +
                                     getDescription(known->kind));
  }
  for (const AttributeSignature &known : signature.attributes)
    if (!known.isOptional &&
        llvm::none_of(attributes, [&](const GivenAttribute &given) {
          return given.first == known.name;
        }))
      return llvm::createStringError("attribute '" + known.name +
                                     "' is missing");
  return llvm::Error::success();
}

llvm::Error checkAgainstSignature(const KernelSpec &spec) {
  const KernelSignature *signature = findKernelSignature(spec.name);
  if (!signature)
    return llvm::createStringError("unknown kernel '" + spec.name + "'" +
                                   suggestKernelName(spec.name));
  llvm::SmallVector<GivenAttribute, 8> attributes;
  for (const auto &[name, value] : spec.attributes)
    attributes.push_back({name, getKind(value)});
  if (llvm::Error error = checkAgainstSignature(
          *signature, spec.inputs.size(), spec.outputs.size(), attributes))
    return llvm::createStringError(spec.name + ": " +
                                   llvm::toString(std::move(error)));
  return llvm::Error::success();
}

std::vector<KernelSpec> getProductsOfFactors(const KernelSignature &signature,
                                             const KernelSpec &spec) {
  std::vector<KernelSpec> products;
  if (signature.inputs.empty() || !signature.inputs.back().isFactors ||
      signature.outputs.front().access != Access::Updated)
    return products;
  for (size_t i = signature.inputs.size() - 1; i < spec.inputs.size(); ++i)
    products.push_back(
        {"aclnnForeachMulScalar", {spec.inputs[i]}, {spec.inputs[0]}, {}});
  return products;
}

} // namespace mf
