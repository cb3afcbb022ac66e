//===- TensorExchange.h - Messages and collectives --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_INTERPRETER_TENSOREXCHANGE_H
#define MF_LIB_EXEC_INTERPRETER_TENSOREXCHANGE_H

#include "Tensor.h"
#include "dialects/mf/MfDialect.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace mf::interpreter {

class RankScheduler {
public:
  /// Calls `body(rank)` for ranks [0, ranks) in turns, beginning with rank 0.
  /// Fails if one of them fails; the others end at their next wait. If all
  /// remaining ranks wait, this is a deadlock, which is reported with what each
  /// rank waits for.
  mlir::LogicalResult run(size_t ranks,
                          llvm::function_ref<mlir::LogicalResult(size_t)> body);

  /// Called by the rank whose turn it is. Gives other ranks a turn until
  /// `isReady` returns true. `op` and `what` ("a message ...") describe what it
  /// waits for. Fails if the run ends before.
  mlir::LogicalResult waitUntil(mlir::Operation *op, std::string what,
                                llvm::function_ref<bool()> isReady);

private:
  struct Rank {
    bool isDone = false;
    /// A function that tells whether the rank can continue; set while it waits.
    llvm::function_ref<bool()> isReady;
    mlir::Operation *op = nullptr;
    std::string what;
  };

  bool canRun(const Rank &rank) const {
    return !rank.isDone && (!rank.isReady || rank.isReady());
  }
  /// Gives the turn to the next rank that can run. Ends the run if there is
  /// none.
  void passTurn();
  void reportDeadlock() const;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Rank> ranks;
  size_t current = 0;
  bool hasFailed = false;
};

/// The key of a message: messages of one route arrive in the order in which
/// they are sent.
struct Route {
  int64_t from = 0;
  int64_t to = 0;
  std::string channel;

  bool operator<(const Route &other) const {
    return std::tie(from, to, channel) <
           std::tie(other.from, other.to, other.channel);
  }
};

/// The values that ranks pass to each other. A rank that has to wait gives up
/// its turn. Errors are reported at the operation that sends or receives.
class TensorExchange {
public:
  explicit TensorExchange(RankScheduler &scheduler) : scheduler(scheduler) {}

  /// Discards the remaining messages of the last step.
  void clear();

  /// Leaves a copy of `value` for the receiver.
  void send(mlir::Operation *op, const Route &route, int64_t microBatch,
            const Tensor &value);

  /// Receives the next message of the route, which must belong to `microBatch`
  /// and have `shape`.
  mlir::FailureOr<Tensor> receive(mlir::Operation *op, const Route &route,
                                  int64_t microBatch, const TensorShape &shape);

  /// The tensors of one rank in a collective. Input and output may be one
  /// tensor if the kind allows it.
  struct Member {
    Tensor input, output;
    /// The counts of an all_to_all_v.
    Tensor send, receive;

    bool hasShapesOf(const Member &other) const {
      return input.getShape() == other.input.getShape() &&
             send.getShape() == other.send.getShape() &&
             receive.getShape() == other.receive.getShape();
    }
  };

  /// Takes part in a collective of `members`, in their order. All of them must
  /// call it with the same channel, kind and list. The last one to arrive
  /// computes the outputs of all.
  mlir::LogicalResult communicate(mlir::Operation *op, int64_t rank,
                                  llvm::ArrayRef<int64_t> members,
                                  const ir::EmittedCollective &collective,
                                  const Member &own);

  /// Reports messages that were never received.
  mlir::LogicalResult checkAllReceived() const;

private:
  struct Message {
    mlir::Operation *sender = nullptr;
    int64_t microBatch = 0;
    Tensor value;
  };
  struct Collective {
    CollectiveKind kind = CollectiveKind::AllReduce;
    std::vector<int64_t> ranks;
    /// The members that have arrived, by rank.
    std::map<int64_t, Member> members;
    /// The number of collectives for which all members have arrived.
    int64_t numDone = 0;
  };

  static mlir::LogicalResult compute(mlir::Operation *op,
                                     const ir::EmittedCollective &collective,
                                     const Collective &arrived);

  RankScheduler &scheduler;
  std::map<Route, std::deque<Message>> messages;
  /// Collectives by channel and lowest member.
  std::map<std::pair<std::string, int64_t>, Collective> collectives;
};

} // namespace mf::interpreter

#endif // MF_LIB_EXEC_INTERPRETER_TENSOREXCHANGE_H
