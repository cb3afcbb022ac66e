//===- TaskGraph.h - Tasks of a step and their dependences ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Defines what each task waits for. Policies sort the tasks on this graph,
// proofs of order search it for cycles, and times are computed by a pass over
// its order.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PIPELINE_TASKGRAPH_H
#define MF_PIPELINE_TASKGRAPH_H

#include "mf/Pipeline/Schedule.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <optional>

namespace mf::schedule {

/// Returns the tasks, on any stage, whose results a task waits for: the forward
/// of the previous chunk and of the previous piece, the gradient of the next
/// chunk and of the next piece, and its own forward, recompute or input
/// gradient. There are at most four.
llvm::SmallVector<Task, 4> getInputs(const Pipeline &pipeline,
                                     const Task &task);

/// Returns the task of another chunk, on any stage, that a task reads from: the
/// forward of the previous chunk, or the gradient of the next one. There is
/// none for the chunk with which a micro-batch or its gradient begins, for
/// weight gradients and for recomputes.
std::optional<Task> getChunkInput(const Pipeline &pipeline, const Task &task);

/// Returns the only input of a task that another stage computes, if there is
/// one.
std::optional<Task> getProducer(const Pipeline &pipeline, const Task &task);

/// Returns the only task on another stage that reads the result of `task`, if
/// there is one.
std::optional<Task> getReader(const Pipeline &pipeline, const Task &task);

/// Returns the gradient of the same chunk and phase that is accumulated right
/// before that of `task`. There is none for the first one, for forwards and for
/// recomputes.
std::optional<Task> getEarlierGradient(const Pipeline &pipeline,
                                       const Task &task);

/// A graph of the tasks of a step. An edge means that its second node waits for
/// its first. The first nodes are tasks, numbered by phase, chunk, micro-batch
/// and piece. Nodes for messages can be added after them. Keeps a reference to
/// its pipeline.
class TaskGraph {
public:
  /// The data dependences that become edges. The order of a stage that verifies
  /// implies those within the stage. Messages from other stages can be
  /// represented by nodes of their own.
  enum class InputEdges : uint8_t { All, FromOtherStages, None };

  /// Makes a graph with the tasks of a pipeline and without edges.
  TaskGraph(const Pipeline &pipeline, bool splitsBackward);
  /// Makes a graph of the tasks of a schedule, which must be known and unique.
  /// Each task waits for the previous one on its stage and for the selected
  /// inputs. The tasks of a slot share the node of its first task.
  TaskGraph(const Schedule &schedule, InputEdges inputEdges);

  llvm::ArrayRef<Phase> getPhases() const { return phases; }
  /// Returns the number of task indices. Some of them stand for no task,
  /// because chunks without backwards have indices for them too.
  int64_t getNumTasks() const { return numTasks; }
  /// Returns the index of a task that isKnown().
  int64_t getNumber(const Task &task) const {
    // Phases are numbered in the order of getPhases().
    int64_t phase = task.phase == Phase::Forward          ? 0
                    : task.phase == Phase::WeightGradient ? 2
                    : task.phase == Phase::Recompute
                        ? static_cast<int64_t>(phases.size()) - 1
                        : 1;
    return ((phase * pipeline.getNumChunks() + task.chunk) *
                pipeline.microBatches +
            task.microBatch) *
               pipeline.pieces +
           task.piece;
  }
  /// Returns the node of a task that isKnown(): its index, or that of the first
  /// task of its slot.
  int64_t getNode(const Task &task) const {
    const int64_t number = getNumber(task);
    return slots.empty() ? number : slots[number];
  }
  /// Merges the node of `task` into that of `first`, the first task of its
  /// slot. Neither may have edges yet.
  void join(const Task &first, const Task &task);
  Task getTask(int64_t number) const;
  /// Returns whether the pipeline has the task.
  bool isKnown(const Task &task) const;

  const Pipeline &getPipeline() const { return pipeline; }
  int64_t getStage(const Task &task) const {
    return pipeline.stageOfChunk[task.chunk];
  }
  /// Returns the position of a task on its stage. The graph must be that of a
  /// schedule.
  int64_t getPosition(const Task &task) const {
    return positions[getNumber(task)];
  }

  int64_t size() const { return static_cast<int64_t>(numInputs.size()); }
  /// Appends nodes.
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
  /// Adds an edge. The tasks of a slot wait together, so an edge within a slot
  /// is dropped for a weight gradient, which may read a result of its own slot.
  void addEdge(const Task &first, const Task &second) {
    const int64_t node = getNode(first);
    if (node != getNode(second) || second.phase != Phase::WeightGradient)
      addEdge(node, getNode(second));
  }

  /// Calls `visit` with every node that waits for `node`.
  template <typename Visit>
  void forEachSuccessor(int64_t node, Visit visit) const {
    for (int32_t edge = firstEdge[node]; edge != none; edge = edges[edge].next)
      visit(edges[edge].second);
  }
  /// Returns the number of edges that each node waits for.
  llvm::ArrayRef<int32_t> getNumInputs() const { return numInputs; }
  /// Returns the nodes in an order in which each one follows those that it
  /// waits for. Nodes that are on a cycle or wait for one are left out.
  std::vector<int32_t> getOrder() const;
  /// Returns the nodes of a cycle, each of which waits for the next, and the
  /// last for the first. Empty if there is no cycle.
  std::vector<int64_t> findCycle() const;

  /// Returns the start times of the nodes of an order, if each takes its
  /// duration and starts as soon as all nodes that it waits for have ended.
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
  /// An edge. `next` is the next edge of the same first node.
  struct Edge {
    int32_t first, second, next;
  };

  const Pipeline &pipeline;
  llvm::SmallVector<Phase, 4> phases;
  int64_t numTasks;
  /// For each task index, that of the first task of its slot. Empty if no slot
  /// has several tasks.
  std::vector<int64_t> slots;
  std::vector<int32_t> positions;
  std::vector<Edge> edges;
  /// For each node, its first edge and the number of edges that it waits for.
  std::vector<int32_t> firstEdge, numInputs;
};

} // namespace mf::schedule

#endif // MF_PIPELINE_TASKGRAPH_H
