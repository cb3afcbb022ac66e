//===- StallTable.cpp - Waits of operators --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StallTable.h"
#include "llvm/ADT/STLExtras.h"

using namespace mf::program;

namespace mf::runner {

/// Returns the stream that records each event of a list.
static std::vector<uint32_t> getRecordingStreams(const InstructionList &list) {
  std::vector<uint32_t> streams(list.numEvents);
  auto add = [&](const Instruction &instruction) {
    if (instruction.recorded)
      streams[*instruction.recorded] = instruction.stream;
  };
  for (const Instruction &instruction : list.instructions) {
    add(instruction);
    if (const Call *call = list.getCall(instruction))
      for (const CallRecord &inside : call->records)
        add(inside.record);
  }
  return streams;
}

StallTable::StallTable(const StageProgram &stage) {
  const std::vector<uint32_t> stepStreams = getRecordingStreams(stage.step);
  // The events that the last call of each routine passes to it.
  std::vector<std::vector<uint32_t>> passed(stage.routines.size());
  for (const Call &call : stage.step.calls) {
    passed[call.routine].clear();
    for (const uint32_t event : call.events)
      passed[call.routine].push_back(stepStreams[event]);
  }
  addList(stage, stage.step, "the step", {});
  for (const auto &[routine, streams] : llvm::zip(stage.routines, passed))
    addList(stage, routine.body, routine.name, streams);
}

/// Returns the name of an instruction that had to wait; empty if it has none.
static std::string getOperator(const StageProgram &stage,
                               const InstructionList &list,
                               const Instruction &instruction) {
  if (const Call *call = list.getCall(instruction))
    return "start of " + stage.routines[call->routine].name;
  return instruction.cell;
}

void StallTable::addList(const StageProgram &stage, const InstructionList &list,
                         llvm::StringRef title,
                         llvm::ArrayRef<uint32_t> passedStreams) {
  const std::vector<uint32_t> streams = getRecordingStreams(list);
  std::vector<Places> &places =
      this->places.emplace_back(list.instructions.size());
  std::map<std::string, double *> byName;
  // From back to front, so that the first operator after a wait is known.
  std::string next = "end of " + title.str();
  for (size_t i = list.instructions.size(); i-- > 0;) {
    const Instruction &instruction = list.instructions[i];
    if (instruction.stream != stage.computeStream)
      continue;
    if (std::string name = getOperator(stage, list, instruction); !name.empty())
      next = std::move(name);
    for (const AwaitedEvent &awaited : instruction.awaited) {
      double *&place = places[i].emplace_back(nullptr);
      // A routine that is never called does not wait.
      if (awaited.isArgument && passedStreams.empty())
        continue;
      const uint32_t stream = awaited.isArgument ? passedStreams[awaited.event]
                                                 : streams[awaited.event];
      std::string name = next + ", waiting for " + stage.streams[stream].name;
      double *&seconds = byName[name];
      if (!seconds) {
        entries.emplace_back(std::move(name), 0.0);
        seconds = &entries.back().second;
      }
      place = seconds;
    }
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
