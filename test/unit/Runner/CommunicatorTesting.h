//===- CommunicatorTesting.h - Ranks that exchange bytes -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_RUNNER_COMMUNICATORTESTING_H
#define MF_TEST_UNIT_RUNNER_COMMUNICATORTESTING_H

#include "MemoryTransport.h"
#include "lib/Exec/Runner/ProcessCommunicator.h"
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace mf::runner {

using Bytes = std::vector<std::byte>;

template <typename Element> Bytes toBytes(const std::vector<Element> &values) {
  Bytes bytes(values.size() * sizeof(Element));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

inline program::Channel makeGroup(std::vector<std::string> axes,
                                  std::vector<int64_t> stages = {}) {
  program::Channel channel;
  channel.name = "r";
  channel.group = {std::move(axes), std::move(stages)};
  return channel;
}

inline program::Exchange makeExchange(CollectiveKind kind,
                                      DType type = DType::F32,
                                      Reduction reduction = Reduction::Sum) {
  program::Exchange exchange;
  exchange.kind = kind;
  exchange.type = type;
  exchange.reduction = reduction;
  return exchange;
}

/// One rank's part in a collective; returns the error, empty if there is none.
inline std::string run(Communicator &communicator, int64_t rank,
                       const program::Exchange &exchange, const Bytes &input,
                       Bytes &output) {
  return llvm::toString(communicator.collective(
      exchange.channel, rank, exchange,
      {input.data(), output.data(), static_cast<int64_t>(input.size()),
       static_cast<int64_t>(output.size())}));
}

/// Calls `body(i)` for each i below `count`, each on a thread of its own.
inline void runThreads(int64_t count,
                       const std::function<void(int64_t)> &body) {
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < count; ++i)
    threads.emplace_back([&body, i] { body(i); });
  for (std::thread &thread : threads)
    thread.join();
}

/// Communicators of pretended processes, by process.
struct PretendedProcesses {
  PretendedProcesses(const program::Mesh &mesh,
                     const std::vector<program::Channel> &channels,
                     int64_t numProcesses)
      : ranksPerProcess(mesh.getNumRanks() / numProcesses) {
    for (int64_t i = 0; i < numProcesses; ++i) {
      transports.push_back(
          std::make_unique<MemoryTransport>(hub, i, numProcesses));
      communicators.push_back(llvm::cantFail(makeProcessCommunicator(
          mesh, channels, *transports.back(), ranksPerProcess, 1)));
    }
  }
  Communicator &of(int64_t rank) {
    return *communicators[rank / ranksPerProcess];
  }

  MessageHub hub;
  int64_t ranksPerProcess;
  std::vector<std::unique_ptr<MemoryTransport>> transports;
  std::vector<std::unique_ptr<Communicator>> communicators;
};

} // namespace mf::runner

#endif // MF_TEST_UNIT_RUNNER_COMMUNICATORTESTING_H
