//===- HybridAttentionTest.cpp - Window, entries and their indexer --------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mf;
using namespace mf::testing;

namespace {

/// Attention by its definition, in double.
struct Hybrid {
  DType type = DType::F32;
  int64_t batch = 2, queries = 9, heads = 3, width = 4;
  int64_t keys = 9, entries = 0, chosen = 0;
  int64_t window = 3, ratio = 0, first = 0;
  double scale = 0.7;

  bool sees(int64_t query, int64_t entry) const {
    return (entry + 1) * ratio <= first + query + 1;
  }
  /// Calls `visit` with the place of each row that a query sees: a key, or an
  /// entry behind all keys.
  template <typename Visit>
  void visitSeen(int64_t row, const KernelTensor *indices, Visit visit) const {
    const int64_t position = first + row % queries;
    for (int64_t key = 0; key < keys; ++key)
      if (key <= position && key > position - window)
        visit(key);
    for (int64_t i = 0; i < (indices ? chosen : entries); ++i) {
      const auto entry =
          indices ? static_cast<int64_t>(indices->get(row * chosen + i)) : i;
      if (entry >= 0 && sees(row % queries, entry))
        visit(keys + entry);
    }
  }
  double getElement(const Values &keyRows, const Values &entryRows,
                    int64_t sample, int64_t place, int64_t i) const {
    return place < keys
               ? keyRows[(sample * keys + place) * width + i]
               : entryRows[(sample * entries + place - keys) * width + i];
  }
  Values run(const Values &query, const Values &keyRows, const Values &sink,
             const Values &entryRows, const KernelTensor *indices,
             Values *logSums = nullptr) const {
    Values result;
    for (int64_t row = 0; row < batch * queries; ++row)
      for (int64_t head = 0; head < heads; ++head) {
        const double *q = &query[(row * heads + head) * width];
        auto getRow = [&](int64_t place, int64_t i) {
          return getElement(keyRows, entryRows, row / queries, place, i);
        };
        double sum = std::exp(sink[head]);
        Values own(width, 0.0);
        visitSeen(row, indices, [&](int64_t place) {
          double score = 0;
          for (int64_t i = 0; i < width; ++i)
            score += scale * q[i] * getRow(place, i);
          sum += std::exp(score);
          for (int64_t i = 0; i < width; ++i)
            own[i] += std::exp(score) * getRow(place, i);
        });
        for (double value : own)
          result.push_back(value / sum);
        if (logSums)
          logSums->push_back(std::log(sum));
      }
    return result;
  }

  AttributeMap getAttributes() const {
    return {{"window", window}, {"ratio", ratio}, {"scale", scale}};
  }
  /// Appends the position of the first query if the kernel is one of a part.
  Tensors addFirst(Tensors inputs) const {
    if (first > 0)
      inputs.push_back(makePosition(first));
    return inputs;
  }
  const char *getKernel(const char *ofAll, const char *ofPart) const {
    return first > 0 ? ofPart : ofAll;
  }
  KernelTensor makeQuery(unsigned seed) const {
    return randomTensor(type, {batch, queries, heads, width}, seed, -2, 2);
  }
  KernelTensor makeRows(int64_t rows, unsigned seed) const {
    return randomTensor(type, {batch, rows, width}, seed, -2, 2);
  }
  KernelTensor makeIndices() const {
    // Some of them name no entry, and some one that is not visible.
    return randomIndices({batch, queries, chosen}, 6, -1, entries - 1);
  }
  KernelTensor makeLogSums() const {
    return KernelTensor(DType::F32, {batch, queries, heads});
  }
};

std::vector<Hybrid> getHybridCases() {
  std::vector<Hybrid> cases(5);
  cases[1].entries = 2;
  cases[1].ratio = 4;
  cases[2] = cases[1];
  cases[2].chosen = 2;
  cases[2].entries = 4;
  cases[2].ratio = 2;
  // A part of the queries, and a window that is longer than the sequence.
  cases[3] = cases[2];
  cases[3].queries = 3;
  cases[3].first = 6;
  cases[4].window = 20;
  cases[4].queries = 1;
  cases[4].keys = 1;
  return cases;
}

TEST(HybridAttentionTest, MatchesItsDefinitionAndItsGradients) {
  for (DType type : floatTypes)
    for (Hybrid attention : getHybridCases()) {
      attention.type = type;
      const Tensors inputs = {attention.makeQuery(1),
                              attention.makeRows(attention.keys, 2),
                              randomTensor(DType::F32, {attention.heads}, 3)};
      Tensors seen;
      if (attention.entries > 0)
        seen.push_back(attention.makeRows(attention.entries, 4));
      if (attention.chosen > 0)
        seen.push_back(attention.makeIndices());
      const KernelTensor *indices = attention.chosen > 0 ? &seen[1] : nullptr;
      auto getEntries = [&]() {
        return seen.empty() ? Values() : seen[0].toVector();
      };
      auto withSeen = [&](const Tensors &first) {
        Tensors all = attention.addFirst(first);
        all.insert(all.end(), seen.begin(), seen.end());
        return all;
      };
      const Tensors outputs = runKernel(
          attention.getKernel("mfHybridAttention", "mfHybridAttentionPart"),
          withSeen(inputs), {inputs[0], attention.makeLogSums()},
          attention.getAttributes());
      Values logSums;
      expectNear(outputs[0],
                 attention.run(inputs[0].toVector(), inputs[1].toVector(),
                               inputs[2].toVector(), getEntries(), indices,
                               &logSums));
      expectNear(outputs[1], logSums, 1, 1e-5);
      if (type != DType::F32)
        continue;
      const KernelTensor gradient = attention.makeQuery(5);
      Tensors results = inputs;
      if (!seen.empty())
        results.push_back(seen[0]);
      const Tensors gradients =
          runKernel(attention.getKernel("mfHybridAttentionGrad",
                                        "mfHybridAttentionPartGrad"),
                    withSeen({gradient, inputs[0], inputs[1], inputs[2],
                              outputs[0], outputs[1]}),
                    results, attention.getAttributes());
      expectGradients(
          gradients, results,
          [&](std::vector<Values> at) {
            at.resize(4);
            return attention.run(at[0], at[1], at[2], at[3], indices);
          },
          gradient.toVector(), 2, 1e-5);
    }
}

/// The rows of blocks of tokens, each behind the `before` rows before it. There
/// are NaNs before the first token.
KernelTensor splitRows(const KernelTensor &rows, int64_t blocks,
                       int64_t before) {
  const int64_t batch = rows.shape.dims[0], count = rows.shape.dims[1],
                width = rows.shape.dims[2], tokens = count / blocks;
  KernelTensor result(rows.shape.type, {batch, blocks, before + tokens, width});
  int64_t place = 0;
  for (int64_t sample = 0; sample < batch; ++sample)
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t i = -before; i < tokens; ++i)
        for (int64_t column = 0; column < width; ++column) {
          const int64_t row = block * tokens + i;
          result.set(place++,
                     row < 0
                         ? std::nan("")
                         : rows.get((sample * count + row) * width + column));
        }
  return result;
}

/// The sums of what splitRows made of each row.
Values joinRows(const KernelTensor &parts, int64_t before) {
  const int64_t batch = parts.shape.dims[0], blocks = parts.shape.dims[1],
                tokens = parts.shape.dims[2] - before,
                width = parts.shape.dims[3];
  Values result(batch * blocks * tokens * width, 0.0);
  int64_t place = 0;
  for (int64_t sample = 0; sample < batch; ++sample)
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t i = -before; i < tokens; ++i)
        for (int64_t column = 0; column < width; ++column) {
          const int64_t row = block * tokens + i;
          if (row >= 0)
            result[((sample * blocks * tokens) + row) * width + column] +=
                parts.get(place);
          else
            EXPECT_EQ(parts.get(place), 0);
          ++place;
        }
  return result;
}

/// Queries of a block read the keys of its tokens and those of the window
/// before them. PartsTest shares blocks out, and the queries of one.
TEST(HybridAttentionTest, BlocksHaveTheBitsOfTheWhole) {
  for (int64_t blocks : {1, 2, 4})
    for (int64_t window : {1, 3}) {
      SCOPED_TRACE(std::to_string(blocks) + " blocks, window of " +
                   std::to_string(window));
      Hybrid attention = getHybridCases()[2];
      attention.queries = attention.keys = 8;
      attention.window = window;
      const KernelTensor query = attention.makeQuery(1),
                         keys = attention.makeRows(8, 2),
                         sink = randomTensor(DType::F32, {attention.heads}, 3),
                         entries = attention.makeRows(attention.entries, 4),
                         indices = attention.makeIndices(),
                         gradient = attention.makeQuery(5),
                         parts = splitRows(keys, blocks, window - 1);
      auto run = [&](const std::string &kernel, Tensors inputs,
                     const Tensors &outputs) {
        inputs.push_back(entries);
        inputs.push_back(indices);
        return runKernel(kernel, inputs, outputs, attention.getAttributes());
      };
      const Tensors outputs = {query, attention.makeLogSums()};
      const Tensors whole =
          run("mfHybridAttention", {query, keys, sink}, outputs);
      EXPECT_EQ(run("mfHybridAttention", {query, parts, sink}, outputs), whole);
      EXPECT_EQ(run("mfHybridAttentionPart",
                    {query, parts, sink, makePosition(0)}, outputs),
                whole);
      const Tensors gradients =
          run("mfHybridAttentionGrad",
              {gradient, query, keys, sink, whole[0], whole[1]},
              {query, keys, sink, entries});
      const Tensors inputs = {gradient, query, parts, sink, whole[0], whole[1]};
      const Tensors results = {query, parts, sink, entries};
      const Tensors ofParts = run("mfHybridAttentionGrad", inputs, results);
      Tensors atFirst = inputs;
      atFirst.push_back(makePosition(0));
      EXPECT_EQ(run("mfHybridAttentionPartGrad", atFirst, results), ofParts);
      EXPECT_EQ(ofParts[0], gradients[0]);
      expectNear(gradients[1], joinRows(ofParts[1], window - 1), 2, 1e-5);
      for (size_t i : {2, 3})
        expectNear(gradients[i], ofParts[i].toVector(), 2, 1e-5);
    }
}

TEST(HybridAttentionTest, SharesAreMeansOfProbabilities) {
  Hybrid attention = getHybridCases()[2];
  const KernelTensor query = attention.makeQuery(1),
                     entries = attention.makeRows(attention.entries, 2);
  const KernelTensor indices = attention.makeIndices();
  KernelTensor logSums = attention.makeLogSums();
  std::mt19937 random(3);
  logSums.fillRandom(random, 2, 4);
  const KernelTensor shares =
      runKernel("mfEntryShares", {query, entries, indices, logSums},
                {KernelTensor(DType::F32, indices.shape.dims)},
                {{"scale", attention.scale}})[0];
  Values expected;
  for (int64_t i = 0; i < indices.size(); ++i) {
    const auto entry = static_cast<int64_t>(indices.get(i));
    const int64_t row = i / attention.chosen, sample = row / attention.queries;
    double sum = 0;
    for (int64_t head = 0; entry >= 0 && head < attention.heads; ++head) {
      double score = 0;
      for (int64_t k = 0; k < attention.width; ++k)
        score +=
            query.get((row * attention.heads + head) * attention.width + k) *
            entries.get((sample * attention.entries + entry) * attention.width +
                        k);
      sum += std::exp(attention.scale * score -
                      logSums.get(row * attention.heads + head));
    }
    expected.push_back(sum / static_cast<double>(attention.heads));
  }
  expectNear(shares, expected, 1, 1e-5);
}

/// The score of an entry for a query.
double getIndexScore(const Hybrid &attention, const Values &query,
                     const Values &keys, const Values &weights, int64_t row,
                     int64_t entry) {
  double score = 0;
  for (int64_t head = 0; head < attention.heads; ++head) {
    double product = 0;
    for (int64_t k = 0; k < attention.width; ++k)
      product += query[(row * attention.heads + head) * attention.width + k] *
                 keys[(row / attention.queries * attention.entries + entry) *
                          attention.width +
                      k];
    score += weights[row * attention.heads + head] * std::max(product, 0.0);
  }
  return score;
}

TEST(LightningIndexerTest, ChoosesTheLargestVisibleScores) {
  // All queries, and a part of them.
  for (DType type : floatTypes) {
    Hybrid attention = getHybridCases()[type == DType::F32 ? 3 : 2];
    attention.type = type;
    const KernelTensor query = attention.makeQuery(1),
                       keys = attention.makeRows(attention.entries, 2),
                       weights =
                           randomTensor(type,
                                        {attention.batch, attention.queries,
                                         attention.heads},
                                        3);
    const Ints dims = {attention.batch, attention.queries, attention.chosen};
    const Tensors outputs = runKernel(
        attention.getKernel("mfLightningIndexer", "mfLightningIndexerPart"),
        attention.addFirst({query, keys, weights}),
        {KernelTensor(DType::F32, dims), KernelTensor(DType::I32, dims)},
        {{"ratio", attention.ratio},
         {"k", attention.chosen},
         {"unseen", -1e30}});
    const Values q = query.toVector(), k = keys.toVector(),
                 w = weights.toVector();
    for (int64_t row = 0; row < attention.batch * attention.queries; ++row) {
      std::vector<std::pair<double, int64_t>> scores;
      for (int64_t entry = 0; entry < attention.entries; ++entry)
        if (attention.sees(row % attention.queries, entry))
          scores.push_back(
              {-getIndexScore(attention, q, k, w, row, entry), entry});
      std::sort(scores.begin(), scores.end());
      for (int64_t i = 0; i < attention.chosen; ++i) {
        const int64_t place = row * attention.chosen + i;
        const bool isSeen = i < static_cast<int64_t>(scores.size());
        EXPECT_EQ(outputs[1].get(place),
                  static_cast<double>(isSeen ? scores[i].second : -1));
        if (isSeen)
          EXPECT_NEAR(outputs[0].get(place), -scores[i].first, 1e-5);
        else
          EXPECT_LT(outputs[0].get(place), -9e29);
      }
    }
    if (type != DType::F32)
      continue;
    const KernelTensor gradient = randomTensor(DType::F32, dims, 4);
    const Tensors gradients = runKernel(
        "mfLightningIndexerGrad", {gradient, query, keys, weights, outputs[1]},
        {query, keys, weights}, {});
    expectGradients(
        gradients, {query, keys, weights},
        [&](const std::vector<Values> &at) {
          Values chosen;
          for (int64_t place = 0; place < outputs[1].size(); ++place) {
            const auto entry = static_cast<int64_t>(outputs[1].get(place));
            chosen.push_back(
                entry < 0 ? 0
                          : getIndexScore(attention, at[0], at[1], at[2],
                                          place / attention.chosen, entry));
          }
          return chosen;
        },
        gradient.toVector(), 2, 1e-5);
  }
}

TEST(LightningIndexerTest, TakesTheLowerIndexOfEqualScores) {
  const KernelTensor query(DType::F32, {1, 1, 1, 2}),
      keys(DType::F32, {1, 3, 2}), weights(DType::F32, {1, 1, 1});
  const Tensors outputs = runKernel(
      "mfLightningIndexerPart", {query, keys, weights, makePosition(2)},
      {KernelTensor(DType::F32, {1, 1, 2}),
       KernelTensor(DType::I32, {1, 1, 2})},
      {{"ratio", int64_t{1}}, {"k", int64_t{2}}, {"unseen", -1.0}});
  EXPECT_EQ(outputs[1].toVector(), (Values{0, 1}));
}

} // namespace
