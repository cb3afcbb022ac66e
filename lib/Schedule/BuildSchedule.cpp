//===- BuildSchedule.cpp - One topological sort over all stages -----------===//

#include "TaskGraph.h"
#include "mf/Schedule/Policy.h"
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
        numbers(pipeline, policy.splitsBackward()), waitsFor(numbers.size(), 0),
        ready(pipeline.stages), isBusy(pipeline.stages, false) {}

  llvm::Error addEdges();
  llvm::Expected<Schedule> sort();

private:
  void addEdge(const Task &first, const Task &second) {
    edges.emplace_back(numbers.getNumber(first), numbers.getNumber(second));
  }
  void indexEdges();
  void addReady(int64_t number);
  void finish(int64_t number);
  int64_t getStage(const Task &task) const {
    return pipeline.stageOfChunk[task.chunk];
  }
  llvm::Error reportContradiction(const Schedule &schedule) const;

  const Policy &policy;
  const Pipeline &pipeline;
  TaskNumbers numbers;
  std::vector<std::pair<int64_t, int64_t>> edges;
  /// By task: where its successors start among `successors`.
  std::vector<int64_t> firstSuccessor;
  std::vector<int64_t> successors;
  std::vector<int32_t> waitsFor;
  std::vector<LeastFirst<ReadyTask>> ready;
  std::vector<bool> isBusy;
};

llvm::Error Sorter::addEdges() {
  for (int64_t number = 0; number < numbers.size(); ++number) {
    Task task = numbers.getTask(number);
    for (const Task &input : getInputs(pipeline, task))
      addEdge(input, task);
    // Gradients of a chunk add up in one order.
    if (task.phase != Phase::Forward && task.microBatch > 0)
      addEdge({task.phase, task.chunk, task.microBatch - 1}, task);
  }
  llvm::Error error = llvm::Error::success();
  for (int64_t stage = 0; stage < pipeline.stages && !error; ++stage) {
    auto add = [&](const Task &first, const Task &second) {
      for (const Task &task : {first, second})
        if (!error && (!numbers.isKnown(task) || getStage(task) != stage))
          error = llvm::createStringError(
              "schedule '" + policy.getName() + "' has a rule for " +
              pipeline.getName(task) + " of chunk " + Twine(task.chunk) +
              ", expected a task of stage " + Twine(stage));
      if (!error)
        addEdge(first, second);
    };
    Rules rules(add);
    policy.addRules(pipeline, stage, rules);
  }
  if (!error)
    indexEdges();
  return error;
}

void Sorter::indexEdges() {
  firstSuccessor.assign(numbers.size() + 1, 0);
  for (auto [first, second] : edges) {
    ++firstSuccessor[first + 1];
    ++waitsFor[second];
  }
  for (int64_t number = 0; number < numbers.size(); ++number)
    firstSuccessor[number + 1] += firstSuccessor[number];
  std::vector<int64_t> next(firstSuccessor.begin(), firstSuccessor.end() - 1);
  successors.resize(edges.size());
  for (auto [first, second] : edges)
    successors[next[first]++] = second;
}

void Sorter::addReady(int64_t number) {
  Task task = numbers.getTask(number);
  ready[getStage(task)].emplace(policy.getPriority(pipeline, task),
                                task.microBatch, task.chunk, number);
}

void Sorter::finish(int64_t number) {
  isBusy[getStage(numbers.getTask(number))] = false;
  for (int64_t index = firstSuccessor[number];
       index < firstSuccessor[number + 1]; ++index)
    if (--waitsFor[successors[index]] == 0)
      addReady(successors[index]);
}

llvm::Expected<Schedule> Sorter::sort() {
  Schedule schedule{policy.getName().str(), pipeline, policy.splitsBackward(),
                    std::vector<std::vector<Task>>(pipeline.stages)};
  for (int64_t number = 0; number < numbers.size(); ++number)
    if (waitsFor[number] == 0)
      addReady(number);
  LeastFirst<std::pair<int64_t, int64_t>> running;
  int64_t time = 0, left = numbers.size();
  while (true) {
    for (int64_t stage = 0; stage < pipeline.stages; ++stage) {
      if (isBusy[stage] || ready[stage].empty())
        continue;
      int64_t number = std::get<3>(ready[stage].top());
      ready[stage].pop();
      Task task = numbers.getTask(number);
      schedule.stages[stage].push_back(task);
      running.emplace(time + getUnitTime(task.phase), number);
      isBusy[stage] = true;
      --left;
    }
    if (running.empty())
      break;
    // All that end now, before anything starts.
    time = running.top().first;
    for (; !running.empty() && running.top().first == time; running.pop())
      finish(running.top().second);
  }
  if (left > 0)
    return reportContradiction(schedule);
  return schedule;
}

llvm::Error Sorter::reportContradiction(const Schedule &schedule) const {
  // Every task that is left waits for one that is left: going back along these
  // ends in a cycle.
  std::vector<int64_t> blocker(numbers.size(), -1);
  for (auto [first, second] : edges)
    if (waitsFor[first] > 0 && waitsFor[second] > 0)
      blocker[second] = first;
  int64_t number =
      llvm::find_if(waitsFor, [](int32_t count) { return count > 0; }) -
      waitsFor.begin();
  for (int64_t step = 0; step < numbers.size(); ++step)
    number = blocker[number];
  Task task = numbers.getTask(number);
  Task other = numbers.getTask(blocker[number]);
  return llvm::createStringError(
      "the rules of schedule '" + policy.getName() +
      "' contradict: " + pipeline.getName(task) + " of stage " +
      Twine(getStage(task)) + " is to run behind " + pipeline.getName(other) +
      " of stage " + Twine(getStage(other)) + ", which waits for it");
}

} // namespace

llvm::Expected<Schedule> buildSchedule(const Policy &policy,
                                       const Pipeline &pipeline) {
  if (llvm::Error error = pipeline.check())
    return error;
  if (llvm::Error error = policy.check(pipeline))
    return error;
  Sorter sorter(policy, pipeline);
  if (llvm::Error error = sorter.addEdges())
    return error;
  return sorter.sort();
}

} // namespace mf::schedule
