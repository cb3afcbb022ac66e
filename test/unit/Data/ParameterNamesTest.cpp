//===- ParameterNamesTest.cpp ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/ParameterNames.h"
#include "TestFiles.h"
#include "gmock/gmock.h"

using namespace llvm;
using namespace mf;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

std::string translate(StringRef name, NameScheme scheme) {
  return join(translateParameterName(name, scheme), " ");
}

TEST(ParameterNamesTest, LlamaAndHuggingFace) {
  const std::pair<const char *, const char *> pairs[] = {
      {"model.tok_embeddings.embedding_weight", "model.embed_tokens.weight"},
      {"model.layers.7.attention_norm.weight",
       "model.layers.7.input_layernorm.weight"},
      {"model.layers.7.attention.wq.weight",
       "model.layers.7.self_attn.q_proj.weight"},
      {"model.layers.7.attention.wk.bias",
       "model.layers.7.self_attn.k_proj.bias"},
      {"model.layers.7.attention.wv.weight",
       "model.layers.7.self_attn.v_proj.weight"},
      {"model.layers.7.attention.wo.weight",
       "model.layers.7.self_attn.o_proj.weight"},
      {"model.layers.7.ffn_norm.weight",
       "model.layers.7.post_attention_layernorm.weight"},
      {"model.layers.10.feed_forward.w1.weight",
       "model.layers.10.mlp.gate_proj.weight"},
      {"model.layers.10.feed_forward.w3.weight",
       "model.layers.10.mlp.up_proj.weight"},
      {"model.layers.10.feed_forward.w2.weight",
       "model.layers.10.mlp.down_proj.weight"},
      {"model.norm_out.weight", "model.norm.weight"},
      {"lm_head.weight", "lm_head.weight"}};
  for (const auto &[mindSpore, huggingFace] : pairs) {
    EXPECT_EQ(translate(mindSpore, NameScheme::HuggingFace), huggingFace);
    EXPECT_EQ(translate(huggingFace, NameScheme::Llama), mindSpore);
  }
}

TEST(ParameterNamesTest, ConcatenatedNamesAreSeveral) {
  EXPECT_THAT(translateParameterName("model.layers.0.attention.w_qkv.bias",
                                     NameScheme::HuggingFace),
              ElementsAre("model.layers.0.self_attn.q_proj.bias",
                          "model.layers.0.self_attn.k_proj.bias",
                          "model.layers.0.self_attn.v_proj.bias"));
  EXPECT_THAT(
      translateParameterName("model.layers.0.feed_forward.w_gate_hidden.weight",
                             NameScheme::HuggingFace),
      ElementsAre("model.layers.0.mlp.gate_proj.weight",
                  "model.layers.0.mlp.up_proj.weight"));
  EXPECT_EQ(translate("model.layers.0.self_attn.v_proj.bias",
                      NameScheme::LlamaConcatenated),
            "model.layers.0.attention.w_qkv.bias");
  EXPECT_THAT(translateParameterName("model.layers.3.attention.w_qkv.weight",
                                     NameScheme::Telechat),
              ElementsAre("model.layers.3.attention.wq.weight",
                          "model.layers.3.attention.wk_v.weight"));
}

TEST(ParameterNamesTest, WrappedModelsWithSeparateProjections) {
  ParameterLayout layout;
  layout.latent.emplace().querySize = 5;
  EXPECT_THAT(translateParameterName("model.decoder.layers.2.self_attention."
                                     "linear_q_down_proj.weight",
                                     NameScheme::HuggingFaceDeepSeek, layout),
              ElementsAre("model.layers.2.self_attn.q_a_proj.weight"));
}

TEST(ParameterNamesTest, OtherFamilies) {
  EXPECT_EQ(translate("model.decoder.layers.2.self_attention.linear_qkv.weight",
                      NameScheme::LlamaConcatenated),
            "model.layers.2.attention.w_qkv.weight");
  EXPECT_EQ(translate("decoder.layers.2.self_attention.q_layernorm.weight",
                      NameScheme::HuggingFace),
            "model.layers.2.self_attn.q_norm.weight");
  EXPECT_EQ(translate("model.layers.2.post_attention_layernorm.weight",
                      NameScheme::Mcore),
            "decoder.layers.2.pre_mlp_layernorm.weight");
  EXPECT_EQ(translate("transformer.embedding.word_embeddings.weight",
                      NameScheme::ChatGlm),
            "transformer.embedding.embedding_weight");
  EXPECT_EQ(translate("transformer.encoder.layers.2.mlp.dense_h_to_4h.weight",
                      NameScheme::ChatGlmSeparate),
            "transformer.encoder.layers.2.mlp.dense_left.weight "
            "transformer.encoder.layers.2.mlp.dense_right.weight");
  EXPECT_EQ(translate("transformer.h.2.attn.c_proj.weight", NameScheme::Qwen),
            "transformer.layers.2.attention.wo.weight");
  EXPECT_EQ(translate("transformer.h.2.mlp.w2.weight", NameScheme::Qwen),
            "transformer.layers.2.feed_forward.w1.weight");
}

TEST(ParameterNamesTest, NormsOfTheFirstGlmHaveGammaAndBeta) {
  for (auto [ours, theirs] :
       {std::pair("word_embeddings.embedding_table", "word_embeddings.weight"),
        std::pair("layers.2.input_layernorm.gamma",
                  "layers.2.input_layernorm.weight"),
        std::pair("layers.2.input_layernorm.beta",
                  "layers.2.input_layernorm.bias"),
        std::pair("layers.2.attention.query_key_value.bias",
                  "layers.2.attention.query_key_value.bias"),
        std::pair("layers.2.post_attention_layernorm.beta",
                  "layers.2.post_attention_layernorm.bias"),
        std::pair("layers.2.mlp.dense_h_to_4h.weight",
                  "layers.2.mlp.dense_h_to_4h.weight"),
        std::pair("final_layernorm.gamma", "final_layernorm.weight")}) {
    const std::string here = std::string("transformer.") + ours;
    const std::string there = std::string("transformer.") + theirs;
    EXPECT_EQ(translate(here, NameScheme::HuggingFaceGlm), there);
    EXPECT_EQ(translate(there, NameScheme::Glm), here);
  }
}

/// The first GLM has no gate.
static bool isOfGlm(NameScheme scheme) {
  return scheme == NameScheme::Glm || scheme == NameScheme::HuggingFaceGlm;
}

TEST(ParameterNamesTest, Gpt2HasQueriesKeysAndValuesInOneTransposedTensor) {
  ParameterLayout layout;
  layout.numHeads = layout.numKeyValueHeads = 2;
  layout.headSize = 2;
  layout.transposesQueries = true;
  auto convert = [&](StringRef name, NameScheme scheme) {
    return join(translateParameterName(name, scheme, layout), " ");
  };
  for (auto [ours, theirs] :
       {std::pair("embedding.position_embedding.embedding_table", "wpe.weight"),
        std::pair("blocks.3.layernorm1.beta", "h.3.ln_1.bias"),
        std::pair("blocks.3.attention.projection.weight",
                  "h.3.attn.c_proj.weight"),
        std::pair("blocks.3.layernorm2.gamma", "h.3.ln_2.weight"),
        std::pair("blocks.3.output.mapping.bias", "h.3.mlp.c_fc.bias"),
        std::pair("blocks.3.output.projection.weight", "h.3.mlp.c_proj.weight"),
        std::pair("layernorm.beta", "ln_f.bias")}) {
    const std::string here = std::string("backbone.") + ours;
    const std::string there = std::string("transformer.") + theirs;
    EXPECT_EQ(convert(here, NameScheme::HuggingFaceGpt2), there);
    EXPECT_EQ(convert(there, NameScheme::Gpt2), here);
  }
  const std::string blocks = "backbone.blocks.0.attention.dense";
  EXPECT_EQ(convert("transformer.h.0.attn.c_attn.bias", NameScheme::Gpt2),
            blocks + "1.bias " + blocks + "2.bias " + blocks + "3.bias");

  // Rows of the key are columns behind those of the query.
  const std::vector<int64_t> packed = {4, 12};
  Expected<std::vector<BlockCopy>> copies = planParameter(
      blocks + "2.weight", {4, 4},
      [&](StringRef name) -> std::optional<ArrayRef<int64_t>> {
        // As in the files of the first release.
        if (name == "h.0.attn.c_attn.weight")
          return ArrayRef(packed);
        return std::nullopt;
      },
      layout);
  ASSERT_TRUE(bool(copies)) << toString(copies.takeError());
  EXPECT_THAT(*copies,
              ElementsAre(BlockCopy{
                  "h.0.attn.c_attn.weight", 4, 4, {4, 1, 12}, {0, 4, 1}}));
}

TEST(ParameterNamesTest, EachSchemeIsCompleteAndItsOwnInverse) {
  using Part = ParameterPart;
  // Every part of a layer, from the names of the two that have them all.
  std::vector<std::string> names = {"model.embed_tokens.weight",
                                    "model.norm.weight", "lm_head.weight"};
  for (const char *leaf :
       {"input_layernorm.weight", "self_attn.q_proj.weight",
        "self_attn.k_proj.weight", "self_attn.v_proj.weight",
        "self_attn.o_proj.weight", "self_attn.q_proj.bias",
        "post_attention_layernorm.weight", "mlp.gate_proj.weight",
        "mlp.up_proj.weight", "mlp.down_proj.weight"})
    names.push_back("model.layers.31." + std::string(leaf));
  for (const NameSchemeRecord &record : getNameSchemes())
    for (const std::string &name : names) {
      const NameScheme scheme = record.scheme;
      if (isOfGlm(scheme) && name.find("mlp.gate_proj") != std::string::npos)
        continue;
      // Tested above: the attention is of another kind.
      if (scheme == NameScheme::Gpt2 || scheme == NameScheme::HuggingFaceGpt2)
        continue;
      const std::vector<std::string> translated =
          translateParameterName(name, scheme);
      ASSERT_EQ(translated.size(), 1u) << getName(scheme).str() << name;
      EXPECT_THAT(
          translateParameterName(translated[0], NameScheme::HuggingFace),
          testing::Contains(name))
          << getName(scheme).str();
      EXPECT_THAT(translateParameterName(translated[0], scheme),
                  ElementsAre(translated[0]));
      EXPECT_EQ(parseParameterName(translated[0])->layer,
                parseParameterName(name)->layer);
    }
  EXPECT_THAT(parseParameterName("model.layers.0.attention.w_qkv.bias")->parts,
              ElementsAre(Part::Query, Part::Key, Part::Value));
  EXPECT_TRUE(
      parseParameterName("model.layers.0.attention.w_qkv.bias")->isBias);
}

TEST(ParameterNamesTest, UnknownNames) {
  for (const char *name :
       {"", "model", "model.layers", "model.layers.0",
        "model.layers..attention", "model.layers.01.attention.wq.weight",
        "model.layers.-1.attention.wq.weight",
        "model.layers.99999999999999999999.attention.wq.weight",
        "model.layers.0.attention.wq", "model.layers.0.attention.wq.",
        "model.layers.0.attention.wq.gamma",
        "model.layers.0.attention.wq.weight.x",
        "model.layers.0.attention_norm.bias", "model.model.norm.weight",
        "model.lm_head.weight", "adam_m.model.norm_out.weight"}) {
    EXPECT_FALSE(parseParameterName(name).has_value()) << name;
    EXPECT_THAT(translateParameterName(name, NameScheme::Llama), IsEmpty());
  }
  // Llama's classes have no norm of query heads.
  EXPECT_THAT(translateParameterName("model.layers.0.self_attn.q_norm.weight",
                                     NameScheme::Llama),
              IsEmpty());
}

} // namespace
