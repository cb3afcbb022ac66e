//===- Treatments.h - Ways to treat layers, and their YAML -----*- C++ -*-===//

#ifndef MF_PLANNER_TREATMENTS_H
#define MF_PLANNER_TREATMENTS_H

#include "mf/Config/SettingEdit.h"
#include "planner/RecomputeCut.h"
#include "planner/StepCompiler.h"
#include <set>

namespace mf::planner {

/// One way to treat a layer that the YAML can say.
struct LayerTreatment {
  /// `full`, `select 2`, `none`.
  std::string name;
  /// The whole layer is recomputed.
  bool isFull = false;
  /// By kind of layer: the operators that are recomputed, and those whose
  /// communication is.
  std::vector<std::set<std::string>> operators, communication;
};

/// From full recompute by ever fewer operators (at most `count` such sets) to
/// none: the sets that minimum cuts of the layers give.
std::vector<LayerTreatment> makeTreatments(llvm::ArrayRef<LayerGraph> graphs,
                                           llvm::ArrayRef<ModelLayer> layers,
                                           size_t count);

/// Which layers each chunk has, and how each layer is treated.
struct Assignment {
  /// By chunk, in the order of execution.
  std::vector<int64_t> layersOfChunk;
  /// By layer; numbers of treatments do not fall within a chunk.
  std::vector<size_t> treatments;

  bool operator==(const Assignment &other) const {
    return layersOfChunk == other.layersOfChunk &&
           treatments == other.treatments;
  }
};

/// What the YAML has to say for an assignment, on a pipeline with so many
/// stages. Operators of the first layers of a chunk are recomputed up to the
/// last layer that wants it.
MemorySettings makeSettings(const Assignment &assignment, int64_t stages,
                            llvm::ArrayRef<ModelLayer> layers,
                            llvm::ArrayRef<LayerTreatment> treatments);

} // namespace mf::planner

#endif // MF_PLANNER_TREATMENTS_H
