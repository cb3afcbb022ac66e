//===- ModelBuilderTest.cpp -----------------------------------------------===//

#include "mf/Import/ModelBuilder.h"
#include "ReadModel.h"
#include "dialects/mf/MfOps.h"
#include "mlir/IR/Verifier.h"

using namespace mf;

namespace {
class ModelBuilderTest : public testing::Test {
protected:
  ModelBuilderTest() { context.loadDialect<ir::MfDialect>(); }

  mlir::OwningOpRef<mlir::ModuleOp> build(const ModelSpec &spec) {
    auto module = buildModel(&context, spec);
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
    return module;
  }

  mlir::MLIRContext context;
};
} // namespace

static std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

/// Elements of the parameters that are trained, tied ones once.
static int64_t countParameters(mlir::ModuleOp module) {
  int64_t count = 0;
  module.walk([&](ir::ParamOp param) {
    if (!param.getFrozen() && !param.getTied())
      count += param.getTensorType().getNumElements();
  });
  return count;
}

static const char *const variants[][2] = {
    {"LlamaForCausalLM", ""},
    {"LlamaForCausalLM", "qkv_concat: True\nqkv_has_bias: True"},
    {"LlamaForCausalLM", "tie_word_embeddings: True\nattn_proj_has_bias: True"},
    {"Baichuan7BV2ForCausalLM", "use_flash_attention: True"},
    {"Baichuan13BV2ForCausalLM", "compute_dtype: bfloat16"},
    {"InternLMForCausalLM", "use_flash_attention: True"},
    {"QwenForCausalLM", "use_flash_attention: True"},
    {"TelechatForCausalLM", "n_kv_heads: 8\nres_dtype: float32"},
    {"ChatGLM2ForConditionalGeneration", ""},
    {"ChatGLM2ForConditionalGeneration",
     "qkv_concat: False\nmlp_concat: False"},
    {"Qwen3ForCausalLM", "attention_bias: True\nuse_flash_attention: False"},
    {"Qwen3ForCausalLM", "fp32_residual_connection: True\nqk_layernorm: False"},
};

TEST_F(ModelBuilderTest, ParametersAreThoseOfTheSpecification) {
  for (const char *const *variant : variants) {
    ModelSpec spec = readModelConfig(variant[1], variant[0]);
    EXPECT_EQ(countParameters(*build(spec)), getParameterCount(spec))
        << variant[0] << ": " << variant[1];
  }
}

TEST_F(ModelBuilderTest, SameModelSameText) {
  for (const char *const *variant : variants) {
    ModelSpec spec = readModelConfig(variant[1], variant[0]);
    spec.numLayers = 2;
    mlir::MLIRContext other;
    other.loadDialect<ir::MfDialect>();
    EXPECT_EQ(print(*build(spec)), print(*buildModel(&other, spec)));
  }
}

TEST_F(ModelBuilderTest, LayersAreInOrder) {
  ModelSpec spec = readModelConfig("num_layers: 3");
  auto module = build(spec);
  std::vector<std::string> names;
  module->walk(
      [&](ir::LayerOp layer) { names.push_back(layer.getName().str()); });
  EXPECT_EQ(names,
            (std::vector<std::string>{"embedding", "layers.0", "layers.1",
                                      "layers.2", "norm_out", "lm_head"}));
}

TEST_F(ModelBuilderTest, OnlyCastsIntoANormArePresetToRecompute) {
  for (const char *const *variant : variants) {
    ModelSpec spec = readModelConfig(variant[1], variant[0]);
    spec.numLayers = 1;
    spec.residualType = spec.computeType;
    unsigned marked = 0;
    build(spec)->walk([&](ir::ComputeOpInterface op) {
      if (!op.getRecomputeMark())
        return;
      EXPECT_EQ(op.getRecomputeMark(), ir::RecomputeKind::Preset);
      EXPECT_TRUE(llvm::StringRef(op.getCellName()).ends_with("norm.cast") ||
                  op.getCellName() == "cast");
      EXPECT_TRUE(llvm::isa<ir::RmsNormOp>(*op->user_begin()));
      ++marked;
    });
    EXPECT_EQ(marked, spec.normalizesQueryKey ? 5u : 3u) << variant[0];
  }
}
