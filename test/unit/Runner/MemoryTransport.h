//===- MemoryTransport.h - Processes that are threads ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_RUNNER_MEMORYTRANSPORT_H
#define MF_TEST_UNIT_RUNNER_MEMORYTRANSPORT_H

#include "mf/Exec/Transport/Transport.h"
#include "llvm/Support/ErrorHandling.h"
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>

namespace mf {

/// Where messages between pretended processes lie until they are taken.
struct MessageHub {
  struct Entry {
    const Message *message = nullptr;
    bool *isTaken = nullptr;
  };
  std::mutex mutex;
  std::condition_variable changed;
  /// By sender, receiver and tag.
  std::map<std::tuple<int64_t, int64_t, int64_t>, std::deque<Entry>> entries;
  std::atomic<int64_t> sentBytes{0};
  bool isInterrupted = false;
};

/// As strict as a transport may be: a send ends when it is received.
class MemoryTransport : public Transport {
public:
  MemoryTransport(MessageHub &hub, int64_t process, int64_t numProcesses)
      : hub(hub), process(process), numProcesses(numProcesses) {}

  int64_t getProcess() const override { return process; }
  int64_t getNumProcesses() const override { return numProcesses; }
  int64_t getNumProcessesHere() const override { return numProcesses; }
  int64_t getMaximumTag() const override { return 1 << 20; }

  bool exchange(llvm::MutableArrayRef<Message> messages) override {
    std::deque<bool> taken(messages.size(), false);
    std::unique_lock<std::mutex> lock(hub.mutex);
    for (size_t i = 0; i < messages.size(); ++i)
      if (messages[i].isSend) {
        hub.sentBytes += messages[i].bytes;
        hub.entries[{process, messages[i].process, messages[i].tag}].push_back(
            {&messages[i], &taken[i]});
      }
    hub.changed.notify_all();
    for (size_t i = 0; i < messages.size(); ++i) {
      Message &message = messages[i];
      if (message.isSend)
        continue;
      auto &waiting = hub.entries[{message.process, process, message.tag}];
      hub.changed.wait(lock,
                       [&] { return !waiting.empty() || hub.isInterrupted; });
      if (hub.isInterrupted)
        return false;
      const MessageHub::Entry entry = waiting.front();
      waiting.pop_front();
      message.arrivedBytes = entry.message->bytes;
      if (message.bytes == message.arrivedBytes && message.bytes > 0)
        std::memcpy(message.to, entry.message->from, message.bytes);
      *entry.isTaken = true;
      hub.changed.notify_all();
    }
    hub.changed.wait(lock, [&] {
      for (size_t i = 0; i < messages.size(); ++i)
        if (messages[i].isSend && !taken[i])
          return hub.isInterrupted;
      return true;
    });
    return !hub.isInterrupted;
  }

  void interrupt() override {
    std::lock_guard<std::mutex> lock(hub.mutex);
    hub.isInterrupted = true;
    hub.changed.notify_all();
  }

  void watch(std::function<void(int64_t, Loss)> /*lost*/) override {}
  bool claimReport() override { return true; }
  void finishReport() override {}
  [[noreturn]] void abort() override {
    llvm::report_fatal_error("the run has failed");
  }

private:
  MessageHub &hub;
  const int64_t process;
  const int64_t numProcesses;
};

} // namespace mf

#endif // MF_TEST_UNIT_RUNNER_MEMORYTRANSPORT_H
