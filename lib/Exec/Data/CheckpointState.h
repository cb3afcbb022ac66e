//===- CheckpointState.h - state.json of a checkpoint ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_DATA_CHECKPOINTSTATE_H
#define MF_LIB_EXEC_DATA_CHECKPOINTSTATE_H

#include "mf/Exec/Data/Checkpoint.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mf {

/// The contents of state.json.
struct CheckpointManifest {
  struct File {
    std::string name;
    int64_t bytes = 0;
  };

  CheckpointState state;
  int64_t sequence = 0;
  std::vector<File> files;
};

/// Fails on values that could not be read back.
llvm::Error checkState(const CheckpointState &state);

std::string printManifest(const CheckpointManifest &manifest);

/// Parses the output of `printManifest`. The error has no path.
llvm::Expected<CheckpointManifest> parseManifest(llvm::StringRef text);

} // namespace mf

#endif // MF_LIB_EXEC_DATA_CHECKPOINTSTATE_H
