//===- StallTable.cpp - Which operators waited, and for what --------------===//

#include "StallTable.h"
#include "llvm/ADT/STLExtras.h"

using namespace mf::program;

namespace mf::runner {

/// For each event of a list, the stream that records it.
static std::vector<uint32_t> getRecordingStreams(const InstructionList &list) {
  std::vector<uint32_t> streams(list.numEvents);
  auto add = [&](const Record &record) {
    streams[record.event] = record.stream;
  };
  for (const Instruction &instruction : list.instructions) {
    if (const auto *record = std::get_if<Record>(&instruction.action))
      add(*record);
    else if (const auto *call = std::get_if<Call>(&instruction.action))
      for (const CallRecord &inside : call->records)
        add(inside.record);
  }
  return streams;
}

StallTable::StallTable(const Rank &rank) {
  const std::vector<uint32_t> stepStreams = getRecordingStreams(rank.step);
  // Of the events that calls pass to each routine; those of the last call.
  std::vector<std::vector<uint32_t>> passed(rank.routines.size());
  for (const Instruction &instruction : rank.step.instructions) {
    const auto *call = std::get_if<Call>(&instruction.action);
    if (!call)
      continue;
    passed[call->routine].clear();
    for (const uint32_t event : call->events)
      passed[call->routine].push_back(stepStreams[event]);
  }
  addList(rank, rank.step, "the step", {});
  for (const auto &[routine, streams] : llvm::zip(rank.routines, passed))
    addList(rank, routine.body, routine.name, streams);
}

/// What an instruction is called as the one that had to wait; empty if it has
/// no name.
static std::string getOperator(const Rank &rank,
                               const Instruction &instruction) {
  if (const auto *launch = std::get_if<Launch>(&instruction.action))
    return launch->cell;
  if (const auto *call = std::get_if<Call>(&instruction.action))
    return "start of " + rank.routines[call->routine].name;
  return {};
}

void StallTable::addList(const Rank &rank, const InstructionList &list,
                         llvm::StringRef title,
                         llvm::ArrayRef<uint32_t> passedStreams) {
  const std::vector<uint32_t> streams = getRecordingStreams(list);
  std::vector<double *> &places =
      this->places.emplace_back(list.instructions.size());
  std::map<std::string, double *> byName;
  // Back to front, so that the first operator behind a wait is at hand.
  std::string next = "end of " + title.str();
  for (size_t i = list.instructions.size(); i-- > 0;) {
    const Instruction &instruction = list.instructions[i];
    if (std::string name = getOperator(rank, instruction); !name.empty())
      next = std::move(name);
    const auto *wait = std::get_if<Wait>(&instruction.action);
    if (!wait || wait->stream != rank.computeStream)
      continue;
    // A routine that nothing calls waits for nothing.
    if (wait->isArgument && passedStreams.empty())
      continue;
    const uint32_t stream =
        wait->isArgument ? passedStreams[wait->event] : streams[wait->event];
    std::string name = next + ", waiting for " + rank.streams[stream].name;
    double *&seconds = byName[name];
    if (!seconds) {
      entries.emplace_back(std::move(name), 0.0);
      seconds = &entries.back().second;
    }
    places[i] = seconds;
  }
}

std::map<std::string, double> StallTable::getSeconds() const {
  std::map<std::string, double> seconds;
  for (const auto &[name, value] : entries)
    if (value > 0)
      seconds[name] += value;
  return seconds;
}

} // namespace mf::runner
