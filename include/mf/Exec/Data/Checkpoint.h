//===- Checkpoint.h - Saving and resuming a training run ------*- C++ -*-===//
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
// A checkpoint is written into a hidden folder, flushed to the disk, and
// renamed in one step; `latest` follows. A run that is killed, or a machine
// that loses power, at any moment leaves every finished checkpoint as it was
// and at most a hidden folder, which the next run removes. A directory belongs
// to one run at a time.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DATA_CHECKPOINT_H
#define MF_DATA_CHECKPOINT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// The state that a run needs besides the tensors to go on exactly where it
/// was.
struct CheckpointState {
  /// Steps done.
  int64_t step = 0;
  /// Steps that changed the parameters, that is, without those that overflowed.
  int64_t updates = 0;
  /// BatchReader::getPosition.
  int64_t dataPosition = 0;
  uint64_t seed = 0;
  float lossScale = 1;
  /// Steps without overflow since the dynamic loss scale last changed.
  int64_t cleanSteps = 0;

  bool operator==(const CheckpointState &other) const {
    return step == other.step && updates == other.updates &&
           dataPosition == other.dataPosition && seed == other.seed &&
           lossScale == other.lossScale && cleanSteps == other.cleanSteps;
  }
};

/// A whole checkpoint on disk.
struct Checkpoint {
  /// The folder.
  std::string path;
  CheckpointState state;
  /// Counts the checkpoints written to the directory: the newest has the most,
  /// also when a run went back and continued from an older one.
  int64_t sequence = 0;
  /// The safetensors file of each rank.
  std::vector<std::string> rankPaths;
};

/// Writes one checkpoint: create, write each rank's file, commit.
class CheckpointWriter {
public:
  /// Makes the hidden folder in `directory` (which is created if need be), and
  /// removes those that killed runs left there. Fails on a state that cannot be
  /// written (negative step, loss scale not finite) or on fewer than one rank.
  static llvm::Expected<CheckpointWriter> create(llvm::StringRef directory,
                                                 const CheckpointState &state,
                                                 int64_t numRanks);

  CheckpointWriter(CheckpointWriter &&) noexcept;
  CheckpointWriter &operator=(CheckpointWriter &&) noexcept;
  /// Removes the folder unless it was committed.
  ~CheckpointWriter();

  /// Where rank `rank` writes its safetensors file (SafetensorsWriter flushes
  /// it). Ranks may write at the same time.
  std::string getRankPath(int64_t rank) const;

  /// Makes the checkpoint the newest, replacing one of the same step, and then
  /// removes the oldest ones beyond `keepMaximum` (keep_checkpoint_max; 0 keeps
  /// all). Returns its path. Fails, and leaves the directory as it was, if a
  /// rank's file is missing or is no safetensors file. Trouble with removing
  /// old checkpoints does not undo the new one: it is returned in `notes`.
  llvm::Expected<std::string> commit(int64_t keepMaximum,
                                     std::vector<std::string> &notes);

private:
  struct Folder;
  explicit CheckpointWriter(std::unique_ptr<Folder> folder);

  std::unique_ptr<Folder> folder;
};

/// The checkpoints that were found in a directory.
struct CheckpointSearch {
  /// Whole checkpoints, oldest first.
  std::vector<Checkpoint> checkpoints;
  /// For each folder called like a checkpoint that is not whole: why not.
  std::vector<std::string> notes;

  /// The newest, or null.
  const Checkpoint *getLatest() const {
    return checkpoints.empty() ? nullptr : &checkpoints.back();
  }
};

/// Looks through `directory`. A directory that does not exist holds nothing;
/// one that cannot be read is an error.
llvm::Expected<CheckpointSearch> findCheckpoints(llvm::StringRef directory);

/// Opens one checkpoint folder: state.json is well-formed, and every rank's
/// file is a safetensors file of the size that is written there.
llvm::Expected<Checkpoint> openCheckpoint(llvm::StringRef path);

} // namespace mf

#endif // MF_DATA_CHECKPOINT_H
