//===- ErrorBuilder.cpp - Errors that name tasks --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ErrorBuilder.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace mf::schedule {

char ScheduleError::ID = 0;

ErrorBuilder &ErrorBuilder::operator<<(const Task &task) {
  TaskPlace place{graph.getStage(task), graph.getPosition(task)};
  if (!llvm::is_contained(places, place))
    places.push_back(place);
  return *this << graph.getPipeline().getName(task) + " of stage " +
                      llvm::Twine(place.stage) + " (task " +
                      llvm::Twine(place.position) + ")";
}

ErrorBuilder &ErrorBuilder::operator<<(const Transfer &transfer) {
  return *this << "the message from " << transfer.producer << " to "
               << transfer.reader;
}

bool ErrorBuilder::follows(int64_t node, int64_t waitedFor) const {
  if (!isTask(node) || !isTask(waitedFor))
    return false;
  Task task = graph.getTask(node);
  Task other = graph.getTask(waitedFor);
  if (graph.getStage(task) != graph.getStage(other))
    return false;
  const int64_t distance = graph.getPosition(task) - graph.getPosition(other);
  // The tasks of a slot have positions of their own, so the task after a slot
  // of several is further away than one.
  return distance == 1 ||
         (distance > 1 &&
          !llvm::is_contained(getInputs(graph.getPipeline(), task), other));
}

ErrorBuilder &ErrorBuilder::addCycle(std::vector<int64_t> cycle,
                                     llvm::ArrayRef<Transfer> transfers) {
  // Rotates the cycle so that consecutive edges along a stage are not divided
  // by its end.
  for (size_t turn = 0; turn < cycle.size(); ++turn) {
    if (follows(cycle.back(), cycle.front()) &&
        !follows(cycle[0], cycle[1 % cycle.size()]))
      break;
    std::rotate(cycle.begin(), cycle.begin() + 1, cycle.end());
  }
  auto add = [&](int64_t node) {
    if (isTask(node))
      *this << graph.getTask(node);
    else
      *this << transfers[node - graph.getNumTasks()];
  };
  auto at = [&](size_t index) { return cycle[index % cycle.size()]; };
  add(cycle.front());
  llvm::StringRef joint;
  for (size_t index = 0; index < cycle.size(); ++index) {
    bool isStep = follows(at(index), at(index + 1));
    // Consecutive edges along a stage are described as one, and so are
    // consecutive edges along a chain of inputs.
    bool goesOn = index + 1 < cycle.size() && isTask(at(index)) &&
                  isTask(at(index + 1)) && isTask(at(index + 2)) &&
                  follows(at(index + 1), at(index + 2)) == isStep;
    if (goesOn)
      continue;
    *this << joint + (isStep ? " runs behind " : " waits for ");
    add(at(index + 1));
    joint = ", which";
  }
  return *this;
}

} // namespace mf::schedule
