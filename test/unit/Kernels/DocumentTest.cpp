//===- DocumentTest.cpp - Attention within documents ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Documents that are packed into a sequence attend as if each were a sequence
// of its own.
//
//===----------------------------------------------------------------------===//

#include "KernelTesting.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace mf;
using namespace mf::testing;

namespace {

const AttributeMap scaled = {{"scale", 0.3}};

TEST(DocumentStartsTest, StandBehindTheLastEnd) {
  KernelTensor tokens(DType::I32, {3, 6});
  const Values ids = {5, 2, 7, 7, 2, 2, //
                      2, 1, 1, 1, 1, 2, //
                      1, 1, 1, 1, 1, 1};
  const Values expected = {0, 0, 2, 2, 2, 5, //
                           0, 1, 1, 1, 1, 1, //
                           0, 0, 0, 0, 0, 0};
  for (int64_t i = 0; i < tokens.size(); ++i)
    tokens.set(i, ids[i]);
  const KernelTensor starts =
      runOne("mfDocumentStarts", {tokens}, tokens, {{"end", int64_t{2}}});
  EXPECT_EQ(starts.toVector(), expected);
}

TEST(DocumentMaskTest, HidesKeysBeforeTheStart) {
  KernelTensor starts(DType::I32, {1, 5});
  const int places[] = {0, 2, 3, 7, -1};
  for (int64_t i = 0; i < starts.size(); ++i)
    starts.set(i, places[i]);
  const double h = -10000;
  const Values expected = {0, 0, 0, //
                           h, h, 0, //
                           h, h, h, //
                           h, h, h, //
                           0, 0, 0};
  for (DType type : floatTypes) {
    KernelTensor mask(type, {1, 1, 5, 3});
    expectNear(runOne("mfDocumentMask", {starts}, mask, {{"value", h}}),
               expected);
  }
}

/// Positions [first, first + count) of sample `sample` of a tensor [batch,
/// heads, positions, ...].
KernelTensor takeDocument(const KernelTensor &x, int64_t sample, int64_t first,
                          int64_t count) {
  Ints dims(x.shape.dims.begin(), x.shape.dims.end());
  const int64_t rows = dims[2], width = dims.size() > 3 ? dims[3] : 1;
  dims[0] = 1;
  dims[2] = count;
  KernelTensor part(x.shape.type, dims);
  for (int64_t i = 0; i < part.size(); ++i) {
    const int64_t row = i / width, head = sample * dims[1] + row / count;
    part.set(i, x.get((head * rows + first + row % count) * width + i % width));
  }
  return part;
}

/// Query, key, value and the gradient of the result, of packed documents.
struct PackedDocuments {
  static constexpr int64_t batch = 2, heads = 4, keyHeads = 2, length = 700;
  KernelTensor q, k, v, dy, slopes, starts;
  /// Documents begin there in each sample; the last number is the sequence's
  /// end.
  std::vector<Ints> documents = {{0, 1, 64, 100, 620, 700}, {0, 650, 700}};

  explicit PackedDocuments(DType type)
      : q(randomTensor(type, {batch, heads, length, 16}, 1)),
        k(randomTensor(type, {batch, keyHeads, length, 16}, 2)),
        v(randomTensor(type, {batch, keyHeads, length, 24}, 3)),
        dy(randomTensor(type, {batch, heads, length, 24}, 4)),
        slopes(randomTensor(DType::F32, {heads}, 5, 0, 0.1)),
        starts(DType::I32, {batch, length}) {
    for (int64_t sample = 0; sample < batch; ++sample)
      for (size_t i = 0; i + 1 < documents[sample].size(); ++i)
        for (int64_t p = documents[sample][i]; p < documents[sample][i + 1];
             ++p)
          starts.set(sample * length + p,
                     static_cast<double>(documents[sample][i]));
  }
};

struct DocumentRun {
  Tensors results, gradients;
};

/// With all of `last` behind the inputs that each kernel has.
DocumentRun attendWithin(const KernelTensor &q, const KernelTensor &k,
                         const KernelTensor &v, const KernelTensor &dy,
                         const Tensors &last) {
  const DType type = q.shape.type;
  Ints dims(q.shape.dims.begin(), q.shape.dims.end() - 1);
  Tensors forward = {q, k, v};
  forward.insert(forward.end(), last.begin(), last.end());
  const KernelTensor rows(DType::F32, dims);
  DocumentRun all;
  all.results =
      runKernel("aclnnFlashAttentionScore", forward,
                {rows, rows, KernelTensor(type, dy.shape.dims)}, scaled);
  Tensors backward = {
      q, k, v, dy, all.results[0], all.results[1], all.results[2]};
  backward.insert(backward.end(), last.begin(), last.end());
  all.gradients =
      runKernel("aclnnFlashAttentionScoreGrad", backward, {q, k, v}, scaled);
  return all;
}

TEST(DocumentTest, EachAttendsAsIfItWereAlone) {
  for (DType type : floatTypes)
    for (bool hasSlopes : {false, true}) {
      const PackedDocuments x(type);
      Tensors last = {x.slopes};
      last.resize(hasSlopes ? 1 : 0, x.slopes);
      Tensors withStarts = last;
      withStarts.push_back(x.starts);
      const DocumentRun whole = attendWithin(x.q, x.k, x.v, x.dy, withStarts);
      for (int64_t sample = 0; sample < PackedDocuments::batch; ++sample)
        for (size_t i = 0; i + 1 < x.documents[sample].size(); ++i) {
          const int64_t first = x.documents[sample][i],
                        count = x.documents[sample][i + 1] - first;
          auto take = [&](const KernelTensor &tensor) {
            return takeDocument(tensor, sample, first, count);
          };
          const DocumentRun alone =
              attendWithin(take(x.q), take(x.k), take(x.v), take(x.dy), last);
          for (size_t j = 0; j < 3; ++j) {
            expectNear(take(whole.results[j]), alone.results[j].toVector(), 10);
            expectNear(take(whole.gradients[j]), alone.gradients[j].toVector(),
                       10);
          }
        }
    }
}

TEST(DocumentTest, PartsOfTheQueriesHaveTheBitsOfTheWhole) {
  const PackedDocuments x(DType::F32);
  const DocumentRun whole = attendWithin(x.q, x.k, x.v, x.dy, {x.starts});
  const int64_t count = 175;
  for (int64_t first = 0; first < PackedDocuments::length; first += count) {
    KernelTensor position(DType::I32, {1}),
        starts(DType::I32, {PackedDocuments::batch, count});
    position.set(0, static_cast<double>(first));
    for (int64_t i = 0; i < starts.size(); ++i)
      starts.set(i, x.starts.get(i / count * PackedDocuments::length + first +
                                 i % count));
    for (int64_t sample = 0; sample < PackedDocuments::batch; ++sample) {
      auto take = [&](const KernelTensor &tensor) {
        return takeDocument(tensor, sample, first, count);
      };
      KernelTensor own(DType::I32, {1, count});
      for (int64_t i = 0; i < count; ++i)
        own.set(i, starts.get(sample * count + i));
      const KernelTensor k = takeDocument(x.k, sample, 0,
                                          PackedDocuments::length),
                         v = takeDocument(x.v, sample, 0,
                                          PackedDocuments::length);
      const KernelTensor rows(DType::F32, {1, PackedDocuments::heads, count});
      const Tensors y =
          runKernel("mfFlashAttentionPart", {take(x.q), k, v, position, own},
                    {rows, rows, take(x.dy)}, scaled);
      for (size_t i = 0; i < 3; ++i)
        EXPECT_TRUE(y[i] == take(whole.results[i])) << "output " << i;
      const Tensors gradients = runKernel(
          "mfFlashAttentionPartGrad",
          {take(x.q), k, v, take(x.dy), y[0], y[1], y[2], position, own},
          {take(x.q), k, v}, scaled);
      EXPECT_TRUE(gradients[0] == take(whole.gradients[0])) << first;
    }
  }
}

} // namespace
