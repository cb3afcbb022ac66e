//===- TaskGraph.h - The tasks of a step and what they wait for -*- C++ -*-===//
//
// The one place that knows what a task waits for. Policies sort on this graph,
// proofs of order look for cycles in it, and times are a pass over its order.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SCHEDULE_TASKGRAPH_H
#define MF_SCHEDULE_TASKGRAPH_H

#include "mf/Pipeline/Schedule.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <optional>

namespace mf::schedule {

/// The tasks that a task waits for on any stage: the forward of the chunk
/// before and of the piece before, the gradient of the chunk behind and of the
/// piece behind, its own forward, recompute or input gradient. At most four.
llvm::SmallVector<Task, 4> getInputs(const Pipeline &pipeline,
                                     const Task &task);

/// The task of another chunk that a task reads from, on whatever stage: the
/// forward of the chunk before, the gradient of the chunk behind. None for the
/// chunk with which a micro-batch or its gradient begins, for weight gradients
/// and for recomputes.
std::optional<Task> getChunkInput(const Pipeline &pipeline, const Task &task);

/// The one input of a task that another stage makes, if there is one.
std::optional<Task> getProducer(const Pipeline &pipeline, const Task &task);

/// The one task of another stage that reads what a task makes, if there is one.
std::optional<Task> getReader(const Pipeline &pipeline, const Task &task);

/// The gradient of the same chunk and kind that is added right before that of
/// `task`; none for the first one, for forwards and for recomputes.
std::optional<Task> getEarlierGradient(const Pipeline &pipeline,
                                       const Task &task);

/// A graph of the tasks of a step, where an edge says that its second node
/// waits for its first. The first nodes are tasks, numbered phase by phase,
/// chunk by chunk, micro-batch by micro-batch, piece by piece; messages can be
/// added behind them. Refers to its pipeline.
class TaskGraph {
public:
  /// The inputs of tasks that get edges. The order of a stage that verifies
  /// implies the inputs of its own stage; messages from other stages can be
  /// nodes of their own.
  enum class InputEdges : uint8_t { All, FromOtherStages, None };

  /// The tasks of a pipeline, without edges.
  TaskGraph(const Pipeline &pipeline, bool splitsBackward);
  /// The tasks of a schedule, each of which is known and there once. Each waits
  /// for the one before it on its stage and for the inputs that are asked for.
  /// Tasks of a slot have one node, that of the first.
  TaskGraph(const Schedule &schedule, InputEdges inputEdges);

  llvm::ArrayRef<Phase> getPhases() const { return phases; }
  /// How many numbers tasks have. Chunks without backwards have numbers of them
  /// that stand for no task.
  int64_t getNumTasks() const { return numTasks; }
  /// The number of a task that isKnown().
  int64_t getNumber(const Task &task) const {
    // Phases are numbered as they are listed.
    int64_t phase = task.phase == Phase::Forward          ? 0
                    : task.phase == Phase::WeightGradient ? 2
                    : task.phase == Phase::Recompute      ? phases.size() - 1
                                                          : 1;
    return ((phase * pipeline.getNumChunks() + task.chunk) *
                pipeline.microBatches +
            task.microBatch) *
               pipeline.pieces +
           task.piece;
  }
  /// The node of a task that isKnown(): its number, or that of the first task
  /// of its slot.
  int64_t getNode(const Task &task) const {
    const int64_t number = getNumber(task);
    return slots.empty() ? number : slots[number];
  }
  /// Gives a task the node of another one, which is the first of its slot.
  /// Before there are edges of either.
  void join(const Task &first, const Task &task);
  Task getTask(int64_t number) const;
  /// The task is one of the pipeline's.
  bool isKnown(const Task &task) const;

  const Pipeline &getPipeline() const { return pipeline; }
  int64_t getStage(const Task &task) const {
    return pipeline.stageOfChunk[task.chunk];
  }
  /// Where a task of a schedule is among those of its stage.
  int64_t getPosition(const Task &task) const {
    return positions[getNumber(task)];
  }

  int64_t size() const { return numInputs.size(); }
  /// Adds nodes behind those that there are.
  void addNodes(int64_t count) {
    numInputs.resize(size() + count, 0);
    firstEdge.resize(size(), none);
    edges.reserve(2 * size());
  }
  void addEdge(int64_t first, int64_t second) {
    edges.push_back({static_cast<int32_t>(first), static_cast<int32_t>(second),
                     firstEdge[first]});
    firstEdge[first] = static_cast<int32_t>(edges.size()) - 1;
    ++numInputs[second];
  }
  /// Tasks of one slot wait together; only a weight gradient may read what is
  /// made in its slot.
  void addEdge(const Task &first, const Task &second) {
    const int64_t node = getNode(first);
    if (node != getNode(second) || second.phase != Phase::WeightGradient)
      addEdge(node, getNode(second));
  }

  /// Calls `visit` with every node that waits for a node.
  template <typename Visit>
  void forEachSuccessor(int64_t node, Visit visit) const {
    for (int32_t edge = firstEdge[node]; edge != none; edge = edges[edge].next)
      visit(edges[edge].second);
  }
  /// For how many edges each node waits.
  llvm::ArrayRef<int32_t> getNumInputs() const { return numInputs; }
  /// Every node behind those that it waits for. Nodes that wait for a cycle are
  /// left out.
  std::vector<int32_t> getOrder() const;
  /// Nodes of a cycle, each of which waits for the next and the last for the
  /// first; empty if there is none.
  std::vector<int64_t> findCycle() const;

  /// When the nodes of an order start if each takes its duration and starts as
  /// soon as all that it waits for has ended.
  template <typename Time>
  std::vector<Time> getStarts(llvm::ArrayRef<int32_t> order,
                              llvm::ArrayRef<Time> durations) const {
    std::vector<Time> starts(size(), 0);
    for (int32_t node : order) {
      Time end = starts[node] + durations[node];
      forEachSuccessor(node, [&](int32_t successor) {
        starts[successor] = std::max(starts[successor], end);
      });
    }
    return starts;
  }

private:
  static constexpr int32_t none = -1;
  /// `next` is another edge of the same first node.
  struct Edge {
    int32_t first, second, next;
  };

  const Pipeline &pipeline;
  llvm::SmallVector<Phase, 4> phases;
  int64_t numTasks;
  /// By number: that of the first task of the slot. Empty if there are no slots
  /// of several tasks.
  std::vector<int64_t> slots;
  std::vector<int32_t> positions;
  std::vector<Edge> edges;
  /// By node: its first edge, and how many edges it waits for.
  std::vector<int32_t> firstEdge, numInputs;
};

} // namespace mf::schedule

#endif // MF_SCHEDULE_TASKGRAPH_H
