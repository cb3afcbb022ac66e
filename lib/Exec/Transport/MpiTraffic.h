//===- MpiTraffic.h - The thread that calls MPI ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// All messages of a process go through one thread. Each blocking call of MPI
// keeps a core busy, and with several ranks in a process many threads wait at
// the same time. Here they sleep, and a single thread polls for all of them. It
// sleeps as well if nothing arrives for a while.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_TRANSPORT_MPITRAFFIC_H
#define MF_LIB_EXEC_TRANSPORT_MPITRAFFIC_H

#include "mf/Exec/Transport/Transport.h"
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mpi.h>
#include <mutex>
#include <thread>
#include <vector>

namespace mf {

class MpiTraffic {
public:
  explicit MpiTraffic(MPI_Comm communicator);
  ~MpiTraffic();

  /// Moves messages as Transport::exchange does.
  bool exchange(llvm::MutableArrayRef<Message> messages);
  /// Ends all exchanges. When it returns, no thread calls MPI any more.
  void interrupt();

private:
  /// The messages of one call of `exchange`.
  struct Call {
    size_t remaining = 0;
    std::condition_variable done;
  };
  /// A message, or part of one that is longer than MPI counts.
  struct Piece {
    Message *message = nullptr;
    Call *call = nullptr;
    int64_t offset = 0;
    int64_t bytes = 0;
  };
  /// Process and tag.
  using Source = std::pair<int, int>;
  struct Arrival {
    MPI_Message message = MPI_MESSAGE_NULL;
    int bytes = 0;
  };

  static std::vector<Piece> split(llvm::MutableArrayRef<Message> messages,
                                  Call &call);
  void run();
  bool takeQueued(bool mayWait);
  bool progress();
  bool probe();
  void receive(const Piece &piece, const Arrival &arrival);
  void testRequests();
  void finish(const std::vector<Piece> &finished);

  const MPI_Comm communicator;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Piece> queued;
  std::list<Call *> calls;
  bool mustStop = false;
  bool hasStopped = false;

  // The requests that the thread has under way.
  std::vector<MPI_Request> requests;
  /// The pieces of `requests`, in their order.
  std::vector<Piece> moving;
  /// Pieces that ranks wait for, and messages that arrived before they were
  /// expected.
  std::map<Source, std::deque<Piece>> wanted;
  std::map<Source, std::deque<Arrival>> arrived;
  std::vector<Piece> completed;
  std::thread thread;
};

} // namespace mf

#endif // MF_LIB_EXEC_TRANSPORT_MPITRAFFIC_H
