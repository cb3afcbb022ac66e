//===- KernelChain.cpp - Kernels that are fused into one ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/KernelChain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

namespace mf {

static llvm::ArrayRef<KernelStep> getSteps(const KernelSpec &spec) {
  auto found = spec.attributes.find("steps");
  if (found == spec.attributes.end())
    return {};
  const auto *steps = std::get_if<std::vector<KernelStep>>(&found->second);
  return steps ? llvm::ArrayRef(*steps) : llvm::ArrayRef<KernelStep>();
}

/// Returns the shape of an operand of step `step`, or null if no earlier step
/// or input has its number.
static const TensorShape *findOperand(const KernelSpec &chain,
                                      llvm::ArrayRef<KernelStep> steps,
                                      size_t step, int64_t operand) {
  const auto index = static_cast<size_t>(operand < 0 ? ~operand : operand);
  if (operand < 0)
    return index < step ? &steps[index].result : nullptr;
  return index < chain.inputs.size() ? &chain.inputs[index] : nullptr;
}

static std::string describeOperand(int64_t operand) {
  return operand < 0 ? "t" + std::to_string(~operand)
                     : "in" + std::to_string(operand);
}

static bool readsWhatIsThere(const KernelSpec &chain,
                             llvm::ArrayRef<KernelStep> steps, size_t step) {
  return llvm::all_of(steps[step].operands, [&](int64_t operand) {
    return findOperand(chain, steps, step, operand) != nullptr;
  });
}

/// Returns the kernel that computes one step of a chain by itself. The step's
/// operands must exist: they are inputs of the chain or results of earlier
/// steps.
static KernelSpec getStepSpec(const KernelSpec &chain, size_t step) {
  const llvm::ArrayRef<KernelStep> steps = getSteps(chain);
  KernelSpec spec;
  spec.name = steps[step].kernel;
  for (int64_t operand : steps[step].operands)
    spec.inputs.push_back(*findOperand(chain, steps, step, operand));
  spec.outputs.push_back(steps[step].result);
  spec.attributes = steps[step].attributes;
  return spec;
}

std::vector<KernelSpec> getStepSpecs(const KernelSpec &spec) {
  const llvm::ArrayRef<KernelStep> steps = getSteps(spec);
  std::vector<KernelSpec> specs;
  for (size_t step = 0; step < steps.size(); ++step) {
    if (!readsWhatIsThere(spec, steps, step))
      return {};
    specs.push_back(getStepSpec(spec, step));
  }
  return specs;
}

int64_t getChainFlops(const KernelSpec &chain) {
  int64_t flops = 0;
  for (const KernelSpec &step : getStepSpecs(chain)) {
    const KernelSignature *signature = findKernelSignature(step.name);
    if (signature && llvm::AddOverflow(flops, signature->getFlops(step), flops))
      return std::numeric_limits<int64_t>::max();
  }
  return flops;
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

static llvm::Error checkStep(const KernelSpec &chain,
                             llvm::ArrayRef<KernelStep> steps, size_t number) {
  const KernelStep &step = steps[number];
  const std::string name =
      "step t" + std::to_string(number) + " (" + step.kernel + ")";
  for (int64_t operand : step.operands)
    if (!findOperand(chain, steps, number, operand))
      return makeError(name + " reads " + describeOperand(operand) +
                       ", which is no input of the chain and no step before "
                       "it");
  const KernelSpec spec = getStepSpec(chain, number);
  if (llvm::Error error = checkAgainstSignature(spec))
    return makeError("step t" + llvm::Twine(number) + ": " +
                     llvm::toString(std::move(error)));
  const KernelSignature &signature = *findKernelSignature(spec.name);
  const StepKind kind =
      signature.getStepKind ? signature.getStepKind(spec) : StepKind::None;
  if (kind == StepKind::None)
    return makeError(name + " cannot be a step: " +
                     (signature.getStepKind
                          ? "it changes more than the last dimension"
                          : "this kernel does not work row by row"));
  if (!hasRowsOf(step.result, chain.outputs[0]))
    return makeError(name + " makes other rows than the chain's output has: "
                            "all but the last dimension must be the same");
  for (int64_t operand : step.operands) {
    const TensorShape &shape = *findOperand(chain, steps, number, operand);
    if (kind == StepKind::Elements && operand < 0 &&
        shape.dims != step.result.dims)
      return makeError(name + " repeats the elements of " +
                       describeOperand(operand) +
                       "; expected a step of the shape of its result");
  }
  return llvm::Error::success();
}

/// Checks that every input and result is read.
static llvm::Error checkReaders(const KernelSpec &chain,
                                llvm::ArrayRef<KernelStep> steps) {
  auto isRead = [&](int64_t operand) {
    return llvm::any_of(steps, [&](const KernelStep &step) {
      return llvm::is_contained(step.operands, operand);
    });
  };
  for (size_t input = 0; input < chain.inputs.size(); ++input)
    if (!isRead(static_cast<int64_t>(input)))
      return makeError("no step reads in" + llvm::Twine(input));
  for (size_t step = 0; step + 1 < steps.size(); ++step)
    if (!isRead(~static_cast<int64_t>(step)))
      return makeError("no step reads t" + llvm::Twine(step));
  return llvm::Error::success();
}

llvm::Error checkChain(const KernelSpec &chain) {
  const llvm::ArrayRef<KernelStep> steps = getSteps(chain);
  if (steps.empty())
    return makeError("expected at least one step");
  for (size_t step = 0; step < steps.size(); ++step)
    if (llvm::Error error = checkStep(chain, steps, step))
      return error;
  if (llvm::Error error = checkReaders(chain, steps))
    return error;
  const TensorShape &output = chain.outputs[0];
  if (steps.back().result != output)
    return makeError("the last step makes another tensor than the output");
  // An input may share memory with the output, whose rows are written while
  // other rows of the input are still to be read.
  for (auto [number, input] : llvm::enumerate(chain.inputs))
    if (input != output && input.getBytes() == output.getBytes())
      return makeError("in" + llvm::Twine(number) +
                       " has as many bytes as the output in another shape");
  return llvm::Error::success();
}

} // namespace mf
