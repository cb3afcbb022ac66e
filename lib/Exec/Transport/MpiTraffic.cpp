//===- MpiTraffic.cpp - The thread that calls MPI -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "MpiTraffic.h"
#include <algorithm>
#include <chrono>
#include <sys/prctl.h>

namespace mf {

/// The longest message that is sent as one; MPI counts in ints.
static constexpr int64_t longestPiece = int64_t(1) << 30;

/// The number of polls without success after which the thread sleeps, and the
/// time for which it then sleeps.
static constexpr int busyTurns = 500;
static constexpr auto shortSleep = std::chrono::microseconds(20);

MpiTraffic::MpiTraffic(MPI_Comm communicator)
    : communicator(communicator), thread([this] { run(); }) {}

MpiTraffic::~MpiTraffic() {
  interrupt();
  thread.join();
}

void MpiTraffic::interrupt() {
  std::unique_lock<std::mutex> lock(mutex);
  mustStop = true;
  changed.notify_all();
  changed.wait(lock, [this] { return hasStopped; });
}

std::vector<MpiTraffic::Piece>
MpiTraffic::split(llvm::MutableArrayRef<Message> messages, Call &call) {
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

bool MpiTraffic::exchange(llvm::MutableArrayRef<Message> messages) {
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

//===----------------------------------------------------------------------===//
// The thread
//===----------------------------------------------------------------------===//

void MpiTraffic::run() {
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

/// Takes over the requests of ranks. Returns false if there is nothing more to
/// do.
bool MpiTraffic::takeQueued(bool mayWait) {
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
    MPI_Issend(message.data + piece.offset, static_cast<int>(piece.bytes),
               MPI_BYTE, process, tag, communicator, &request);
    requests.push_back(request);
    moving.push_back(piece);
  }
  return true;
}

void MpiTraffic::receive(const Piece &piece, const Arrival &arrival) {
  piece.message->arrivedBytes += arrival.bytes;
  if (arrival.bytes != piece.bytes) {
    // The run is about to end: the bytes stay where they are.
    completed.push_back(piece);
    return;
  }
  MPI_Message message = arrival.message;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Imrecv(piece.message->data + piece.offset, arrival.bytes, MPI_BYTE,
             &message, &request);
  requests.push_back(request);
  moving.push_back(piece);
}

/// Matches messages that have arrived. Returns false if there are none.
bool MpiTraffic::probe() {
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

void MpiTraffic::testRequests() {
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

/// Returns false if nothing happened.
bool MpiTraffic::progress() {
  bool any = probe();
  if (!requests.empty())
    testRequests();
  any |= !completed.empty();
  if (!completed.empty())
    finish(completed);
  completed.clear();
  return any;
}

void MpiTraffic::finish(const std::vector<Piece> &finished) {
  std::lock_guard<std::mutex> lock(mutex);
  for (const Piece &piece : finished)
    if (--piece.call->remaining == 0)
      piece.call->done.notify_all();
}

} // namespace mf
