//===- Exchange.h - Messages and collectives between ranks -----*- C++ -*-===//

#ifndef MF_LIB_INTERPRETER_EXCHANGE_H
#define MF_LIB_INTERPRETER_EXCHANGE_H

#include "Turns.h"
#include "dialects/mf/MfDialect.h"
#include "mf/Interpreter/Tensor.h"
#include <deque>
#include <map>

namespace mf::interpreter {

/// What a message is called: messages of one route arrive in the order in which
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

/// Everything that ranks pass to each other. A rank that has to wait gives up
/// its turn. Errors are reported at the operation that sends or receives.
class Exchange {
public:
  explicit Exchange(Turns &turns) : turns(turns) {}

  /// Forgets what the last step left.
  void clear();

  /// Leaves a copy of `value` for the receiver.
  void send(mlir::Operation *op, const Route &route, int64_t microBatch,
            const Tensor &value);

  /// The next message of the route, which must be the one of `microBatch` and
  /// have `shape`.
  mlir::FailureOr<Tensor> receive(mlir::Operation *op, const Route &route,
                                  int64_t microBatch, const TensorShape &shape);

  /// What a rank brings to a collective.
  struct Contribution {
    Tensor input;
    /// Of an all_to_all_v.
    Tensor send, receive;

    Contribution clone() const {
      auto copy = [](const Tensor &tensor) {
        return tensor ? tensor.clone() : Tensor();
      };
      return {copy(input), copy(send), copy(receive)};
    }
    bool hasShapesOf(const Contribution &other) const {
      return input.getShape() == other.input.getShape() &&
             send.getShape() == other.send.getShape() &&
             receive.getShape() == other.receive.getShape();
    }
  };

  /// One rank's part in a collective of `members`, in their order. All of them
  /// must call it with one channel, kind and list. Input and output may be one
  /// tensor where the kind allows it.
  mlir::LogicalResult communicate(mlir::Operation *op, int64_t rank,
                                  llvm::ArrayRef<int64_t> members,
                                  const ir::EmittedCollective &collective,
                                  const Contribution &own,
                                  const Tensor &output);

  /// Reports messages that nobody received.
  mlir::LogicalResult checkAllReceived() const;

private:
  struct Message {
    mlir::Operation *sender = nullptr;
    int64_t microBatch = 0;
    Tensor value;
  };
  struct Collective {
    CollectiveKind kind = CollectiveKind::AllReduce;
    std::vector<int64_t> members;
    std::map<int64_t, Contribution> arrived;
    int64_t numDone = 0;
  };

  Turns &turns;
  std::map<Route, std::deque<Message>> messages;
  /// By channel and lowest member.
  std::map<std::pair<std::string, int64_t>, Collective> collectives;
};

} // namespace mf::interpreter

#endif // MF_LIB_INTERPRETER_EXCHANGE_H
