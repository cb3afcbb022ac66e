//===- BatchReader.cpp - Training batches from a token source -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/BatchReader.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace llvm;

namespace mf {

namespace {

Error optionError(StringRef name, int64_t value, StringRef expected) {
  return createStringError(inconvertibleErrorCode(),
                           name + " is " + Twine(value) + ", expected " +
                               expected);
}

Error checkOptions(const BatchOptions &options) {
  // 2^31 tokens in a sequence or sequences in a batch are beyond any machine,
  // and below it no product overflows.
  constexpr int64_t limit = std::numeric_limits<int32_t>::max();
  if (options.sequenceLength < 1 || options.sequenceLength >= limit)
    return optionError("seq_length", options.sequenceLength, "1 to 2^31 - 2");
  if (options.batchSize < 1 || options.batchSize > limit)
    return optionError("batch_size", options.batchSize, "1 to 2^31 - 1");
  if (options.microBatches < 1 || options.microBatches > limit)
    return optionError("number of micro-batches", options.microBatches,
                       "1 to 2^31 - 1");
  if (options.replicas < 1 ||
      options.microBatches * options.batchSize % options.replicas != 0)
    return optionError(
        "number of replicas", options.replicas,
        "a divisor of the " +
            std::to_string(options.microBatches * options.batchSize) +
            " sequences of a step");
  if (options.vocabularySize < 1 || options.vocabularySize > limit)
    return optionError("vocab_size", options.vocabularySize, "1 to 2^31 - 1");
  int64_t elements = options.batchSize * options.microBatches;
  if (MulOverflow(elements, options.sequenceLength, elements) ||
      elements > std::numeric_limits<int64_t>::max() / 4)
    return createStringError(inconvertibleErrorCode(),
                             "a global batch of %lld x %lld sequences of %lld "
                             "tokens does not fit in memory",
                             static_cast<long long>(options.microBatches),
                             static_cast<long long>(options.batchSize),
                             static_cast<long long>(options.sequenceLength));
  return Error::success();
}

} // namespace

BatchReader::BatchReader(std::unique_ptr<TokenSource> tokenSource,
                         const BatchOptions &batchOptions)
    : source(std::move(tokenSource)), options(batchOptions) {
  const int64_t rowLength = source->getRowLength() != 0
                                ? source->getRowLength()
                                : source->getNumTokens();
  if (rowLength > 0) {
    sequencesPerRow = (rowLength - 1) / options.sequenceLength;
    sequencesPerEpoch = sequencesPerRow * (source->getNumTokens() / rowLength);
  }
  window.resize(options.sequenceLength + 1);
}

Expected<BatchReader> BatchReader::create(std::unique_ptr<TokenSource> source,
                                          const BatchOptions &options) {
  if (Error error = checkOptions(options))
    return error;
  const int64_t needed = options.sequenceLength + 1;
  const int64_t rowLength = source->getRowLength();
  if (source->getNumTokens() < needed ||
      (rowLength != 0 && rowLength < needed)) {
    const std::string found =
        rowLength != 0 && rowLength < needed
            ? "rows of " + std::to_string(rowLength) + " tokens"
            : std::to_string(source->getNumTokens()) + " tokens";
    return createStringError(
        inconvertibleErrorCode(),
        source->getDescription() + " has " + found +
            ", but one sequence needs " + Twine(needed) + " (seq_length " +
            Twine(options.sequenceLength) +
            " and the last label); give more data or a smaller seq_length");
  }
  return BatchReader(std::move(source), options);
}

Expected<BatchReader> BatchReader::open(StringRef path,
                                        const BatchOptions &options) {
  auto source = TokenSource::open(path);
  if (!source)
    return source.takeError();
  auto reader = create(std::move(*source), options);
  if (!reader)
    return reader.takeError();
  const int64_t needed = options.microBatches * options.batchSize;
  if (reader->getSequencesPerEpoch() < needed)
    return createStringError(
        formatv("{0}: holds {1} sequences of {2} tokens, but a step needs {3}",
                path, reader->getSequencesPerEpoch(), options.sequenceLength,
                needed)
            .str());
  return reader;
}

int64_t BatchReader::getBatchElements() const {
  return options.microBatches * options.batchSize * options.sequenceLength;
}

Error BatchReader::setPosition(int64_t sequences) {
  if (sequences < 0)
    return createStringError(inconvertibleErrorCode(),
                             "data position is %lld, expected 0 or more",
                             static_cast<long long>(sequences));
  position = sequences;
  return Error::success();
}

/// Returns the sequence in row `row` of the batch at the current position.
int64_t BatchReader::getSequence(int64_t row) const {
  const int64_t perReplica =
      options.microBatches * options.batchSize / options.replicas;
  const int64_t replica = row / perReplica;
  const int64_t own = position / options.replicas + row % perReplica;
  switch (options.sampleOrder) {
  case SampleOrder::Whole:
    return position + row;
  case SampleOrder::RoundRobin:
    return own * options.replicas + replica;
  case SampleOrder::Blocks: {
    // The last block is filled up from the beginning.
    const auto block = static_cast<int64_t>(
        divideCeil(static_cast<uint64_t>(sequencesPerEpoch),
                   static_cast<uint64_t>(options.replicas)));
    return own / block * sequencesPerEpoch +
           (replica * block + own % block) % sequencesPerEpoch;
  }
  }
  llvm_unreachable("unknown order of samples");
}

int64_t BatchReader::getFirstToken(int64_t sequence) const {
  const int64_t index = sequence % sequencesPerEpoch;
  return index / sequencesPerRow * source->getRowLength() +
         index % sequencesPerRow * options.sequenceLength;
}

Error BatchReader::checkToken(int64_t token, int64_t index) const {
  if (token >= 0 && token < options.vocabularySize)
    return Error::success();
  return createStringError(
      inconvertibleErrorCode(),
      source->getDescription() + ": token " + Twine(index) + " is " +
          Twine(token) + ", expected 0 to " +
          Twine(options.vocabularySize - 1) + " (vocab_size " +
          Twine(options.vocabularySize) + ")");
}

Error BatchReader::readSequence(int64_t sequence,
                                MutableArrayRef<int32_t> input,
                                MutableArrayRef<int32_t> label) {
  const int64_t first = getFirstToken(sequence);
  source->read(first, window);
  for (int64_t i = 0; i < options.sequenceLength; ++i) {
    if (Error error = checkToken(window[i], first + i))
      return error;
    input[i] = static_cast<int32_t>(window[i]);
    const int64_t next = window[i + 1];
    if (next != options.ignoreIndex)
      if (Error error = checkToken(next, first + i + 1))
        return error;
    label[i] = window[i] == options.padTokenId ? options.ignoreIndex
                                               : static_cast<int32_t>(next);
  }
  return Error::success();
}

Error BatchReader::next(MutableArrayRef<int32_t> inputs,
                        MutableArrayRef<int32_t> labels) {
  const auto elements = static_cast<size_t>(getBatchElements());
  if (inputs.size() != elements || labels.size() != elements)
    return createStringError(inconvertibleErrorCode(),
                             "buffers of %zu inputs and %zu labels, expected "
                             "%zu each",
                             inputs.size(), labels.size(), elements);
  const int64_t sequences = options.microBatches * options.batchSize;
  if (position > std::numeric_limits<int64_t>::max() - sequences)
    return createStringError(inconvertibleErrorCode(),
                             "data position %lld is too large",
                             static_cast<long long>(position));
  const int64_t length = options.sequenceLength;
  for (int64_t i = 0; i < sequences; ++i)
    if (Error error =
            readSequence(getSequence(i), inputs.slice(i * length, length),
                         labels.slice(i * length, length)))
      return error;
  position += sequences;
  return Error::success();
}

} // namespace mf
