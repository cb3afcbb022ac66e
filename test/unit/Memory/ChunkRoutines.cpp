//===- ChunkRoutines.cpp - Forward and backward of a chunk ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ChunkRoutines.h"
#include <algorithm>
#include <map>

namespace mf::memory {

namespace {

/// One chunk under construction.
class ChunkRoutineBuilder {
public:
  explicit ChunkRoutineBuilder(const ChunkGraph &graph) : graph(graph) {
    lastUse.assign(graph.bytes.size(), -1);
    savedUntil.assign(graph.bytes.size(), -1);
    cloneOf.assign(graph.bytes.size(), {-1, -1});
  }

  void build(RoutineMemory &forward, RoutineMemory &backward,
             FrameMemory &frame);

private:
  bool isRecomputed(const Operator &op) const {
    if (op.layer < graph.options.fullRecomputeLayers)
      return true;
    return graph.options.selectiveRecompute && op.isCheap;
  }
  void addTemporary(RoutineMemory &routine, const std::string &name,
                    int64_t size, int64_t begin, int64_t end) {
    routine.temporaries.push_back(
        {name + std::to_string(routine.temporaries.size()), size, begin, end});
  }
  void buildForward(RoutineMemory &forward);
  void readInBackward(int64_t value);
  void cloneProducer(int64_t value);
  void differentiate(const Operator &op);
  void buildFrame(RoutineMemory &forward, RoutineMemory &backward,
                  FrameMemory &frame);

  const ChunkGraph &graph;
  /// By value: last forward instruction that reads it.
  std::vector<int64_t> lastUse;
  /// By value: last backward instruction that reads the saved copy.
  std::vector<int64_t> savedUntil;
  /// By value: the backward instructions that clone and last read it.
  std::vector<std::pair<int64_t, int64_t>> cloneOf;
  std::map<int64_t, int64_t> producer;
  /// By value: the instruction that made its gradient.
  std::map<int64_t, int64_t> gradients;
  RoutineMemory *backward = nullptr;
  int64_t now = 0;
};

void ChunkRoutineBuilder::buildForward(RoutineMemory &forward) {
  int64_t count = graph.operators.size();
  for (int64_t i = 0; i < count; ++i) {
    producer[graph.operators[i].result] = i;
    for (int64_t input : graph.operators[i].inputs)
      lastUse[input] = i;
  }
  forward.length = count;
  lastUse[graph.operators.back().result] = count - 1;
}

/// Makes a recomputed value available to the backward instruction `now`.
void ChunkRoutineBuilder::cloneProducer(int64_t value) {
  if (cloneOf[value].first >= 0)
    return;
  const Operator &op = graph.operators[producer[value]];
  for (int64_t input : op.inputs)
    readInBackward(input);
  cloneOf[value] = {now, now};
  for (int64_t input : op.inputs)
    readInBackward(input);
  ++now;
}

void ChunkRoutineBuilder::readInBackward(int64_t value) {
  auto it = producer.find(value);
  bool isKept =
      it == producer.end() || !isRecomputed(graph.operators[it->second]);
  // A recomputed layer keeps its input, which is the output of the one before.
  if (!isKept && graph.operators[it->second].name == "residual2")
    isKept = true;
  if (isKept) {
    savedUntil[value] = now;
    return;
  }
  cloneProducer(value);
  cloneOf[value].second = now;
}

/// Emits the backward instructions of one operator: a gradient per input, and
/// that of the weight, which is added to the persistent one.
void ChunkRoutineBuilder::differentiate(const Operator &op) {
  std::vector<int64_t> reads;
  for (int64_t position : op.saves)
    reads.push_back(op.inputs[position]);
  if (op.savesResult)
    reads.push_back(op.result);
  for (int64_t value : reads)
    readInBackward(value);
  int64_t gradient = gradients.count(op.result) ? gradients[op.result] : now;
  int64_t numSteps = op.inputs.size() + (op.weightBytes > 0 ? 2 : 0);
  if (op.weightBytes > 0)
    addTemporary(*backward, "weight_gradient", op.weightBytes, now, now + 2);
  for (int64_t step = 0; step < numSteps; ++step, ++now) {
    for (int64_t value : reads)
      readInBackward(value);
    if (step < numSteps - static_cast<int64_t>(op.inputs.size()))
      continue;
    int64_t input = op.inputs[step - (numSteps - op.inputs.size())];
    auto it = gradients.find(input);
    if (it == gradients.end()) {
      gradients[input] = now;
    } else {
      // The contribution is made, then added in place to the first one.
      addTemporary(*backward, "contribution", graph.bytes[input], now, now + 2);
      ++now;
    }
  }
  addTemporary(*backward, "gradient", graph.bytes[op.result], gradient, now);
}

void ChunkRoutineBuilder::buildFrame(RoutineMemory &forward,
                                     RoutineMemory &backward,
                                     FrameMemory &frame) {
  for (size_t value = 0; value < graph.bytes.size(); ++value) {
    int64_t birth = value == 0 ? 0 : producer[value];
    std::string name = value == 0 ? "input" : graph.operators[birth].name;
    if (savedUntil[value] >= 0)
      frame.residuals.push_back({name + std::to_string(value),
                                 graph.bytes[value], 0, birth, 1,
                                 savedUntil[value] + 1});
    else
      addTemporary(forward, name, graph.bytes[value], birth,
                   std::max(lastUse[value], birth) + 1);
    if (cloneOf[value].first >= 0)
      addTemporary(backward, "clone." + name, graph.bytes[value],
                   cloneOf[value].first, cloneOf[value].second + 1);
  }
}

void ChunkRoutineBuilder::build(RoutineMemory &forward,
                                RoutineMemory &backwardRoutine,
                                FrameMemory &frame) {
  backward = &backwardRoutine;
  buildForward(forward);
  for (auto it = graph.operators.rbegin(); it != graph.operators.rend(); ++it)
    differentiate(*it);
  // The gradient of the chunk's input leaves with the last instruction.
  addTemporary(*backward, "input_gradient", graph.bytes[0], gradients[0],
               now + 1);
  backward->length = now + 1;
  buildFrame(forward, *backward, frame);
}

} // namespace

void buildChunkRoutines(const ChunkGraph &graph, RoutineMemory &forward,
                        RoutineMemory &backward, FrameMemory &frame) {
  ChunkRoutineBuilder(graph).build(forward, backward, frame);
}

} // namespace mf::memory
