//===- Policy.h - Policies that make schedules ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A policy defines what is specific to a kind of schedule: which tasks of a
// stage must run before which others, and which task is preferred when several
// are ready. Data dependences are the same for all policies. buildSchedule()
// adds them and sorts the tasks of all stages together.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PIPELINE_POLICY_H
#define MF_PIPELINE_POLICY_H

#include "mf/Pipeline/Schedule.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace mf::schedule {

/// Collects the rules of one stage. A rule may name tasks of micro-batches that
/// the pipeline does not have, and backwards of chunks that have none. Such
/// tasks are ignored.
class Rules {
public:
  using Sink = llvm::function_ref<void(const Task &, const Task &)>;
  using SlotSink = llvm::function_ref<void(llvm::ArrayRef<Task>)>;
  /// Makes rules for the stage that has `chunks`. Passes each rule to `sink` as
  /// a pair of tasks, the second of which starts after the first has ended, and
  /// the tasks of each slot to `slotSink`.
  Rules(const Pipeline &pipeline, llvm::ArrayRef<int32_t> chunks, Sink sink,
        SlotSink slotSink)
      : pipeline(pipeline), chunks(chunks), sink(sink), slotSink(slotSink) {}

  /// Returns the chunks of the stage in the order of execution. Never empty.
  llvm::ArrayRef<int32_t> getChunks() const { return chunks; }

  /// Requires that `first` ends before `second` starts.
  void addBefore(const Task &first, const Task &second);

  /// Requires that the tasks run in this order. Other tasks may run between
  /// them.
  void addOrder(llvm::ArrayRef<Task> tasks);

  /// Requires that the tasks run as one slot. They are a forward followed by
  /// the backward of another micro-batch or chunk, which is either whole or
  /// split.
  void addSlot(llvm::ArrayRef<Task> tasks);

  /// Requires the order of getAlternation().
  void addAlternation(llvm::ArrayRef<Task> forwards,
                      llvm::ArrayRef<Task> backwards, int64_t warmUp);

  /// Returns the first `warmUp` forwards, then forwards and backwards in
  /// alternation, then the remaining tasks of either list. Turns of tasks that
  /// do not exist are skipped.
  static std::vector<Task> getAlternation(llvm::ArrayRef<Task> forwards,
                                          llvm::ArrayRef<Task> backwards,
                                          int64_t warmUp);

  /// Requires that forward `count` + i of the list starts after element i of
  /// `ends` has ended. `ends` are the tasks that release activations. If they
  /// run in the order of the list, at most `count` activations are held at
  /// once.
  void addLimit(llvm::ArrayRef<Task> forwards, llvm::ArrayRef<Task> ends,
                int64_t count);

private:
  bool isThere(const Task &task) const {
    return task.microBatch < pipeline.microBatches &&
           task.piece < pipeline.pieces && pipeline.runs(task);
  }

  const Pipeline &pipeline;
  llvm::ArrayRef<int32_t> chunks;
  Sink sink;
  SlotSink slotSink;
};

/// A kind of schedule. Stateless.
class Policy {
public:
  virtual ~Policy() = default;

  /// Returns the name by which users select the policy, for example
  /// `zero-bubble-v`.
  virtual llvm::StringRef getName() const = 0;
  /// Returns one line of description for a list of policies.
  virtual llvm::StringRef getSummary() const = 0;
  /// Returns true if backwards are split into input and weight gradients.
  virtual bool splitsBackward() const { return false; }
  /// Returns true if recompute is always a separate task. With other policies
  /// it is one if the pipeline requests it.
  virtual bool separatesRecompute() const { return false; }
  /// Returns whether a chunk may recompute. A chunk that may not keeps all
  /// residuals, even if its layers are set to recompute.
  virtual bool mayRecompute(const Pipeline &pipeline, int64_t chunk) const {
    return true;
  }
  /// Marks the runs of a pipeline that recompute in separate tasks if all
  /// chunks should. The default marks all chunks that may recompute.
  virtual void chooseRecompute(Pipeline &pipeline) const;
  /// Returns true if the policy's rules place recompute tasks. Otherwise each
  /// of them runs right before the gradient that needs it, without waiting for
  /// that gradient's other inputs.
  virtual bool placesRecompute() const { return false; }
  /// Returns true if the policy supports micro-batches that are cut into
  /// several pieces of their sequence.
  virtual bool takesPieces() const { return false; }

  /// Returns the stage of a chunk. The default is round robin.
  virtual int64_t getStage(int64_t chunk, int64_t stages) const;

  /// Checks whether the policy can schedule a well-formed pipeline. The error
  /// says what is wrong and how to mend it.
  virtual llvm::Error check(const Pipeline &pipeline) const;

  /// Adds the rules of one stage. There may be only a few per task.
  virtual void addRules(const Pipeline &pipeline, int64_t stage,
                        Rules &rules) const = 0;

  /// Returns the priority of a task. A stage that becomes free starts the ready
  /// task with the lowest priority value; ties go to the lowest micro-batch,
  /// then to the lowest chunk. The default prefers gradients to forwards, and
  /// forwards to weight gradients.
  virtual int64_t getPriority(const Pipeline &pipeline, const Task &task) const;

  /// Makes a pipeline with `chunksPerStage` chunks on each stage, placed by
  /// getStage().
  Pipeline place(int64_t stages, int64_t chunksPerStage, int64_t microBatches,
                 int64_t pieces = 1) const;
};

/// Returns the built-in policies, in the order in which lists show them.
llvm::ArrayRef<const Policy *> getPolicies();

/// Returns the built-in policy of that name. The error lists all names.
llvm::Expected<const Policy *> findPolicy(llvm::StringRef name);

/// Schedules a pipeline. Fails if the pipeline is not well-formed, if check()
/// rejects it, or if the rules contradict one another or the data dependences.
/// The returned schedule always verifies.
llvm::Expected<Schedule> buildSchedule(const Policy &policy,
                                       const Pipeline &pipeline);

} // namespace mf::schedule

#endif // MF_PIPELINE_POLICY_H
