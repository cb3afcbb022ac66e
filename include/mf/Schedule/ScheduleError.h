//===- ScheduleError.h - Why stages cannot run a schedule -----*- C++ -*-===//

#ifndef MF_SCHEDULE_SCHEDULEERROR_H
#define MF_SCHEDULE_SCHEDULEERROR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mf::schedule {

/// Where a task is in a schedule: number `position` of those of its stage.
struct TaskPlace {
  int64_t stage = 0;
  int64_t position = 0;

  bool operator==(const TaskPlace &other) const {
    return stage == other.stage && position == other.position;
  }
};

/// What is wrong with a schedule, and where the tasks are that are to blame.
/// Schedule::verify() and verifyTransfers() return it, except for tasks or
/// messages that are not there.
class ScheduleError : public llvm::ErrorInfo<ScheduleError> {
public:
  // NOLINTNEXTLINE(readability-identifier-naming): as LLVM asks for
  static char ID;

  ScheduleError(std::string message, std::vector<TaskPlace> places)
      : text(std::move(message)), places(std::move(places)) {}

  /// Of each task that the message names, once, in the message's order.
  llvm::ArrayRef<TaskPlace> getPlaces() const { return places; }

  void log(llvm::raw_ostream &os) const override { os << text; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

private:
  std::string text;
  std::vector<TaskPlace> places;
};

} // namespace mf::schedule

#endif // MF_SCHEDULE_SCHEDULEERROR_H
