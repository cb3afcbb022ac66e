//===- Checkpoint.h - Saving and resuming a training run ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A directory of checkpoints:
//
//   step_000020/rank_0.safetensors   parameters and optimizer state of a rank
//   step_000020/rank_1.safetensors
//   step_000020/state.json           steps, data position, seed, loss scale,
//                                    and the name and size of every rank's file
//   step_000040/...
//   latest                           the name of the newest, for people
//
// A checkpoint is written into a hidden folder, flushed to the disk and renamed
// atomically. `latest` is updated afterwards. If a run is killed or the machine
// loses power at any moment, every finished checkpoint stays intact, and at
// most a hidden folder is left, which the next run removes. Only one run may
// use a directory at a time.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_DATA_CHECKPOINT_H
#define MF_EXEC_DATA_CHECKPOINT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// The state, in addition to the tensors, that a run needs to continue exactly.
struct CheckpointState {
  /// The number of completed steps.
  int64_t step = 0;
  /// The number of steps that changed the parameters, that is, without
  /// overflow.
  int64_t updates = 0;
  /// The value of BatchReader::getPosition.
  int64_t dataPosition = 0;
  uint64_t seed = 0;
  float lossScale = 1;
  /// The number of steps without overflow since the dynamic loss scale last
  /// changed.
  int64_t cleanSteps = 0;

  bool operator==(const CheckpointState &other) const {
    return step == other.step && updates == other.updates &&
           dataPosition == other.dataPosition && seed == other.seed &&
           lossScale == other.lossScale && cleanSteps == other.cleanSteps;
  }
};

/// A complete checkpoint on disk.
struct Checkpoint {
  /// The path of its folder.
  std::string path;
  CheckpointState state;
  /// Counts the checkpoints that were written to the directory. The newest has
  /// the highest number, even if a run continued from an older one.
  int64_t sequence = 0;
  /// The path of each rank's safetensors file.
  std::vector<std::string> rankPaths;
};

/// Writes one checkpoint. The order of calls is create, write each rank's file,
/// commit.
class CheckpointWriter {
public:
  /// Creates the hidden folder in `directory` (which is created if necessary)
  /// and removes those left by killed runs. Fails if the state cannot be
  /// written (negative step, loss scale not finite) or if there is less than
  /// one rank.
  static llvm::Expected<CheckpointWriter> create(llvm::StringRef directory,
                                                 const CheckpointState &state,
                                                 int64_t numRanks);

  CheckpointWriter(CheckpointWriter &&) noexcept;
  CheckpointWriter &operator=(CheckpointWriter &&) noexcept;
  /// Removes the folder if it was not committed.
  ~CheckpointWriter();

  /// Returns the path to which `rank` writes its safetensors file
  /// (SafetensorsWriter flushes it). Ranks may write concurrently.
  std::string getRankPath(int64_t rank) const;

  /// Makes the checkpoint the newest, replacing one of the same step, and then
  /// removes the oldest ones beyond `keepMaximum` (keep_checkpoint_max; 0 keeps
  /// all). Returns its path. Fails, and leaves the directory unchanged, if a
  /// rank's file is missing or is not a safetensors file. Errors in removing
  /// old checkpoints do not undo the new one; they are returned in `notes`.
  llvm::Expected<std::string> commit(int64_t keepMaximum,
                                     std::vector<std::string> &notes);

private:
  struct Folder;
  explicit CheckpointWriter(std::unique_ptr<Folder> folder);

  std::unique_ptr<Folder> folder;
};

/// The checkpoints found in a directory.
struct CheckpointSearch {
  /// Complete checkpoints, oldest first.
  std::vector<Checkpoint> checkpoints;
  /// The reason for each folder that is named like a checkpoint but is
  /// incomplete.
  std::vector<std::string> notes;

  /// Returns the newest checkpoint, or null.
  const Checkpoint *getLatest() const {
    return checkpoints.empty() ? nullptr : &checkpoints.back();
  }
};

/// Searches `directory`. The result is empty if it does not exist. Fails if it
/// cannot be read.
llvm::Expected<CheckpointSearch> findCheckpoints(llvm::StringRef directory);

/// Opens one checkpoint folder. Checks that state.json is well-formed and that
/// every rank's file is a safetensors file of the size that is stated there.
llvm::Expected<Checkpoint> openCheckpoint(llvm::StringRef path);

} // namespace mf

#endif // MF_EXEC_DATA_CHECKPOINT_H
