//===- LayerNormCellNames.cpp - Cells of layers with LayerNorm ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayerCellNames.h"
#include "TreeWriter.h"

namespace mf {

static void addLayerNorm(TreeWriter &tree, llvm::StringRef cell) {
  tree.addCell(cell, {"layer_norm", "mean", "square", "sqrt", "sub1", "sub2",
                      "add", "mul", "add2", "real_div"});
}

static void addDropout(TreeWriter &tree, llvm::StringRef cell) {
  tree.addCell(cell, {"dropout"});
}

static void addBiasedLinear(TreeWriter &tree, llvm::StringRef cell,
                            llvm::StringRef activation = "") {
  tree.addCell(cell, {"matmul", "bias_add", "cast", "reshape", "shape"}, [&] {
    if (!activation.empty())
      tree.addCell("activation", {activation});
  });
}

std::vector<std::string> getGlmCellNames() {
  TreeWriter tree;
  addLayerNorm(tree, "input_layernorm");
  tree.addCell("attention",
               {"matmul", "reduce_max", "split", "merger_head_transpose",
                "concat_query", "concat_key"},
               [&] {
                 tree.addCell("rotary_emb", {"stride_slice", "mul", "add",
                                             "squeeze", "concat"});
                 addBiasedLinear(tree, "query_key_value");
                 addDropout(tree, "attention_dropout");
                 addBiasedLinear(tree, "dense");
                 addDropout(tree, "output_dropout");
                 tree.addCell("softmax", {"softmax"});
               });
  addLayerNorm(tree, "post_attention_layernorm");
  tree.addCell("mlp", {}, [&] {
    tree.addCell("activation_func", {"gelu"});
    addBiasedLinear(tree, "dense_h_to_4h");
    addBiasedLinear(tree, "dense_4h_to_h");
    addDropout(tree, "dropout");
  });
  tree.add({"mul", "mul_4"});
  return tree.take();
}

static void addGpt2Attention(TreeWriter &tree, const ModelSpec &spec) {
  tree.addCell("attention",
               {"transpose", "merger_head_transpose", "reshape", "concat_k",
                "concat_v", "batch_matmul", "real_div", "sub", "sub_sa", "mul",
                "add", "softmax_cast", "softmax_reshape", "expand_dims"},
               [&] {
                 addBiasedLinear(tree, "projection");
                 addDropout(tree, "dropout");
                 addDropout(tree, "prob_dropout");
                 tree.addCell("softmax", {"softmax"});
                 tree.addCell("softmax_3d", {"softmax"});
                 for (llvm::StringRef cell : {"dense1", "dense2", "dense3"})
                   addBiasedLinear(tree, cell);
                 if (spec.usesFlashAttention)
                   tree.addCell("flash_attention", {"flash_attention"});
               });
}

std::vector<std::string> getGpt2CellNames(const ModelSpec &spec) {
  TreeWriter tree;
  tree.add({"add", "add_3d", "reshape"});
  addLayerNorm(tree, "layernorm1");
  addLayerNorm(tree, "layernorm2");
  addGpt2Attention(tree, spec);
  tree.addCell("output", {"cast"}, [&] {
    addBiasedLinear(tree, "mapping",
                    spec.activation == Activation::FastGelu ? "fast_gelu"
                                                            : "gelu");
    addBiasedLinear(tree, "projection");
    for (llvm::StringRef cell : {"dropout", "dropout_3d", "dropout_4d"})
      addDropout(tree, cell);
  });
  return tree.take();
}

static void addSparkAttention(TreeWriter &tree) {
  tree.addCell("attention", {}, [&] {
    for (llvm::StringRef cell : {"q_proj", "k_proj", "v_proj"})
      addBiasedLinear(tree, cell);
    tree.addCell("core_attention",
                 {"bmm_q_k", "bmm", "cast1", "cast2", "transpose",
                  "merger_head_transpose", "expand_dims", "add", "mul",
                  "softmax", "shape", "real_div"},
                 [&] {
                   tree.addCell("rotary_embedding",
                                {"bmm", "add", "mul", "shape"});
                   addDropout(tree, "attention_dropout");
                   tree.addCell("flash_attention", {"flash_attention"});
                 });
    addBiasedLinear(tree, "out_proj");
  });
}

std::vector<std::string> getSparkCellNames() {
  TreeWriter tree;
  tree.add({"add"});
  addLayerNorm(tree, "layer_norm");
  addSparkAttention(tree);
  addLayerNorm(tree, "final_layer_norm");
  tree.addCell("mlp", {"mul", "activation_fn"}, [&] {
    for (llvm::StringRef cell : {"fc0", "fc1", "fc2"})
      addBiasedLinear(tree, cell);
  });
  addDropout(tree, "dropout");
  return tree.take();
}

} // namespace mf
