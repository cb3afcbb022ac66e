//===- CheckpointTestFiles.h - Checkpoints made by the tests --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_DATA_CHECKPOINTTESTFILES_H
#define MF_TEST_UNIT_DATA_CHECKPOINTTESTFILES_H

#include "TestFiles.h"
#include "mf/Exec/Data/Checkpoint.h"
#include "mf/Exec/Data/Safetensors.h"
#include "mf/Exec/Data/SafetensorsWriter.h"
#include <cstring>

namespace mf {

/// The state after `step` steps of the tests' runs.
inline CheckpointState makeState(int64_t step) {
  CheckpointState state;
  state.step = step;
  state.updates = step - 1;
  state.dataPosition = step * 8;
  state.seed = ~uint64_t{0} - step;
  state.lossScale = 0.1F * static_cast<float>(step);
  state.cleanSteps = step % 7;
  return state;
}

/// Saves `step` with two ranks, each one tensor of `elements` times the step.
inline llvm::Error saveStep(const std::string &directory, int64_t step,
                            int64_t keepMaximum, size_t elements,
                            std::vector<std::string> &notes) {
  llvm::Expected<CheckpointWriter> writer =
      CheckpointWriter::create(directory, makeState(step), 2);
  if (!writer)
    return writer.takeError();
  const std::vector<int64_t> values(elements, step);
  const llvm::ArrayRef<uint8_t> bytes(
      reinterpret_cast<const uint8_t *>(values.data()), elements * 8);
  const TensorShape shape{DType::I64, {static_cast<int64_t>(elements)}};
  for (int64_t rank = 0; rank < 2; ++rank)
    if (llvm::Error error = writeSafetensors(
            writer->getRankPath(rank),
            {{"layers." + std::to_string(rank), shape, bytes}}))
      return error;
  llvm::Expected<std::string> path = writer->commit(keepMaximum, notes);
  return path ? llvm::Error::success() : path.takeError();
}

/// Checks that a checkpoint is that of its step in every part.
inline void expectWhole(const Checkpoint &checkpoint, size_t elements) {
  const int64_t step = checkpoint.state.step;
  EXPECT_EQ(checkpoint.state, makeState(step));
  ASSERT_EQ(checkpoint.rankPaths.size(), 2u);
  for (int64_t rank = 0; rank < 2; ++rank) {
    llvm::Expected<SafetensorsFile> file =
        SafetensorsFile::open(checkpoint.rankPaths[rank]);
    ASSERT_TRUE(bool(file)) << message(std::move(file));
    llvm::Expected<TensorView> view =
        file->find("layers." + std::to_string(rank));
    ASSERT_TRUE(bool(view)) << message(std::move(view));
    ASSERT_EQ(view->bytes.size(), elements * 8);
    for (size_t i = 0; i < elements; ++i) {
      int64_t value;
      std::memcpy(&value, view->bytes.data() + 8 * i, 8);
      ASSERT_EQ(value, step);
    }
  }
}

} // namespace mf

#endif // MF_TEST_UNIT_DATA_CHECKPOINTTESTFILES_H
