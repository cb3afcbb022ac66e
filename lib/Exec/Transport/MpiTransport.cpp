//===- MpiTransport.cpp - Processes that mpirun started -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Transport/Transport.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <list>
#include <map>
#include <mpi.h>
#include <mutex>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace mf;

//===----------------------------------------------------------------------===//
// All messages of a process go through one thread. Each blocking call of MPI
// keeps a core busy, and with several ranks in a process many threads wait at
// the same time. Here they sleep, and a single thread polls for all of them. It
// sleeps as well if nothing arrives for a while.
//===----------------------------------------------------------------------===//

/// The longest message that is sent as one; MPI counts in ints.
static constexpr int64_t longestPiece = int64_t(1) << 30;

/// The number of polls without success after which the thread sleeps, and the
/// time for which it then sleeps.
static constexpr int busyTurns = 500;

static constexpr auto shortSleep = std::chrono::microseconds(20);

namespace {

class MpiTraffic {
public:
  explicit MpiTraffic(MPI_Comm communicator)
      : communicator(communicator), thread([this] { run(); }) {}
  ~MpiTraffic() {
    interrupt();
    thread.join();
  }

  /// Moves messages as Transport::exchange does.
  bool exchange(llvm::MutableArrayRef<Message> messages) {
    if (messages.empty())
      return true;
    Call call;
    const std::vector<Piece> pieces = split(messages, call);
    call.remaining = pieces.size();
    std::unique_lock<std::mutex> lock(mutex);
    if (mustStop)
      return false;
    queued.insert(queued.end(), pieces.begin(), pieces.end());
    const auto place = calls.insert(calls.end(), &call);
    changed.notify_all();
    call.done.wait(lock, [&] { return call.remaining == 0 || hasStopped; });
    calls.erase(place);
    return call.remaining == 0;
  }

  /// Ends all exchanges. When it returns, no thread calls MPI any more.
  void interrupt() {
    std::unique_lock<std::mutex> lock(mutex);
    mustStop = true;
    changed.notify_all();
    changed.wait(lock, [this] { return hasStopped; });
  }

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
                                  Call &call) {
    std::vector<Piece> pieces;
    for (Message &message : messages) {
      int64_t offset = 0;
      do {
        const int64_t bytes = std::min(longestPiece, message.bytes - offset);
        pieces.push_back({&message, &call, offset, bytes});
        offset += bytes;
      } while (offset < message.bytes);
    }
    return pieces;
  }

  void run() {
    // By default, a sleep of a few microseconds takes 50 more.
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    int turns = 0;
    while (takeQueued(/*mayWait=*/requests.empty() && wanted.empty())) {
      if (progress())
        turns = 0;
      else if (++turns < busyTurns)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(shortSleep);
    }
  }

  /// Takes over the requests of ranks. Returns false if there is nothing more
  /// to do.
  bool takeQueued(bool mayWait) {
    std::vector<Piece> taken;
    {
      std::unique_lock<std::mutex> lock(mutex);
      if (mayWait)
        changed.wait(lock, [this] { return mustStop || !queued.empty(); });
      if (mustStop) {
        hasStopped = true;
        changed.notify_all();
        for (Call *call : calls)
          call->done.notify_all();
        return false;
      }
      taken.swap(queued);
    }
    for (const Piece &piece : taken) {
      const Message &message = *piece.message;
      const auto process = static_cast<int>(message.process);
      const auto tag = static_cast<int>(message.tag);
      if (!message.isSend) {
        const auto early = arrived.find({process, tag});
        if (early == arrived.end()) {
          wanted[{process, tag}].push_back(piece);
          continue;
        }
        receive(piece, early->second.front());
        early->second.pop_front();
        if (early->second.empty())
          arrived.erase(early);
        continue;
      }
      MPI_Request request = MPI_REQUEST_NULL;
      // A synchronous send ends when its receiver has arrived, as within one
      // process.
      MPI_Issend(message.from + piece.offset, static_cast<int>(piece.bytes),
                 MPI_BYTE, process, tag, communicator, &request);
      requests.push_back(request);
      moving.push_back(piece);
    }
    return true;
  }

  /// Returns false if nothing happened.
  bool progress() {
    bool any = probe();
    if (!requests.empty())
      testRequests();
    any |= !completed.empty();
    if (!completed.empty())
      finish(completed);
    completed.clear();
    return any;
  }

  /// Matches messages that have arrived. Returns false if there are none.
  bool probe() {
    bool any = false;
    while (!wanted.empty()) {
      int found = 0;
      Arrival arrival;
      MPI_Status status;
      MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator, &found,
                  &arrival.message, &status);
      if (!found)
        break;
      any = true;
      MPI_Get_count(&status, MPI_BYTE, &arrival.bytes);
      const Source source(status.MPI_SOURCE, status.MPI_TAG);
      const auto waiting = wanted.find(source);
      if (waiting == wanted.end()) {
        arrived[source].push_back(arrival);
        continue;
      }
      receive(waiting->second.front(), arrival);
      waiting->second.pop_front();
      if (waiting->second.empty())
        wanted.erase(waiting);
    }
    return any;
  }

  void receive(const Piece &piece, const Arrival &arrival) {
    piece.message->arrivedBytes += arrival.bytes;
    if (arrival.bytes != piece.bytes) {
      // The run is about to end: the bytes stay where they are.
      completed.push_back(piece);
      return;
    }
    MPI_Message message = arrival.message;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Imrecv(piece.message->to + piece.offset, arrival.bytes, MPI_BYTE,
               &message, &request);
    requests.push_back(request);
    moving.push_back(piece);
  }

  void testRequests() {
    std::vector<int> indices(requests.size());
    int count = 0;
    MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &count,
                 indices.data(), MPI_STATUSES_IGNORE);
    if (count == MPI_UNDEFINED || count == 0)
      return;
    indices.resize(count);
    std::sort(indices.begin(), indices.end());
    for (int i = count - 1; i >= 0; --i) {
      completed.push_back(moving[indices[i]]);
      moving.erase(moving.begin() + indices[i]);
      requests.erase(requests.begin() + indices[i]);
    }
  }

  void finish(const std::vector<Piece> &finished) {
    std::lock_guard<std::mutex> lock(mutex);
    for (const Piece &piece : finished)
      if (--piece.call->remaining == 0)
        piece.call->done.notify_all();
  }

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

//===----------------------------------------------------------------------===//
// The transport
//===----------------------------------------------------------------------===//

/// The time for which other processes wait for the one that reports why all
/// end.
constexpr auto longestReport = std::chrono::seconds(1);

enum ReportState : int { Unclaimed, Claimed, Finished };

/// The interval at which a process signals that it runs.
constexpr auto pulse = std::chrono::milliseconds(100);
/// A process that has not signalled for this long, while another one did so
/// many times, is not running. Its watcher has its own thread, so kernels may
/// take any time.
constexpr auto longestSilence = std::chrono::milliseconds(1500);
constexpr int leastPulses = 10;
/// The longest time in which a process knows that it ran itself.
constexpr auto longestPulse = std::chrono::seconds(1);
/// Pulses of a process that is not watched: not yet, or not any more.
constexpr int unwatched = -1;

/// Returns a descriptor that becomes readable when the process ends; -1 if it
/// has ended. The header of glibc 2.36 does not declare the function for C++.
int openProcess(pid_t process) {
  return static_cast<int>(syscall(SYS_pidfd_open, process, 0));
}

/// A process of this machine.
struct Peer {
  int process = 0;
  int descriptor = -1;
  std::atomic<int> *pulses = nullptr;
  /// The number of pulses, when it last changed, and the number of our own
  /// pulses since then.
  int known = unwatched;
  std::chrono::steady_clock::time_point since;
  int ownSince = 0;
};

class MpiTransport : public Transport {
public:
  MpiTransport() {
    MPI_Comm_rank(MPI_COMM_WORLD, &process);
    MPI_Comm_size(MPI_COMM_WORLD, &numProcesses);
    int *bound = nullptr;
    int isSet = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void *>(&bound),
                      &isSet);
    if (isSet)
      maximumTag = *bound;
    findPeers();
    // When a process dies, mpirun ends the others with this signal. The watcher
    // takes it, so that the cause is reported first.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    signalDescriptor = signalfd(-1, &signals, SFD_CLOEXEC);
    stopDescriptor = eventfd(0, EFD_CLOEXEC);
    traffic.emplace(MPI_COMM_WORLD);
  }

  ~MpiTransport() override {
    // After this point no process counts as lost: in MPI_Finalize all processes
    // wait for each other.
    ownPulses->store(unwatched);
    if (watcher.joinable()) {
      const uint64_t one = 1;
      if (write(stopDescriptor, &one, sizeof(one)) != sizeof(one))
        std::abort();
      watcher.join();
      ownPulses->store(unwatched);
    }
    traffic.reset();
    MPI_Win_free(&window);
    MPI_Finalize();
  }

  int64_t getProcess() const override { return process; }
  int64_t getNumProcesses() const override { return numProcesses; }
  int64_t getNumProcessesHere() const override { return numHere; }
  int64_t getMaximumTag() const override { return maximumTag; }
  bool exchange(llvm::MutableArrayRef<Message> messages) override {
    return traffic->exchange(messages);
  }
  void interrupt() override { traffic->interrupt(); }
  void watch(std::function<void(int64_t, Loss)> lost) override {
    watcher = std::thread([this, lost = std::move(lost)] { watchPeers(lost); });
  }

  bool claimReport() override {
    int expected = Unclaimed;
    if (!report->compare_exchange_strong(expected, Claimed))
      return false;
    hasClaimed = true;
    return true;
  }

  void finishReport() override { report->store(Finished); }
  [[noreturn]] void abort() override {
    waitForReport();
    // MPI prints a message for each process that aborts. One is enough, because
    // the watcher ends this process when another one does.
    if (!hasClaimed)
      std::this_thread::sleep_for(longestReport);
    traffic->interrupt();
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
  }

private:
  void findPeers() {
    MPI_Comm here = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &here);
    MPI_Comm_size(here, &numHere);
    int place = 0;
    MPI_Comm_rank(here, &place);
    const int own[2] = {process, static_cast<int>(getpid())};
    std::vector<int> all(2 * static_cast<size_t>(numHere));
    MPI_Allgather(own, 2, MPI_INT, all.data(), 2, MPI_INT, here);
    for (int i = 0; i < numHere; ++i)
      if (i != place) {
        Peer &peer = peers.emplace_back();
        peer.process = all[2 * i];
        peer.descriptor = openProcess(all[2 * i + 1]);
      }

    void *base = nullptr;
    // The process that reports, followed by the pulses of each process.
    const int words = 1 + numHere;
    MPI_Aint size =
        place == 0 ? static_cast<MPI_Aint>(words * sizeof(std::atomic<int>))
                   : 0;
    MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, here,
                            static_cast<void *>(&base), &window);
    int unit = 0;
    MPI_Win_shared_query(window, 0, &size, &unit, static_cast<void *>(&base));
    report = static_cast<std::atomic<int> *>(base);
    if (place == 0) {
      new (report) std::atomic<int>(Unclaimed);
      for (int i = 1; i < words; ++i)
        new (report + i) std::atomic<int>(unwatched);
    }
    ownPulses = report + 1 + place;
    for (Peer &peer : peers)
      for (int i = 0; i < numHere; ++i)
        if (all[2 * i] == peer.process)
          peer.pulses = report + 1 + i;
    MPI_Barrier(here);
    MPI_Comm_free(&here);
  }

  void watchPeers(const std::function<void(int64_t, Loss)> &lost) {
    // poll ignores negative descriptors. They stand for processes that ended
    // before they could be watched, which mpirun reports.
    std::vector<pollfd> events = {{stopDescriptor, POLLIN, 0},
                                  {signalDescriptor, POLLIN, 0}};
    for (const Peer &peer : peers)
      events.push_back({peer.descriptor, POLLIN, 0});
    ownPulses->store(0);
    auto last = std::chrono::steady_clock::now();
    int silent = -1;
    while (silent < 0 &&
           poll(events.data(), events.size(), pulse.count()) <= 0) {
      const auto now = std::chrono::steady_clock::now();
      ownPulses->fetch_add(1);
      silent = findSilentPeer(now, now - last > longestPulse);
      last = now;
    }
    if (silent >= 0)
      lost(silent, Loss::Stopped);
    else if (events[0].revents != 0)
      return;
    // Looks once more, because the signal may arrive before the descriptor
    // shows the death that caused it.
    poll(events.data(), events.size(), 0);
    for (size_t i = 0; i < peers.size(); ++i)
      if (events[i + 2].revents != 0)
        lost(peers[i].process, Loss::Ended);
    // If no process died before, mpirun itself was told to end, and no process
    // is the cause.
    if (claimReport())
      finishReport();
    waitForReport();
    _exit(1);
  }

  /// Returns a process that has not signalled for so long that it cannot be
  /// running, or -1. Time in which this process itself did not run does not
  /// count.
  int findSilentPeer(std::chrono::steady_clock::time_point now, bool wasAway) {
    for (Peer &peer : peers) {
      const int pulses = peer.pulses->load();
      if (pulses != peer.known || pulses == unwatched || wasAway) {
        peer.known = pulses;
        peer.since = now;
        peer.ownSince = 0;
      } else if (++peer.ownSince >= leastPulses &&
                 now - peer.since >= longestSilence) {
        return peer.process;
      }
    }
    return -1;
  }

  void waitForReport() const {
    const auto end = std::chrono::steady_clock::now() + longestReport;
    while (report->load() == Claimed && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  int process = 0;
  int numProcesses = 1;
  int numHere = 1;
  int maximumTag = 32767;
  std::vector<Peer> peers;
  /// In memory that the processes of this machine share.
  MPI_Win window = MPI_WIN_NULL;
  std::atomic<int> *report = nullptr;
  std::atomic<int> *ownPulses = nullptr;
  std::atomic<bool> hasClaimed{false};

  std::optional<MpiTraffic> traffic;
  int stopDescriptor = -1;
  int signalDescriptor = -1;
  std::thread watcher;
};

} // namespace

extern "C" Transport *mfMakeTransport() {
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) !=
          MPI_SUCCESS ||
      provided < MPI_THREAD_SERIALIZED)
    return nullptr;
  return new MpiTransport();
}
