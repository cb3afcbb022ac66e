//===- Policy.h - How schedules are made ----------------------*- C++ -*-===//
//
// A policy says what distinguishes a schedule: which tasks of a stage must
// happen before which, and what to prefer where that leaves a choice. The
// dependences of the data are the same for all and are added by
// buildSchedule(), which sorts the tasks of all stages at once.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SCHEDULE_POLICY_H
#define MF_SCHEDULE_POLICY_H

#include "mf/Schedule/Schedule.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace mf::schedule {

/// Collects the rules of one stage. All tasks named must be of that stage.
class Rules {
public:
  using Sink = llvm::function_ref<void(const Task &, const Task &)>;
  explicit Rules(Sink sink) : sink(sink) {}

  /// `first` ends before `second` starts.
  void addBefore(const Task &first, const Task &second) { sink(first, second); }

  /// The tasks run in this order, with others between them or not.
  void addOrder(llvm::ArrayRef<Task> tasks);

  /// The two kinds of tasks each run in their order: first `warmUp` of the
  /// forwards and one more, then a backward and a forward in turn, then the
  /// remaining backwards. As many forwards as backwards. With other tasks of
  /// the stage between them or not.
  void addAlternation(llvm::ArrayRef<Task> forwards,
                      llvm::ArrayRef<Task> backwards, int64_t warmUp);

private:
  Sink sink;
};

/// A kind of schedule. Stateless.
class Policy {
public:
  virtual ~Policy() = default;

  /// By which it is asked for, e.g. `zero-bubble-v`.
  virtual llvm::StringRef getName() const = 0;
  /// One line for a list of schedules.
  virtual llvm::StringRef getSummary() const = 0;
  /// Backwards are split into input and weight gradients.
  virtual bool splitsBackward() const { return false; }

  /// The stage of a chunk: round robin unless overridden.
  virtual int64_t getStage(int64_t chunk, int64_t stages) const;

  /// Tells whether the policy can schedule a well-formed pipeline. What is
  /// wrong and how to mend it otherwise.
  virtual llvm::Error check(const Pipeline &pipeline) const;

  /// Adds the rules of one stage; at most a few per task.
  virtual void addRules(const Pipeline &pipeline, int64_t stage,
                        Rules &rules) const = 0;

  /// Of the tasks that a stage could start when it gets free, it starts the one
  /// with the lowest number; of equal ones that of the lowest micro-batch, then
  /// chunk. Gradients before forwards before weight gradients unless
  /// overridden.
  virtual int64_t getPriority(const Pipeline &pipeline, const Task &task) const;

  /// A pipeline with `chunksPerStage` chunks on each stage, placed as the
  /// policy wants.
  Pipeline place(int64_t stages, int64_t chunksPerStage,
                 int64_t microBatches) const;
};

/// The built-in policies, in the order in which lists show them.
llvm::ArrayRef<const Policy *> getPolicies();

/// The built-in policy of that name. The error lists the names.
llvm::Expected<const Policy *> findPolicy(llvm::StringRef name);

/// Schedules a pipeline. An error if it is not well-formed, if check() refuses
/// it, or if the rules contradict one another or the dependences of the data.
/// A schedule that is returned verifies.
llvm::Expected<Schedule> buildSchedule(const Policy &policy,
                                       const Pipeline &pipeline);

} // namespace mf::schedule

#endif // MF_SCHEDULE_POLICY_H
