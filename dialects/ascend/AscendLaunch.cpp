//===- AscendLaunch.cpp - Launches against their kernels' signatures ------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/ascend/AscendDialect.h"
#include "dialects/ascend/KernelSpecs.h"
#include "mf/Program/Signatures/KernelChain.h"

using namespace mlir;
using namespace mf;
using namespace mf::ascend;

std::optional<KernelSpec> LaunchOp::getKernelSpec() {
  auto getTensors = [](OperandRange buffers) {
    SmallVector<RankedTensorType> tensors;
    for (Value buffer : buffers)
      tensors.push_back(cast<BufferType>(buffer.getType()).getTensor());
    return tensors;
  };
  auto isFusedKernels = [](NamedAttribute named) {
    return isa<FusedKernelsAttr>(named.getValue());
  };
  DictionaryAttr plain = getKernelAttributes();
  const bool hasFusedKernels = llvm::any_of(plain, isFusedKernels);
  if (hasFusedKernels)
    plain = DictionaryAttr::get(
        getContext(), llvm::filter_to_vector(plain, [&](NamedAttribute named) {
          return !isFusedKernels(named);
        }));
  std::optional<KernelSpec> spec = mf::getKernelSpec(
      getKernel(), getTensors(getInputs()), getTensors(getOutputs()), plain);
  if (!spec || !hasFusedKernels)
    return spec;
  for (NamedAttribute named : getKernelAttributes())
    if (auto given = dyn_cast<FusedKernelsAttr>(named.getValue())) {
      std::optional<std::vector<FusedKernel>> fused = given.getFusedKernels();
      if (!fused)
        return std::nullopt;
      spec->attributes.emplace(named.getName().str(), std::move(*fused));
    }
  return spec;
}

static LogicalResult verifyAttributes(LaunchOp op,
                                      const KernelSignature &signature) {
  SmallVector<GivenAttribute> attributes;
  for (NamedAttribute named : op.getKernelAttributes()) {
    std::optional<AttributeKind> kind =
        isa<FusedKernelsAttr>(named.getValue())
            ? AttributeKind::Kernels
            : getAttributeKind(named.getValue());
    if (!kind)
      return op.emitOpError("kernel attribute '")
             << named.getName().getValue()
             << "': expected a boolean, an integer, a float, a list of "
                "integers or floats, or fused kernels, but got "
             << named.getValue();
    attributes.push_back({named.getName().getValue(), *kind});
  }
  if (llvm::Error error = checkAgainstSignature(
          signature, op.getInputs().size(), op.getOutputs().size(), attributes))
    return op.emitOpError()
           << signature.name << ": " << llvm::toString(std::move(error));
  return success();
}

/// Checks operands that are the same value. Overlapping addresses are checked
/// by the program's verifier.
static LogicalResult verifySharing(LaunchOp op,
                                   const KernelSignature &signature) {
  for (auto [number, output] : llvm::enumerate(op.getOutputs())) {
    for (auto [position, input] : llvm::enumerate(op.getInputs()))
      if (output == input && !signature.mayShareMemory(number, position))
        return op.emitOpError() << signature.name << ": its output '"
                                << signature.getOutput(number).name
                                << "' must not be the buffer of its input '"
                                << signature.getInput(position).name << "'";
    if (llvm::is_contained(op.getOutputs().take_front(number), output))
      return op.emitOpError() << signature.name << ": its output '"
                              << signature.getOutput(number).name
                              << "' is the buffer of another output";
  }
  return success();
}

static LogicalResult verifyWorkspace(LaunchOp op,
                                     const KernelSignature &signature) {
  // The workspace may be larger than the host's kernel needs, because programs
  // on CANN may need more.
  Value workspace = op.getWorkspace();
  if (!workspace && !signature.mayNeedWorkspace())
    return success();
  int64_t needed = op.getWorkspaceBytes();
  if (!workspace && needed > 0)
    return op.emitOpError() << signature.name << ": expected a workspace of "
                            << needed << " bytes, but got none";
  if (!workspace)
    return success();
  auto type = cast<BufferType>(workspace.getType());
  if (type.getSpace() != Space::Hbm || type.getBytes() < needed)
    return op.emitOpError()
           << signature.name << ": expected a workspace of " << needed
           << " bytes in device memory, but got " << type;
  if (llvm::is_contained(op.getInputs(), workspace) ||
      llvm::is_contained(op.getOutputs(), workspace))
    return op.emitOpError()
           << signature.name << ": its workspace is one of its operands, too";
  return success();
}

/// Checks that fused kernels agree with each other, with the inputs and with
/// the output.
static LogicalResult verifyFusedKernels(LaunchOp op,
                                        const KernelSignature &signature) {
  if (llvm::none_of(signature.attributes, [](const AttributeSignature &known) {
        return known.kind == AttributeKind::Kernels;
      }))
    return success();
  std::optional<KernelSpec> spec = op.getKernelSpec();
  if (!spec)
    return op.emitOpError() << signature.name
                            << ": has elements or attributes of fused kernels "
                               "that no kernel computes with";
  if (llvm::Error error = checkChain(*spec))
    return op.emitOpError() << llvm::toString(std::move(error));
  return success();
}

int64_t LaunchOp::getWorkspaceBytes() {
  const KernelSignature *signature = findKernelSignature(getKernel());
  if (!signature || !signature->mayNeedWorkspace())
    return 0;
  std::optional<KernelSpec> spec = getKernelSpec();
  return spec ? signature->getWorkspaceBytes(*spec) : 0;
}

LogicalResult LaunchOp::verify() {
  const KernelSignature *signature = findKernelSignature(getKernel());
  if (!signature)
    return emitOpError("unknown kernel '")
           << getKernel() << "'" << suggestKernelName(getKernel());
  if (failed(verifyAttributes(*this, *signature)) ||
      failed(verifyFusedKernels(*this, *signature)) ||
      failed(verifySharing(*this, *signature)))
    return failure();
  return verifyWorkspace(*this, *signature);
}
