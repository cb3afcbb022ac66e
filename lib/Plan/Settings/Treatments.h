//===- Treatments.h - Ways to treat layers, and their YAML -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SETTINGS_TREATMENTS_H
#define MF_LIB_PLAN_SETTINGS_TREATMENTS_H

#include "lib/Plan/Settings/RecomputeCut.h"
#include "mf/Frontend/Config/SettingEdit.h"
#include "mf/Pipeline/Schedule.h"
#include "mf/Plan/Settings/StepCompiler.h"
#include <set>

namespace mf::planner {

/// A treatment of a layer that a YAML can express.
struct LayerTreatment {
  /// The name, for example `full`, `select 2` or `none`.
  std::string name;
  /// True if the whole layer is recomputed.
  bool isFull = false;
  /// The number of kernels before its use at which each kept value is copied
  /// back from host memory; 0 if the layer is not swapped.
  int64_t prefetch = 0;
  /// True if `prefetch` counts layers. A layer that is not followed by that
  /// many layers stays on the device.
  bool countsLayers = false;
  /// The times in which a layer of each kind is copied to the host and back, in
  /// seconds.
  std::vector<double> copyOut, copyIn;
  /// For each kind of layer, the seconds of the operators that run again and
  /// the bytes that are kept on the device, according to the layer's graph.
  /// Empty if there was no graph.
  std::vector<double> repeatedSeconds, keptBytes;
  /// For each kind of layer, the operators or modules that are recomputed, and
  /// the operators whose communication is.
  std::vector<std::set<std::string>> operators, communication;
};

/// The rates of copies, in bytes per second. Layers are not swapped if a rate
/// is 0, or if layers compute faster than they can be copied.
struct CopyRates {
  double out = 0;
  double in = 0;
};

/// The words that a YAML has for parts of layers.
enum class LayerWords {
  /// The static graph, in which operators are recomputed, and the distance of a
  /// swapped value's use counts kernels.
  Operators,
  /// The dynamic graph, in which whole modules are recomputed, and the distance
  /// of a swapped layer's use counts layers.
  Modules,
};

/// Returns the treatments. Swap comes first, because copies have most time at
/// the start of a chunk. Full recompute follows, then ever smaller sets of
/// recomputed operators (at most `count`, from minimum cuts of the layers), and
/// finally none. With `withExpertLevels`, the memory levels of experts are
/// added to the set in which everything cheaper than the experts is recomputed.
std::vector<LayerTreatment> makeTreatments(llvm::ArrayRef<LayerGraph> graphs,
                                           llvm::ArrayRef<ModelLayer> layers,
                                           size_t count, const CopyRates &rates,
                                           LayerWords words,
                                           bool withExpertLevels = false);

/// Makes the treatment that recomputes and swaps nothing.
LayerTreatment makeNoTreatment(size_t numKinds);

/// Convert numbers by chunk to a table of the YAML, with a column for each
/// stage, and back.
StageTable toTable(llvm::ArrayRef<int64_t> byChunk,
                   const schedule::Pipeline &pipeline);
std::vector<int64_t> fromTable(const StageTable &table,
                               const schedule::Pipeline &pipeline);

/// The layers of each chunk, and how each layer is treated.
struct Assignment {
  /// The number of layers of each chunk, in the order of execution.
  std::vector<int64_t> layersOfChunk;
  /// The treatment of each layer. Indices of treatments do not decrease within
  /// a chunk.
  std::vector<size_t> treatments;

  bool operator==(const Assignment &other) const {
    return layersOfChunk == other.layersOfChunk &&
           treatments == other.treatments;
  }
};

/// Returns the settings of the YAML for an assignment on a pipeline. Operators
/// of the first layers of a chunk are recomputed up to the last layer whose
/// treatment includes them. Tables do not count the last `numFollowers` layers,
/// which have what the layer before them has.
MemorySettings makeSettings(const Assignment &assignment,
                            const schedule::Pipeline &pipeline,
                            llvm::ArrayRef<ModelLayer> layers,
                            size_t numFollowers,
                            llvm::ArrayRef<LayerTreatment> treatments);

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_TREATMENTS_H
