//===- CheckpointConversionTest.cpp  ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/CheckpointConversion.h"
#include "TestFiles.h"
#include "mf/Exec/Data/ElementConversion.h"
#include "mf/Exec/Data/SafetensorsWriter.h"
#include "gmock/gmock.h"
#include <cstring>

using namespace llvm;
using namespace mf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class CheckpointConversionTest : public testing::Test {
protected:
  CheckpointConversionTest() {
    conversion.layout.numHeads = 2;
    conversion.layout.numKeyValueHeads = 1;
    conversion.layout.headSize = 1;
    conversion.format = "mf";
  }

  /// A tensor of consecutive numbers, rounded to `type`.
  void add(const char *name, DType type, ArrayRef<int64_t> dims, float first) {
    TensorShape shape{type, {}};
    shape.dims.assign(dims.begin(), dims.end());
    std::vector<uint8_t> bytes(shape.getBytes());
    for (int64_t i = 0; i < shape.getNumElements(); ++i) {
      const float value = first + static_cast<float>(i);
      const size_t size = getBytes(type);
      cantFail(convertElements(
          DType::F32, {reinterpret_cast<const uint8_t *>(&value), 4}, type,
          MutableArrayRef(bytes).slice(i * size, size)));
    }
    storage.push_back(std::move(bytes));
    tensors.push_back({name, shape, {}});
  }

  /// Writes what was added and converts it to `target`.
  std::string convert(const char *target = "out") {
    for (size_t i = 0; i < tensors.size(); ++i)
      tensors[i].bytes = storage[i];
    cantFail(writeSafetensors(directory.path("in"), tensors));
    SafetensorsCheckpoint source =
        cantFail(SafetensorsCheckpoint::open(directory.path("in")));
    return message(
        convertCheckpoint(source, conversion, directory.path(target)));
  }

  std::vector<float> read(const char *name, DType type) {
    SafetensorsFile file =
        cantFail(SafetensorsFile::open(directory.path("out")));
    const TensorView view = cantFail(file.find(name));
    EXPECT_EQ(view.shape.type, type);
    std::vector<float> values(view.shape.getNumElements());
    cantFail(convertElements(
        type, view.bytes, DType::F32,
        {reinterpret_cast<uint8_t *>(values.data()), values.size() * 4}));
    return values;
  }

  TemporaryDirectory directory;
  CheckpointConversion conversion;
  std::vector<std::vector<uint8_t>> storage;
  std::vector<NamedTensor> tensors;
};

constexpr DType bf16 = DType::BF16, f16 = DType::F16, f32 = DType::F32;

TEST_F(CheckpointConversionTest, KeepsTypesAndWidensWhereTheyDiffer) {
  add("model.layers.0.self_attn.q_proj.weight", bf16, {2, 3}, 0);
  add("model.layers.0.self_attn.k_proj.weight", bf16, {1, 3}, 6);
  add("model.layers.0.self_attn.v_proj.weight", bf16, {1, 3}, 9);
  add("model.layers.0.mlp.gate_proj.weight", bf16, {1, 3}, 20);
  add("model.layers.0.mlp.up_proj.weight", f16, {1, 3}, 23);
  add("model.norm.weight", f16, {3}, 30);
  conversion.targets = {
      {"model.layers.0.attention.w_qkv.weight", {f32, {4, 3}}},
      {"model.layers.0.feed_forward.w_gate_hidden.weight", {f32, {2, 3}}},
      {"model.norm_out.weight", {f32, {3}}}};
  ASSERT_EQ(convert(), "");
  EXPECT_THAT(read("model.layers.0.attention.w_qkv.weight", bf16),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(read("model.layers.0.feed_forward.w_gate_hidden.weight", f32),
              ElementsAre(20, 21, 22, 23, 24, 25));
  EXPECT_THAT(read("model.norm_out.weight", f16), ElementsAre(30, 31, 32));

  conversion.type = f16;
  ASSERT_EQ(convert(), "");
  EXPECT_THAT(read("model.layers.0.feed_forward.w_gate_hidden.weight", f16),
              ElementsAre(20, 21, 22, 23, 24, 25));
}

TEST_F(CheckpointConversionTest, LargeTensorsConvertInPieces) {
  constexpr int64_t rows = 1200, columns = 1000;
  add("model.embed_tokens.weight", f32, {rows, columns}, 0);
  conversion.targets = {
      {"model.tok_embeddings.embedding_weight", {f32, {rows, columns}}}};
  conversion.type = bf16;
  ASSERT_EQ(convert(), "");
  const std::vector<float> values =
      read("model.tok_embeddings.embedding_weight", bf16);
  for (int64_t i : {int64_t{0}, (int64_t{1} << 20) - 1, int64_t{1} << 20,
                    rows * columns - 1})
    EXPECT_EQ(values[i], bfloat16ToFloat(floatToBfloat16(i))) << i;
}

TEST_F(CheckpointConversionTest,
       LosesNothingButATiedHeadThatEqualsTheEmbedding) {
  conversion.targets = {
      {"model.tok_embeddings.embedding_weight", {f32, {4, 2}}}};
  add("model.embed_tokens.weight", f32, {4, 2}, 1);
  add("lm_head.weight", f32, {4, 2}, 1);
  EXPECT_EQ(convert(), "no parameter of the model takes 'lm_head.weight'");
  conversion.layout.tiesWordEmbeddings = true;
  EXPECT_EQ(convert(), "");
  EXPECT_THAT(read("model.tok_embeddings.embedding_weight", f32),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  storage[1][0] ^= 1;
  EXPECT_THAT(convert(), HasSubstr("takes 'lm_head.weight'"));
}

TEST_F(CheckpointConversionTest, FaultsLeaveNoFile) {
  add("model.norm.weight", f32, {3}, 0);
  conversion.targets = {{"model.norm_out.weight", {f32, {2}}}};
  EXPECT_THAT(convert("new"), HasSubstr("has shape [3], which does not fit"));
  conversion.targets = {{"lm_head.weight", {f32, {2}}}};
  EXPECT_THAT(convert("new"), HasSubstr("looked for"));
  conversion.targets = {{"model.norm_out.weight", {f32, {3}}}};
  tensors[0].shape.type = DType::I32;
  EXPECT_EQ(convert("new"), "tensor 'model.norm.weight' holds i32, expected "
                            "f32, bf16 or f16");
  EXPECT_THAT(directory.list(), ElementsAre("in"));
}

} // namespace
