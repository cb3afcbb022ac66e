//===- ParameterPlanTest.cpp  ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TestFiles.h"
#include "mf/Exec/Data/ParameterNames.h"
#include "gmock/gmock.h"
#include <map>

using namespace llvm;
using namespace mf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Whole rows of `columns` elements.
BlockCopy rows(const std::string &source, int64_t from, int64_t to,
               int64_t count, int64_t columns = 8) {
  return {source,
          count,
          columns,
          {from * columns, columns, 1},
          {to * columns, columns, 1}};
}

class ParameterPlanTest : public testing::Test {
protected:
  ParameterPlanTest() {
    layout.numHeads = 6;
    layout.numKeyValueHeads = 2;
    layout.headSize = 2;
  }

  Expected<std::vector<BlockCopy>> plan(StringRef target,
                                        ArrayRef<int64_t> dims) {
    return planParameter(
        target, dims,
        [&](StringRef name) -> std::optional<ArrayRef<int64_t>> {
          auto found = sources.find(name.str());
          if (found == sources.end())
            return std::nullopt;
          return ArrayRef<int64_t>(found->second);
        },
        layout);
  }
  std::vector<BlockCopy> expectPlan(StringRef target, ArrayRef<int64_t> dims) {
    Expected<std::vector<BlockCopy>> result = plan(target, dims);
    if (result)
      return *result;
    ADD_FAILURE() << message(std::move(result));
    return {};
  }

  ParameterLayout layout;
  /// Dimensions of the tensors that are there.
  std::map<std::string, std::vector<int64_t>> sources;
};

TEST_F(ParameterPlanTest, SameNameIsTakenWhole) {
  sources["anything"] = {3, 4, 5};
  EXPECT_THAT(expectPlan("anything", {3, 4, 5}),
              ElementsAre(rows("anything", 0, 0, 3, 20)));
  EXPECT_EQ(message(plan("anything", {3, 4})),
            "tensor 'anything' has shape [3, 4, 5], which does not fit "
            "parameter 'anything' of shape [3, 4]");
}

TEST_F(ParameterPlanTest, ConcatenatesQueryKeyValue) {
  sources["model.layers.1.self_attn.q_proj.weight"] = {12, 8};
  sources["model.layers.1.self_attn.k_proj.weight"] = {4, 8};
  sources["model.layers.1.self_attn.v_proj.weight"] = {4, 8};
  EXPECT_THAT(
      expectPlan("model.layers.1.attention.w_qkv.weight", {20, 8}),
      ElementsAre(rows("model.layers.1.self_attn.q_proj.weight", 0, 0, 6),
                  rows("model.layers.1.self_attn.k_proj.weight", 0, 6, 2),
                  rows("model.layers.1.self_attn.v_proj.weight", 0, 8, 2),
                  rows("model.layers.1.self_attn.q_proj.weight", 6, 10, 6),
                  rows("model.layers.1.self_attn.k_proj.weight", 2, 16, 2),
                  rows("model.layers.1.self_attn.v_proj.weight", 2, 18, 2)));
}

TEST_F(ParameterPlanTest, TakesConcatenatedTensorsApart) {
  const std::string qkv = "model.layers.1.attention.w_qkv.weight";
  const std::string ffn = "model.layers.1.feed_forward.w_gate_hidden.weight";
  sources[qkv] = {20, 8};
  sources[ffn] = {10, 8};
  EXPECT_THAT(expectPlan("model.layers.1.attention.wk.weight", {4, 8}),
              ElementsAre(rows(qkv, 6, 0, 2), rows(qkv, 16, 2, 2)));
  EXPECT_THAT(expectPlan("model.layers.1.attention.wk_v.weight", {8, 8}),
              ElementsAre(rows(qkv, 6, 0, 4), rows(qkv, 16, 4, 4)));
  EXPECT_THAT(expectPlan("model.layers.1.mlp.up_proj.weight", {5, 8}),
              ElementsAre(rows(ffn, 1, 0, 1), rows(ffn, 3, 1, 1),
                          rows(ffn, 5, 2, 1), rows(ffn, 7, 3, 1),
                          rows(ffn, 9, 4, 1)));
}

TEST_F(ParameterPlanTest, RegroupsMegatronRows) {
  const std::string qkv = "decoder.layers.0.self_attention.linear_qkv.weight";
  sources[qkv] = {20, 8};
  EXPECT_THAT(expectPlan(qkv, {20, 8}), ElementsAre(rows(qkv, 0, 0, 20)));
  layout.sourceOrder = RowOrder::Grouped;
  // In the source: q0 q1 q2 k0 v0, q3 q4 q5 k1 v1, two rows each.
  EXPECT_THAT(expectPlan(qkv, {20, 8}),
              ElementsAre(rows(qkv, 0, 0, 6), rows(qkv, 10, 6, 6),
                          rows(qkv, 6, 12, 2), rows(qkv, 16, 14, 2),
                          rows(qkv, 8, 16, 2), rows(qkv, 18, 18, 2)));
  EXPECT_THAT(expectPlan("model.layers.0.attention.wv.weight", {4, 8}),
              ElementsAre(rows(qkv, 8, 0, 2), rows(qkv, 18, 2, 2)));
  layout.targetOrder = RowOrder::Grouped;
  EXPECT_THAT(expectPlan(qkv, {20, 8}), ElementsAre(rows(qkv, 0, 0, 20)));
  layout.sourceOrder = RowOrder::Contiguous;
  EXPECT_THAT(expectPlan(qkv, {20, 8}),
              ElementsAre(rows(qkv, 0, 0, 6), rows(qkv, 12, 6, 2),
                          rows(qkv, 16, 8, 2), rows(qkv, 6, 10, 6),
                          rows(qkv, 14, 16, 2), rows(qkv, 18, 18, 2)));
}

TEST_F(ParameterPlanTest, TelechatKeepsKeyAndValueOfAHeadTogether) {
  const std::string keyValue =
      "transformer.h.0.self_attention.key_value.weight";
  sources[keyValue] = {8, 3};
  EXPECT_THAT(expectPlan("model.layers.0.attention.wk_v.weight", {8, 3}),
              ElementsAre(rows(keyValue, 0, 0, 8, 3)));
}

TEST_F(ParameterPlanTest, McoreNamesWithAPrefix) {
  sources["model.decoder.final_layernorm.weight"] = {8};
  EXPECT_THAT(
      expectPlan("model.norm_out.weight", {8}),
      ElementsAre(rows("model.decoder.final_layernorm.weight", 0, 0, 8, 1)));
}

TEST_F(ParameterPlanTest, TiedHeadComesFromTheEmbedding) {
  sources["model.embed_tokens.weight"] = {100, 8};
  EXPECT_EQ(message(plan("output_layer.weight", {100, 8})),
            "no tensor for parameter 'output_layer.weight'; looked for "
            "lm_head.weight, transformer.output_layer.weight, "
            "output_layer.weight");
  layout.tiesWordEmbeddings = true;
  EXPECT_THAT(expectPlan("output_layer.weight", {100, 8}),
              ElementsAre(rows("model.embed_tokens.weight", 0, 0, 100)));
  sources["lm_head.weight"] = {100, 8};
  EXPECT_THAT(expectPlan("output_layer.weight", {100, 8}),
              ElementsAre(rows("lm_head.weight", 0, 0, 100)));
}

TEST_F(ParameterPlanTest, ShapesThatDoNotFit) {
  sources["model.layers.0.self_attn.q_proj.weight"] = {12, 9};
  sources["model.layers.0.mlp.gate_proj.weight"] = {6, 8};
  sources["model.norm.weight"] = {8, 1};
  EXPECT_THAT(message(plan("model.layers.0.attention.wq.weight", {12, 8})),
              HasSubstr("'model.layers.0.self_attn.q_proj.weight' has shape "
                        "[12, 9], which does not fit"));
  EXPECT_EQ(message(plan("model.layers.0.attention.wq.weight", {13, 8})),
            "tensor 'model.layers.0.attention.wq.weight': has 13 rows, "
            "expected 12 (6 heads and 2 key/value heads of size 2)");
  EXPECT_THAT(message(plan("model.layers.0.feed_forward.w1.weight", {5, 8})),
              HasSubstr("has shape [6, 8], which does not fit"));
  EXPECT_THAT(
      message(plan("model.layers.0.feed_forward.w_gate_hidden.weight", {5, 8})),
      HasSubstr("has 5 rows, expected a multiple of 2"));
  EXPECT_THAT(message(plan("model.norm_out.weight", {8})),
              HasSubstr("has shape [8, 1], which does not fit"));
  EXPECT_THAT(message(plan("model.norm_out.weight", {})),
              HasSubstr("has 0 dimensions"));
  EXPECT_THAT(message(plan("nothing.like.it", {5})),
              HasSubstr("no tensor 'nothing.like.it', and it is no name"));
  for (int64_t bad : {int64_t{0}, int64_t{4}, int64_t{-2}, INT64_MAX}) {
    layout.numKeyValueHeads = bad;
    EXPECT_THAT(message(plan("model.layers.0.attention.wq.weight", {12, 8})),
                HasSubstr("cannot be taken apart into 6 heads"));
  }
}

} // namespace
