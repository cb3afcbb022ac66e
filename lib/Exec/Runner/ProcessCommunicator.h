//===- ProcessCommunicator.h - Ranks in several processes ------*- C++ -*-===//

#ifndef MF_LIB_RUNNER_PROCESSCOMMUNICATOR_H
#define MF_LIB_RUNNER_PROCESSCOMMUNICATOR_H

#include "mf/Exec/Runner/Communicator.h"
#include "mf/Exec/Transport/Transport.h"

namespace mf::runner {

/// For ranks that are threads of several processes, `ranksPerProcess`
/// consecutive ones in each. Exchanges within a process go through
/// makeLocalCommunicator. In a collective over processes, each member gets the
/// shares of the others' inputs that it combines; results that all members want
/// (all_gather, broadcast, all_reduce) come once to each process, whose members
/// copy them. Tags of the transport from `firstTag` on are used;
/// fails if there are not enough. The transport must outlive it.
llvm::Expected<std::unique_ptr<Communicator>> makeProcessCommunicator(
    program::Mesh mesh, std::vector<program::Channel> channels,
    Transport &transport, int64_t ranksPerProcess, int64_t firstTag);

} // namespace mf::runner

#endif // MF_LIB_RUNNER_PROCESSCOMMUNICATOR_H
