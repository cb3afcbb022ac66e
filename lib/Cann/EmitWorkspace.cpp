//===- EmitWorkspace.cpp - Planned memory of a kernel's temporaries -------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProgramText.h"
#include "mf/Cann/Needs/CannNeeds.h"
#include "mf/Program/LocatedError.h"

using namespace mf::program;

namespace mf::cann {

llvm::Expected<std::string> getWorkspace(const Instruction &instruction,
                                         const LaunchedKernel &kernel,
                                         llvm::StringRef last) {
  const CannNeeds needs = getCannNeeds(kernel.spec);
  if (!needs.refusal.empty())
    return llvm::make_error<LocatedError>(instruction.location,
                                          "'" + kernel.spec.name +
                                              "' on CANN: " + needs.refusal);
  const int64_t needed = needs.bytes;
  if (needed == 0)
    return std::string();
  const size_t numOperands =
      kernel.spec.inputs.size() + kernel.spec.outputs.size();
  const auto given =
      instruction.accesses.size() > numOperands
          ? static_cast<int64_t>(instruction.accesses.back().operand.bytes)
          : 0;
  if (given >= needed)
    return (", " + last + ", " + llvm::Twine(needed)).str();
  return llvm::make_error<LocatedError>(
      instruction.location,
      "'" + kernel.spec.name + "' needs " + std::to_string(needed) +
          " bytes of workspace on CANN, but has " + std::to_string(given) +
          "; lower the model with --for-cann");
}

} // namespace mf::cann
