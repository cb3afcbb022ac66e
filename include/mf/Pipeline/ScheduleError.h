//===- ScheduleError.h - Errors about a schedule ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PIPELINE_SCHEDULEERROR_H
#define MF_PIPELINE_SCHEDULEERROR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mf::schedule {

/// The place of a task in a schedule, where `position` is its index on its
/// stage.
struct TaskPlace {
  int64_t stage = 0;
  int64_t position = 0;

  bool operator==(const TaskPlace &other) const {
    return stage == other.stage && position == other.position;
  }
};

/// An error about a schedule, with the places of the tasks that cause it.
/// Schedule::verify() and verifyTransfers() return it, except if the cause is a
/// missing task or message.
class ScheduleError : public llvm::ErrorInfo<ScheduleError> {
public:
  // NOLINTNEXTLINE(readability-identifier-naming): as LLVM asks for
  static char ID;

  ScheduleError(std::string message, std::vector<TaskPlace> places)
      : text(std::move(message)), places(std::move(places)) {}

  /// Returns the places of the tasks that the message names, each once, in the
  /// order of the message.
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

#endif // MF_PIPELINE_SCHEDULEERROR_H
