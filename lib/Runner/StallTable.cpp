//===- StallTable.cpp - Which operators waited, and for what --------------===//

#include "StallTable.h"

using namespace mf::program;

namespace mf::runner {

/// Number of a list among all of a rank.
static uint32_t getListNumber(std::optional<uint32_t> routine) {
  return routine ? *routine + 1 : 0;
}

StallTable::StallTable(const Rank &rank) {
  addList(rank, rank.step, std::nullopt);
  for (uint32_t i = 0; i < rank.routines.size(); ++i)
    addList(rank, rank.routines[i].body, i);
}

static std::optional<uint32_t> findStream(const InstructionList &list,
                                          uint32_t event) {
  for (const Instruction &instruction : list.instructions)
    if (const auto *record = std::get_if<Record>(&instruction.action))
      if (record->event == event)
        return record->stream;
  return std::nullopt;
}

/// The stream that records what `wait` waits for; for an event that is passed,
/// that of the first call.
std::string StallTable::getStreamName(const Rank &rank,
                                      const InstructionList &list,
                                      std::optional<uint32_t> routine,
                                      const Wait &wait) const {
  std::optional<uint32_t> stream;
  if (!wait.isArgument)
    stream = findStream(list, wait.event);
  else
    for (const Instruction &instruction : rank.step.instructions) {
      const auto *call = std::get_if<Call>(&instruction.action);
      if (!call || call->routine != *routine)
        continue;
      stream = findStream(rank.step, call->events[wait.event]);
      break;
    }
  return stream ? rank.streams[*stream].name : "compute";
}

/// The first operator behind an instruction.
std::string StallTable::getOperator(const Rank &rank,
                                    const InstructionList &list,
                                    std::optional<uint32_t> routine,
                                    uint32_t number) const {
  for (uint32_t i = number; i < list.instructions.size(); ++i) {
    const auto &action = list.instructions[i].action;
    if (const auto *launch = std::get_if<Launch>(&action);
        launch && !launch->cell.empty())
      return launch->cell;
    if (const auto *call = std::get_if<Call>(&action))
      return "start of " + rank.routines[call->routine].name;
  }
  return routine ? "end of " + rank.routines[*routine].name : "end of the step";
}

void StallTable::addList(const Rank &rank, const InstructionList &list,
                         std::optional<uint32_t> routine) {
  std::map<std::string, double *> byName;
  for (uint32_t i = 0; i < list.instructions.size(); ++i) {
    const auto *wait = std::get_if<Wait>(&list.instructions[i].action);
    if (!wait || wait->stream != rank.computeStream)
      continue;
    std::string name = getOperator(rank, list, routine, i) + ", waiting for " +
                       getStreamName(rank, list, routine, *wait);
    double *&seconds = byName[name];
    if (!seconds) {
      entries.emplace_back(name, 0.0);
      seconds = &entries.back().second;
    }
    places[{getListNumber(routine), i}] = seconds;
  }
}

double *StallTable::find(std::optional<uint32_t> routine,
                         uint32_t number) const {
  auto found = places.find({getListNumber(routine), number});
  return found == places.end() ? nullptr : found->second;
}

std::map<std::string, double> StallTable::getSeconds() const {
  std::map<std::string, double> seconds;
  for (const auto &[name, value] : entries)
    if (value > 0)
      seconds[name] += value;
  return seconds;
}

} // namespace mf::runner
