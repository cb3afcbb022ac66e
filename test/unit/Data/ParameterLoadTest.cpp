//===- ParameterLoadTest.cpp  ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TestFiles.h"
#include "mf/Exec/Data/CheckpointConversion.h"
#include "mf/Exec/Data/SafetensorsWriter.h"
#include "gmock/gmock.h"

using namespace llvm;
using namespace mf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Writes a model under one scheme, reads it under another, and back.
class ParameterLoadTest : public testing::Test {
protected:
  static ParameterLayout makeLayout() {
    ParameterLayout layout;
    layout.numHeads = 4;
    layout.numKeyValueHeads = 2;
    layout.headSize = 2;
    return layout;
  }

  /// The parameters of two layers, hidden size 8, feed forward 6.
  static std::vector<NamedShape> listParameters() {
    std::vector<NamedShape> list = {
        {"model.tok_embeddings.embedding_weight", {DType::F32, {10, 8}}}};
    for (const char *layer : {"0", "1"}) {
      const std::string prefix = std::string("model.layers.") + layer + ".";
      auto add = [&](const std::string &name,
                     std::initializer_list<int64_t> dims) {
        list.push_back({prefix + name, {DType::F32, dims}});
      };
      add("attention_norm.weight", {8});
      add("attention.wq.weight", {8, 8});
      add("attention.wq.bias", {8});
      add("attention.wk.weight", {4, 8});
      add("attention.wk.bias", {4});
      add("attention.wv.weight", {4, 8});
      add("attention.wv.bias", {4});
      add("attention.wo.weight", {8, 8});
      add("ffn_norm.weight", {8});
      add("feed_forward.w1.weight", {6, 8});
      add("feed_forward.w3.weight", {6, 8});
      add("feed_forward.w2.weight", {8, 6});
    }
    list.push_back({"model.norm_out.weight", {DType::F32, {8}}});
    list.push_back({"lm_head.weight", {DType::F32, {10, 8}}});
    return list;
  }

  /// Writes what `list` becomes when it is assembled from `checkpoint`.
  void rewrite(const SafetensorsCheckpoint &checkpoint,
               const std::vector<NamedShape> &list, const std::string &file) {
    ASSERT_EQ(message(convertCheckpoint(checkpoint,
                                        {list, makeLayout(), DType::F32, "pt"},
                                        directory.path(file))),
              "");
  }

  SafetensorsCheckpoint open(const std::string &file) {
    return cantFail(SafetensorsCheckpoint::open(directory.path(file)));
  }

  TemporaryDirectory directory;
};

TEST_F(ParameterLoadTest, ThereAndBackThroughEveryScheme) {
  const std::vector<NamedShape> list = listParameters();
  std::vector<std::vector<uint8_t>> storage;
  std::vector<NamedTensor> tensors;
  uint32_t next = 0;
  for (const NamedShape &parameter : list) {
    std::string bytes; // a different value everywhere, none of them a NaN
    for (int64_t i = 0; i < parameter.shape.getNumElements(); ++i)
      bytes += littleEndian(0x3F800000 + next++, 4);
    storage.emplace_back(bytes.begin(), bytes.end());
    tensors.push_back({parameter.name, parameter.shape, {}});
  }
  for (size_t i = 0; i < tensors.size(); ++i)
    tensors[i].bytes = storage[i];
  ASSERT_EQ(message(writeSafetensors(directory.path("values"), tensors)), "");
  rewrite(open("values"), list, "own");

  for (const NameSchemeRecord &record : getNameSchemes()) {
    const NameScheme scheme = record.scheme;
    // The first GLM and GPT-2 have no gate.
    if (is_contained({NameScheme::Glm, NameScheme::HuggingFaceGlm,
                      NameScheme::Gpt2, NameScheme::HuggingFaceGpt2},
                     scheme))
      continue;
    Expected<std::vector<NamedShape>> other =
        convertParameterList(list, scheme, makeLayout());
    ASSERT_TRUE(bool(other)) << message(std::move(other));
    rewrite(open("own"), *other, "other");
    rewrite(open("other"), list, "back");
    EXPECT_EQ(readFile(directory.path("own")), readFile(directory.path("back")))
        << getName(scheme).str();
    EXPECT_EQ(
        readFile(directory.path("own")) == readFile(directory.path("other")),
        is_contained({NameScheme::Llama, NameScheme::Experts,
                      NameScheme::SharedExperts, NameScheme::GroupedExperts,
                      NameScheme::GroupedSharedExperts},
                     scheme));
  }
}

TEST_F(ParameterLoadTest, ListsOfConcatenatedTensors) {
  const std::vector<NamedShape> list = {
      {"model.layers.0.attention.wq.weight", {DType::BF16, {8, 8}}},
      {"model.layers.0.attention.wk.weight", {DType::BF16, {4, 8}}},
      {"model.layers.0.attention.wv.weight", {DType::BF16, {4, 8}}},
      {"model.layers.0.feed_forward.w1.weight", {DType::BF16, {6, 8}}},
      {"model.layers.0.feed_forward.w3.weight", {DType::BF16, {6, 8}}}};
  Expected<std::vector<NamedShape>> concatenated =
      convertParameterList(list, NameScheme::LlamaConcatenated, makeLayout());
  ASSERT_TRUE(bool(concatenated)) << message(std::move(concatenated));
  EXPECT_THAT(
      *concatenated,
      ElementsAre(NamedShape{"model.layers.0.attention.w_qkv.weight",
                             {DType::BF16, {16, 8}}},
                  NamedShape{"model.layers.0.feed_forward.w_gate_hidden.weight",
                             {DType::BF16, {12, 8}}}));
  EXPECT_EQ(cantFail(convertParameterList(*concatenated, NameScheme::Llama,
                                          makeLayout())),
            list);
  EXPECT_THAT(message(convertParameterList(
                  {{"decoder.layers.0.self_attention.q_layernorm.weight",
                    {DType::F32, {2}}}},
                  NameScheme::Llama, makeLayout())),
              HasSubstr("has no name in the scheme Llama"));
  EXPECT_THAT(message(convertParameterList({{"x", {DType::F32, {2}}}},
                                           NameScheme::Llama, makeLayout())),
              HasSubstr("parameter 'x' has no name"));
}

} // namespace
