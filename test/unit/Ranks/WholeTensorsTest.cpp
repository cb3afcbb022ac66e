//===- WholeTensorsTest.cpp - Tensors put together from slices ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/WholeTensors.h"
#include "test/unit/Elements.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::program;
using namespace mf::ranks;
using ::testing::ElementsAre;

namespace {

const Mesh ranksOfMesh({{"pp", 1}, {"dp", 2}, {"mp", 2}});

/// A vector of two elements, or half of one of four that is cut over mp.
RankTensor makePart(int64_t rank, const std::vector<float> &values, bool isCut,
                    int64_t summand = 0, DType type = DType::F32) {
  RankTensor part;
  part.rank = rank;
  part.shape = {type, {2}};
  if (isCut)
    part.slice = Slice{{4}, {{"mp"}}};
  part.summand = summand;
  std::vector<uint8_t> bytes(2 * getBytes(type));
  writeElements<uint8_t>(values, type, bytes);
  part.read = [bytes] { return llvm::ArrayRef<uint8_t>(bytes); };
  return part;
}

std::vector<float> getFloats(const WholeTensors &tensors) {
  const TensorValue value = llvm::cantFail(tensors.get()).at("w");
  return readElements<uint8_t>(value.shape.type, value.bytes);
}

TEST(WholeTensorsTest, TakesTheFirstRankOfEachPart) {
  WholeTensors tensors(ranksOfMesh);
  llvm::cantFail(tensors.add("w", makePart(1, {3, 4}, true)));
  llvm::cantFail(tensors.add("w", makePart(0, {1, 2}, true)));
  llvm::cantFail(tensors.add("w", makePart(2, {5, 6}, true)));
  EXPECT_THAT(getFloats(tensors), ElementsAre(1, 2, 3, 4));
}

TEST(WholeTensorsTest, AddsSummandsInTheOrderInWhichTheyCame) {
  // In fp32 (1e8 + 1) - 1e8 = 0, but (1e8 - 1e8) + 1 = 1.
  WholeTensors tensors(ranksOfMesh);
  llvm::cantFail(tensors.add("w", makePart(0, {1e8F, 1e8F}, false, 2)));
  llvm::cantFail(tensors.add("w", makePart(1, {1, -1e8F}, false, 1)));
  llvm::cantFail(tensors.add("w", makePart(2, {-1e8F, 1}, false, 0)));
  llvm::cantFail(tensors.add("w", makePart(3, {7, 7}, false, 1)));
  EXPECT_THAT(getFloats(tensors), ElementsAre(0, 1));
}

TEST(WholeTensorsTest, RoundsAfterEachSummand) {
  // 256 + 1 is 256 in bf16, as often as it is added.
  WholeTensors tensors(ranksOfMesh);
  llvm::cantFail(
      tensors.add("w", makePart(0, {256, 1}, false, 0, DType::BF16)));
  llvm::cantFail(tensors.add("w", makePart(1, {1, 1}, false, 1, DType::BF16)));
  llvm::cantFail(tensors.add("w", makePart(2, {1, 1}, false, 2, DType::BF16)));
  EXPECT_THAT(getFloats(tensors), ElementsAre(256, 3));
}

TEST(WholeTensorsTest, RefusesATensorWithoutAllItsParts) {
  WholeTensors tensors(ranksOfMesh);
  llvm::cantFail(tensors.add("w", makePart(1, {3, 4}, true)));
  EXPECT_EQ(llvm::toString(tensors.get().takeError()),
            "tensor 'w': the ranks that live here hold 2 of its 4 elements");
  EXPECT_EQ(llvm::toString(tensors.add("w", makePart(2, {1, 2}, false))),
            "'w' is 2xf32 here, but 4xf32 on rank 1 (stage 0)");
}

TEST(WholeTensorsTest, GivesOnlyTheWriterBytes) {
  WholeTensors tensors(ranksOfMesh, /*isWriter=*/false);
  int reads = 0;
  for (int64_t rank : {0, 1}) {
    RankTensor part = makePart(rank, {1, 2}, true);
    part.read = [&reads] {
      ++reads;
      return llvm::ArrayRef<uint8_t>();
    };
    llvm::cantFail(tensors.add("w", std::move(part)));
  }
  EXPECT_TRUE(llvm::cantFail(tensors.get()).empty());
  EXPECT_EQ(reads, 2);
}

} // namespace
