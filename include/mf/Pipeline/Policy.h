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

#include "mf/Pipeline/Schedule.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace mf::schedule {

/// Collects the rules of one stage. A rule may name tasks of micro-batches that
/// the pipeline does not have, and backwards of chunks that have none: it goes
/// for the tasks that there are.
class Rules {
public:
  using Sink = llvm::function_ref<void(const Task &, const Task &)>;
  using SlotSink = llvm::function_ref<void(llvm::ArrayRef<Task>)>;
  /// Makes the rules of the stage that has `chunks`. Passes all rules on to
  /// `sink`, as pairs of a task and one that starts when it has ended, and the
  /// tasks of slots to `slotSink`.
  Rules(const Pipeline &pipeline, llvm::ArrayRef<int32_t> chunks, Sink sink,
        SlotSink slotSink)
      : pipeline(pipeline), chunks(chunks), sink(sink), slotSink(slotSink) {}

  /// The chunks of the stage, in the order of execution; at least one.
  llvm::ArrayRef<int32_t> getChunks() const { return chunks; }

  /// `first` ends before `second` starts.
  void addBefore(const Task &first, const Task &second);

  /// The tasks run in this order, with others between them or not.
  void addOrder(llvm::ArrayRef<Task> tasks);

  /// The tasks run as one slot: a forward, and behind it the backward of
  /// another run, whole or in halves.
  void addSlot(llvm::ArrayRef<Task> tasks);

  /// First `warmUp` of the forwards, then a forward and a backward in turn,
  /// then what is left of either. The turn of a task that there is not stays
  /// empty.
  void addAlternation(llvm::ArrayRef<Task> forwards,
                      llvm::ArrayRef<Task> backwards, int64_t warmUp);

  /// The order that addAlternation() asks for.
  static std::vector<Task> getAlternation(llvm::ArrayRef<Task> forwards,
                                          llvm::ArrayRef<Task> backwards,
                                          int64_t warmUp);

  /// Forward number `count` + i of the list starts when number i of the tasks
  /// that end the lives of activations has ended: if these run in the order of
  /// the list, at most `count` activations live at once.
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

  /// By which it is asked for, e.g. `zero-bubble-v`.
  virtual llvm::StringRef getName() const = 0;
  /// One line for a list of schedules.
  virtual llvm::StringRef getSummary() const = 0;
  /// Backwards are split into input and weight gradients.
  virtual bool splitsBackward() const { return false; }
  /// Recompute is a task of its own. With other policies it may be one, if the
  /// pipeline says so.
  virtual bool separatesRecompute() const { return false; }
  /// Whether a chunk may recompute. One that may not keeps all that its
  /// backward reads, whatever its layers ask for.
  virtual bool mayRecompute(const Pipeline &pipeline, int64_t chunk) const {
    return true;
  }
  /// Marks the runs of a pipeline that recompute in tasks of their own if all
  /// chunks are to: those of all chunks that may, unless overridden.
  virtual void chooseRecompute(Pipeline &pipeline) const;
  /// Its rules place recompute tasks. Otherwise each runs right before the
  /// gradient that needs it: it does not wait for what that waits for.
  virtual bool placesRecompute() const { return false; }
  /// Takes micro-batches in several pieces of their sequence.
  virtual bool takesPieces() const { return false; }

  /// The stage of a chunk: round robin unless overridden.
  virtual int64_t getStage(int64_t chunk, int64_t stages) const;

  /// Tells whether the policy can schedule a well-formed pipeline. Otherwise
  /// the error says what is wrong and how to mend it.
  virtual llvm::Error check(const Pipeline &pipeline) const;

  /// Adds the rules of one stage; at most a few per task.
  virtual void addRules(const Pipeline &pipeline, int64_t stage,
                        Rules &rules) const = 0;

  /// A stage that gets free starts the ready task with the lowest number; among
  /// equal ones that of the lowest micro-batch, then chunk. Gradients before
  /// forwards before weight gradients unless overridden.
  virtual int64_t getPriority(const Pipeline &pipeline, const Task &task) const;

  /// A pipeline with `chunksPerStage` chunks on each stage, placed as the
  /// policy wants.
  Pipeline place(int64_t stages, int64_t chunksPerStage, int64_t microBatches,
                 int64_t pieces = 1) const;
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
