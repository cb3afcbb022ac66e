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

/// An error of a schedule, with the places of the tasks that cause it.
/// Schedule::verify() and verifyTransfers() return it, except for tasks or
/// messages that are not there.
class ScheduleError : public llvm::ErrorInfo<ScheduleError> {
public:
  // NOLINTNEXTLINE(readability-identifier-naming): as LLVM asks for
  static char ID;

  ScheduleError(std::string message, std::vector<TaskPlace> places)
      : text(std::move(message)), places(std::move(places)) {}

  /// The place of each task that the message names, once, in its order.
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
