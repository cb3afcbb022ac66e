//===- ScheduleTesting.cpp - What tests of schedules share ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ScheduleTesting.h"
#include "mf/Perf/EventEngine/PipelinePrint.h"
#include <map>
#include <set>
#include <tuple>

namespace mf::schedule {

llvm::Expected<Schedule> tryBuild(llvm::StringRef name, int64_t stages,
                                  int64_t chunksPerStage, int64_t microBatches,
                                  int64_t pieces) {
  llvm::Expected<const Policy *> policy = findPolicy(name);
  if (!policy)
    return policy.takeError();
  return buildSchedule(
      **policy, (*policy)->place(stages, chunksPerStage, microBatches, pieces));
}

Schedule build(llvm::StringRef name, int64_t stages, int64_t chunksPerStage,
               int64_t microBatches, int64_t pieces) {
  return llvm::cantFail(
      tryBuild(name, stages, chunksPerStage, microBatches, pieces));
}

std::string printToString(const Schedule &schedule) {
  std::string text;
  llvm::raw_string_ostream os(text);
  schedule.print(os);
  return text;
}

std::string drawUnitTimes(const Schedule &schedule) {
  const Pipeline &pipeline = schedule.pipeline;
  events::PipelineCosts costs;
  // A piece takes its share of a forward.
  costs.forward.assign(pipeline.getNumChunks(),
                       static_cast<double>(pipeline.pieces));
  std::string text;
  llvm::raw_string_ostream os(text);
  events::printTimeline(
      pipeline, llvm::cantFail(events::simulatePipeline(schedule, costs)), os);
  return text;
}

std::string getText(llvm::Error error) {
  return error ? llvm::toString(std::move(error)) : "";
}

void forEachSchedule(int64_t stages, int64_t chunksPerStage,
                     int64_t microBatches,
                     const std::function<void(const Schedule &)> &visit) {
  for (const Policy *policy : getPolicies())
    for (int64_t stage = 1; stage <= stages; ++stage)
      for (int64_t chunk = 1; chunk <= chunksPerStage; ++chunk)
        for (int64_t microBatch = 1; microBatch <= microBatches; ++microBatch)
          for (int64_t pieces = 1; pieces <= (policy->takesPieces() ? 4 : 1);
               ++pieces) {
            Pipeline pipeline = policy->place(stage, chunk, microBatch, pieces);
            if (llvm::Error error = policy->check(pipeline)) {
              llvm::consumeError(std::move(error));
              continue;
            }
            visit(llvm::cantFail(buildSchedule(*policy, pipeline)));
            // Every schedule may recompute in tasks of its own.
            if (microBatch > 6)
              continue;
            policy->chooseRecompute(pipeline);
            visit(llvm::cantFail(buildSchedule(*policy, pipeline)));
          }
}

namespace {

using Key = std::tuple<Phase, int64_t, int64_t, int64_t>;

Key getKey(const Task &task) {
  return {task.phase, task.chunk, task.microBatch, task.piece};
}

/// Runs the tasks of all stages in turns, as far as what they read is there.
class StageTurns {
public:
  StageTurns(const Schedule &schedule, const std::vector<Transfer> *transfers)
      : schedule(schedule), next(schedule.stages.size(), 0) {
    if (transfers)
      addMessages(*transfers);
  }

  bool runsThrough() {
    bool goesOn = true;
    while (goesOn && !isWrong) {
      goesOn = false;
      for (Message &message : messages)
        goesOn |= tryDeliver(message);
      for (size_t stage = 0; stage < next.size(); ++stage)
        while (!isWrong && next[stage] < schedule.stages[stage].size() &&
               tryTask(stage))
          goesOn = true;
    }
    size_t expected = (schedule.splitsBackward ? 3 : 2) *
                      schedule.pipeline.getNumChunks() *
                      schedule.pipeline.microBatches * schedule.pipeline.pieces;
    for (bool recomputes : schedule.pipeline.recomputed)
      expected += recomputes ? schedule.pipeline.pieces : 0;
    return !isWrong && done.size() == expected;
  }

private:
  struct Message {
    size_t sender, receiver;
    /// As many tasks of the sender and of the receiver are done before it goes.
    size_t made, issued;
    /// As many tasks of the sender are done at most before it is over.
    size_t limit;
    /// As many tasks of the receiver.
    size_t read;
    std::pair<int64_t, bool> channel;
    bool isOver;
  };

  void addMessages(const std::vector<Transfer> &transfers) {
    std::map<Key, std::pair<size_t, size_t>> where;
    for (size_t stage = 0; stage < schedule.stages.size(); ++stage)
      for (size_t index = 0; index < schedule.stages[stage].size(); ++index)
        where[getKey(schedule.stages[stage][index])] = {stage, index};
    for (const Transfer &transfer : transfers) {
      auto [sender, producer] = where[getKey(transfer.producer)];
      auto [receiver, reader] = where[getKey(transfer.reader)];
      size_t ahead = transfer.ahead;
      messages.push_back(
          {sender,
           receiver,
           producer + 1,
           reader < ahead ? 0 : reader - ahead,
           producer + transfer.behind,
           reader,
           {transfer.producer.chunk, transfer.producer.phase == Phase::Forward},
           false});
    }
  }

  /// Delivers the message if both sides are there and it is the first of its
  /// channel for both.
  bool tryDeliver(Message &message) {
    if (message.isOver || next[message.sender] < message.made ||
        next[message.receiver] < message.issued)
      return false;
    for (const Message &other : messages)
      if (!other.isOver && other.channel == message.channel &&
          (other.made < message.made || other.read < message.read))
        return false;
    message.isOver = true;
    return true;
  }

  bool isDone(Phase phase, int64_t chunk, int64_t microBatch,
              int64_t piece) const {
    return done.count({phase, chunk, microBatch, piece}) > 0;
  }

  /// Runs the next task of a stage, or all tasks of its slot at once.
  bool tryTask(size_t stage) {
    const std::vector<Task> &tasks = schedule.stages[stage];
    const size_t begin = next[stage];
    size_t end = begin + 1;
    while (!schedule.pairs.empty() && schedule.pairs[stage][end - 1])
      ++end;
    for (const Message &message : messages)
      if (!message.isOver &&
          ((message.sender == stage && end > message.limit) ||
           (message.receiver == stage && message.read >= begin &&
            message.read < end)))
        return false;
    for (size_t position = begin; position < end; ++position)
      if (isNone(stage, tasks[position]))
        return isWrong = true;
    for (size_t position = begin; position < end; ++position) {
      // The halves of a backward may share a slot.
      const bool isBehindItsHalf =
          position > begin && tasks[position].phase == Phase::WeightGradient &&
          tasks[position - 1].phase == Phase::InputGradient;
      if (!isBehindItsHalf && !hasInputs(tasks[position]))
        return false;
    }
    for (; next[stage] < end; ++next[stage])
      isWrong |= !done.insert(getKey(tasks[next[stage]])).second;
    return true;
  }

  bool isNone(size_t stage, const Task &task) const {
    const Pipeline &pipeline = schedule.pipeline;
    return task.chunk < 0 || task.chunk >= pipeline.getNumChunks() ||
           pipeline.stageOfChunk[task.chunk] != static_cast<int64_t>(stage) ||
           task.microBatch < 0 || task.microBatch >= pipeline.microBatches ||
           task.piece < 0 || task.piece >= pipeline.pieces ||
           (task.phase == Phase::Recompute &&
            !pipeline.recomputes(task.chunk, task.microBatch)) ||
           (task.phase != Phase::Forward && task.phase != Phase::Recompute &&
            (task.phase == Phase::Backward) == schedule.splitsBackward);
  }

  bool hasInputs(const Task &task) const {
    const Pipeline &pipeline = schedule.pipeline;
    auto isHere = [&](Phase phase, int64_t chunk, int64_t piece) {
      return isDone(phase, chunk, task.microBatch, piece);
    };
    bool isLastPiece = task.piece + 1 == pipeline.pieces;
    if (task.phase == Phase::Forward)
      return (task.chunk == 0 ||
              isHere(Phase::Forward, task.chunk - 1, task.piece)) &&
             (task.piece == 0 ||
              isHere(Phase::Forward, task.chunk, task.piece - 1));
    if (task.phase == Phase::Recompute)
      return isHere(Phase::Forward, task.chunk, task.piece);
    if (task.phase != Phase::WeightGradient &&
        pipeline.recomputes(task.chunk, task.microBatch) &&
        !isHere(Phase::Recompute, task.chunk, task.piece))
      return false;
    if (isLastPiece && task.microBatch > 0 &&
        !isDone(task.phase, task.chunk, task.microBatch - 1, 0))
      return false;
    if (!isLastPiece && !isHere(task.phase, task.chunk, task.piece + 1))
      return false;
    if (task.phase == Phase::WeightGradient)
      return isHere(Phase::InputGradient, task.chunk, task.piece);
    return isHere(Phase::Forward, task.chunk, task.piece) &&
           (task.chunk + 1 == pipeline.getNumChunks() ||
            isHere(task.phase, task.chunk + 1, task.piece));
  }

  const Schedule &schedule;
  std::vector<size_t> next;
  std::vector<Message> messages;
  std::set<Key> done;
  bool isWrong = false;
};

} // namespace

bool runsThrough(const Schedule &schedule,
                 const std::vector<Transfer> *transfers) {
  return StageTurns(schedule, transfers).runsThrough();
}

int64_t getUnitEnd(const Schedule &schedule) {
  std::vector<std::vector<int64_t>> starts = schedule.getUnitStarts();
  int64_t end = 0;
  for (size_t stage = 0; stage < starts.size(); ++stage)
    end = std::max(end, starts[stage].back() +
                            getUnitTime(schedule.stages[stage].back().phase));
  return end;
}

int64_t getIdleTime(const Schedule &schedule, int64_t stage) {
  std::vector<int64_t> starts = schedule.getUnitStarts()[stage];
  const std::vector<Task> &tasks = schedule.stages[stage];
  int64_t time = starts.back() + getUnitTime(tasks.back().phase) - starts[0];
  for (const Task &task : tasks)
    time -= getUnitTime(task.phase);
  return time;
}

std::vector<int64_t> getPeaks(const Schedule &schedule) {
  std::vector<int64_t> peaks;
  for (size_t stage = 0; stage < schedule.stages.size(); ++stage)
    peaks.push_back(schedule.getMaxInFlight(static_cast<int64_t>(stage)));
  return peaks;
}

} // namespace mf::schedule
