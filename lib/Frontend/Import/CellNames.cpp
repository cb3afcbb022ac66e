//===- CellNames.cpp - Names that a layer's Cells register ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Import/CellNames.h"
#include "LatentNames.h"
#include "LayerCellNames.h"
#include "TreeWriter.h"

namespace mf {
namespace {

//===----------------------------------------------------------------------===//
// Llama, Qwen 1 and TeleChat
//===----------------------------------------------------------------------===//

class LlamaTree {
public:
  LlamaTree(const ModelSpec &spec, bool hasExperts)
      : spec(spec), hasExperts(hasExperts),
        isTelechat(spec.family == ModelFamily::Telechat) {}

  std::vector<std::string> build() {
    if (isTelechat)
      tree.add({"shape", "reshape", "cast", "add"});
    else
      tree.add({"cast", "shape", "reshape", "add"});
    tree.addCell("ffn_norm", {"norm", "cast", "rcast"});
    tree.addCell("attention_norm", {"norm", "cast", "rcast"});
    if (spec.latent)
      tree.addNames(getLatentCellNames(spec));
    else
      addAttention();
    if (hasExperts)
      tree.addNames(getExpertCellNames(spec));
    else
      addFeedForward();
    return tree.take();
  }

private:
  void addLinear(llvm::StringRef cell, bool hasBias,
                 bool hasActivation = false) {
    tree.addCell(cell, {"matmul"}, [&] {
      if (hasBias)
        tree.add({"bias_add"});
      tree.add({"cast", "reshape", "shape"});
      if (hasActivation)
        tree.addCell("activation", {"silu"});
      if (isTelechat)
        tree.addCell("dropout", {"dropout"});
    });
  }

  void addProjections() {
    bool hasBias = spec.queryKeyValueBias;
    switch (spec.projections) {
    case ProjectionLayout::QueryKeyValue:
      addLinear(spec.family == ModelFamily::InternLm2 ? "w" : "w_qkv", hasBias);
      break;
    case ProjectionLayout::KeyValue:
      addLinear("wq", hasBias);
      addLinear("wk_v", hasBias);
      break;
    case ProjectionLayout::Separate:
      addLinear("wq", hasBias);
      addLinear("wk", hasBias);
      addLinear("wv", hasBias);
      break;
    }
    addLinear("wo", spec.attentionOutputBias);
  }

  void addAttention() {
    tree.addCell("attention", {"shape"}, [&] {
      if (isTelechat)
        tree.add({"cast", "reshape"});
      else
        tree.add({"reshape", "cast"});
      if (spec.projections == ProjectionLayout::QueryKeyValue)
        tree.add({"split_qkv"});
      if (spec.projections == ProjectionLayout::KeyValue)
        tree.add({"split_kv"});
      tree.add({"transpose", "merger_head_transpose", "batch_matmul",
                "batch_matmul_q_k", "mul", "add"});
      if (spec.usesAlibi)
        tree.add({"add_alibi"});
      tree.add({"softmax", "cast_attn", "tile_kv"});
      addProjections();
      if (spec.rotary.size != 0)
        tree.addCell("apply_rotary_emb",
                     {"add", "bmm_swap", "mul", "mul_inc",
                      "mul_with_batch_freqs", "neg", "slice", "concat", "shape",
                      "cast"},
                     [&] {
                       if (spec.fusions.rotary.isOn)
                         tree.add({"rope"});
                     });
      if (isTelechat)
        tree.addCell("attention_dropout", {"dropout"});
      if (!spec.usesFlashAttention)
        return;
      tree.addCell("flash_attention", {"flash_attention"});
      if (isTelechat)
        tree.addCell("flash_attention", {"drop_gen_mask"});
    });
  }

  void addFeedForward() {
    tree.addCell("feed_forward", {"mul", "cast"}, [&] {
      if (isTelechat) {
        addLinear("w1", false, /*hasActivation=*/true);
        addLinear("w3", false);
      } else if (spec.concatenatesFeedForward) {
        tree.add({"reshape", "split"});
        addLinear("w_gate_hidden", false);
        tree.addCell("activate", {"silu"});
      } else {
        bool isFused = spec.fusions.swiglu.isOn;
        tree.add({"reshape", "w13_concat"});
        if (isFused)
          tree.add({"swiglu", "expand_dims"});
        addLinear("w1", false, /*hasActivation=*/!isFused);
      }
      addLinear("w2", spec.feedForwardOutputBias);
      if (!isTelechat && !spec.concatenatesFeedForward)
        addLinear("w3", false);
    });
  }

  const ModelSpec &spec;
  const bool hasExperts;
  const bool isTelechat;
  TreeWriter tree;
};

//===----------------------------------------------------------------------===//
// ChatGLM
//===----------------------------------------------------------------------===//

class ChatGlmTree {
public:
  ChatGlmTree(const ModelSpec &spec) : spec(spec) {}

  std::vector<std::string> build() {
    tree.add({"add", "cast"});
    tree.addCell("input_layernorm", {"norm", "cast"});
    addAttention();
    tree.addCell("post_attention_layernorm", {"norm", "cast"});
    addFeedForward();
    tree.addCell("dropout", {"dropout"});
    return tree.take();
  }

private:
  void addLinear(llvm::StringRef cell, bool hasBias) {
    tree.addCell(cell, {"matmul"}, [&] {
      if (hasBias)
        tree.add({"bias_add"});
      tree.add({"cast", "reshape", "shape"});
    });
  }

  void addProjections() {
    bool hasBias = spec.queryKeyValueBias;
    if (spec.projections == ProjectionLayout::QueryKeyValue) {
      addLinear("query_key_value", hasBias);
    } else {
      addLinear("wq", hasBias);
      addLinear("wk", hasBias);
      addLinear("wv", hasBias);
    }
    addLinear("dense", false);
  }

  void addInferAttention() {
    tree.addCell("infer_attention",
                 {"transpose", "reshape", "merger_head_transpose",
                  "batch_matmul", "batch_matmul_q_k", "mul", "add", "shape",
                  "tile_kv", "softmax", "cast", "not_equal"},
                 [&] {
                   tree.addCell("flash_attention", {"flash_attention"});
                   tree.addCell("rotary_embedding", {"rotary_embedding_op"});
                 });
  }

  void addAttention() {
    tree.addCell("self_attention", {}, [&] {
      if (spec.projections == ProjectionLayout::QueryKeyValue)
        tree.add({"split_qkv"});
      tree.add({"shape", "reshape", "transpose", "kv_transpose",
                "transpose_back", "kv_transpose_back", "cast", "tile_kv",
                "cp_transpose_before", "cp_transpose_kv_before",
                "cp_transpose_after", "merger_head_transpose"});
      addProjections();
      addInferAttention();
      tree.addCell("core_attention",
                   {"mul_mask", "add", "batch_matmul_q_k", "batch_matmul",
                    "merger_head_transpose", "reshape", "transpose", "cast"},
                   [&] {
                     tree.addCell("attention_dropout", {"dropout"});
                     tree.addCell("softmax", {"softmax"});
                   });
      tree.addCell("apply_rotary_emb_classic",
                   {"reshape", "stack", "mul", "sub", "add", "concat", "cast"});
      if (spec.usesFlashAttention)
        tree.addCell("flash_attention", {"flash_attention"});
    });
  }

  void addFeedForward() {
    tree.addCell("mlp", {}, [&] {
      if (spec.concatenatesFeedForward) {
        tree.add({"split"});
        addLinear("dense_h_to_4h", false);
      } else {
        addLinear("dense_left", false);
        addLinear("dense_right", false);
      }
      tree.addCell("activation_func", {"mul"},
                   [&] { tree.addCell("silu", {"silu"}); });
      addLinear("dense_4h_to_h", false);
    });
  }

  const ModelSpec &spec;
  TreeWriter tree;
};

//===----------------------------------------------------------------------===//
// mcore
//===----------------------------------------------------------------------===//

class McoreTree {
public:
  McoreTree(const ModelSpec &spec, bool hasExperts)
      : spec(spec), hasExperts(hasExperts) {}

  std::vector<std::string> build() {
    tree.add({"add", "add_bias"});
    tree.addCell("input_layernorm", {"norm", "cast"});
    if (spec.hybrid)
      addHybridAttention();
    else if (spec.latent)
      tree.addNames(getLatentCellNames(spec));
    else
      addAttention();
    // Two Cells of this layer contain no primitives.
    tree.add({"pre_cross_attn_layernorm", "cross_attention"});
    tree.addCell("pre_mlp_layernorm", {"norm", "cast"});
    if (hasExperts)
      tree.addNames(getExpertCellNames(spec));
    else
      addFeedForward();
    tree.addCell("hidden_states_dropout", {"dropout"});
    if (spec.streams)
      for (llvm::StringRef site : {"attn_hc", "ffn_hc"})
        addSite(site);
    return tree.take();
  }

private:
  void addSite(llvm::StringRef site) {
    tree.addCell(site, {"cast", "norm", "mul", "add", "sigmoid", "slice"}, [&] {
      tree.addCell("mapping_proj", {"matmul"});
      tree.addCell("_sinkhorn_op", {"sinkhorn"});
      tree.addCell("output_cell", {"mix", "share", "add", "cast"});
    });
  }

  /// The Cells that all layers have. Those of entries are in the names of a
  /// layer's operators.
  void addHybridAttention() {
    auto addLinear = [&](llvm::StringRef name) {
      tree.addCell(name, {"cast", "matmul"});
    };
    tree.addCell("self_attention", {"query_norm", "reshape", "transpose"}, [&] {
      tree.addCell("core_attention",
                   {"gather", "bmm_qk", "mul", "add", "softmax", "bmm_pv"},
                   [&] { tree.addCell("rotary_pos_emb", {"slice"}); });
      addLinear("linear_proj");
      tree.addCell("rotary_pos_emb", {"slice"});
      tree.addCell("apply_rotary_emb", {"mul", "add", "neg", "slice", "cat"});
      addLinear("linear_q_down_proj");
      tree.addCell("q_layernorm", {"norm", "cast"});
      addLinear("linear_q_up_proj");
      addLinear("linear_kv_proj");
      tree.addCell("kv_layernorm", {"norm", "cast"});
    });
  }

  void addCoreAttention() {
    if (spec.usesFlashAttention)
      tree.addCell("core_attention", {"flash_attention", "bnsd_transpose",
                                      "bsh_transpose", "merge_head_transpose",
                                      "shape", "reshape", "fa_out_transpose"});
    else
      tree.addCell("core_attention",
                   {"bmm_qk", "bmm_qkv", "mul", "add", "softmax", "cast",
                    "bnsd_transpose", "shape", "reshape", "fa_out_transpose"});
  }

  void addRotary() {
    tree.addCell("apply_rotary_pos_emb",
                 {"add", "add_input_is_parallel", "mul",
                  "mul_input_is_parallel", "cos", "sin", "neg",
                  "neg_input_is_parallel", "split", "split_input_is_parallel",
                  "tnd_split", "cat", "cat_input_is_parallel", "stack", "slice",
                  "reshape"},
                 [&] {
                   if (spec.fusions.rotary.isOn)
                     tree.add({"rope"});
                 });
  }

  void addAttention() {
    tree.addCell("self_attention",
                 {"split_qkv", "shape", "cast", "reshape",
                  "merge_head_transpose", "tile_kv", "cat", "reshape_concat"},
                 [&] {
                   addCoreAttention();
                   tree.addCell("linear_proj",
                                {"cast", "transpose", "matmul", "reshape"});
                   addRotary();
                   tree.addCell("linear_qkv", {"cast", "matmul", "transpose",
                                               "add", "reshape"});
                   if (!spec.normalizesQueryKey)
                     return;
                   tree.addCell("q_layernorm", {"norm", "cast"});
                   tree.addCell("k_layernorm", {"norm", "cast"});
                 });
  }

  void addFeedForward() {
    tree.addCell("mlp", {"mul", "split", "reshape", "add"}, [&] {
      tree.addCell("linear_fc1", {"cast", "matmul", "transpose", "reshape"});
      tree.addCell(
          "activation_func",
          spec.activationMultiplies
              ? std::initializer_list<llvm::StringRef>{"slice", "silu", "mul"}
              : std::initializer_list<llvm::StringRef>{"silu"},
          [&] {
            if (spec.fusions.swiglu.isOn)
              tree.add({"swiglu"});
          });
      tree.addCell("linear_fc2", {"cast", "transpose", "matmul", "reshape"});
    });
  }

  const ModelSpec &spec;
  const bool hasExperts;
  TreeWriter tree;
};

} // namespace

std::vector<std::string> getCellNames(const ModelSpec &spec, bool hasExperts) {
  switch (spec.family) {
  case ModelFamily::Llama:
  case ModelFamily::InternLm2:
  case ModelFamily::Qwen:
  case ModelFamily::Telechat:
  case ModelFamily::DeepSeek:
    return LlamaTree(spec, hasExperts).build();
  case ModelFamily::ChatGlm:
    return ChatGlmTree(spec).build();
  case ModelFamily::Glm:
    return getGlmCellNames();
  case ModelFamily::Gpt2:
    return getGpt2CellNames(spec);
  case ModelFamily::Spark:
    return getSparkCellNames();
  case ModelFamily::Mcore:
    return McoreTree(spec, hasExperts).build();
  }
  llvm_unreachable("unknown family");
}

/// Returns the names in the Cell that joins hidden states and embeddings: a
/// layer of its own, or the outer Cell of the layer that follows.
std::vector<std::string> getNextTokenCellNames(const ModelSpec &spec) {
  TreeWriter tree;
  if (!spec.nextTokens.followsNorm) {
    tree.add({"concat", "cast"});
    tree.addCell("norm", {"norm", "cast", "rcast"});
    tree.addCell("norm_emb", {"norm", "cast", "rcast"});
    tree.addCell("dense", {"matmul", "cast", "reshape", "shape"});
    return tree.take();
  }
  tree.add({"concat", "concat_mp", "cast", "reshape"});
  tree.addCell("enorm", {"norm", "cast"});
  tree.addCell("hnorm", {"norm", "cast"});
  tree.addCell("eh_proj", {"cast", "matmul", "transpose", "add", "reshape"});
  tree.addCell("transformer_layer", {}, [&] {
    tree.addNames(getCellNames(spec, spec.hasExperts(spec.numLayers - 1)));
  });
  tree.addCell("final_layernorm", {"norm", "cast"});
  return tree.take();
}

} // namespace mf
