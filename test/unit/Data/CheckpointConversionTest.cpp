//===- CheckpointConversionTest.cpp  ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ConversionTesting.h"
#include "gmock/gmock.h"

using namespace llvm;
using namespace mf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr DType bf16 = DType::BF16, f16 = DType::F16;

class CheckpointConversionTest : public ConversionFixture {
protected:
  CheckpointConversionTest() {
    layout.numHeads = 2;
    layout.numKeyValueHeads = 1;
    layout.headSize = 1;
  }
};

TEST_F(CheckpointConversionTest, KeepsTypesAndWidensWhereTheyDiffer) {
  write("in", listTensors(R"(
    model.layers.0.self_attn.q_proj.weight 2x3xbf16
    model.layers.0.self_attn.{k,v}_proj.weight 1x3xbf16
    model.layers.0.mlp.gate_proj.weight 1x3xbf16
    model.layers.0.mlp.up_proj.weight 1x3xf16
    model.norm.weight 3xf16)"));
  const std::vector<NamedShape> targets = listTensors(R"(
    model.layers.0.attention.w_qkv.weight 4x3
    model.layers.0.feed_forward.w_gate_hidden.weight 2x3
    model.norm_out.weight 3)");
  ASSERT_EQ(convert("in", "out", targets), "");
  EXPECT_THAT(read("out", targets[0].name, bf16),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
  EXPECT_THAT(read("out", targets[1].name),
              ElementsAre(13, 14, 15, 16, 17, 18));
  EXPECT_THAT(read("out", targets[2].name, f16), ElementsAre(19, 20, 21));
  ASSERT_EQ(convert("in", "out", targets, f16), "");
  EXPECT_THAT(read("out", targets[1].name, f16),
              ElementsAre(13, 14, 15, 16, 17, 18));
}

TEST_F(CheckpointConversionTest, LargeTensorsConvertInPieces) {
  write("in", listTensors("model.embed_tokens.weight 1200x1000"));
  const std::string name = "model.tok_embeddings.embedding_weight";
  ASSERT_EQ(convert("in", "out", listTensors(name + " 1200x1000"), bf16), "");
  const std::vector<float> values = read("out", name, bf16);
  for (int64_t i : {0, (1 << 20) - 1, 1 << 20, 1200 * 1000 - 1})
    EXPECT_EQ(values[i], bfloat16ToFloat(floatToBfloat16(i + 1))) << i;
}

TEST_F(CheckpointConversionTest,
       LosesNothingButATiedHeadThatEqualsTheEmbedding) {
  const std::vector<NamedShape> target =
      listTensors("model.tok_embeddings.embedding_weight 4x2");
  auto convertHead = [&](float last) {
    const TensorShape shape{DType::F32, {4, 2}};
    std::vector<uint8_t> embedding(32), head(32);
    writeElements<uint8_t>({1, 2, 3, 4, 5, 6, 7, 8}, DType::F32, embedding);
    writeElements<uint8_t>({1, 2, 3, 4, 5, 6, 7, last}, DType::F32, head);
    cantFail(writeSafetensors(directory.path("in"),
                              {{"model.embed_tokens.weight", shape, embedding},
                               {"lm_head.weight", shape, head}}));
    return convert("in", "out", target);
  };
  EXPECT_EQ(convertHead(8), "no parameter of the model takes 'lm_head.weight'");
  layout.tiesWordEmbeddings = true;
  EXPECT_EQ(convertHead(8), "");
  EXPECT_THAT(read("out", target[0].name), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(convertHead(9), HasSubstr("takes 'lm_head.weight'"));
}

TEST_F(CheckpointConversionTest, FaultsLeaveNoFile) {
  write("in", listTensors("model.norm.weight 3"));
  auto convertTo = [&](StringRef target) {
    return convert("in", "new", listTensors(target));
  };
  EXPECT_THAT(convertTo("model.norm_out.weight 2"),
              HasSubstr("has shape [3], which does not fit"));
  EXPECT_THAT(convertTo("lm_head.weight 2"), HasSubstr("looked for"));
  const std::vector<uint8_t> bytes(12);
  cantFail(writeSafetensors(directory.path("in"),
                            {{"model.norm.weight", {DType::I32, {3}}, bytes}}));
  EXPECT_EQ(convertTo("model.norm_out.weight 3"),
            "tensor 'model.norm.weight' holds i32, expected f32, bf16 or f16");
  EXPECT_THAT(directory.list(), ElementsAre("in"));
}

} // namespace
