//===- TransformerStep.cpp - Steps like those of a transformer ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TransformerStep.h"
#include <algorithm>
#include <map>
#include <string>
#include <vector>

using namespace mf::memory;

namespace mf::memory {

namespace {

/// A forward operator with one result. Backward reads what `saves` lists: the
/// inputs with these numbers, and the result if `savesResult`.
struct Operator {
  std::string name;
  std::vector<int64_t> inputs;
  int64_t result = 0;
  std::vector<int64_t> saves;
  bool savesResult = false;
  bool isCheap = false;
  int64_t weightBytes = 0;
  int64_t layer = 0;
};

/// A chunk of the model as a graph of values, numbered; value 0 is its input.
class ChunkGraph {
public:
  ChunkGraph(const TransformerStepOptions &options, int64_t inputBytes)
      : options(options), bytes(1, inputBytes) {}

  int64_t add(std::string name, std::vector<int64_t> inputs, int64_t size,
              std::vector<int64_t> saves, bool savesResult = false,
              bool isCheap = false, int64_t weightBytes = 0) {
    bytes.push_back(size);
    int64_t result = bytes.size() - 1;
    operators.push_back({std::move(name), std::move(inputs), result,
                         std::move(saves), savesResult, isCheap, weightBytes,
                         layer});
    return result;
  }

  int64_t addLayer(int64_t input);
  int64_t addHead(int64_t input);

  const TransformerStepOptions &options;
  std::vector<int64_t> bytes;
  std::vector<Operator> operators;
  int64_t layer = 0;

private:
  int64_t addNorm(int64_t input);
  int64_t addRotary(int64_t input, int64_t size);
  int64_t addAttention(int64_t q, int64_t k, int64_t v);
  int64_t linear(const std::string &name, int64_t input, int64_t in,
                 int64_t out) {
    int64_t shard = options.tensorParallel;
    return add(name, {input}, options.sequence * out * 2, {0}, false, false,
               in * out * 2 / shard);
  }
};

int64_t ChunkGraph::addNorm(int64_t input) {
  int64_t tokens = options.sequence, hidden = options.hidden;
  int64_t wide =
      add("norm.cast", {input}, tokens * hidden * 4, {}, false, true);
  int64_t square =
      add("norm.square", {wide}, tokens * hidden * 4, {0}, false, true);
  int64_t mean = add("norm.mean", {square}, tokens * 4, {}, false, true);
  int64_t rstd = add("norm.rsqrt", {mean}, tokens * 4, {}, true, true);
  int64_t scaled =
      add("norm.mul", {wide, rstd}, tokens * hidden * 4, {0, 1}, false, true);
  int64_t narrow =
      add("norm.narrow", {scaled}, tokens * hidden * 2, {}, false, true);
  return add("norm.gain", {narrow}, tokens * hidden * 2, {0}, false, true);
}

int64_t ChunkGraph::addRotary(int64_t input, int64_t size) {
  int64_t left = add("rope.slice_left", {input}, size / 2, {}, false, true);
  int64_t right = add("rope.slice_right", {input}, size / 2, {}, false, true);
  int64_t negated = add("rope.neg", {right}, size / 2, {}, false, true);
  int64_t turned = add("rope.concat", {negated, left}, size, {}, false, true);
  int64_t cosine = add("rope.mul_cos", {input}, size, {}, false, true);
  int64_t sine = add("rope.mul_sin", {turned}, size, {}, false, true);
  return add("rope.add", {cosine, sine}, size, {}, false, true);
}

int64_t ChunkGraph::addAttention(int64_t q, int64_t k, int64_t v) {
  int64_t tokens = options.sequence;
  int64_t width = options.hidden / options.tensorParallel;
  if (!options.unfusedAttention) {
    int64_t sums =
        add("attention.softmax_sum", {q, k},
            tokens * options.heads / options.tensorParallel * 32, {0, 1}, true);
    return add("attention.flash", {q, k, v, sums}, tokens * width * 2,
               {0, 1, 2, 3}, true);
  }
  int64_t square = options.heads / options.tensorParallel * tokens * tokens;
  int64_t scores = add("attention.bmm1", {q, k}, square * 2, {0, 1});
  int64_t masked = add("attention.mask", {scores}, square * 2, {}, false, true);
  int64_t wide = add("attention.cast", {masked}, square * 4, {}, false, true);
  int64_t soft = add("attention.softmax", {wide}, square * 4, {}, true, true);
  int64_t narrow = add("attention.narrow", {soft}, square * 2, {}, false, true);
  return add("attention.bmm2", {narrow, v}, tokens * width * 2, {0, 1});
}

int64_t ChunkGraph::addLayer(int64_t input) {
  int64_t tokens = options.sequence, hidden = options.hidden;
  int64_t width = hidden / options.tensorParallel;
  int64_t kv = std::max<int64_t>(1, options.kvHidden / options.tensorParallel);
  int64_t ffn = options.ffn / options.tensorParallel;
  int64_t normed = addNorm(input);
  int64_t q = linear("wq", normed, hidden, width);
  int64_t k = linear("wk", normed, hidden, kv);
  int64_t v = linear("wv", normed, hidden, kv);
  q = add("q.transpose", {q}, tokens * width * 2, {}, false, true);
  k = add("k.transpose", {k}, tokens * kv * 2, {}, false, true);
  v = add("v.transpose", {v}, tokens * kv * 2, {}, false, true);
  q = addRotary(q, tokens * width * 2);
  k = addRotary(k, tokens * kv * 2);
  if (kv < width) {
    k = add("k.repeat", {k}, tokens * width * 2, {}, false, true);
    v = add("v.repeat", {v}, tokens * width * 2, {}, false, true);
  }
  int64_t context = addAttention(q, k, v);
  context =
      add("context.transpose", {context}, tokens * width * 2, {}, false, true);
  int64_t projected = linear("wo", context, width, hidden);
  int64_t middle =
      add("residual1", {input, projected}, tokens * hidden * 2, {});
  int64_t gateInput = addNorm(middle);
  int64_t gate = linear("w1", gateInput, hidden, ffn);
  int64_t up = linear("w3", gateInput, hidden, ffn);
  int64_t active = add("silu", {gate}, tokens * ffn * 2, {0}, false, true);
  int64_t product =
      add("mul", {active, up}, tokens * ffn * 2, {0, 1}, false, true);
  int64_t down = linear("w2", product, ffn, hidden);
  int64_t output = add("residual2", {middle, down}, tokens * hidden * 2, {});
  ++layer;
  return output;
}

int64_t ChunkGraph::addHead(int64_t input) {
  int64_t tokens = options.sequence;
  int64_t vocab = options.vocab / options.tensorParallel;
  int64_t logits = linear("head", addNorm(input), options.hidden, vocab);
  int64_t wide = add("loss.cast", {logits}, tokens * vocab * 4, {});
  int64_t soft = add("loss.log_softmax", {wide}, tokens * vocab * 4, {}, true);
  int64_t picked = add("loss.pick", {soft}, tokens * 4, {});
  return add("loss.mean", {picked}, 4, {});
}

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

/// Turns a graph into the forward and backward routines of a chunk, and the
/// frame of what backward reads of forward.
void buildChunkRoutines(const ChunkGraph &graph, RoutineMemory &forward,
                        RoutineMemory &backward, FrameMemory &frame) {
  ChunkRoutineBuilder(graph).build(forward, backward, frame);
}

/// Chunk and micro-batch of the n-th forward (or backward) of a stage.
std::pair<int64_t, int64_t> getUnit(const TransformerStepOptions &options,
                                    int64_t n, bool isBackward) {
  int64_t chunks = options.chunksPerStage, stages = options.stages;
  if (chunks == 1)
    return {0, n};
  int64_t remainder = options.microBatches % stages;
  int64_t firstGroup = std::min(stages + remainder, options.microBatches);
  int64_t start = 0, width = firstGroup;
  if (n >= firstGroup * chunks) {
    int64_t group = (n - firstGroup * chunks) / (stages * chunks);
    start = firstGroup + group * stages;
    n -= firstGroup * chunks + group * stages * chunks;
    width = stages;
  }
  int64_t chunk = n / width;
  return {isBackward ? chunks - 1 - chunk : chunk, start + n % width};
}

/// 1F1B, plain or interleaved: warm-up, alternation, the rest.
std::vector<TaskMemory> makeSchedule(const TransformerStepOptions &options) {
  int64_t stages = options.stages, chunks = options.chunksPerStage;
  int64_t total = options.microBatches * chunks;
  int64_t warmUp = stages - options.stage - 1;
  if (chunks > 1)
    warmUp = (chunks + 1) * stages - 2 * options.stage - 2 +
             options.microBatches % stages * (chunks - 1);
  warmUp = std::clamp<int64_t>(warmUp, 0, total);
  std::vector<TaskMemory> tasks;
  auto run = [&](int64_t n, bool isBackward) {
    auto [chunk, microBatch] = getUnit(options, n, isBackward);
    tasks.push_back({chunk * 2 + isBackward, microBatch});
  };
  for (int64_t n = 0; n < warmUp; ++n)
    run(n, false);
  for (int64_t n = warmUp; n < total; ++n) {
    run(n, false);
    run(n - warmUp, true);
  }
  for (int64_t n = total - warmUp; n < total; ++n)
    run(n, true);
  return tasks;
}

/// Messages that enter and leave the stage: received one task ahead, sent
/// while the next task runs.
void addMessages(const TransformerStepOptions &options, StepProblem &problem) {
  int64_t size = options.sequence * options.hidden * 2;
  int64_t numTasks = problem.tasks.size();
  for (int64_t t = 0; t < numTasks; ++t) {
    int64_t chunk = problem.tasks[t].routine / 2;
    bool isBackward = problem.tasks[t].routine % 2 == 1;
    bool isFirst = options.stage == 0 && chunk == 0;
    bool isLast = options.stage == options.stages - 1 &&
                  chunk == options.chunksPerStage - 1;
    std::string suffix = std::to_string(t);
    if (isBackward ? !isLast : !isFirst)
      problem.taskBuffers.push_back({"receive" + suffix,
                                     size,
                                     {std::max<int64_t>(0, t - 1), 0},
                                     {t + 1, 0}});
    if (isBackward ? !isFirst : !isLast)
      problem.taskBuffers.push_back(
          {"send" + suffix, size, {t, 0}, {std::min(t + 2, numTasks), 0}});
  }
}

/// Clipping by the global norm and AdamW, tensor by tensor.
void addOptimizer(const std::vector<int64_t> &weights, StepProblem &problem) {
  RoutineMemory clip, update;
  clip.name = "clip";
  update.name = "update";
  int64_t at = 0;
  for (size_t i = 0; i < weights.size(); ++i, at += 3) {
    std::string suffix = std::to_string(i);
    // Weights in bf16; gradients, master weights and moments in fp32.
    problem.persistentBuffers.push_back({"weight" + suffix, weights[i]});
    for (const char *name : {"gradient", "master", "mean", "variance"})
      problem.persistentBuffers.push_back({name + suffix, weights[i] * 2});
    clip.temporaries.push_back({"square" + suffix, weights[i] * 2, at, at + 2});
    clip.temporaries.push_back(
        {"norm" + suffix, 4, at + 1, static_cast<int64_t>(weights.size()) * 3});
    update.temporaries.push_back({"step" + suffix, weights[i] * 2, at, at + 3});
    update.temporaries.push_back(
        {"root" + suffix, weights[i] * 2, at + 1, at + 2});
  }
  clip.length = update.length = std::max<int64_t>(1, at);
  int64_t first = problem.routines.size();
  problem.routines.push_back(std::move(clip));
  problem.routines.push_back(std::move(update));
  problem.tasks.push_back({first, 0});
  problem.tasks.push_back({first + 1, 0});
}

} // namespace

StepProblem makeTransformerStep(const TransformerStepOptions &options) {
  StepProblem problem;
  std::vector<int64_t> weights;
  int64_t parts = options.stages * options.chunksPerStage;
  for (int64_t chunk = 0; chunk < options.chunksPerStage; ++chunk) {
    int64_t part = chunk * options.stages + options.stage;
    int64_t first = part * options.layers / parts;
    int64_t last = (part + 1) * options.layers / parts;
    int64_t activation = options.sequence * options.hidden * 2;
    ChunkGraph graph(options, part == 0 ? options.sequence * 4 : activation);
    int64_t value = 0;
    if (part == 0) {
      value = graph.add("embedding", {0}, activation, {0}, false, false,
                        options.vocab * options.hidden * 2 /
                            options.tensorParallel);
      graph.operators.back().layer = options.layers;
    }
    for (int64_t layer = first; layer < last; ++layer)
      value = graph.addLayer(value);
    graph.layer = options.layers;
    if (part == parts - 1)
      value = graph.addHead(value);
    else if (value == 0)
      value = graph.add("pass_on", {0}, activation, {});
    for (const Operator &op : graph.operators)
      if (op.weightBytes > 0)
        weights.push_back(op.weightBytes);

    RoutineMemory forward, backward;
    FrameMemory frame;
    frame.name = "chunk" + std::to_string(chunk);
    forward.name = frame.name + ".forward";
    backward.name = frame.name + ".backward";
    buildChunkRoutines(graph, forward, backward, frame);
    frame.phases = {chunk * 2, chunk * 2 + 1};
    problem.frames.push_back(std::move(frame));
    problem.routines.push_back(std::move(forward));
    problem.routines.push_back(std::move(backward));
  }
  problem.tasks = makeSchedule(options);
  addMessages(options, problem);
  addOptimizer(weights, problem);
  return problem;
}

} // namespace mf::memory
