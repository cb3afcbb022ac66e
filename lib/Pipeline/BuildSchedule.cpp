//===- BuildSchedule.cpp - One topological sort over all stages -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Pipeline/Policy.h"
#include "mf/Pipeline/TaskGraph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <queue>
#include <tuple>

using llvm::Twine;

namespace mf::schedule {

namespace {

/// A task that only waits for its stage. The least tuple is scheduled first.
using ReadyTask = std::tuple<int64_t, int32_t, int32_t, int64_t>;
template <typename T>
using LeastFirst = std::priority_queue<T, std::vector<T>, std::greater<>>;

/// Kahn's algorithm with one queue of ready tasks per stage, driven by unit
/// times: a stage that becomes free starts the best of its ready tasks.
class Sorter {
public:
  Sorter(const Policy &policy, const Pipeline &pipeline)
      : policy(policy), pipeline(pipeline),
        graph(pipeline, policy.splitsBackward()), ready(pipeline.stages),
        isBusy(pipeline.stages, false) {}

  llvm::Error addEdges() {
    llvm::Expected<std::vector<Pair>> rules = collectRules();
    if (!rules)
      return rules.takeError();
    for (int64_t number = 0; number < graph.getNumTasks(); ++number) {
      Task task = graph.getTask(number);
      if (!graph.isKnown(task))
        continue;
      numTasks += graph.getNode(task) == number;
      for (const Task &input : getInputs(pipeline, task))
        graph.addEdge(input, task);
      // Gradients of a chunk add up in one order.
      if (std::optional<Task> earlier = getEarlierGradient(pipeline, task))
        graph.addEdge(*earlier, task);
    }
    for (const auto &[first, second] : *rules)
      if (graph.getNode(first) != graph.getNode(second))
        graph.addEdge(first, second);
    waitsFor = graph.getNumInputs();
    return llvm::Error::success();
  }

  llvm::Expected<Schedule> sort() {
    Schedule schedule{policy.getName().str(), pipeline, policy.splitsBackward(),
                      std::vector<std::vector<Task>>(pipeline.stages)};
    if (!slots.empty())
      schedule.pairs.resize(pipeline.stages);
    for (int64_t number = 0; number < graph.getNumTasks(); ++number) {
      const Task task = graph.getTask(number);
      if (waitsFor[number] == 0 && graph.isKnown(task) &&
          graph.getNode(task) == number)
        addReady(number);
    }
    startTasks(0, schedule);
    while (!running.empty()) {
      // All tasks that end now are handled before any task starts.
      int64_t time = running.top().first;
      for (; !running.empty() && running.top().first == time; running.pop())
        finish(running.top().second);
      startTasks(time, schedule);
    }
    if (numEnded < numTasks)
      return reportContradiction();
    return schedule;
  }

private:
  using Pair = std::pair<Task, Task>;

  /// Joins the tasks of slots, and returns the rules of all stages.
  llvm::Expected<std::vector<Pair>> collectRules() {
    std::vector<std::vector<int32_t>> chunks = pipeline.getChunksOfStages();
    std::vector<Pair> pairs;
    llvm::Error error = llvm::Error::success();
    for (int64_t stage = 0; stage < pipeline.stages && !error; ++stage) {
      auto isFine = [&](const Task &task) {
        if (!error)
          error = checkRule(stage, task);
        return !error;
      };
      auto add = [&](const Task &first, const Task &second) {
        if (isFine(first) && isFine(second))
          pairs.push_back({first, second});
      };
      auto join = [&](llvm::ArrayRef<Task> tasks) {
        for (const Task &task : tasks)
          if (isFine(task) && task != tasks.front())
            graph.join(tasks.front(), task);
        if (!error)
          slots[graph.getNumber(tasks.front())] = tasks.vec();
      };
      Rules rules(pipeline, chunks[stage], add, join);
      policy.addRules(pipeline, stage, rules);
    }
    if (error)
      return std::move(error);
    return pairs;
  }

  llvm::Error checkRule(int64_t stage, const Task &task) const {
    if (graph.isKnown(task) && graph.getStage(task) == stage)
      return llvm::Error::success();
    return llvm::createStringError(
        "schedule '" + policy.getName() + "' has a rule for " +
        pipeline.getName(task) + " of chunk " + Twine(task.chunk) +
        ", expected a task of stage " + Twine(stage));
  }

  /// Appends the tasks of a slot to their stage, after the recompute tasks that
  /// belong to them. Returns the total duration.
  int64_t append(int64_t stage, llvm::ArrayRef<Task> tasks,
                 Schedule &schedule) const {
    int64_t time = 0;
    auto add = [&](const Task &task, bool isPaired) {
      schedule.stages[stage].push_back(task);
      if (!schedule.pairs.empty())
        schedule.pairs[stage].push_back(isPaired);
      time += getUnitTime(task.phase);
    };
    for (const Task &task : tasks)
      if (std::optional<Task> recompute = getImpliedRecompute(task))
        add(*recompute, /*isPaired=*/false);
    for (const Task &task : tasks)
      add(task, /*isPaired=*/task != tasks.back());
    return time;
  }

  /// Returns the recompute task of a gradient that no rule places.
  std::optional<Task> getImpliedRecompute(const Task &gradient) const {
    if ((gradient.phase != Phase::Backward &&
         gradient.phase != Phase::InputGradient) ||
        policy.placesRecompute() ||
        !pipeline.recomputes(gradient.chunk, gradient.microBatch))
      return std::nullopt;
    return Task{Phase::Recompute, gradient.chunk, gradient.microBatch,
                gradient.piece};
  }

  void addReady(int64_t number) {
    Task task = graph.getTask(number);
    // A recompute task is not chosen by itself: it is placed together with its
    // gradient.
    if (task.phase == Phase::Recompute && !policy.placesRecompute())
      return release(number);
    ready[graph.getStage(task)].emplace(policy.getPriority(pipeline, task),
                                        task.microBatch, task.chunk, number);
    mayStart.push_back(graph.getStage(task));
  }

  /// Marks a task as done for the tasks that wait for it.
  void release(int64_t number) {
    ++numEnded;
    graph.forEachSuccessor(number, [&](int64_t successor) {
      if (--waitsFor[successor] == 0)
        addReady(successor);
    });
  }

  void finish(int64_t number) {
    int64_t stage = graph.getStage(graph.getTask(number));
    isBusy[stage] = false;
    mayStart.push_back(stage);
    release(number);
  }

  void startTasks(int64_t time, Schedule &schedule) {
    for (int64_t stage : mayStart) {
      if (isBusy[stage] || ready[stage].empty())
        continue;
      int64_t number = std::get<3>(ready[stage].top());
      ready[stage].pop();
      const Task task = graph.getTask(number);
      auto slot = slots.find(number);
      const llvm::ArrayRef<Task> tasks = slot == slots.end()
                                             ? llvm::ArrayRef(task)
                                             : llvm::ArrayRef(slot->second);
      running.emplace(time + append(stage, tasks, schedule), number);
      isBusy[stage] = true;
    }
    mayStart.clear();
  }

  llvm::Error reportContradiction() const {
    constexpr size_t shown = 6;
    std::vector<int64_t> cycle = graph.findCycle();
    std::string text;
    for (int64_t number : llvm::ArrayRef(cycle).take_front(shown)) {
      Task task = graph.getTask(number);
      text += pipeline.getName(task) + " of stage " +
              std::to_string(graph.getStage(task)) + " behind ";
    }
    if (cycle.size() > shown)
      text += "... behind ";
    return llvm::createStringError(
        "the rules of schedule '" + policy.getName() +
        "' contradict the order of the data or one another: " + text +
        pipeline.getName(graph.getTask(cycle.front())));
  }

  const Policy &policy;
  const Pipeline &pipeline;
  TaskGraph graph;
  /// The tasks that run as one slot, by the index of the first.
  llvm::DenseMap<int64_t, std::vector<Task>> slots;
  /// The numbers of slots. A slot of several tasks counts once.
  int64_t numTasks = 0, numEnded = 0;
  std::vector<int32_t> waitsFor;
  std::vector<LeastFirst<ReadyTask>> ready;
  std::vector<bool> isBusy;
  /// Stages that have got free or have got a ready task.
  std::vector<int64_t> mayStart;
  /// The end times of running tasks.
  LeastFirst<std::pair<int64_t, int64_t>> running;
};

} // namespace

llvm::Expected<Schedule> buildSchedule(const Policy &policy,
                                       const Pipeline &pipeline) {
  if (llvm::Error error = pipeline.check())
    return error;
  if (pipeline.pieces > 1 && !policy.takesPieces())
    return llvm::createStringError(
        "schedule '" + policy.getName() +
        "' takes whole micro-batches, but they are cut into " +
        Twine(pipeline.pieces) +
        " pieces of their sequence (schedules 'seq1f1b' and "
        "'seq1f1b-interleaved' take these)");
  if (llvm::Error error = policy.check(pipeline))
    return error;
  Sorter sorter(policy, pipeline);
  if (llvm::Error error = sorter.addEdges())
    return error;
  return sorter.sort();
}

} // namespace mf::schedule
