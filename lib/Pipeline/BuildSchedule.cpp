//===- BuildSchedule.cpp - One topological sort over all stages -----------===//

#include "mf/Pipeline/Policy.h"
#include "mf/Pipeline/TaskGraph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <queue>
#include <tuple>

using llvm::Twine;

namespace mf::schedule {

namespace {

/// A task that waits for nothing but its stage. The least is the best.
using ReadyTask = std::tuple<int64_t, int32_t, int32_t, int64_t>;
template <typename T>
using LeastFirst = std::priority_queue<T, std::vector<T>, std::greater<>>;

/// Kahn's algorithm with one queue of ready tasks per stage, driven by unit
/// times: a stage that gets free starts the best of its ready tasks.
class Sorter {
public:
  Sorter(const Policy &policy, const Pipeline &pipeline)
      : policy(policy), pipeline(pipeline),
        graph(pipeline, policy.splitsBackward()), ready(pipeline.stages),
        isBusy(pipeline.stages, false) {}

  llvm::Error addEdges();
  llvm::Expected<Schedule> sort();

private:
  /// The recompute task of a gradient that no rule places.
  std::optional<Task> getImpliedRecompute(const Task &gradient) const;
  void addReady(int64_t number);
  void release(int64_t number);
  void finish(int64_t number);
  void startTasks(int64_t time, Schedule &schedule);
  llvm::Error reportContradiction() const;

  const Policy &policy;
  const Pipeline &pipeline;
  TaskGraph graph;
  int64_t numTasks = 0, numEnded = 0;
  std::vector<int32_t> waitsFor;
  std::vector<LeastFirst<ReadyTask>> ready;
  std::vector<bool> isBusy;
  /// Stages that have got free or have got a ready task.
  std::vector<int64_t> mayStart;
  /// When tasks end that have started.
  LeastFirst<std::pair<int64_t, int64_t>> running;
};

llvm::Error Sorter::addEdges() {
  for (int64_t number = 0; number < graph.getNumTasks(); ++number) {
    Task task = graph.getTask(number);
    if (!graph.isKnown(task))
      continue;
    ++numTasks;
    for (const Task &input : getInputs(pipeline, task))
      graph.addEdge(input, task);
    // Gradients of a chunk add up in one order.
    if (std::optional<Task> earlier = getEarlierGradient(pipeline, task))
      graph.addEdge(*earlier, task);
  }
  std::vector<std::vector<int32_t>> chunks = pipeline.getChunksOfStages();
  llvm::Error error = llvm::Error::success();
  for (int64_t stage = 0; stage < pipeline.stages && !error; ++stage) {
    auto add = [&](const Task &first, const Task &second) {
      for (const Task &task : {first, second})
        if (!error && (!graph.isKnown(task) || graph.getStage(task) != stage))
          error = llvm::createStringError(
              "schedule '" + policy.getName() + "' has a rule for " +
              pipeline.getName(task) + " of chunk " + Twine(task.chunk) +
              ", expected a task of stage " + Twine(stage));
      if (!error)
        graph.addEdge(first, second);
    };
    Rules rules(pipeline, chunks[stage], add);
    policy.addRules(pipeline, stage, rules);
  }
  waitsFor = graph.getNumInputs();
  return error;
}

std::optional<Task> Sorter::getImpliedRecompute(const Task &gradient) const {
  if ((gradient.phase != Phase::Backward &&
       gradient.phase != Phase::InputGradient) ||
      policy.placesRecompute() ||
      !pipeline.recomputes(gradient.chunk, gradient.microBatch))
    return std::nullopt;
  return Task{Phase::Recompute, gradient.chunk, gradient.microBatch,
              gradient.piece};
}

void Sorter::addReady(int64_t number) {
  Task task = graph.getTask(number);
  // It is no choice of its own: its gradient brings it along.
  if (task.phase == Phase::Recompute && !policy.placesRecompute())
    return release(number);
  ready[graph.getStage(task)].emplace(policy.getPriority(pipeline, task),
                                      task.microBatch, task.chunk, number);
  mayStart.push_back(graph.getStage(task));
}

void Sorter::finish(int64_t number) {
  int64_t stage = graph.getStage(graph.getTask(number));
  isBusy[stage] = false;
  mayStart.push_back(stage);
  release(number);
}

/// Tells what waits for a task that it is done.
void Sorter::release(int64_t number) {
  ++numEnded;
  graph.forEachSuccessor(number, [&](int64_t successor) {
    if (--waitsFor[successor] == 0)
      addReady(successor);
  });
}

void Sorter::startTasks(int64_t time, Schedule &schedule) {
  for (int64_t stage : mayStart) {
    if (isBusy[stage] || ready[stage].empty())
      continue;
    int64_t number = std::get<3>(ready[stage].top());
    ready[stage].pop();
    Task task = graph.getTask(number);
    int64_t end = time + getUnitTime(task.phase);
    if (std::optional<Task> recompute = getImpliedRecompute(task)) {
      schedule.stages[stage].push_back(*recompute);
      end += getUnitTime(Phase::Recompute);
    }
    schedule.stages[stage].push_back(task);
    running.emplace(end, number);
    isBusy[stage] = true;
  }
  mayStart.clear();
}

llvm::Expected<Schedule> Sorter::sort() {
  Schedule schedule{policy.getName().str(), pipeline, policy.splitsBackward(),
                    std::vector<std::vector<Task>>(pipeline.stages)};
  for (int64_t number = 0; number < graph.getNumTasks(); ++number)
    if (waitsFor[number] == 0 && graph.isKnown(graph.getTask(number)))
      addReady(number);
  startTasks(0, schedule);
  while (!running.empty()) {
    // All that end now, before anything starts.
    int64_t time = running.top().first;
    for (; !running.empty() && running.top().first == time; running.pop())
      finish(running.top().second);
    startTasks(time, schedule);
  }
  if (numEnded < numTasks)
    return reportContradiction();
  return schedule;
}

llvm::Error Sorter::reportContradiction() const {
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
