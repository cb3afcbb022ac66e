//===- StepEngine.h - A program outside of mf as an engine ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_STEP_STEPENGINE_H
#define MF_LIB_STEP_STEPENGINE_H

#include "ReadFacts.h"
#include "StepRanks.h"
#include "mf/Exec/Ranks/StateNames.h"
#include "mf/Exec/Ranks/Training.h"

namespace mf::step {

/// Runs one rank of a program for a training run.
class StepEngine : public ranks::RankEngine {
public:
  /// All references must outlive the engine.
  StepEngine(const Facts &facts, ReadFacts read, const StepDevice &device,
             const ranks::TrainingOptions &options);

  ranks::TrainingFacts getFacts() const override;
  llvm::Error start(ranks::NoteUser note) override;
  llvm::Expected<ranks::StepOutput>
  runStep(const ranks::StepInput &input,
          llvm::function_ref<llvm::Error()> useGradients) override;
  llvm::Expected<ranks::WholeTensors> collectGradients() const override;
  llvm::Expected<ranks::WholeTensors> collectParameters() const override;
  llvm::Expected<ranks::WholeTensors> collectTrained() const override;
  llvm::Error saveRank(int64_t rank, llvm::StringRef path) const override;
  llvm::Error loadRanks(llvm::ArrayRef<std::string> paths) override;
  bool isWriter() const override { return group.isFirst(); }
  llvm::Error agree(llvm::Error own) override {
    return group.agree(std::move(own));
  }
  llvm::Error expectSame(llvm::ArrayRef<ranks::Fact> facts) override {
    return group.expectSame(facts);
  }

private:
  using Statics = std::vector<program::Static>;
  llvm::Error initialize();
  llvm::Error loadParameters(ranks::NoteUser note);
  llvm::Error write(size_t number, llvm::ArrayRef<uint8_t> bytes) const;
  llvm::Error writeInput(const ranks::StepInput &input) const;
  llvm::Error writeElements(program::Role role,
                            llvm::ArrayRef<int32_t> values) const;
  llvm::Expected<ranks::StepOutput> readReports() const;
  llvm::Expected<ranks::WholeTensors> collect(
      llvm::function_ref<std::string(const program::Static &)> getName) const;
  llvm::Error readRankReports(int64_t rank, ranks::StepReports &reports) const;
  ranks::RankTensor makePart(int64_t rank, size_t number) const;
  bool hasRole(program::Role role, bool onHost) const;
  int64_t countBatchRows() const;
  /// Return the statics of a rank, and the program's description of them.
  const Statics &getStatics(int64_t rank) const {
    return stages[mesh.getStage(rank)];
  }
  const std::vector<StepBuffer> &getBuffers(int64_t rank) const {
    return facts.stages[mesh.getStage(rank)];
  }

  const Facts &facts;
  const StepDevice &device;
  const ranks::TrainingOptions &options;
  /// `facts` in the types of mf.
  const ReadFacts read;
  const program::Mesh &mesh;
  const std::vector<Statics> &stages;
  StepRanks group;
  /// The names of the statics.
  ranks::StateNames names;
};

} // namespace mf::step

#endif // MF_LIB_STEP_STEPENGINE_H
