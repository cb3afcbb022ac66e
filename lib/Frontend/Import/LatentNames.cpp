//===- LatentNames.cpp - Names of latent attention ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LatentNames.h"

namespace mf {

static LatentNames getSeparateNames() {
  LatentNames names;
  names.cell = "attention";
  names.queryDown = "q2l_proj";
  names.latentDown = "kv2l_latent_kv";
  names.rotaryKeyDown = "kv2l_k_pe";
  names.queryPlain = "l2q_nope_proj";
  names.queryRotary = "l2q_pe_proj";
  names.keyUp = "lkv2kv_k_nope";
  names.valueUp = "lkv2kv_v";
  names.queryNorm = "lq_norm";
  names.keyValueNorm = "lkv_norm";
  names.reshape = "reshape";
  names.transpose = "transpose";
  names.tile = "tile_kv";
  names.join = "pe_concat";
  names.padValue = "value_concat";
  names.cutResult = "dim_slice_4d";
  names.rotary = {"apply_rotary_emb",
                  "apply_rotary_emb.cast",
                  "slice",
                  "neg",
                  "concat",
                  "mul",
                  "add"};
  names.flash = "flash_attention.flash_attention";
  names.mergeTranspose = "merger_head_transpose";
  names.mergeReshape = "reshape";
  names.output = "wo";
  return names;
}

/// Returns the names that the two classes of the mcore graph share.
static LatentNames getMcoreNames() {
  LatentNames names;
  names.cell = "self_attention";
  names.queryNorm = "q_layernorm";
  names.split = "split";
  names.reshape = "reshape";
  names.transpose = "core_attention.bnsd_transpose";
  names.tile = "tile_kv";
  names.join = "pe_concat";
  names.padValue = "value_concat";
  names.cutResult = "dim_slice";
  names.pairReshape = "apply_rotary_emb.reshape";
  names.pairSlice = "apply_rotary_emb.slice";
  names.pairConcat = "apply_rotary_emb.cat";
  names.rotary = {
      "apply_rotary_emb", "cast", "split", "neg", "cat", "mul", "add"};
  names.flash = "core_attention.flash_attention";
  names.largestLogits = "core_attention.max_logits_val";
  names.mergeTranspose = "core_attention.fa_out_transpose";
  names.mergeReshape = "core_attention.reshape";
  names.output = "linear_proj";
  return names;
}

static LatentNames getDownTogetherNames() {
  LatentNames names = getMcoreNames();
  names.down = "linear_qkv";
  names.queryUp = "linear_qb";
  names.keyValueUp = "linear_kvb";
  names.keyValueNorm = "k_layernorm";
  return names;
}

static LatentNames getQueryApartNames() {
  LatentNames names = getMcoreNames();
  names.query = "linear_q_proj";
  names.queryDown = "linear_q_down_proj";
  names.queryUp = "linear_q_up_proj";
  names.keyValueDown = "linear_kv_down_proj";
  names.keyValueUp = "linear_kv_up_proj";
  names.keyValueNorm = "kv_layernorm";
  return names;
}

const LatentNames &getLatentNames(LatentLayout layout) {
  static const LatentNames separate = getSeparateNames();
  static const LatentNames downTogether = getDownTogetherNames();
  static const LatentNames queryApart = getQueryApartNames();
  switch (layout) {
  case LatentLayout::Separate:
    return separate;
  case LatentLayout::DownTogether:
    return downTogether;
  case LatentLayout::QueryApart:
    return queryApart;
  }
  llvm_unreachable("unknown layout");
}

} // namespace mf
