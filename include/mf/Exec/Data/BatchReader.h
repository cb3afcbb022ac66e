//===- BatchReader.h - Training batches from a token source ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Cuts a token source into training sequences and returns them batch by batch.
// A sequence has seq_length + 1 consecutive tokens: the first seq_length are
// the input, the last seq_length the labels. A sequence begins every seq_length
// tokens, so that each token is a label once (as in Megatron's GPTDataset).
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_DATA_BATCHREADER_H
#define MF_EXEC_DATA_BATCHREADER_H

#include "mf/Exec/Data/TokenSource.h"
#include "mf/Support/SampleOrder.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace mf {

/// The shape and the order of the batches that a run reads.
struct BatchOptions {
  /// The tokens of a sequence that the model sees.
  int64_t sequenceLength = 0;
  /// The sequences in a micro-batch.
  int64_t batchSize = 1;
  /// The micro-batches (or gradient accumulation steps) of a training step.
  int64_t microBatches = 1;
  /// Token ids must be in [0, vocabularySize).
  int64_t vocabularySize = 0;
  /// The label is ignored where the input is this token. MindSpore Transformers
  /// multiplies the loss mask by input_ids != pad_token_id.
  std::optional<int64_t> padTokenId;
  /// The label that the loss ignores (ignore_token_id of the YAML).
  int32_t ignoreIndex = -100;
  /// How the replicas share the batch, if not all of them read the whole.
  SampleOrder sampleOrder = SampleOrder::Whole;
  /// The number of data-parallel ranks. It must divide the sequences of a
  /// batch.
  int64_t replicas = 1;
};

/// Reads global batches of batchSize x microBatches sequences. After the end of
/// the data, also within a batch, reading continues at its beginning (the next
/// epoch).
class BatchReader {
public:
  /// Fails if an option is out of range or if the data does not hold a single
  /// sequence. The error states the number of tokens that exist and that are
  /// needed.
  static llvm::Expected<BatchReader> create(std::unique_ptr<TokenSource> source,
                                            const BatchOptions &options);

  /// Opens a file. Also fails if it holds fewer sequences than one step needs.
  static llvm::Expected<BatchReader> open(llvm::StringRef path,
                                          const BatchOptions &options);

  /// Fills `inputs` and `labels`, each of shape [microBatches *
  /// batchSize][sequenceLength] in row-major order, with the next global batch,
  /// and advances the position. If replicas read different rows, those of the
  /// first replica come first. Fails on a token outside of the vocabulary, and
  /// names its index and value; the position is then unchanged. The data may
  /// contain the label -100 (ignoreIndex).
  llvm::Error next(llvm::MutableArrayRef<int32_t> inputs,
                   llvm::MutableArrayRef<int32_t> labels);

  /// Returns the number of elements in each of the two arrays of a global
  /// batch.
  int64_t getBatchElements() const;

  /// Returns the number of different sequences in the data, which is the length
  /// of an epoch.
  int64_t getSequencesPerEpoch() const { return sequencesPerEpoch; }

  /// Returns the number of sequences that were read so far, over all epochs.
  /// This is the whole state: a reader with the same data and options continues
  /// exactly there after setPosition.
  int64_t getPosition() const { return position; }
  llvm::Error setPosition(int64_t sequences);

private:
  BatchReader(std::unique_ptr<TokenSource> source, const BatchOptions &options);

  int64_t getSequence(int64_t row) const;
  int64_t getFirstToken(int64_t sequence) const;
  llvm::Error checkToken(int64_t token, int64_t index) const;
  llvm::Error readSequence(int64_t sequence,
                           llvm::MutableArrayRef<int32_t> input,
                           llvm::MutableArrayRef<int32_t> label);

  std::unique_ptr<TokenSource> source;
  BatchOptions options;
  int64_t sequencesPerRow = 0;
  int64_t sequencesPerEpoch = 0;
  int64_t position = 0;
  std::vector<int64_t> window;
};

} // namespace mf

#endif // MF_EXEC_DATA_BATCHREADER_H
