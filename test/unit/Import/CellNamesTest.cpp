//===- CellNamesTest.cpp --------------------------------------------------===//
//
// Names of Cells and operators against test/data/mindformers/
// celltrees_dev.txt, read off MindSpore Transformers.
//
//===----------------------------------------------------------------------===//

#include "mf/Import/CellNames.h"
#include "ReadModel.h"
#include "dialects/mf/MfOps.h"
#include "mf/Import/ModelBuilder.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gmock/gmock.h"

using namespace mf;

/// The names of one layer kind in their order: primitives, and Cells that have
/// none below them.
static std::vector<std::string> readKind(llvm::StringRef kind) {
  auto buffer = llvm::MemoryBuffer::getFile(MF_TEST_DATA
                                            "/mindformers/celltrees_dev.txt");
  EXPECT_TRUE(bool(buffer));
  llvm::StringRef rest = (*buffer)->getBuffer();
  rest = rest.split(("##### " + kind + "  [").str()).second;
  rest = rest.split('\n').second.split("#####").first;
  std::vector<std::string> names;
  llvm::SmallVector<llvm::StringRef> lines;
  rest.split(lines, '\n', -1, false);
  for (size_t index = 0; index < lines.size(); ++index) {
    llvm::StringRef name = lines[index].split(' ').first;
    bool isCell = name.consume_back("/");
    bool hasChildren = index + 1 < lines.size() &&
                       lines[index + 1].starts_with((name + ".").str());
    if (!name.empty() && (!isCell || !hasChildren))
      names.push_back(name.str());
  }
  return names;
}

namespace {
struct KindCase {
  const char *kind;
  const char *arch;
  const char *lines;
};
} // namespace

static const KindCase kinds[] = {
    {"llama", "LlamaForCausalLM", "use_flash_attention: True"},
    {"llama_noflash", "LlamaForCausalLM", "n_kv_heads: 8"},
    {"llama_qkv_concat", "LlamaForCausalLM",
     "use_flash_attention: True\nqkv_concat: True"},
    {"llama_qkv_bias(qwen2)", "LlamaForCausalLM",
     "use_flash_attention: True\nqkv_has_bias: True"},
    {"telechat2", "TelechatForCausalLM",
     "use_flash_attention: True\nn_kv_heads: 8\nres_dtype: float32"},
    {"glm4(ChatGLM2Block)", "ChatGLM2ForConditionalGeneration",
     "use_flash_attention: True"},
    {"mcore_qwen3_dense", "Qwen3ForCausalLM",
     "fp32_residual_connection: True\nattention_bias: True"},
};

TEST(CellNamesTest, NamesOfEachKindInTheirOrder) {
  for (const KindCase &test : kinds) {
    std::vector<std::string> expected = readKind(test.kind);
    EXPECT_GT(expected.size(), 30u) << test.kind;
    EXPECT_THAT(getCellNames(readModelConfig(test.lines, test.arch)),
                testing::ElementsAreArray(expected))
        << test.kind;
  }
}

/// The names of the feed forward alone.
TEST(CellNamesTest, NamesOfAFusedFeedForward) {
  std::vector<std::string> names;
  for (llvm::StringRef name :
       getCellNames(readModelConfig("use_fused_swiglu: True")))
    if (name.consume_front("feed_forward."))
      names.push_back(name.str());
  EXPECT_THAT(names,
              testing::ElementsAreArray(readKind("llama_ffn_fused_swiglu")));
}

TEST(CellNamesTest, NamesOfFusedOperatorsAreThere) {
  EXPECT_THAT(getCellNames(readModelConfig("use_fused_rope: True")),
              testing::Contains("attention.apply_rotary_emb.rope"));
  EXPECT_THAT(getCellNames(readModelConfig("apply_rope_fusion: True\n"
                                           "bias_swiglu_fusion: True\n"
                                           "hidden_act: swiglu",
                                           "Qwen3ForCausalLM")),
              testing::IsSupersetOf({"self_attention.apply_rotary_pos_emb.rope",
                                     "mlp.activation_func.swiglu"}));
}

/// Names of the operators of the first body layer.
static std::vector<std::string> getOperatorNames(const ModelSpec &spec) {
  mlir::MLIRContext context;
  context.loadDialect<ir::MfDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module = buildModel(&context, spec);
  std::vector<std::string> names;
  module->walk([&](ir::LayerOp layer) {
    if (layer.getName() != "layers.0")
      return;
    layer.walk([&](ir::ComputeOpInterface op) {
      names.push_back(op.getCellName().str());
    });
  });
  return names;
}

TEST(CellNamesTest, OperatorsHaveNamesOfTheTree) {
  for (const KindCase &test : kinds) {
    ModelSpec spec = readModelConfig(test.lines, test.arch);
    std::vector<std::string> tree = readKind(test.kind);
    std::vector<std::string> names = getOperatorNames(spec);
    EXPECT_GT(names.size(), 30u) << test.kind;
    for (const std::string &name : names)
      EXPECT_THAT(tree, testing::Contains(name)) << test.kind;
  }
}

/// What users' patterns most often name is in the graph, not only in the tree.
TEST(CellNamesTest, OperatorsThatPatternsName) {
  std::vector<std::string> names =
      getOperatorNames(readModelConfig("use_flash_attention: True"));
  for (const char *name :
       {"feed_forward.mul", "feed_forward.w1.activation.silu",
        "attention.flash_attention.flash_attention", "ffn_norm.norm",
        "attention_norm.cast", "attention.wo.matmul", "add"})
    EXPECT_THAT(names, testing::Contains(name));
}
