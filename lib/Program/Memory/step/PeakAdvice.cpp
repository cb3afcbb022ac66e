//===- PeakAdvice.cpp - Advice on lowering a step's peak ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Memory/PeakAdvice.h"
#include "lib/Program/Memory/packing/StableSort.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <map>

namespace mf::memory {

namespace {

enum class Remedy { Recompute, Swap };

/// The number of instructions for which a value that is not kept stays on the
/// device in forward, where it is read or copied, and for which a copy is back
/// before its last use if the prefetch distance is 1.
constexpr int64_t instructionsInUse = 4;

/// A layer's residuals in the frame of its chunk.
struct Layer {
  int64_t number = 0;
  size_t frame = 0;
  std::vector<size_t> residuals;
  /// The residual that the next layer, or whatever follows, needs even if it is
  /// recomputed.
  std::optional<size_t> output;
  int64_t recomputeBytes = 0;
  int64_t swapBytes = 0;
};

std::pair<int64_t, int64_t> getBirth(const Residual &residual) {
  return {residual.birthPhase, residual.birth};
}

std::pair<int64_t, int64_t> getDeath(const Residual &residual) {
  return {residual.deathPhase, residual.death};
}

} // namespace

static void addTemporary(StepProblem &problem, int64_t routine,
                         const Residual &residual, int64_t begin, int64_t end) {
  begin = std::max<int64_t>(begin, 0);
  end = std::min(end, problem.routines[routine].length);
  if (begin < end)
    problem.routines[routine].temporaries.push_back(
        {residual.name, residual.size, begin, end});
}

namespace {

class Adviser {
public:
  Adviser(const StepProblem &problem, int64_t limit)
      : problem(problem), limit(limit) {}

  PeakAdvice advise() {
    PeakAdvice advice;
    for (const PersistentBuffer &buffer : problem.persistentBuffers)
      advice.persistentBytes += problem.alignedSize(buffer.size);
    collectLayers();
    measureSavings();
    advice.savings = getRuns();
    advice.recompute = findEnough(Remedy::Recompute);
    advice.swap = findEnough(Remedy::Swap);
    return advice;
  }

private:
  void collectLayers() {
    for (const auto &[frameIndex, frame] : llvm::enumerate(problem.frames)) {
      std::map<int64_t, Layer> byNumber;
      for (const auto &[index, residual] : llvm::enumerate(frame.residuals))
        if (residual.layer) {
          Layer &layer = byNumber[*residual.layer];
          layer.number = *residual.layer;
          layer.frame = frameIndex;
          layer.residuals.push_back(index);
        }
      for (auto &[number, layer] : byNumber) {
        findOutput(layer);
        layers.push_back(std::move(layer));
      }
    }
  }

  /// Finds the layer's output. It is born last and, because the next layer
  /// reads it, dies first. The output of the chunk's last layer is read by no
  /// later layer.
  void findOutput(Layer &layer) {
    const std::vector<Residual> &residuals =
        problem.frames[layer.frame].residuals;
    size_t last = layer.residuals.front(), first = last;
    for (size_t index : layer.residuals) {
      if (getBirth(residuals[last]) < getBirth(residuals[index]))
        last = index;
      if (getDeath(residuals[index]) < getDeath(residuals[first]))
        first = index;
    }
    bool hasFollower = llvm::any_of(residuals, [&](const Residual &residual) {
      return getBirth(residuals[last]) < getBirth(residual);
    });
    if (last == first && hasFollower)
      layer.output = last;
  }

  void measureSavings() {
    // The bytes at the peak by frame and by name of the residual.
    std::map<std::pair<llvm::StringRef, llvm::StringRef>, int64_t> instances;
    for (const LiveBuffer &buffer : problem.liveAt(problem.maxLive().moment))
      if (buffer.kind == LiveBuffer::Kind::Residual)
        instances[{buffer.owner, buffer.name}] += buffer.size;
    for (Layer &layer : layers) {
      const FrameMemory &frame = problem.frames[layer.frame];
      // Residuals may have the same name. They then share its bytes.
      std::map<llvm::StringRef, int64_t> sizes;
      for (size_t index : layer.residuals)
        sizes[frame.residuals[index].name] +=
            problem.alignedSize(frame.residuals[index].size);
      for (const auto &[name, size] : sizes)
        layer.swapBytes += instances[{frame.name, name}];
      layer.recomputeBytes = layer.swapBytes;
      if (!layer.output)
        continue;
      const Residual &output = frame.residuals[*layer.output];
      int64_t size = problem.alignedSize(output.size);
      if (int64_t total = sizes[output.name])
        layer.recomputeBytes -=
            instances[{frame.name, output.name}] / total * size;
    }
  }

  std::vector<LayerSavings> getRuns() const {
    std::vector<LayerSavings> runs;
    for (const Layer &layer : layers) {
      if (!runs.empty() && runs.back().lastLayer + 1 == layer.number &&
          runs.back().recomputeBytes == layer.recomputeBytes &&
          runs.back().swapBytes == layer.swapBytes) {
        ++runs.back().lastLayer;
        continue;
      }
      runs.push_back(
          {layer.number, layer.number, layer.recomputeBytes, layer.swapBytes});
    }
    llvm::erase_if(runs,
                   [](const LayerSavings &run) { return run.swapBytes == 0; });
    std::vector<LayerSavings> sorted;
    for (size_t index :
         getSortedIndices<size_t>(runs.size(), [&](size_t a, size_t b) {
           auto getKey = [&](size_t i) {
             return std::make_pair(runs[i].recomputeBytes, runs[i].swapBytes);
           };
           return getKey(a) > getKey(b);
         }))
      sorted.push_back(runs[index]);
    return sorted;
  }

  bool isKept(const Layer &layer, size_t residual, Remedy remedy) const {
    return remedy == Remedy::Recompute && layer.output == residual;
  }

  /// Converts the layer's residuals to temporaries. They are live where they
  /// are born, and again from the start of the layer's backward (recompute) or
  /// from shortly before their last use (swap).
  void apply(StepProblem &changed, const Layer &layer, Remedy remedy) const {
    const FrameMemory &frame = problem.frames[layer.frame];
    std::optional<std::pair<int64_t, int64_t>> start;
    for (size_t index : layer.residuals)
      if (!isKept(layer, index, remedy))
        start = std::min(start.value_or(getDeath(frame.residuals[index])),
                         getDeath(frame.residuals[index]));
    for (size_t index : layer.residuals) {
      const Residual &residual = frame.residuals[index];
      if (isKept(layer, index, remedy))
        continue;
      addTemporary(changed, frame.phases[residual.birthPhase], residual,
                   residual.birth, residual.birth + instructionsInUse);
      int64_t begin = residual.death - instructionsInUse;
      if (remedy == Remedy::Recompute)
        begin = start->first == residual.deathPhase ? start->second - 1 : 0;
      addTemporary(changed, frame.phases[residual.deathPhase], residual, begin,
                   residual.death);
      changed.frames[layer.frame].residuals[index].size = 0;
    }
  }

  int64_t getPeak(llvm::ArrayRef<size_t> chosen, Remedy remedy) const {
    StepProblem changed = problem;
    for (size_t index : chosen)
      apply(changed, layers[index], remedy);
    return changed.maxLive().bytes;
  }

  AdviceResult findEnough(Remedy remedy) const {
    auto getSaved = [&](size_t index) {
      return remedy == Remedy::Recompute ? layers[index].recomputeBytes
                                         : layers[index].swapBytes;
    };
    std::vector<size_t> order =
        getSortedIndices<size_t>(layers.size(), [&](size_t a, size_t b) {
          return getSaved(a) > getSaved(b);
        });
    AdviceResult result;
    result.bytes = getPeak(order, remedy);
    if (result.bytes > limit)
      return result;
    // Treating more layers never needs more memory, except for values that are
    // live again in backward.
    size_t low = 0, high = order.size();
    while (low < high) {
      size_t middle = low + (high - low) / 2;
      if (getPeak(llvm::ArrayRef(order).take_front(middle), remedy) <= limit)
        high = middle;
      else
        low = middle + 1;
    }
    result.numLayers = high;
    result.bytes = getPeak(llvm::ArrayRef(order).take_front(high), remedy);
    return result;
  }

  const StepProblem &problem;
  int64_t limit;
  std::vector<Layer> layers;
};

} // namespace

PeakAdvice adviseOnPeak(const StepProblem &problem, int64_t limit) {
  return Adviser(problem, limit).advise();
}

} // namespace mf::memory
