//===- ChunkTimeline.cpp - What a trainer holds for a chunk ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Follows the bytes of a recorded forward over time, and over the backward of
// each of its operators.
//
//===----------------------------------------------------------------------===//

#include "TrainerTape.h"

using namespace mlir;
using namespace mf;
using namespace mf::ir;
using namespace mf::passes;
using mf::trainer::Bytes;
using mf::trainer::ChunkMemory;
using mf::trainer::getBlockBytes;
using mf::trainer::TrainerCategory;
using mf::trainer::TrainerMoment;

/// Returns the sizes of the mesh along an axis.
static int64_t getAxisSize(ModelOp model, StringRef axis) {
  MeshAttr mesh = MeshAttr::find(model);
  return mesh ? mesh.getSize(axis) : 1;
}

/// Context parallel attention needs a compressed mask.
static bool hasCompressedMask(ModelOp model) {
  return model.getCompressedMask() || getAxisSize(model, "cp") > 1;
}

int64_t mf::passes::getLastingMaskBytes(ModelOp model) {
  const auto rows = static_cast<int64_t>(model.getSequenceLength());
  return hasCompressedMask(model) ? 0 : getBlockBytes(rows * rows * 2);
}

namespace {

/// The bytes that are alive at each operator of forward, and then at the
/// backward of each, the last operator first.
class ChunkTimeline {
public:
  explicit ChunkTimeline(const TapedForward &tape)
      : tape(tape), count(static_cast<int64_t>(tape.operations.size())),
        change(2 * count + 1) {
    lasting.fill(std::vector<Bytes>(2 * count + 1));
    addBlocks();
    for (auto [number, run] : llvm::enumerate(tape.runs))
      addRerun(static_cast<int64_t>(number), run);
    addGatheredWeights();
    addTables();
    addWeightGradients();
  }

  ChunkMemory summarize() {
    std::vector<Bytes> live(change.size());
    Bytes now;
    for (size_t time = 0; time < change.size(); ++time)
      live[time] = now += change[time];
    ChunkMemory memory;
    memory.forward = {findPeak(0, count, live, {}), crossing};
    for (auto [backward, added] : llvm::zip(memory.backwards, lasting)) {
      std::vector<Bytes> with = live;
      Bytes sum;
      for (size_t time = 0; time < with.size(); ++time)
        with[time] += sum += added[time];
      backward.peak = findPeak(count, 2 * count, with, crossing);
      backward.change = sum;
      backward.change -= crossing;
    }
    return memory;
  }

private:
  bool hasStages() const {
    return ModelOp(tape.model).getTrainingAttr().getParallel().getStages() > 1;
  }
  int64_t getEnd() const { return 2 * count - 1; }
  size_t findLayer(int64_t operation) const {
    size_t layer = 0;
    while (tape.layers[layer].end <= operation)
      ++layer;
    return layer;
  }
  int64_t getBackward(int64_t operation) const { return getEnd() - operation; }
  /// Adds bytes that are alive from one time to another, both included. Notes
  /// what begins with backward.
  void add(TrainerCategory category, int64_t bytes, int64_t from, int64_t to) {
    if (to < from || bytes == 0)
      return;
    change[from][category] += bytes;
    change[to + 1][category] -= bytes;
    if (from < count && to >= count)
      crossing[category] += bytes;
  }
  /// Adds bytes that the backward of that number leaves behind.
  void addLasting(size_t backward, TrainerCategory category, int64_t bytes,
                  int64_t from) {
    lasting[backward][from][category] += bytes;
  }

  void addBlocks() {
    for (auto [number, block] : llvm::enumerate(tape.blocks)) {
      const int64_t ownRun =
          number < tape.numInputs ? -1 : tape.runOf[block.first];
      // The function that computes gradients holds the chunk's output until the
      // backward has ended, also if the output's layer runs again.
      const bool isOutput = static_cast<int64_t>(number) == tape.outputBlock;
      int64_t release = isOutput ? getEnd() : -1, releaseOfRun = -1;
      for (int64_t keeper : block.keepers) {
        // A run that is repeated keeps only values from outside of it.
        const bool isOfRun = ownRun >= 0 && tape.runOf[keeper] == ownRun;
        int64_t &until = isOfRun ? releaseOfRun : release;
        until = std::max(until, getBackward(keeper));
      }
      if (release >= 0 && block.isSwapped && !isOutput)
        addSwapped(block, release);
      else if (release >= 0)
        add(TrainerCategory::Kept, block.bytes, block.first,
            std::max(release, block.last));
      else
        add(TrainerCategory::Values, block.bytes, block.first, block.last);
      // With stages, the function that computes gradients also holds what runs
      // compute again until the backward of the chunk has ended.
      if (release < 0 && releaseOfRun >= 0)
        add(TrainerCategory::Kept, block.bytes,
            getBackward(tape.runs[ownRun].last),
            hasStages() ? getEnd() : releaseOfRun);
      // The function that computes a run again holds the gradients of what the
      // run passes on until the backward of the run has ended.
      const bool leavesRun = ownRun >= 0 && block.lastReader >= 0 &&
                             tape.runOf[block.lastReader] != ownRun;
      if (block.hasGradient && block.lastReader >= 0)
        add(TrainerCategory::Values, block.bytes, getBackward(block.lastReader),
            getBackward(leavesRun ? tape.runs[ownRun].first : block.first));
    }
    // The buffer in which the gradient of the output arrives. The stage makes
    // the buffer when the stage sends the output, and frees it after the
    // backward.
    if (tape.outputBlock >= 0 && tape.blocks[tape.outputBlock].hasGradient)
      add(TrainerCategory::Kept, tape.blocks[tape.outputBlock].bytes, count - 1,
          getEnd());
  }

  /// Adds a block that is copied to host memory. The trainer waits for the copy
  /// when the forward of the next layer has ended, and copies the block back
  /// before the backward of that layer.
  void addSwapped(const TapedBlock &block, int64_t release) {
    const size_t layer = findLayer(block.first);
    if (layer + 1 >= tape.layers.size())
      return add(TrainerCategory::Kept, block.bytes, block.first, release);
    const int64_t left = tape.layers[layer + 1].end - 1;
    add(TrainerCategory::Kept, block.bytes, block.first,
        std::max(left, block.last));
    add(TrainerCategory::Kept, block.bytes,
        std::min(getBackward(left), release), release);
  }

  /// Adds what a repeated run holds beyond the values that its backward reads.
  void addRerun(int64_t number, const RecomputedRun &run) {
    std::vector<int64_t> steps(run.last - run.first + 2, 0);
    int64_t kept = 0;
    for (const TapedBlock &block : tape.blocks) {
      if (block.first < run.first || block.first > run.last)
        continue;
      const bool isKept = llvm::any_of(block.keepers, [&](int64_t keeper) {
        return tape.runOf[keeper] == number;
      });
      steps[block.first - run.first] += block.bytes;
      if (isKept)
        kept += block.bytes;
      else
        steps[std::min(block.last, run.last) - run.first + 1] -= block.bytes;
    }
    int64_t live = 0, most = 0;
    for (int64_t step : steps)
      most = std::max(most, live += step);
    if (most <= kept)
      return;
    TapedMoment &moment =
        reruns.emplace_back(TapedMoment{run.last, true, "recompute", {}});
    moment.bytes[TrainerCategory::Values] = most - kept;
  }

  /// The weights of a layer are gathered when the layer before it begins.
  void addGatheredWeights() {
    for (auto [number, layer] : llvm::enumerate(tape.layers)) {
      const int64_t before =
          number > 0 ? tape.layers[number - 1].begin : layer.begin;
      const bool isLast = number + 1 == tape.layers.size();
      const int64_t behind =
          (isLast ? layer.end : tape.layers[number + 1].end) - 1;
      add(TrainerCategory::GatheredWeights, layer.kept, before,
          getBackward(layer.begin));
      add(TrainerCategory::GatheredWeights, layer.freed, before, layer.end - 1);
      add(TrainerCategory::GatheredWeights, layer.freed, getBackward(behind),
          getBackward(layer.begin));
    }
  }

  /// Masks, and the tables of rotary embedding. Their frequencies live as long
  /// as the model's forward.
  void addTables() {
    ModelOp model = tape.model;
    // A compressed mask has 2048 rows and columns of a byte.
    constexpr int64_t compressedRows = 2048;
    const bool isCompressed = hasCompressedMask(model);
    const int64_t rows = isCompressed
                             ? compressedRows
                             : static_cast<int64_t>(model.getSequenceLength());
    // Each layer takes [batch, ...] of a rank.
    LayerOp first = tape.layers.front().layer;
    const int64_t batch =
        cast<RankedTensorType>(first.getArgument(0).getType()).getDimSize(0);
    add(TrainerCategory::Tables,
        getBlockBytes(rows * rows * (isCompressed ? 1 : batch)), 0, getEnd());
    // With cut sequences each sample has tables of its own.
    const int64_t copies = getAxisSize(model, "cp") > 1 ? batch : 1;
    add(TrainerCategory::Tables, copies * tape.rotaryBytes, 0, getEnd());
    add(TrainerCategory::Tables, copies * tape.largestRotaryBytes, 0,
        count - 1);
  }

  /// Adds the gradient of a weight with stages, where ranks reduce gradients
  /// once a step. The backward of a chunk returns the gradients of all its
  /// weights together, in their types. A head returns gradients in fp32. The
  /// next backward makes whole sums in fp32 when the backward of a layer
  /// begins, and frees what the backward before returned when that of the layer
  /// ends. The gradient of an embedding is added to that of the first backward,
  /// because the trainer's hook needs an input that has a gradient.
  void addReturnedGradient(const WeightRead &read) {
    enum : size_t { first, second, later };
    const TapedLayer &layer = tape.layers[findLayer(read.operation)];
    LayerOp owner = layer.layer;
    const int64_t made = getBackward(read.operation);
    const int64_t wide =
        getBlockBytes(read.isNarrow ? 2 * read.bytes : read.bytes);
    const int64_t bytes =
        owner.getKind() == LayerKind::Head ? wide : getBlockBytes(read.bytes);
    if (owner.getKind() == LayerKind::Embedding) {
      addLasting(first, TrainerCategory::GradientSums, bytes, made);
      for (size_t backward : {second, later}) {
        addLasting(backward, TrainerCategory::WeightGradients, bytes, made);
        addLasting(backward, TrainerCategory::WeightGradients, -bytes,
                   getEnd() + 1);
      }
      return;
    }
    for (size_t backward : {first, second, later})
      addLasting(backward, TrainerCategory::WeightGradients, bytes, made);
    for (size_t backward : {second, later})
      addLasting(backward, TrainerCategory::WeightGradients, -bytes,
                 getBackward(layer.begin) + 1);
    addLasting(second, TrainerCategory::GradientSums, wide,
               getBackward(layer.end - 1));
  }

  /// The gradient of a weight is whole until the ranks have reduced it, which
  /// they wait for when the gradients of the next layer exist.
  void addWeightGradients() {
    for (WeightRead read : tape.weightReads) {
      if (hasStages()) {
        addReturnedGradient(read);
        continue;
      }
      const size_t layer = findLayer(read.operation);
      const int64_t own = getBackward(tape.layers[layer].begin);
      const int64_t bytes = getBlockBytes(read.bytes);
      const int64_t wide =
          getBlockBytes(read.isNarrow ? 2 * read.bytes : read.bytes);
      const int64_t next =
          layer > 0 ? getBackward(tape.layers[layer - 1].begin) : own;
      add(TrainerCategory::WeightGradients, bytes, getBackward(read.operation),
          own);
      add(TrainerCategory::WeightGradients, wide, own, next);
      addLasting(0, TrainerCategory::GradientSums,
                 getBlockBytes(read.param.getStoredType().getNumElements() * 4),
                 next);
    }
  }

  TrainerMoment findPeak(int64_t from, int64_t to,
                         const std::vector<Bytes> &live,
                         const Bytes &base) const {
    TrainerMoment peak;
    auto consider = [&](int64_t time, const Bytes &extra, StringRef step) {
      Bytes bytes = live[time];
      bytes += extra;
      bytes -= base;
      if (!peak.at.empty() && bytes.getTotal() <= peak.bytes.getTotal())
        return;
      peak.bytes = bytes;
      peak.at = tape.getName(time < count ? time : getEnd() - time);
      if (!step.empty())
        peak.at += (": " + step).str();
    };
    for (int64_t time = from; time < to; ++time)
      consider(time, {}, "");
    for (const auto *moments : {&tape.moments, &reruns})
      for (const TapedMoment &moment : *moments) {
        const int64_t time = moment.isBackward ? getBackward(moment.operation)
                                               : moment.operation;
        if (time >= from && time < to)
          consider(time, moment.bytes, moment.name);
      }
    return peak;
  }

  const TapedForward &tape;
  int64_t count;
  std::vector<Bytes> change;
  /// What each of ChunkMemory::backwards adds for good or releases.
  std::array<std::vector<Bytes>, 3> lasting;
  /// What forward keeps for backward.
  Bytes crossing;
  std::vector<TapedMoment> reruns;
};

} // namespace

ChunkMemory mf::passes::tapeChunk(ModelOp model, const TapedChunk &chunk) {
  const TapedForward tape = tapeForward(model, chunk);
  if (tape.operations.empty())
    return ChunkMemory();
  return ChunkTimeline(tape).summarize();
}
