//===- Probes.h - Steps that are compiled to learn costs -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SETTINGS_PROBES_H
#define MF_LIB_PLAN_SETTINGS_PROBES_H

#include "lib/Plan/Settings/Composition.h"
#include "mf/Perf/Target/Target.h"

namespace mf::planner {

/// Returns assignments in which the layers of most stages get every treatment
/// and chunks have different numbers of layers, as far as the model allows.
/// The costs of other kinds under treatments that they do not get follow from
/// their graphs.
std::vector<Assignment> makeProbes(const PlanContext &context,
                                   llvm::ArrayRef<int64_t> layersOfChunk,
                                   bool keepsLayers);

/// A compiled assignment.
struct CompiledAssignment {
  MemorySettings settings;
  std::string yaml;
  CompiledStep step;
};

/// Compiles assignments and measures them, several at a time on the machine's
/// threads.
class AssignmentCompiler {
public:
  AssignmentCompiler(const CompilerInput &input, std::string yaml,
                     const target::Target &target)
      : input(input), yaml(std::move(yaml)), target(target) {}

  /// Returns the settings of an assignment, without those that the user keeps.
  std::function<MemorySettings(const Assignment &)> makeSettings;

  llvm::Expected<CompiledAssignment> compile(const Assignment &assignment,
                                             PlanEffort effort) const;

  /// Tells whether to stop; may be empty.
  std::function<bool()> isOver;

  /// Compiles quickly and measures. Results are in the order of the
  /// assignments, without those that were not started before the search had to
  /// stop.
  llvm::Expected<std::vector<LayerObservation>>
  measure(llvm::ArrayRef<Assignment> assignments) const;

private:
  const CompilerInput &input;
  std::string yaml;
  const target::Target &target;
};

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_PROBES_H
