//===- KernelChain.cpp - Kernels that are fused into one ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/KernelChain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

namespace mf {

static llvm::ArrayRef<FusedKernel> getFusedKernels(const KernelSpec &spec) {
  auto found = spec.attributes.find("steps");
  if (found == spec.attributes.end())
    return {};
  const auto *kernels = std::get_if<std::vector<FusedKernel>>(&found->second);
  return kernels ? llvm::ArrayRef(*kernels) : llvm::ArrayRef<FusedKernel>();
}

/// Returns the shape of an operand of kernel `number` of a chain, or null if no
/// earlier kernel or input has its number.
static const TensorShape *findOperand(const KernelSpec &chain,
                                      llvm::ArrayRef<FusedKernel> kernels,
                                      size_t number, int64_t operand) {
  const auto index = static_cast<size_t>(operand < 0 ? ~operand : operand);
  if (operand < 0)
    return index < number ? &kernels[index].result : nullptr;
  return index < chain.inputs.size() ? &chain.inputs[index] : nullptr;
}

static std::string describeOperand(int64_t operand) {
  return operand < 0 ? "t" + std::to_string(~operand)
                     : "in" + std::to_string(operand);
}

static bool readsWhatIsThere(const KernelSpec &chain,
                             llvm::ArrayRef<FusedKernel> kernels,
                             size_t number) {
  return llvm::all_of(kernels[number].operands, [&](int64_t operand) {
    return findOperand(chain, kernels, number, operand) != nullptr;
  });
}

/// Returns the specification of kernel `number` of a chain, whose operands must
/// exist: they are inputs of the chain or results of earlier kernels.
static KernelSpec getFusedSpec(const KernelSpec &chain, size_t number) {
  const llvm::ArrayRef<FusedKernel> kernels = getFusedKernels(chain);
  KernelSpec spec;
  spec.name = kernels[number].name;
  for (int64_t operand : kernels[number].operands)
    spec.inputs.push_back(*findOperand(chain, kernels, number, operand));
  spec.outputs.push_back(kernels[number].result);
  spec.attributes = kernels[number].attributes;
  return spec;
}

std::vector<KernelSpec> getFusedSpecs(const KernelSpec &spec) {
  const llvm::ArrayRef<FusedKernel> kernels = getFusedKernels(spec);
  std::vector<KernelSpec> specs;
  for (size_t number = 0; number < kernels.size(); ++number) {
    if (!readsWhatIsThere(spec, kernels, number))
      return {};
    specs.push_back(getFusedSpec(spec, number));
  }
  return specs;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError("mfChain: " + message);
}

static llvm::ArrayRef<int64_t> getLeading(const TensorShape &shape) {
  return llvm::ArrayRef(shape.dims).drop_back(shape.dims.empty() ? 0 : 1);
}

/// Returns whether both shapes have the same rows.
static bool hasRowsOf(const TensorShape &shape, const TensorShape &other) {
  return shape.dims.size() == other.dims.size() &&
         getLeading(shape) == getLeading(other);
}

static llvm::Error checkFusedKernel(const KernelSpec &chain,
                                    llvm::ArrayRef<FusedKernel> kernels,
                                    size_t number) {
  const FusedKernel &kernel = kernels[number];
  const std::string name =
      "kernel t" + std::to_string(number) + " (" + kernel.name + ")";
  for (int64_t operand : kernel.operands)
    if (!findOperand(chain, kernels, number, operand))
      return makeError(name + " reads " + describeOperand(operand) +
                       ", which is no input of the chain and no kernel before "
                       "it");
  const KernelSpec spec = getFusedSpec(chain, number);
  if (llvm::Error error = checkAgainstSignature(spec))
    return makeError("kernel t" + llvm::Twine(number) + ": " +
                     llvm::toString(std::move(error)));
  const KernelSignature &signature = *findKernelSignature(spec.name);
  const FusionKind kind = signature.getFusionKind
                              ? signature.getFusionKind(spec)
                              : FusionKind::None;
  if (kind == FusionKind::None)
    return makeError(name + " cannot be fused: " +
                     (signature.getFusionKind
                          ? "it changes more than the last dimension"
                          : "this kernel does not work row by row"));
  if (!hasRowsOf(kernel.result, chain.outputs[0]))
    return makeError(name + " makes other rows than the chain's output has: "
                            "all but the last dimension must be the same");
  for (int64_t operand : kernel.operands) {
    const TensorShape &shape = *findOperand(chain, kernels, number, operand);
    if (kind == FusionKind::Elements && operand < 0 &&
        shape.dims != kernel.result.dims)
      return makeError(name + " repeats the elements of " +
                       describeOperand(operand) +
                       "; expected a kernel of the shape of its result");
  }
  return llvm::Error::success();
}

/// Checks that every input and result is read.
static llvm::Error checkReaders(const KernelSpec &chain,
                                llvm::ArrayRef<FusedKernel> kernels) {
  auto isRead = [&](int64_t operand) {
    return llvm::any_of(kernels, [&](const FusedKernel &kernel) {
      return llvm::is_contained(kernel.operands, operand);
    });
  };
  for (size_t input = 0; input < chain.inputs.size(); ++input)
    if (!isRead(static_cast<int64_t>(input)))
      return makeError("no kernel reads in" + llvm::Twine(input));
  for (size_t number = 0; number + 1 < kernels.size(); ++number)
    if (!isRead(~static_cast<int64_t>(number)))
      return makeError("no kernel reads t" + llvm::Twine(number));
  return llvm::Error::success();
}

llvm::Error checkChain(const KernelSpec &chain) {
  const llvm::ArrayRef<FusedKernel> kernels = getFusedKernels(chain);
  if (kernels.empty())
    return makeError("expected at least one kernel");
  for (size_t number = 0; number < kernels.size(); ++number)
    if (llvm::Error error = checkFusedKernel(chain, kernels, number))
      return error;
  if (llvm::Error error = checkReaders(chain, kernels))
    return error;
  const TensorShape &output = chain.outputs[0];
  if (kernels.back().result != output)
    return makeError("the last kernel makes another tensor than the output");
  // An input may share memory with the output, whose rows are written while
  // other rows of the input are still to be read.
  for (auto [number, input] : llvm::enumerate(chain.inputs))
    if (input != output && input.getBytes() == output.getBytes())
      return makeError("in" + llvm::Twine(number) +
                       " has as many bytes as the output in another shape");
  return llvm::Error::success();
}

} // namespace mf
