//===- StepOrderTest.cpp - Times of tasks in one order --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Pipeline/StepOrder.h"
#include "ScheduleTesting.h"
#include "mf/Pipeline/TaskGraph.h"
#include "gtest/gtest.h"
#include <random>

using namespace mf::schedule;

namespace {

/// When tasks end by a graph in which every message is a node of its own.
std::vector<std::vector<int64_t>>
getEndsOfGraph(const Schedule &schedule, llvm::ArrayRef<int64_t> durations,
               int64_t transfer) {
  TaskGraph graph(schedule, TaskGraph::InputEdges::None);
  const int64_t numTasks = graph.getNumTasks();
  graph.addNodes(numTasks);
  const auto numPhases = static_cast<int64_t>(graph.getPhases().size());
  std::vector<int64_t> ofNodes(graph.size(), transfer);
  for (int64_t number = 0; number < numTasks; ++number) {
    const Task task = graph.getTask(number);
    const auto *phase = llvm::find(graph.getPhases(), task.phase);
    ofNodes[number] =
        durations[task.chunk * numPhases + (phase - graph.getPhases().begin())];
    if (std::optional<Task> producer = getProducer(schedule.pipeline, task)) {
      const int64_t message = numTasks + graph.getNumber(*producer);
      graph.addEdge(graph.getNumber(*producer), message);
      graph.addEdge(message, number);
    }
  }
  const std::vector<int64_t> starts =
      graph.getStarts<int64_t>(graph.getOrder(), ofNodes);
  std::vector<std::vector<int64_t>> ends;
  for (const std::vector<Task> &tasks : schedule.stages) {
    std::vector<int64_t> &ofStage = ends.emplace_back();
    for (const Task &task : tasks) {
      const int64_t number = graph.getNumber(task);
      ofStage.push_back(starts[number] + ofNodes[number]);
    }
  }
  return ends;
}

/// The time of a path whose nodes follow one another without a gap, and of the
/// messages between its stages.
int64_t getPathTime(const StepOrder &order, llvm::ArrayRef<int32_t> path,
                    llvm::ArrayRef<int64_t> durations, int64_t transfer) {
  int64_t time = 0;
  for (size_t i = 0; i < path.size(); ++i) {
    const StepOrder::Node &node = order.getNodes()[path[i]];
    time += durations[node.work];
    if (i == 0)
      continue;
    EXPECT_TRUE(path[i - 1] == node.previous || path[i - 1] == node.input);
    if (path[i - 1] == node.input && path[i - 1] != node.previous)
      time += transfer;
  }
  return time;
}

TEST(StepOrderTest, TasksEndAsInTheGraph) {
  std::mt19937 random(7);
  int64_t numSchedules = 0;
  forEachSchedule(4, 2, 5, [&](Schedule schedule) {
    ++numSchedules;
    // The tasks of a slot come one after the other.
    schedule.pairs.clear();
    const StepOrder order(schedule);
    std::vector<int64_t> durations;
    for (int64_t i = 0; i < schedule.pipeline.getNumChunks() * 4; ++i)
      durations.push_back(static_cast<int64_t>(random() % 10));
    const auto transfer = static_cast<int64_t>(random() % 4);
    std::vector<int64_t> ends;
    order.findEnds<int64_t>(durations, transfer, ends);
    std::vector<std::vector<int64_t>> ofStages(schedule.stages.size());
    for (auto [node, end] : llvm::zip_equal(order.getNodes(), ends))
      ofStages[node.stage].push_back(end);
    EXPECT_EQ(ofStages, getEndsOfGraph(schedule, durations, transfer))
        << printToString(schedule);
    for (int32_t last : order.getLastNodes())
      EXPECT_EQ(getPathTime(order, order.findPath(last, durations, ends),
                            durations, transfer),
                ends[last]);
  });
  EXPECT_GT(numSchedules, 100);
}

/// The start of a node that waits for two may be any mean of both.
TEST(StepOrderTest, TheLaterOfTwoMayBeSmoothed) {
  const StepOrder order(build("1f1b", 2, 1, 1));
  std::vector<double> ends;
  const std::vector<double> durations = {1, 2, 4, 8};
  std::vector<size_t> merged;
  order.findEnds<double>(
      durations, 0.5,
      [&](size_t node, double one, double other) {
        merged.push_back(node);
        return (one + other) / 2;
      },
      ends);
  // F0 on stage 0; F0, B0 on stage 1; B0 on stage 0 waits for F0 and B0.
  EXPECT_EQ(ends, (std::vector<double>{1, 5.5, 13.5, 9.5}));
  EXPECT_EQ(merged, std::vector<size_t>{3});
}

} // namespace
