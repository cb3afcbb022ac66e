//===- ExpertNamesTest.cpp - Experts, latent attention, prediction --------===//
// SPDX-License-Identifier: Apache-2.0

#include "TestFiles.h"
#include "mf/Exec/Data/CheckpointConversion.h"
#include "mf/Exec/Data/SafetensorsWriter.h"
#include "gmock/gmock.h"
#include <cstring>

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

/// Names and shapes under Hugging Face's names.
class Listing {
public:
  void add(const Twine &name, std::initializer_list<int64_t> dims) {
    list.push_back({name.str(), {DType::F32, dims}});
  }

  void addExperts(const Twine &prefix, StringRef gate, StringRef up,
                  StringRef down) {
    for (int expert = 0; expert < 3; ++expert) {
      const std::string own = (prefix + Twine(expert) + ".").str();
      add(own + gate + ".weight", {2, 4});
      add(own + up + ".weight", {2, 4});
      add(own + down + ".weight", {4, 2});
    }
  }

  void addShared(const std::string &prefix) {
    add(prefix + "gate_proj.weight", {6, 4});
    add(prefix + "up_proj.weight", {6, 4});
    add(prefix + "down_proj.weight", {4, 6});
  }

  void addLatent(const std::string &layer) {
    const std::string prefix = layer + "self_attn.";
    add(prefix + "q_a_proj.weight", {5, 4});
    add(prefix + "q_a_layernorm.weight", {5});
    add(prefix + "q_b_proj.weight", {14, 5});
    add(prefix + "kv_a_proj_with_mqa.weight", {11, 4});
    add(prefix + "kv_a_layernorm.weight", {7});
    add(prefix + "kv_b_proj.weight", {10, 7});
    add(prefix + "o_proj.weight", {4, 4});
  }

  void addDeepSeekLayer(const std::string &layer) {
    addLatent(layer);
    add(layer + "mlp.gate.weight", {3, 4});
    add(layer + "mlp.gate.e_score_correction_bias", {3});
    addExperts(layer + "mlp.experts.", "gate_proj", "up_proj", "down_proj");
    addShared(layer + "mlp.shared_experts.");
  }

  std::vector<NamedShape> list;
};

std::vector<NamedShape> listDeepSeek() {
  Listing listing;
  listing.add("model.embed_tokens.weight", {10, 4});
  listing.add("lm_head.weight", {10, 4});
  listing.addLatent("model.layers.0.");
  listing.addDeepSeekLayer("model.layers.1.");
  listing.addDeepSeekLayer("model.layers.3.");
  listing.add("model.layers.3.enorm.weight", {4});
  listing.add("model.layers.3.hnorm.weight", {4});
  listing.add("model.layers.3.eh_proj.weight", {4, 8});
  listing.add("model.layers.3.shared_head.norm.weight", {4});
  return std::move(listing.list);
}

std::vector<NamedShape> listQwen2Moe() {
  Listing listing;
  listing.add("model.layers.1.mlp.gate.weight", {3, 4});
  listing.addExperts("model.layers.1.mlp.experts.", "gate_proj", "up_proj",
                     "down_proj");
  listing.addShared("model.layers.1.mlp.shared_expert.");
  listing.add("model.layers.1.mlp.shared_expert_gate.weight", {1, 4});
  return std::move(listing.list);
}

std::vector<NamedShape> listMixtral() {
  Listing listing;
  listing.add("model.layers.1.self_attn.o_proj.weight", {4, 4});
  listing.add("model.layers.1.block_sparse_moe.gate.weight", {3, 4});
  listing.addExperts("model.layers.1.block_sparse_moe.experts.", "w1", "w3",
                     "w2");
  return std::move(listing.list);
}

/// Tensors by name, each element a number of its own.
class ExpertNamesTest : public testing::Test {
protected:
  void write(const std::string &file, ArrayRef<NamedShape> list) {
    std::vector<NamedTensor> tensors;
    std::vector<std::vector<float>> storage;
    float next = 0;
    for (const NamedShape &shape : list) {
      storage.emplace_back(shape.shape.getNumElements());
      for (float &value : storage.back())
        value = ++next;
      tensors.push_back(
          {shape.name,
           shape.shape,
           {reinterpret_cast<const uint8_t *>(storage.back().data()),
            storage.back().size() * sizeof(float)}});
    }
    cantFail(writeSafetensors(directory.path(file), tensors));
  }

  std::string convert(const std::string &from, const std::string &to,
                      ArrayRef<NamedShape> targets) {
    CheckpointConversion conversion;
    conversion.layout = layout;
    conversion.targets = targets.vec();
    return message(convertCheckpoint(
        cantFail(SafetensorsCheckpoint::open(directory.path(from))), conversion,
        directory.path(to)));
  }

  std::vector<float> read(const std::string &file, StringRef name) {
    SafetensorsFile opened =
        cantFail(SafetensorsFile::open(directory.path(file)));
    const TensorView view = cantFail(opened.find(name));
    std::vector<float> values(view.shape.getNumElements());
    std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
    return values;
  }

  /// `list` as `scheme` and back.
  void goThere(ArrayRef<NamedShape> list, NameScheme scheme) {
    Expected<std::vector<NamedShape>> other =
        convertParameterList(list, scheme, layout);
    ASSERT_TRUE(bool(other)) << message(std::move(other));
    write("own", list);
    ASSERT_EQ(convert("own", "other", *other), "") << getName(scheme).str();
    ASSERT_EQ(convert("other", "back", list), "") << getName(scheme).str();
    write("expected", list);
    ASSERT_EQ(convert("expected", "again", list), "");
    EXPECT_EQ(readFile(directory.path("again")),
              readFile(directory.path("back")))
        << getName(scheme).str();
  }

  TemporaryDirectory directory;
  ParameterLayout layout = makeLayout(/*isLatent=*/false);
};

TEST_F(ExpertNamesTest, ThereAndBack) {
  for (NameScheme scheme :
       {NameScheme::Experts, NameScheme::ConcatenatedExperts,
        NameScheme::GroupedExperts, NameScheme::Mcore, NameScheme::HuggingFace,
        NameScheme::HuggingFaceDeepSeek})
    goThere(listMixtral(), scheme);
  for (NameScheme scheme :
       {NameScheme::SharedExperts, NameScheme::GroupedSharedExperts,
        NameScheme::Mcore, NameScheme::HuggingFaceQwen2Moe})
    goThere(listQwen2Moe(), scheme);
  layout = makeLayout(/*isLatent=*/true);
  for (NameScheme scheme :
       {NameScheme::SharedExperts, NameScheme::GroupedSharedExperts,
        NameScheme::Mcore, NameScheme::McoreSeparate,
        NameScheme::HuggingFaceDeepSeek})
    goThere(listDeepSeek(), scheme);
}

TEST_F(ExpertNamesTest, StacksExpertsOfACapacity) {
  const std::string prefix = "model.layers.1.feed_forward.";
  write("in", listMixtral());
  ASSERT_EQ(convert("in", "out",
                    cantFail(convertParameterList(
                        listMixtral(), NameScheme::Experts, layout))),
            "");
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
  write("in", listMixtral());
  auto getFirst = [&](int64_t blocks) {
    layout.gateUpBlocks = blocks;
    EXPECT_EQ(
        convert("in", "out",
                cantFail(convertParameterList(
                    listMixtral(), NameScheme::ConcatenatedExperts, layout))),
        "");
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
    write("in", listMixtral());
    ASSERT_EQ(
        convert("in", "out",
                cantFail(convertParameterList(listMixtral(), scheme, layout))),
        "");
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
  const std::string query = "model.layers.0.self_attn.q_b_proj.weight";
  Listing listing;
  listing.add(query, {14, 1});
  listing.add("model.layers.0.self_attn.kv_a_proj_with_mqa.weight", {11, 1});
  listing.add("model.layers.0.self_attn.kv_b_proj.weight", {10, 1});
  write("in", listing.list);
  const std::string prefix = "model.layers.0.attention.";
  ASSERT_EQ(convert("in", "out",
                    cantFail(convertParameterList(
                        listing.list, NameScheme::SharedExperts, layout))),
            "");
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
  ASSERT_EQ(convert("in", "out",
                    cantFail(convertParameterList(
                        listing.list, NameScheme::McoreSeparate, layout))),
            "");
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
  Listing listing;
  listing.add("model.layers.3.eh_proj.weight", {2, 4});
  write("in", listing.list);
  ASSERT_EQ(convert("in", "out",
                    {{"model.mtp_hidden_fusers.0.dense.weight",
                      {DType::F32, {2, 4}}}}),
            "");
  EXPECT_THAT(read("out", "model.mtp_hidden_fusers.0.dense.weight"),
              ElementsAre(3, 4, 1, 2, 7, 8, 5, 6));
  ASSERT_EQ(convert("in", "out",
                    {{"mtp.layers.0.eh_proj.weight", {DType::F32, {2, 4}}}}),
            "");
  EXPECT_THAT(read("out", "mtp.layers.0.eh_proj.weight"),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST_F(ExpertNamesTest, CopiesOfEmbeddingAndHead) {
  layout = makeLayout(/*isLatent=*/true);
  std::vector<NamedShape> whole = cantFail(convertParameterList(
      listDeepSeek(), NameScheme::HuggingFaceDeepSeek, layout));
  ASSERT_EQ(whole.size(), listDeepSeek().size() + 2);
  EXPECT_EQ(whole.back().name, "model.layers.3.shared_head.head.weight");
  write("in", listDeepSeek());
  ASSERT_EQ(convert("in", "whole", whole), "");
  EXPECT_EQ(read("whole", "model.layers.3.embed_tokens.weight"),
            read("whole", "model.embed_tokens.weight"));
  EXPECT_EQ(read("whole", "model.layers.3.shared_head.head.weight"),
            read("whole", "lm_head.weight"));
  // They are left out again, but not if they are none.
  EXPECT_EQ(convert("whole", "back", listDeepSeek()), "");
  write("whole", whole);
  EXPECT_EQ(convert("whole", "back", listDeepSeek()),
            "no parameter of the model takes "
            "'model.layers.3.embed_tokens.weight', "
            "'model.layers.3.shared_head.head.weight'");
}

TEST_F(ExpertNamesTest, Faults) {
  std::vector<NamedShape> list = listMixtral();
  const std::vector<NamedShape> stacked =
      cantFail(convertParameterList(list, NameScheme::GroupedExperts, layout));
  list.pop_back();
  write("in", list);
  EXPECT_EQ(convert("in", "out", stacked),
            "no tensor for parameter 'model.layers.1.feed_forward.ffn.w2'; "
            "looked for model.layers.1.block_sparse_moe.experts.2.w2.weight, "
            "since there is one for expert 0");
  list = listMixtral();
  list.push_back({"model.layers.1.block_sparse_moe.experts.3.w2.weight",
                  {DType::F32, {4, 2}}});
  write("in", list);
  EXPECT_EQ(convert("in", "out", stacked),
            "no parameter of the model takes "
            "'model.layers.1.block_sparse_moe.experts.3.w2.weight'");
  list = listMixtral();
  list.back().shape.dims = {2, 4};
  write("in", list);
  EXPECT_EQ(convert("in", "out", stacked),
            "tensor 'model.layers.1.block_sparse_moe.experts.2.w2.weight' has "
            "shape [2, 4], which does not fit parameter "
            "'model.layers.1.feed_forward.ffn.w2' of shape [3, 2, 4]");
  list = listMixtral();
  write("in", list);
  const std::vector<SmallVector<int64_t, 4>> wrong = {
      {2, 4, 4}, {3, 4, 3}, {12, 4}, {}};
  for (const SmallVector<int64_t, 4> &dims : wrong) {
    NamedShape target = {"model.layers.1.feed_forward.ffn.w1",
                         {DType::F32, {}}};
    append_range(target.shape.dims, dims);
    EXPECT_THAT(convert("in", "out", target),
                HasSubstr("tensor 'model.layers.1.feed_forward.ffn.w1': has "));
  }
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
