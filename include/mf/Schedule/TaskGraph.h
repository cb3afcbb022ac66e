//===- TaskGraph.h - The tasks of a step and what they wait for -*- C++ -*-===//
//
// The one place that knows what a task waits for. Policies sort on this graph,
// proofs of order look for cycles in it, and times are a pass over its order.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SCHEDULE_TASKGRAPH_H
#define MF_SCHEDULE_TASKGRAPH_H

#include "mf/Schedule/Schedule.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <utility>

namespace mf::schedule {

/// What a task waits for on any stage: the forward of the chunk before and of
/// the piece before, the gradient of the chunk behind and of the piece behind,
/// its own forward or input gradient. At most three.
llvm::SmallVector<Task, 3> getInputs(const Pipeline &pipeline,
                                     const Task &task);

/// The one input of a task that another stage makes, if there is one.
std::optional<Task> getProducer(const Pipeline &pipeline, const Task &task);

/// The one task of another stage that reads what a task makes, if there is one.
std::optional<Task> getReader(const Pipeline &pipeline, const Task &task);

/// The gradient of the same chunk and kind that is added right before that of
/// `task`; none for the first one, and for forwards.
std::optional<Task> getEarlierGradient(const Pipeline &pipeline,
                                       const Task &task);

/// A graph of the tasks of a step, where an edge says that its second node
/// waits for its first. The first nodes are tasks, numbered phase by phase,
/// chunk by chunk, micro-batch by micro-batch, piece by piece; messages can be
/// added behind them. Refers to its pipeline.
class TaskGraph {
public:
  /// The inputs of tasks that get edges. Those of its own stage are behind the
  /// order of the stage if the schedule verifies; messages from other stages
  /// can be nodes of their own.
  enum class InputEdges : uint8_t { All, FromOtherStages, None };

  /// The tasks of a pipeline, without edges.
  TaskGraph(const Pipeline &pipeline, bool splitsBackward);
  /// The tasks of a schedule, each of which is known and there once. Each waits
  /// for the one before it on its stage and for the inputs that are asked for.
  TaskGraph(const Schedule &schedule, InputEdges inputEdges);

  llvm::ArrayRef<Phase> getPhases() const { return phases; }
  int64_t getNumTasks() const { return numTasks; }
  /// The number of a task that isKnown().
  int64_t getNumber(const Task &task) const {
    // Phases are numbered as they are listed.
    int64_t phase = task.phase == Phase::Forward          ? 0
                    : task.phase == Phase::WeightGradient ? 2
                                                          : 1;
    return ((phase * pipeline.getNumChunks() + task.chunk) *
                pipeline.microBatches +
            task.microBatch) *
               pipeline.pieces +
           task.piece;
  }
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
  void addNodes(int64_t count) { numInputs.resize(size() + count, 0); }
  void addEdge(int64_t first, int64_t second) {
    edges.emplace_back(first, second);
    ++numInputs[second];
  }
  void addEdge(const Task &first, const Task &second) {
    addEdge(getNumber(first), getNumber(second));
  }

  /// Call it once all edges are there, before what follows.
  void index();
  llvm::ArrayRef<int32_t> getSuccessors(int64_t node) const {
    return llvm::ArrayRef(successors)
        .slice(firstSuccessor[node],
               firstSuccessor[node + 1] - firstSuccessor[node]);
  }
  /// For how many edges each node waits.
  llvm::ArrayRef<int32_t> getNumInputs() const { return numInputs; }
  /// Every node behind those that it waits for. Nodes that wait for a cycle are
  /// left out.
  std::vector<int32_t> getOrder() const;
  /// Nodes of a cycle, each of which waits for the next and the last for the
  /// first; empty if there is none.
  std::vector<int64_t> findCycle() const;

  /// When the nodes of an order end if each takes its duration and starts when
  /// all that it waits for has ended. Other nodes have no meaningful end.
  template <typename Time>
  std::vector<Time> getEnds(llvm::ArrayRef<int32_t> order,
                            llvm::ArrayRef<Time> durations) const {
    // A node's place holds its start until its turn comes.
    std::vector<Time> ends(size(), 0);
    for (int32_t node : order) {
      ends[node] += durations[node];
      for (int32_t successor : getSuccessors(node))
        ends[successor] = std::max(ends[successor], ends[node]);
    }
    return ends;
  }

  /// When tasks end that take getUnitTime(), by their numbers.
  std::vector<int64_t> getUnitEnds() const;

private:
  const Pipeline &pipeline;
  llvm::SmallVector<Phase, 3> phases;
  int64_t numTasks;
  std::vector<int32_t> positions;
  std::vector<std::pair<int32_t, int32_t>> edges;
  std::vector<int32_t> numInputs;
  /// By node: where its successors start among `successors`.
  std::vector<int32_t> firstSuccessor, successors;
};

} // namespace mf::schedule

#endif // MF_SCHEDULE_TASKGRAPH_H
