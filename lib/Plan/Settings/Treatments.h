//===- Treatments.h - Ways to treat layers, and their YAML -----*- C++ -*-===//

#ifndef MF_PLANNER_TREATMENTS_H
#define MF_PLANNER_TREATMENTS_H

#include "lib/Plan/Settings/RecomputeCut.h"
#include "mf/Frontend/Config/SettingEdit.h"
#include "mf/Pipeline/Schedule.h"
#include "mf/Plan/Settings/StepCompiler.h"
#include <set>

namespace mf::planner {

/// One way to treat a layer that the YAML can say.
struct LayerTreatment {
  /// `full`, `select 2`, `none`.
  std::string name;
  /// The whole layer is recomputed.
  bool isFull = false;
  /// All that the layer keeps goes to host memory, and back so many kernels
  /// before it is read; 0 if nothing does.
  int64_t prefetch = 0;
  /// `prefetch` counts layers instead; a layer behind which there are not as
  /// many stays.
  bool countsLayers = false;
  /// By kind of layer: the seconds of these copies.
  std::vector<double> copyOut, copyIn;
  /// By kind of layer: the operators or modules that are recomputed, and the
  /// operators whose communication is.
  std::vector<std::set<std::string>> operators, communication;
};

/// Rates of copies, in bytes per second; no swap if one is 0, or if layers
/// compute faster than that.
struct CopyRates {
  double out = 0;
  double in = 0;
};

/// The words that a YAML has for parts of layers.
enum class LayerWords {
  /// Operators, and kernels in front of a swapped value: the static graph.
  Operators,
  /// Whole modules, and layers in front of a swapped one: the dynamic graph.
  Modules,
};

/// Swap first, whose copies have most time at the begin of a chunk; then from
/// full recompute by ever fewer operators (at most `count` such sets, which
/// minimum cuts of the layers give) to none. With `withExpertLevels` the memory
/// levels of experts stand where all that is cheaper than the experts runs
/// again.
std::vector<LayerTreatment> makeTreatments(llvm::ArrayRef<LayerGraph> graphs,
                                           llvm::ArrayRef<ModelLayer> layers,
                                           size_t count, const CopyRates &rates,
                                           LayerWords words,
                                           bool withExpertLevels = false);

/// Makes the treatment that recomputes and swaps nothing.
LayerTreatment makeNoTreatment(size_t numKinds);

/// Numbers by chunk as a table of the YAML, with a column for each stage, and
/// back.
StageTable toTable(llvm::ArrayRef<int64_t> byChunk,
                   const schedule::Pipeline &pipeline);
std::vector<int64_t> fromTable(const StageTable &table,
                               const schedule::Pipeline &pipeline);

/// The layers of each chunk, and how each layer is treated.
struct Assignment {
  /// The number of layers by chunk, in the order of execution.
  std::vector<int64_t> layersOfChunk;
  /// By layer; numbers of treatments do not fall within a chunk.
  std::vector<size_t> treatments;

  bool operator==(const Assignment &other) const {
    return layersOfChunk == other.layersOfChunk &&
           treatments == other.treatments;
  }
};

/// The settings that the YAML needs for an assignment on a pipeline. Operators
/// of the first layers of a chunk are recomputed up to the last layer that
/// wants it.
MemorySettings makeSettings(const Assignment &assignment,
                            const schedule::Pipeline &pipeline,
                            llvm::ArrayRef<ModelLayer> layers,
                            llvm::ArrayRef<LayerTreatment> treatments);

} // namespace mf::planner

#endif // MF_PLANNER_TREATMENTS_H
