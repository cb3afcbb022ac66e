//===- Proof.cpp - All proofs of a program --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Verifier.h"
#include "llvm/ADT/StringExtras.h"

using llvm::Error;

namespace mf::program {

std::string ProgramProof::describe() const {
  std::string text = "proven";
  if (!ranks)
    text += " but for what ranks compute together";
  if (!uncertified.empty())
    text += ranks ? " but for what the model says" : " and what the model says";
  return text;
}

std::string ProgramProof::explain() const {
  if (!uncertified.empty())
    return describe() + ": " + llvm::join(uncertified, ", ") +
           (uncertified.size() == 1 ? " has" : " have") + " no certificate";
  return describe() + ": memory, order, progress" + (ranks ? ", ranks" : "") +
         " and what the model says";
}

/// Returns the chunks and the steps that are not compared with the model.
static std::vector<std::string> findUncertified(const Program &program) {
  std::vector<std::string> found;
  for (const StageProgram &stage : program.stages) {
    const std::string ofStage = " of stage " + std::to_string(stage.stage);
    for (const FrameLayout &layout : stage.layouts)
      if (!layout.computes)
        found.push_back("'" + layout.name + "'" + ofStage);
    if (!stage.computes)
      found.push_back("the step" + ofStage);
  }
  return found;
}

/// Stages have memories of their own, so they are proven independently.
static Error verifyStages(const Program &program, const ProofOptions &options) {
  std::vector<std::optional<Error>> errors(program.stages.size());
  auto verifyStage = [&](size_t stage) {
    errors[stage].emplace(verifyMemory(program, program.stages[stage]));
  };
  if (options.forEachStage)
    options.forEachStage(errors.size(), verifyStage);
  else
    for (size_t stage = 0; stage < errors.size(); ++stage)
      verifyStage(stage);
  Error all = Error::success();
  for (std::optional<Error> &error : errors)
    if (error)
      all = llvm::joinErrors(std::move(all), std::move(*error));
  return all;
}

llvm::Expected<ProgramProof> prove(const Program &program,
                                   const ProofOptions &options) {
  // Later proofs rely on earlier ones.
  if (Error error = llvm::joinErrors(verifyStages(program, options),
                                     verifyProgress(program)))
    return std::move(error);
  if (options.ranks)
    if (Error error = verifyDistribution(program))
      return std::move(error);
  if (Error error = verifyComputation(program))
    return std::move(error);
  ProgramProof proof;
  proof.ranks = options.ranks;
  proof.uncertified = findUncertified(program);
  return proof;
}

} // namespace mf::program
