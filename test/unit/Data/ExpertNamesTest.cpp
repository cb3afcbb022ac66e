//===- ExpertNamesTest.cpp - Experts, latent attention, prediction --------===//
// SPDX-License-Identifier: Apache-2.0

#include "ConversionTesting.h"
#include "gmock/gmock.h"

using namespace llvm;
using namespace mf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// Three layers and one that predicts; hidden size 4, three experts of width 2,
/// a shared one of width 6, two heads.
ParameterLayout makeLayout(bool isLatent) {
  ParameterLayout layout;
  layout.numHeads = 2;
  layout.numKeyValueHeads = 2;
  layout.headSize = 2;
  layout.numExperts = 3;
  layout.numLayers = 3;
  if (isLatent)
    layout.latent = LatentSizes{/*querySize=*/5, /*keyValueSize=*/7,
                                /*nopeSize=*/3, /*ropeSize=*/4,
                                /*valueSize=*/2};
  return layout;
}

constexpr StringLiteral deepSeek = R"(
  model.embed_tokens.weight 10x4
  lm_head.weight 10x4
  model.layers.{0,1,3}.self_attn.q_a_proj.weight 5x4
  model.layers.{0,1,3}.self_attn.q_a_layernorm.weight 5
  model.layers.{0,1,3}.self_attn.q_b_proj.weight 14x5
  model.layers.{0,1,3}.self_attn.kv_a_proj_with_mqa.weight 11x4
  model.layers.{0,1,3}.self_attn.kv_a_layernorm.weight 7
  model.layers.{0,1,3}.self_attn.kv_b_proj.weight 10x7
  model.layers.{0,1,3}.self_attn.o_proj.weight 4x4
  model.layers.{1,3}.mlp.gate.weight 3x4
  model.layers.{1,3}.mlp.gate.e_score_correction_bias 3
  model.layers.{1,3}.mlp.experts.{0,1,2}.{gate,up}_proj.weight 2x4
  model.layers.{1,3}.mlp.experts.{0,1,2}.down_proj.weight 4x2
  model.layers.{1,3}.mlp.shared_experts.{gate,up}_proj.weight 6x4
  model.layers.{1,3}.mlp.shared_experts.down_proj.weight 4x6
  model.layers.3.{enorm,hnorm}.weight 4
  model.layers.3.eh_proj.weight 4x8
  model.layers.3.shared_head.norm.weight 4)";

constexpr StringLiteral qwen2Moe = R"(
  model.layers.1.mlp.gate.weight 3x4
  model.layers.1.mlp.experts.{0,1,2}.{gate,up}_proj.weight 2x4
  model.layers.1.mlp.experts.{0,1,2}.down_proj.weight 4x2
  model.layers.1.mlp.shared_expert.{gate,up}_proj.weight 6x4
  model.layers.1.mlp.shared_expert.down_proj.weight 4x6
  model.layers.1.mlp.shared_expert_gate.weight 1x4)";

constexpr StringLiteral mixtral = R"(
  model.layers.1.self_attn.o_proj.weight 4x4
  model.layers.1.block_sparse_moe.gate.weight 3x4
  model.layers.1.block_sparse_moe.experts.0.{w1,w3}.weight 2x4
  model.layers.1.block_sparse_moe.experts.0.w2.weight 4x2
  model.layers.1.block_sparse_moe.experts.1.{w1,w3}.weight 2x4
  model.layers.1.block_sparse_moe.experts.1.w2.weight 4x2
  model.layers.1.block_sparse_moe.experts.2.{w1,w3}.weight 2x4
  model.layers.1.block_sparse_moe.experts.2.w2.weight 4x2)";

class ExpertNamesTest : public ConversionFixture {
protected:
  ExpertNamesTest() { layout = makeLayout(/*isLatent=*/false); }

  /// Converts tensors under Hugging Face's names to a scheme, in file "out".
  void convertTo(NameScheme scheme, StringRef tensors) {
    const std::vector<NamedShape> list = listTensors(tensors);
    write("in", list);
    ASSERT_EQ(convert("in", "out",
                      cantFail(convertParameterList(list, scheme, layout))),
              "");
  }
};

TEST_F(ExpertNamesTest, ThereAndBack) {
  for (NameScheme scheme :
       {NameScheme::Experts, NameScheme::ConcatenatedExperts,
        NameScheme::GroupedExperts, NameScheme::Mcore, NameScheme::HuggingFace,
        NameScheme::HuggingFaceDeepSeek})
    goThere(listTensors(mixtral), scheme);
  for (NameScheme scheme :
       {NameScheme::SharedExperts, NameScheme::GroupedSharedExperts,
        NameScheme::Mcore, NameScheme::HuggingFaceQwen2Moe})
    goThere(listTensors(qwen2Moe), scheme);
  layout = makeLayout(/*isLatent=*/true);
  for (NameScheme scheme :
       {NameScheme::SharedExperts, NameScheme::GroupedSharedExperts,
        NameScheme::Mcore, NameScheme::McoreSeparate,
        NameScheme::HuggingFaceDeepSeek})
    goThere(listTensors(deepSeek), scheme);
}

TEST_F(ExpertNamesTest, StacksExpertsOfACapacity) {
  const std::string prefix = "model.layers.1.feed_forward.";
  convertTo(NameScheme::Experts, mixtral);
  // After o_proj and the router 28 numbers are used up; an expert has 24.
  EXPECT_THAT(read("out", prefix + "ffn.w1.weight"),
              ElementsAre(29, 30, 31, 32, 33, 34, 35, 36, //
                          53, 54, 55, 56, 57, 58, 59, 60, //
                          77, 78, 79, 80, 81, 82, 83, 84));
  EXPECT_EQ(read("out", prefix + "ffn.w3.weight")[0], 37);
  EXPECT_EQ(read("out", prefix + "ffn.w2.weight")[0], 45);
  EXPECT_EQ(read("out", prefix + "router.dense.weight")[0], 17);
}

TEST_F(ExpertNamesTest, GatesAndUpsAreOneWeightOfExperts) {
  const std::string name =
      "model.layers.1.feed_forward.ffn.w_gate_hidden.weight";
  auto getFirst = [&](int64_t blocks) {
    layout.gateUpBlocks = blocks;
    convertTo(NameScheme::ConcatenatedExperts, mixtral);
    return ArrayRef(read("out", name)).take_front(16).vec();
  };
  EXPECT_THAT(getFirst(1), ElementsAre(29, 30, 31, 32, 33, 34, 35, 36, //
                                       37, 38, 39, 40, 41, 42, 43, 44));
  // Each of two ranks has the gate of its neuron, then its up.
  EXPECT_THAT(getFirst(2), ElementsAre(29, 30, 31, 32, 37, 38, 39, 40, //
                                       33, 34, 35, 36, 41, 42, 43, 44));
}

TEST_F(ExpertNamesTest, TransposesGroupedExperts) {
  for (auto [scheme, first, second] :
       {std::make_tuple(NameScheme::GroupedExperts,
                        "model.layers.1.feed_forward.ffn.w1",
                        "model.layers.1.feed_forward.ffn.w2"),
        std::make_tuple(NameScheme::Mcore,
                        "decoder.layers.1.mlp.experts.weight1",
                        "decoder.layers.1.mlp.experts.weight2")}) {
    convertTo(scheme, mixtral);
    // Row i has what input i is multiplied with: two gates, two ups.
    EXPECT_THAT(ArrayRef(read("out", first)).take_front(16).vec(),
                ElementsAre(29, 33, 37, 41, 30, 34, 38, 42, //
                            31, 35, 39, 43, 32, 36, 40, 44));
    EXPECT_THAT(ArrayRef(read("out", second)).take_front(8).vec(),
                ElementsAre(45, 47, 49, 51, 46, 48, 50, 52));
  }
}

TEST_F(ExpertNamesTest, LatentAttentionRotatesHalvesInOlderClasses) {
  layout = makeLayout(/*isLatent=*/true);
  const StringLiteral tensors = R"(
    model.layers.0.self_attn.q_b_proj.weight 14x1
    model.layers.0.self_attn.kv_a_proj_with_mqa.weight 11x1
    model.layers.0.self_attn.kv_b_proj.weight 10x1)";
  const std::string prefix = "model.layers.0.attention.";
  convertTo(NameScheme::SharedExperts, tensors);
  EXPECT_THAT(read("out", prefix + "l2q_nope_proj.weight"),
              ElementsAre(1, 2, 3, 8, 9, 10));
  EXPECT_THAT(read("out", prefix + "l2q_pe_proj.weight"),
              ElementsAre(4, 6, 5, 7, 11, 13, 12, 14));
  EXPECT_THAT(read("out", prefix + "kv2l_latent_kv.weight"),
              ElementsAre(15, 16, 17, 18, 19, 20, 21));
  EXPECT_THAT(read("out", prefix + "kv2l_k_pe.weight"),
              ElementsAre(22, 24, 23, 25));
  EXPECT_THAT(read("out", prefix + "lkv2kv_k_nope.weight"),
              ElementsAre(26, 27, 28, 31, 32, 33));
  EXPECT_THAT(read("out", prefix + "lkv2kv_v.weight"),
              ElementsAre(29, 30, 34, 35));
  // Mcore rotates pairs, as Hugging Face does.
  convertTo(NameScheme::McoreSeparate, tensors);
  EXPECT_THAT(
      read("out", "decoder.layers.0.self_attention.linear_q_up_proj.weight"),
      ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14));
}

TEST_F(ExpertNamesTest, QueriesWithoutALatentVector) {
  layout = makeLayout(/*isLatent=*/true);
  layout.latent->querySize = 0;
  EXPECT_THAT(translateParameterName("model.layers.0.self_attn.q_proj.weight",
                                     NameScheme::McoreSeparate, layout),
              ElementsAre("decoder.layers.0.self_attention."
                          "linear_q_proj.weight"));
  layout.latent.reset();
  EXPECT_THAT(translateParameterName("model.layers.0.self_attn.q_proj.weight",
                                     NameScheme::McoreSeparate, layout),
              ElementsAre("decoder.layers.0.self_attention.linear_qkv.weight"));
}

TEST_F(ExpertNamesTest, LayersThatPredictAreCountedBehindTheOthers) {
  layout = makeLayout(/*isLatent=*/true);
  auto translate = [&](StringRef name, NameScheme scheme) {
    return join(translateParameterName(name, scheme, layout), " ");
  };
  EXPECT_EQ(translate("model.layers.3.mlp.gate.weight", NameScheme::Mcore),
            "mtp.layers.0.transformer_layer.mlp.router.weight");
  EXPECT_EQ(translate("model.layers.2.mlp.gate.weight", NameScheme::Mcore),
            "decoder.layers.2.mlp.router.weight");
  EXPECT_EQ(translate("mtp.layers.1.transformer_layer.mlp.router.expert_bias",
                      NameScheme::HuggingFaceDeepSeek),
            "model.layers.4.mlp.gate.e_score_correction_bias");
  EXPECT_EQ(translate("model.mtp_hidden_fusers.0.dense.weight",
                      NameScheme::HuggingFaceDeepSeek),
            "model.layers.3.eh_proj.weight");
  EXPECT_EQ(translate("model.layers.3.shared_head.norm.weight",
                      NameScheme::GroupedExperts),
            "model.mtp_norms.0.weight");
  EXPECT_EQ(translate("model.layers.2.enorm.weight", NameScheme::Mcore), "");
  layout.numLayers = 0;
  EXPECT_EQ(translate("model.mtp_norms.0.weight", NameScheme::Mcore), "");
}

TEST_F(ExpertNamesTest, OlderClassesTakeTheHiddenStateFirst) {
  write("in", listTensors("model.layers.3.eh_proj.weight 2x4"));
  auto convertTo = [&](const std::string &name) {
    EXPECT_EQ(convert("in", "out", listTensors(name + " 2x4")), "");
    return read("out", name);
  };
  EXPECT_THAT(convertTo("model.mtp_hidden_fusers.0.dense.weight"),
              ElementsAre(3, 4, 1, 2, 7, 8, 5, 6));
  EXPECT_THAT(convertTo("mtp.layers.0.eh_proj.weight"),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST_F(ExpertNamesTest, CopiesOfEmbeddingAndHead) {
  layout = makeLayout(/*isLatent=*/true);
  std::vector<NamedShape> whole = cantFail(convertParameterList(
      listTensors(deepSeek), NameScheme::HuggingFaceDeepSeek, layout));
  ASSERT_EQ(whole.size(), listTensors(deepSeek).size() + 2);
  EXPECT_EQ(whole.back().name, "model.layers.3.shared_head.head.weight");
  write("in", listTensors(deepSeek));
  ASSERT_EQ(convert("in", "whole", whole), "");
  EXPECT_EQ(read("whole", "model.layers.3.embed_tokens.weight"),
            read("whole", "model.embed_tokens.weight"));
  EXPECT_EQ(read("whole", "model.layers.3.shared_head.head.weight"),
            read("whole", "lm_head.weight"));
  // They are left out again, but not if they are none.
  EXPECT_EQ(convert("whole", "back", listTensors(deepSeek)), "");
  write("whole", whole);
  EXPECT_EQ(convert("whole", "back", listTensors(deepSeek)),
            "no parameter of the model takes "
            "'model.layers.3.embed_tokens.weight', "
            "'model.layers.3.shared_head.head.weight'");
}

TEST_F(ExpertNamesTest, Faults) {
  std::vector<NamedShape> list = listTensors(mixtral);
  const std::vector<NamedShape> stacked =
      cantFail(convertParameterList(list, NameScheme::GroupedExperts, layout));
  list.pop_back();
  write("in", list);
  EXPECT_EQ(convert("in", "out", stacked),
            "no tensor for parameter 'model.layers.1.feed_forward.ffn.w2'; "
            "looked for model.layers.1.block_sparse_moe.experts.2.w2.weight, "
            "since there is one for expert 0");
  list = listTensors(mixtral);
  list.push_back({"model.layers.1.block_sparse_moe.experts.3.w2.weight",
                  {DType::F32, {4, 2}}});
  write("in", list);
  EXPECT_EQ(convert("in", "out", stacked),
            "no parameter of the model takes "
            "'model.layers.1.block_sparse_moe.experts.3.w2.weight'");
  list = listTensors(mixtral);
  list.back().shape.dims = {2, 4};
  write("in", list);
  EXPECT_EQ(convert("in", "out", stacked),
            "tensor 'model.layers.1.block_sparse_moe.experts.2.w2.weight' has "
            "shape [2, 4], which does not fit parameter "
            "'model.layers.1.feed_forward.ffn.w2' of shape [3, 2, 4]");
  list = listTensors(mixtral);
  write("in", list);
  for (const TensorShape &shape : {TensorShape{DType::F32, {2, 4, 4}},
                                   {DType::F32, {3, 4, 3}},
                                   {DType::F32, {12, 4}},
                                   {DType::F32, {}}})
    EXPECT_THAT(
        convert("in", "out",
                NamedShape{"model.layers.1.feed_forward.ffn.w1", shape}),
        HasSubstr("tensor 'model.layers.1.feed_forward.ffn.w1': has "));
  EXPECT_THAT(message(convertParameterList(
                  {{"model.layers.1.mlp.shared_expert_gate.weight",
                    {DType::F32, {1, 4}}}},
                  NameScheme::HuggingFaceMixtral, layout)),
              HasSubstr("has no name in the scheme HuggingFaceMixtral"));
  for (StringRef name :
       {"model.layers.1.mlp.experts.x.gate_proj.weight",
        "model.layers.1.mlp.experts..gate_proj.weight",
        "model.layers.1.mlp.experts.01.gate_proj.weight",
        "mtp.layers.99999999999999999999.hnorm.weight",
        "mtp.layers.9223372036854775807.hnorm.weight",
        "mtp.layers.9223372036854775807.transformer_layer.mlp.router.weight",
        "model.layers.1.feed_forward.ffn.w1.bias"})
    EXPECT_THAT(translateParameterName(name, NameScheme::HuggingFace, layout),
                IsEmpty())
        << name.str();
}

TEST_F(ExpertNamesTest, LatentSizesThatDoNotFit) {
  layout = makeLayout(/*isLatent=*/true);
  auto list = [&](const char *name, int64_t rows) {
    return message(convertParameterList({{name, {DType::F32, {rows, 4}}}},
                                        NameScheme::HuggingFaceDeepSeek,
                                        layout));
  };
  const char *name = "decoder.layers.0.self_attention.linear_qkv.weight";
  EXPECT_EQ(list(name, 16), "");
  EXPECT_EQ(list(name, 17),
            "tensor 'decoder.layers.0.self_attention.linear_qkv.weight': has "
            "17 rows, expected 16 (2 heads of size 3 and 4, values of size 2, "
            "latent sizes 5 and 7)");
  for (int64_t bad : {int64_t{0}, int64_t{3}, int64_t{-2}, INT64_MAX}) {
    layout.latent->ropeSize = bad;
    EXPECT_THAT(list(name, 16), HasSubstr("cannot be taken apart into"));
  }
}

} // namespace
