//===- BatchReader.h - Training batches from a token source ---*- C++ -*-===//
//
// Cuts a token source into training sequences and hands them out batch by
// batch. A sequence is seq_length + 1 consecutive tokens: the first seq_length
// are the input, the last seq_length the labels. Sequences follow each other
// every seq_length tokens, so that each token is a label once (as Megatron's
// GPTDataset does).
//
//===----------------------------------------------------------------------===//

#ifndef MF_DATA_BATCHREADER_H
#define MF_DATA_BATCHREADER_H

#include "mf/Exec/Data/TokenSource.h"
#include "mf/Support/SampleOrder.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace mf {

struct BatchOptions {
  /// Tokens per sequence the model sees.
  int64_t sequenceLength = 0;
  /// Sequences per micro-batch.
  int64_t batchSize = 1;
  /// Micro-batches (or gradient accumulation steps) per training step.
  int64_t microBatches = 1;
  /// Token ids must be in [0, vocabularySize).
  int64_t vocabularySize = 0;
  /// Where the input is this token the label is ignored: MindSpore Transformers
  /// multiplies the loss mask by input_ids != pad_token_id.
  std::optional<int64_t> padTokenId;
  /// The label that the loss ignores (ignore_token_id of the YAML).
  int32_t ignoreIndex = -100;
  /// With a seed, sequences come in a pseudo-random order that differs from
  /// epoch to epoch; without, in the order of the data.
  std::optional<uint64_t> shuffleSeed;
  /// Where `replicas` do not all read the whole batch.
  SampleOrder sampleOrder = SampleOrder::Whole;
  /// Data-parallel ranks; they divide a batch's sequences.
  int64_t replicas = 1;
};

/// Reads global batches of batchSize x microBatches sequences. The end of the
/// data is followed by its beginning (the next epoch), also inside a batch.
class BatchReader {
public:
  /// Fails if an option is out of range or the data holds not even one
  /// sequence; the error says how many tokens there are and are needed.
  static llvm::Expected<BatchReader> create(std::unique_ptr<TokenSource> source,
                                            const BatchOptions &options);

  /// The same for a file; fails also if it holds fewer sequences than one step
  /// takes.
  static llvm::Expected<BatchReader> open(llvm::StringRef path,
                                          const BatchOptions &options);

  /// Fills `inputs` and `labels`, each [microBatches *
  /// batchSize][sequenceLength] row-major, with the next global batch, and
  /// moves on. Where replicas read rows of their own, those of the first come
  /// first. Fails on a token outside the vocabulary (index and value are
  /// named); the position is then unchanged. The label -100 (ignoreIndex) may
  /// stand in the data as a label.
  llvm::Error next(llvm::MutableArrayRef<int32_t> inputs,
                   llvm::MutableArrayRef<int32_t> labels);

  /// Elements of each of the two arrays of a global batch.
  int64_t getBatchElements() const;

  /// Different sequences in the data: the length of an epoch.
  int64_t getSequencesPerEpoch() const { return sequencesPerEpoch; }

  /// Sequences handed out so far, over all epochs: the whole state. Setting it
  /// on a reader with the same data and options continues exactly there.
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

#endif // MF_DATA_BATCHREADER_H
