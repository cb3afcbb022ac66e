//===- ProcessCommunicator.h - Ranks in several processes ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_RUNNER_PROCESSCOMMUNICATOR_H
#define MF_LIB_EXEC_RUNNER_PROCESSCOMMUNICATOR_H

#include "mf/Exec/Runner/Communicator.h"
#include "mf/Exec/Transport/Transport.h"

namespace mf::runner {

/// Makes a communicator for ranks that are threads of several processes, with
/// `ranksPerProcess` consecutive ones in each. Exchanges within a process use
/// makeLocalCommunicator. In a collective over processes, each member receives
/// the shares of the others' inputs that it combines. Results that all members
/// need (all_gather, broadcast, all_reduce) are sent once to each process,
/// whose members copy them. Uses tags of the transport from `firstTag` on, and
/// fails if there are not enough. The transport must outlive it.
llvm::Expected<std::unique_ptr<Communicator>> makeProcessCommunicator(
    program::Mesh mesh, std::vector<program::Channel> channels,
    Transport &transport, int64_t ranksPerProcess, int64_t firstTag);

} // namespace mf::runner

#endif // MF_LIB_EXEC_RUNNER_PROCESSCOMMUNICATOR_H
