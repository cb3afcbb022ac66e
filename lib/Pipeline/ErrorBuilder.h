//===- ErrorBuilder.h - Errors that name tasks ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PIPELINE_ERRORBUILDER_H
#define MF_LIB_PIPELINE_ERRORBUILDER_H

#include "mf/Pipeline/ScheduleError.h"
#include "mf/Pipeline/TaskGraph.h"
#include "mf/Pipeline/Transfers.h"
#include "llvm/ADT/Twine.h"

namespace mf::schedule {

/// Puts a ScheduleError together: `ErrorBuilder(graph) << task << " is late"`.
class ErrorBuilder {
public:
  explicit ErrorBuilder(const TaskGraph &graph) : graph(graph) {}

  ErrorBuilder &operator<<(const llvm::Twine &text) {
    message += text.str();
    return *this;
  }
  /// Appends a task, for example `F0.3 of stage 0 (task 4)`.
  ErrorBuilder &operator<<(const Task &task);
  ErrorBuilder &operator<<(const Transfer &transfer);

  /// Describes how the nodes of a cycle of the graph wait for one another.
  /// Transfer i is the i-th node after the tasks.
  ErrorBuilder &addCycle(std::vector<int64_t> cycle,
                         llvm::ArrayRef<Transfer> transfers = {});

  operator llvm::Error() {
    return llvm::make_error<ScheduleError>(std::move(message),
                                           std::move(places));
  }

private:
  bool isTask(int64_t node) const { return node < graph.getNumTasks(); }
  /// Returns whether `node` runs right after `waitedFor` on its stage.
  bool follows(int64_t node, int64_t waitedFor) const;

  const TaskGraph &graph;
  std::string message;
  std::vector<TaskPlace> places;
};

} // namespace mf::schedule

#endif // MF_LIB_PIPELINE_ERRORBUILDER_H
