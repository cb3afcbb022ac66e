//===- Probes.h - Steps that are compiled to learn costs -------*- C++ -*-===//

#ifndef MF_PLANNER_PROBES_H
#define MF_PLANNER_PROBES_H

#include "lib/Plan/Settings/Composition.h"
#include "mf/Perf/Target/Target.h"

namespace mf::planner {

/// Assignments in which every kind of layer gets every treatment and chunks
/// have different numbers of layers, as far as the model has them: one for each
/// treatment.
std::vector<Assignment> makeProbes(const PlanContext &context,
                                   llvm::ArrayRef<int64_t> layersOfChunk,
                                   bool keepsLayers);

/// A compiled assignment.
struct CompiledAssignment {
  MemorySettings settings;
  std::string yaml;
  CompiledStep step;
};

/// Compiles assignments and measures them, some at a time on as many threads as
/// the machine has.
class AssignmentCompiler {
public:
  AssignmentCompiler(const CompilerInput &input, std::string yaml,
                     const target::Target &target)
      : input(input), yaml(std::move(yaml)), target(target) {}

  /// The settings of an assignment, without those that the user keeps.
  std::function<MemorySettings(const Assignment &)> makeSettings;

  llvm::Expected<CompiledAssignment> compile(const Assignment &assignment,
                                             PlanEffort effort) const;

  /// Tells whether to stop; may be empty.
  std::function<bool()> isOver;

  /// Compiled quickly and measured; in the order of the assignments, without
  /// those that were not begun when it was time to stop.
  llvm::Expected<std::vector<LayerObservation>>
  measure(llvm::ArrayRef<Assignment> assignments) const;

private:
  const CompilerInput &input;
  std::string yaml;
  const target::Target &target;
};

} // namespace mf::planner

#endif // MF_PLANNER_PROBES_H
