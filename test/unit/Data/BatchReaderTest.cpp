//===- BatchReaderTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/BatchReader.h"
#include "TestFiles.h"
#include "TokenTestFiles.h"
#include "gmock/gmock.h"

using namespace llvm;
using namespace mf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

struct Batch {
  std::vector<int32_t> inputs;
  std::vector<int32_t> labels;

  bool operator==(const Batch &other) const {
    return inputs == other.inputs && labels == other.labels;
  }
};

Batch next(BatchReader &reader) {
  Batch batch;
  batch.inputs.resize(reader.getBatchElements());
  batch.labels.resize(reader.getBatchElements());
  EXPECT_EQ(message(reader.next(batch.inputs, batch.labels)), "");
  return batch;
}

std::string nextError(BatchReader &reader) {
  std::vector<int32_t> inputs(reader.getBatchElements());
  std::vector<int32_t> labels(reader.getBatchElements());
  return message(reader.next(inputs, labels));
}

class BatchReaderTest : public testing::Test {
protected:
  Expected<BatchReader> open(const std::string &contents,
                             const BatchOptions &options,
                             const std::string &name = "a") {
    return BatchReader::create(
        cantFail(TokenSource::open(directory.write(name, contents))), options);
  }

  static BatchOptions makeOptions(int64_t sequenceLength, int64_t batchSize,
                                  int64_t microBatches) {
    BatchOptions options;
    options.sequenceLength = sequenceLength;
    options.batchSize = batchSize;
    options.microBatches = microBatches;
    options.vocabularySize = 256;
    return options;
  }

  /// Bytes 0, 1, ..., count - 1.
  static std::string makeBytes(int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += static_cast<char>(i);
    return text;
  }

  TemporaryDirectory directory;
};

TEST_F(BatchReaderTest, EveryTokenIsALabelOnceAndTheEndWraps) {
  BatchReader reader = cantFail(open(makeBytes(11), makeOptions(3, 2, 1)));
  // Ten labels: three sequences of three, the rest of an epoch is left out.
  EXPECT_EQ(reader.getSequencesPerEpoch(), 3);
  Batch batch = next(reader);
  EXPECT_THAT(batch.inputs, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(batch.labels, ElementsAre(1, 2, 3, 4, 5, 6));
  batch = next(reader);
  EXPECT_THAT(batch.inputs, ElementsAre(6, 7, 8, 0, 1, 2));
  EXPECT_THAT(batch.labels, ElementsAre(7, 8, 9, 1, 2, 3));
  EXPECT_EQ(reader.getPosition(), 4);
}

TEST_F(BatchReaderTest, MicroBatchesFollowEachOther) {
  BatchReader many = cantFail(open(makeBytes(40), makeOptions(3, 2, 3)));
  BatchReader one = cantFail(open(makeBytes(40), makeOptions(3, 6, 1)));
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(next(many), next(one));
}

/// The first tokens of the sequences of a batch of 2 micro-batches of 4 rows,
/// from 19 sequences of one token.
std::vector<int32_t> getRows(BatchReader &reader) {
  return next(reader).inputs;
}

TEST_F(BatchReaderTest, ReplicasAreDealtRowsByTurns) {
  BatchOptions options = makeOptions(1, 4, 2);
  options.sampleOrder = SampleOrder::RoundRobin;
  options.replicas = 2;
  BatchReader reader = cantFail(open(makeBytes(20), options));
  EXPECT_THAT(getRows(reader), ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
  EXPECT_THAT(getRows(reader), ElementsAre(8, 10, 12, 14, 9, 11, 13, 15));
  // The last rows of this epoch's 19, then the first of the next epoch.
  EXPECT_THAT(getRows(reader), ElementsAre(16, 18, 1, 3, 17, 0, 2, 4));
}

TEST_F(BatchReaderTest, ReplicasHaveBlocksOfTheData) {
  BatchOptions options = makeOptions(1, 4, 2);
  options.sampleOrder = SampleOrder::Blocks;
  options.replicas = 2;
  // Blocks of 10; the second ends with the first row of all.
  BatchReader reader = cantFail(open(makeBytes(20), options));
  EXPECT_THAT(getRows(reader), ElementsAre(0, 1, 2, 3, 10, 11, 12, 13));
  EXPECT_THAT(getRows(reader), ElementsAre(4, 5, 6, 7, 14, 15, 16, 17));
  EXPECT_THAT(getRows(reader), ElementsAre(8, 9, 0, 1, 18, 0, 10, 11));
}

TEST_F(BatchReaderTest, ReplicasDivideTheRowsOfAStep) {
  BatchOptions options = makeOptions(1, 4, 2);
  options.replicas = 3;
  EXPECT_THAT(message(open(makeBytes(20), options).takeError()),
              HasSubstr("number of replicas is 3, expected a divisor of the 8 "
                        "sequences of a step"));
}

TEST_F(BatchReaderTest, LabelsOfPaddingAreIgnored) {
  BatchOptions options = makeOptions(4, 1, 1);
  options.padTokenId = 0;
  BatchReader reader =
      cantFail(open(std::string("\x05\x00\x00\x07\x00", 5), options));
  Batch batch = next(reader);
  EXPECT_THAT(batch.inputs, ElementsAre(5, 0, 0, 7));
  EXPECT_THAT(batch.labels, ElementsAre(0, -100, -100, 0));
  options.ignoreIndex = -1;
  reader = cantFail(open(std::string("\x05\x00\x00\x07\x00", 5), options));
  EXPECT_THAT(next(reader).labels, ElementsAre(0, -1, -1, 0));
}

TEST_F(BatchReaderTest, IgnoredLabelsMayStandInTheData) {
  const uint64_t ignored = static_cast<uint32_t>(-100);
  BatchReader reader =
      cantFail(open(makeNpy("<i4", "(2, 4)", 4, {1, 2, 3, ignored, 4, 5, 6, 7}),
                    makeOptions(3, 2, 1)));
  EXPECT_THAT(next(reader).labels, ElementsAre(2, 3, -100, 5, 6, 7));
}

TEST_F(BatchReaderTest, SequencesDoNotCrossRows) {
  std::vector<uint64_t> values(21);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i;
  BatchReader reader =
      cantFail(open(makeNpy("<u2", "(3, 7)", 2, values), makeOptions(3, 1, 1)));
  EXPECT_EQ(reader.getSequencesPerEpoch(), 6);
  const int firsts[] = {0, 3, 7, 10, 14, 17, 0};
  for (int first : firsts) {
    const Batch batch = next(reader);
    EXPECT_THAT(batch.inputs, ElementsAre(first, first + 1, first + 2));
    EXPECT_THAT(batch.labels, ElementsAre(first + 1, first + 2, first + 3));
  }
}

TEST_F(BatchReaderTest, PositionRestoresExactly) {
  for (SampleOrder order :
       {SampleOrder::Whole, SampleOrder::RoundRobin, SampleOrder::Blocks}) {
    BatchOptions options = makeOptions(3, 2, 2);
    options.sampleOrder = order;
    options.replicas = 2;
    BatchReader whole = cantFail(open(makeBytes(100), options));
    for (int i = 0; i < 13; ++i)
      next(whole);
    BatchReader resumed = cantFail(open(makeBytes(100), options));
    ASSERT_EQ(message(resumed.setPosition(whole.getPosition())), "");
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(next(whole), next(resumed));
  }
}

TEST_F(BatchReaderTest, TooLittleDataSaysHowMuchIsNeeded) {
  const std::string path = directory.path("a");
  EXPECT_EQ(message(open(makeBytes(8), makeOptions(8, 4, 1))),
            path + " (bytes) has 8 tokens, but one sequence needs 9 "
                   "(seq_length 8 and the last label); give more data or a "
                   "smaller seq_length");
  EXPECT_THAT(message(open("", makeOptions(1, 1, 1))),
              HasSubstr("has 0 tokens, but one sequence needs 2"));
  EXPECT_THAT(message(open(makeNpy("<i4", "(2, 3)", 4, {1, 2, 3, 4, 5, 6}),
                           makeOptions(3, 1, 1))),
              HasSubstr("has rows of 3 tokens, but one sequence needs 4"));
  EXPECT_EQ(message(open(makeBytes(9), makeOptions(8, 4, 1))), "");
}

TEST_F(BatchReaderTest, TokensOutsideTheVocabularyAreNamed) {
  BatchOptions options = makeOptions(4, 1, 1);
  options.vocabularySize = 100;
  BatchReader reader = cantFail(open(makeBytes(200), options));
  for (int i = 0; i < 24; ++i)
    next(reader);
  EXPECT_EQ(reader.getPosition(), 24);
  EXPECT_EQ(nextError(reader), directory.path("a") +
                                   " (bytes): token 100 is 100, expected 0 to "
                                   "99 (vocab_size 100)");
  EXPECT_EQ(reader.getPosition(), 24);
  reader = cantFail(
      open(makeNpy("<i8", "(3,)", 8, {5, ~0ull, 1}), makeOptions(2, 1, 1)));
  EXPECT_THAT(nextError(reader), HasSubstr("token 1 is -1, expected 0 to 255"));
}

TEST_F(BatchReaderTest, OptionsOutOfRange) {
  EXPECT_THAT(message(open("abc", makeOptions(0, 1, 1))),
              HasSubstr("seq_length is 0, expected 1 to"));
  EXPECT_THAT(message(open("abc", makeOptions(1, -1, 1))),
              HasSubstr("batch_size is -1"));
  EXPECT_THAT(message(open("abc", makeOptions(1, 1, 0))),
              HasSubstr("number of micro-batches is 0"));
  EXPECT_THAT(
      message(open("abc", makeOptions(2147483000, 2147483000, 2147483000))),
      HasSubstr("does not fit in memory"));
  BatchOptions options = makeOptions(1, 1, 1);
  options.vocabularySize = 0;
  EXPECT_THAT(message(open("abc", options)), HasSubstr("vocab_size is 0"));
  BatchReader reader = cantFail(open("abc", makeOptions(1, 1, 1)));
  EXPECT_THAT(message(reader.setPosition(-1)),
              HasSubstr("data position is -1, expected 0 or more"));
  ASSERT_EQ(message(reader.setPosition(std::numeric_limits<int64_t>::max())),
            "");
  EXPECT_THAT(nextError(reader), HasSubstr("is too large"));
  std::vector<int32_t> wrong(2);
  EXPECT_THAT(message(reader.next(wrong, wrong)),
              HasSubstr("buffers of 2 inputs and 2 labels, expected 1 each"));
}

} // namespace
