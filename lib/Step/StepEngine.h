//===- StepEngine.h - A program outside of mf as an engine ------*- C++ -*-===//

#ifndef MF_LIB_STEP_STEPENGINE_H
#define MF_LIB_STEP_STEPENGINE_H

#include "mf/Exec/Ranks/Training.h"
#include "mf/Step/StepRun.h"

namespace mf::step {

/// Runs a program of one rank for a training run.
class StepEngine : public ranks::RankEngine {
public:
  /// All must outlive it.
  StepEngine(const Facts &facts, const StepDevice &device,
             const ranks::TrainingOptions &options);

  ranks::TrainingFacts getFacts() const override;
  llvm::Error check() override;
  llvm::Error start(ranks::NoteUser note) override;
  llvm::Expected<ranks::StepOutput>
  runStep(const ranks::StepInput &input,
          llvm::function_ref<llvm::Error()> useGradients) override;
  llvm::Expected<ranks::WholeTensors> collectGradients() const override;
  llvm::Expected<ranks::WholeTensors> collectParameters() const override;
  llvm::Expected<ranks::WholeTensors> collectTrained() const override;

private:
  /// A buffer of the program as a static of ours.
  struct State {
    const StepBuffer *buffer = nullptr;
    program::Static record;
  };

  llvm::Error initialize();
  llvm::Error loadParameters(ranks::NoteUser note);
  llvm::Error write(const State &state, llvm::ArrayRef<uint8_t> bytes) const;
  llvm::Error writeInput(const ranks::StepInput &input) const;
  llvm::Error writeElements(program::Role role,
                            llvm::ArrayRef<int32_t> values) const;
  llvm::Expected<ranks::StepOutput> readReports() const;
  std::string getOwner(const State &state) const;
  bool isTrained(const State &state) const;
  llvm::Expected<ranks::WholeTensors>
  collect(llvm::function_ref<std::string(const State &)> getName) const;
  bool hasRole(program::Role role) const;

  const Facts &facts;
  const StepDevice &device;
  const ranks::TrainingOptions &options;
  program::Mesh mesh;
  std::vector<State> states;
};

} // namespace mf::step

#endif // MF_LIB_STEP_STEPENGINE_H
