//===- StageMemory.h - What the memory of stages is made of -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_STAGEMEMORY_H
#define MF_TOOLS_MF_STAGEMEMORY_H

#include "mf/Decode/Decoder.h"
#include "mf/Perf/Timeline/StepTimeline.h"
#include "mf/Program/Liveness.h"
#include "passes/plan-memory/StageReport.h"
#include "llvm/Support/JSON.h"

namespace mf::tools {

/// Buffers that are live at the peak of a stage and have the same name but for
/// the numbers of layers and micro-batches.
struct MemoryPart {
  /// For example "gradient 'layers.*.attention.wq.weight'".
  std::string name;
  program::BufferCategory category = program::BufferCategory::Temporary;
  int64_t count = 0;
  int64_t bytes = 0;
};

/// What a layer keeps for a micro-batch, and for how many micro-batches it does
/// so at the peak.
struct LayerMemory {
  std::string layer;
  int64_t bytes = 0;
  int64_t timesInFlight = 0;
  bool isHost = false;
};

/// The memory of each rank of a stage.
struct StagePeakMemory {
  /// The planned bytes, as mf-opt reports them.
  passes::StageReport report;
  /// The device memory of a rank; 0 if there is no limit.
  int64_t limitBytes = 0;
  /// The bytes that are live at the peak, by category.
  program::MemoryUse peak;
  /// The instruction at the peak.
  std::string moment;
  /// The parts at the peak, largest first.
  std::vector<MemoryPart> parts;
  std::vector<LayerMemory> layers;

  /// Returns the bytes that the limit is for: those that the trainer of the
  /// YAML holds if they were counted, or else the size of the arena.
  int64_t getHeldBytes() const {
    return report.trainer ? report.trainer->moment.bytes.getTotal()
                          : report.arenaBytes;
  }
  bool fits() const { return limitBytes == 0 || getHeldBytes() <= limitBytes; }
};

/// Returns the memory of all stages of a planned step. All verbs take their
/// figures from here. `limitBytes` replaces the limit of the programs, unless
/// it is 0. Fails if the step has no memory plan.
llvm::Expected<std::vector<StagePeakMemory>>
measureMemory(mlir::ModuleOp module, const program::Program &program,
              int64_t limitBytes);

/// Returns the stage that has least room, or that needs most if there is no
/// limit.
size_t findFullest(llvm::ArrayRef<StagePeakMemory> stages);

/// Prints what the trainer of the YAML holds at its peak, which must be known,
/// what mf's own program needs, and by what the two differ.
void printTrainer(const StagePeakMemory &stage, llvm::raw_ostream &os);

/// Returns the stages in the form from which tables are printed.
timeline::StepTimeline toTimeline(llvm::ArrayRef<StagePeakMemory> stages);

llvm::json::Object toJson(const StagePeakMemory &stage);

/// Returns whether the host memory of a step is more than that of its messages,
/// which no user thinks of.
bool hasHostMemory(int64_t hostBytes, int64_t arenaBytes);

/// Formats bytes as GiB, or as MiB if `largest` is less than one GiB.
std::string showBytes(int64_t bytes, int64_t largest);
/// Does the same without the unit.
std::string countBytes(int64_t bytes, int64_t largest);
/// Returns whether bytes are more than the 0.00 to which they would be rounded.
bool isCounted(int64_t bytes, int64_t largest);

/// Returns "optimizer state" for BufferCategory::OptimizerState, for example.
std::string describe(program::BufferCategory category);

} // namespace mf::tools

#endif // MF_TOOLS_MF_STAGEMEMORY_H
