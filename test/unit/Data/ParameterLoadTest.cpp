//===- ParameterLoadTest.cpp  ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ConversionTesting.h"
#include "gmock/gmock.h"

using namespace llvm;
using namespace mf;
using testing::HasSubstr;

namespace {

/// Four heads of size 2, two of keys and values.
class ParameterLoadTest : public ConversionFixture {
protected:
  ParameterLoadTest() {
    layout.numHeads = 4;
    layout.numKeyValueHeads = 2;
    layout.headSize = 2;
  }
};

/// The parameters of two layers, hidden size 8, feed forward 6.
constexpr StringLiteral parameters = R"(
  model.tok_embeddings.embedding_weight 10x8
  model.layers.{0,1}.attention_norm.weight 8
  model.layers.{0,1}.attention.{wq,wo}.weight 8x8
  model.layers.{0,1}.attention.wq.bias 8
  model.layers.{0,1}.attention.{wk,wv}.weight 4x8
  model.layers.{0,1}.attention.{wk,wv}.bias 4
  model.layers.{0,1}.ffn_norm.weight 8
  model.layers.{0,1}.feed_forward.{w1,w3}.weight 6x8
  model.layers.{0,1}.feed_forward.w2.weight 8x6
  model.norm_out.weight 8
  lm_head.weight 10x8)";

TEST_F(ParameterLoadTest, ThereAndBackThroughEveryScheme) {
  for (const NameSchemeRecord &record : getNameSchemes()) {
    const NameScheme scheme = record.scheme;
    // The first GLM and GPT-2 have no gate.
    if (is_contained({NameScheme::Glm, NameScheme::HuggingFaceGlm,
                      NameScheme::Gpt2, NameScheme::HuggingFaceGpt2},
                     scheme))
      continue;
    goThere(listTensors(parameters), scheme);
    EXPECT_EQ(
        readFile(directory.path("expected")) ==
            readFile(directory.path("other")),
        is_contained({NameScheme::Llama, NameScheme::Experts,
                      NameScheme::SharedExperts, NameScheme::GroupedExperts,
                      NameScheme::GroupedSharedExperts},
                     scheme));
  }
}

TEST_F(ParameterLoadTest, ListsOfConcatenatedTensors) {
  const std::vector<NamedShape> list = listTensors(R"(
    model.layers.0.attention.wq.weight 8x8xbf16
    model.layers.0.attention.{wk,wv}.weight 4x8xbf16
    model.layers.0.feed_forward.{w1,w3}.weight 6x8xbf16)");
  Expected<std::vector<NamedShape>> concatenated =
      convertParameterList(list, NameScheme::LlamaConcatenated, layout);
  ASSERT_TRUE(bool(concatenated)) << message(std::move(concatenated));
  EXPECT_EQ(*concatenated, listTensors(R"(
    model.layers.0.attention.w_qkv.weight 16x8xbf16
    model.layers.0.feed_forward.w_gate_hidden.weight 12x8xbf16)"));
  EXPECT_EQ(
      cantFail(convertParameterList(*concatenated, NameScheme::Llama, layout)),
      list);
  auto getError = [&](StringRef tensor) {
    return message(
        convertParameterList(listTensors(tensor), NameScheme::Llama, layout));
  };
  EXPECT_THAT(getError("decoder.layers.0.self_attention.q_layernorm.weight 2"),
              HasSubstr("has no name in the scheme Llama"));
  EXPECT_THAT(getError("x 2"), HasSubstr("parameter 'x' has no name"));
}

} // namespace
