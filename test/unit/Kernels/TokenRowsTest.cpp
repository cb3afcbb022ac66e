//===- TokenRowsTest.cpp - Moving the rows of tokens ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mf;
using namespace mf::testing;

namespace {

/// An index with places that are no row.
KernelTensor makeIndex(llvm::ArrayRef<int64_t> dims, int64_t rows) {
  KernelTensor index = randomIndices(dims, 5, -1, rows);
  if (index.size() > 3) {
    index.set(2, 2147483647.0);
    index.set(3, -2147483648.0);
  }
  return index;
}

TEST(TokenRowsTest, GathersTheRowsOfEachBatch) {
  for (DType type : floatTypes)
    for (Ints dims : {Ints{1}, Ints{2, 3, 1}, Ints{2, 3, 4}, Ints{2, 3, 300}}) {
      const int64_t rows = 17, width = 33, places = dims.back();
      KernelTensor index = makeIndex(dims, rows);
      dims.back() = rows;
      dims.push_back(width);
      KernelTensor x = randomTensor(type, dims, 1);
      Values expected;
      for (int64_t place = 0; place < index.size(); ++place)
        for (int64_t i = 0; i < width; ++i) {
          const double row = index.get(place);
          const int64_t first = place / places * rows;
          expected.push_back(
              row < 0 || row >= rows
                  ? 0
                  : x.get((first + static_cast<int64_t>(row)) * width + i));
        }
      dims[dims.size() - 2] = places;
      EXPECT_EQ(runOne("mfGatherRows", {x, index}, KernelTensor(type, dims))
                    .toVector(),
                expected);
    }
}

TEST(TokenRowsTest, GatherGradientAddsUpInSinglePrecision) {
  for (DType type : floatTypes)
    for (int64_t rows : {1, 7, 400})
      for (int64_t width : {1, 65}) {
        const int64_t places = 200;
        KernelTensor dy = randomTensor(type, {3, places, width}, 1);
        KernelTensor index = makeIndex({3, places}, rows);
        Values expected(3 * rows * width);
        for (int64_t place = 0; place < index.size(); ++place) {
          const double row = index.get(place);
          if (row < 0 || row >= rows)
            continue;
          const int64_t to = place / places * rows + static_cast<int64_t>(row);
          for (int64_t i = 0; i < width; ++i)
            expected[to * width + i] += dy.get(place * width + i);
        }
        KernelTensor gradient(type, {3, rows, width});
        gradient.fill(7);
        expectNear(runOne("mfGatherRowsBackward", {dy, index}, gradient),
                   expected, 10);
      }
}

TEST(TokenRowsTest, GatherGradientAddsInTheOrderOfTheIndex) {
  // In f32 the large ones must meet first for the small one to be kept.
  KernelTensor dy = makeTensor(DType::F32, {4, 1}, {1e8, 5, -1e8, 1});
  KernelTensor index = makeTensor(DType::I32, {4}, {1, 0, 1, 1});
  EXPECT_EQ(runOne("mfGatherRowsBackward", {dy, index},
                   KernelTensor(DType::F32, {2, 1}))
                .toVector(),
            (Values{5, 1}));
}

/// The tokens of a batch in their order, by the definition: each goes behind
/// those before it that are not greater.
Ints sortTokens(const Values &indices) {
  Ints order;
  for (size_t token = 0; token < indices.size(); ++token) {
    auto isGreater = [&](int64_t other) {
      return indices[other] > indices[token] ||
             (std::isnan(indices[other]) && !std::isnan(indices[token]));
    };
    order.insert(llvm::find_if(order, isGreater), static_cast<int64_t>(token));
  }
  return order;
}

TEST(TokenRowsTest, PermuteSortsStablyAndUnpermuteUndoes) {
  for (DType type : floatTypes) {
    const int64_t rows = 123, width = 19;
    KernelTensor x = randomTensor(type, {2, 2, rows, width}, 1);
    KernelTensor ids(DType::F32, {2, 2, rows});
    std::mt19937 random(3);
    for (int64_t i = 0; i < ids.size(); ++i)
      ids.set(i, static_cast<double>(random() % 7));
    ids.set(5, NAN);
    ids.set(9, -2.5);
    ids.set(11, -0.0);
    // The last batch is in order.
    for (int64_t i = 0; i < rows; ++i)
      ids.set(3 * rows + i, std::floor(static_cast<double>(i) / 20));
    const KernelTensor index(DType::I32, {2, 2, rows});
    const Tensors sorted =
        runKernel("aclnnMoeTokenPermute", {x, ids}, {x, index});
    for (int64_t batch = 0; batch < 4; ++batch) {
      Values own;
      for (int64_t i = 0; i < rows; ++i)
        own.push_back(ids.get(batch * rows + i));
      const Ints order = sortTokens(own);
      for (int64_t to = 0; to < rows; ++to) {
        EXPECT_EQ(sorted[1].get(batch * rows + order[to]), to);
        for (int64_t i = 0; i < width; ++i)
          ASSERT_EQ(sorted[0].get((batch * rows + to) * width + i),
                    x.get((batch * rows + order[to]) * width + i));
      }
    }
    EXPECT_TRUE(runOne("aclnnMoeTokenUnpermute", {sorted[0], sorted[1]},
                       KernelTensor(type, x.shape.dims)) == x);
  }
}

TEST(TokenRowsTest, UnpermuteReadsZerosOutsideOfTheTokens) {
  KernelTensor x = makeTensor(DType::F32, {3, 1}, {1, 2, 3});
  KernelTensor index = makeTensor(DType::I32, {3}, {-1, 3, 1});
  EXPECT_EQ(runOne("aclnnMoeTokenUnpermute", {x, index},
                   KernelTensor(DType::F32, {3, 1}))
                .toVector(),
            (Values{0, 0, 2}));
}

/// Two groups of three ranks with two experts each; rows of a source and a
/// destination.
struct DrawnRows {
  static constexpr int64_t groups = 2, ranks = 3, experts = 2;
  int64_t rowsFrom = 20, rowsTo = 30, width = 5;
  KernelTensor send = KernelTensor(DType::F32, {groups, ranks, ranks, experts});

  explicit DrawnRows(unsigned seed) {
    std::mt19937 random(seed);
    for (int64_t i = 0; i < send.size(); ++i)
      send.set(i, static_cast<double>(random() % 4));
    // A rank that sends nothing, and one that gets nothing.
    for (int64_t q = 0; q < ranks; ++q)
      for (int64_t l = 0; l < experts; ++l) {
        send.set(at(0, 1, q, l), 0);
        send.set(at(1, q, 2, l), 0);
      }
  }

  static int64_t at(int64_t g, int64_t p, int64_t q, int64_t l) {
    return ((g * ranks + p) * ranks + q) * experts + l;
  }
  KernelTensor getReceive() const {
    KernelTensor receive = send;
    for (int64_t g = 0; g < groups; ++g)
      for (int64_t p = 0; p < ranks; ++p)
        for (int64_t q = 0; q < ranks; ++q)
          for (int64_t l = 0; l < experts; ++l)
            receive.set(at(g, q, p, l), send.get(at(g, p, q, l)));
    return receive;
  }
  KernelTensor getInput(DType type) const {
    return randomTensor(type, {groups, ranks, rowsFrom, width}, 1);
  }
  KernelTensor getOutput(DType type) const {
    return KernelTensor(type, {groups, ranks, rowsTo, width});
  }

  Values getExpected(const KernelTensor &x, double fill) const {
    Values out(groups * ranks * rowsTo * width, fill);
    Ints taken(groups * ranks);
    for (int64_t g = 0; g < groups; ++g)
      for (int64_t p = 0; p < ranks; ++p) {
        int64_t row = 0;
        for (int64_t q = 0; q < ranks; ++q)
          for (int64_t l = 0; l < experts; ++l)
            for (int64_t n = 0; n < send.get(at(g, p, q, l)); ++n, ++row) {
              const int64_t to = g * ranks + q;
              for (int64_t i = 0; i < width; ++i)
                out[(to * rowsTo + taken[to]) * width + i] =
                    x.get(((g * ranks + p) * rowsFrom + row) * width + i);
              ++taken[to];
            }
      }
    return out;
  }
};

void checkExchange(const DrawnRows &exchange, DType type, double fill) {
  const KernelTensor x = exchange.getInput(type);
  EXPECT_EQ(runOne("mfExchangeTokens",
                   {x, exchange.send, exchange.getReceive()},
                   exchange.getOutput(type), {{"fill", fill}})
                .toVector(),
            exchange.getExpected(x, fill));
}

TEST(TokenRowsTest, ExchangeSendsRowsAndFillsUp) {
  for (DType type : floatTypes)
    for (double fill : {0.0, 6.0})
      checkExchange(DrawnRows(7), type, fill);
  // Many rows are moved in tiles.
  DrawnRows many(8);
  many.rowsFrom = 900;
  many.rowsTo = 1200;
  many.width = 200;
  for (int64_t i = 0; i < many.send.size(); ++i)
    many.send.set(i, many.send.get(i) * 45);
  checkExchange(many, DType::BF16, 0);
}

/// Returns for each of the six destinations whether it is NaN throughout; the
/// others have no NaN.
std::vector<bool> findNan(const KernelTensor &out) {
  std::vector<bool> found;
  const int64_t size = out.size() / 6;
  for (int64_t rank = 0; rank < 6; ++rank) {
    int64_t count = 0;
    for (int64_t i = 0; i < size; ++i)
      count += std::isnan(out.get(rank * size + i));
    EXPECT_TRUE(count == 0 || count == size);
    found.push_back(count > 0);
  }
  return found;
}

TEST(TokenRowsTest, ExchangeWithoutRoomIsNanThere) {
  for (DType type : floatTypes) {
    DrawnRows exchange(7);
    const KernelTensor x = exchange.getInput(type);
    auto run = [&](const KernelTensor &send, const KernelTensor &receive) {
      return findNan(runOne("mfExchangeTokens", {x, send, receive},
                            exchange.getOutput(type), {{"fill", 0.0}}));
    };
    using Bools = std::vector<bool>;
    // Rank 0 of group 1 gets more than there is room for; the source lacks
    // them too, and what it sends to those behind.
    DrawnRows large = exchange;
    large.send.set(DrawnRows::at(1, 1, 0, 0), 40);
    EXPECT_EQ(run(large.send, large.getReceive()),
              (Bools{false, false, false, true, true, true}));
    // Room on the way back only: none of the rest suffers.
    exchange.rowsTo = 9;
    DrawnRows few = exchange;
    few.send.fill(0);
    few.send.set(DrawnRows::at(0, 2, 1, 1), 10);
    few.send.set(DrawnRows::at(0, 2, 2, 1), 9);
    EXPECT_EQ(run(few.send, few.getReceive()),
              (Bools{false, true, false, false, false, false}));
    // Sides that differ.
    KernelTensor receive = exchange.send;
    receive.fill(0);
    KernelTensor send = receive;
    send.set(DrawnRows::at(0, 0, 1, 0), 1);
    EXPECT_EQ(run(send, receive),
              (Bools{false, true, false, false, false, false}));
    // Counts that count nothing.
    send.set(DrawnRows::at(0, 0, 1, 0), 0.9);
    send.set(DrawnRows::at(0, 1, 1, 0), -7);
    send.set(DrawnRows::at(0, 2, 1, 0), NAN);
    EXPECT_EQ(run(send, receive), Bools(6, false));
    send.set(DrawnRows::at(0, 0, 1, 0), INFINITY);
    receive.set(DrawnRows::at(0, 1, 0, 0), INFINITY);
    EXPECT_EQ(run(send, receive),
              (Bools{false, true, true, false, false, false}));
  }
}

} // namespace
