//===- LatentNames.cpp - Names of latent attention ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LatentNames.h"
#include "llvm/ADT/SmallVector.h"

namespace mf {

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Cell trees
//===----------------------------------------------------------------------===//

namespace {
/// The condition under which a Cell registers something.
enum class LatentWhen : uint8_t {
  Always,
  Flash,
  Scores,
  Norms,
  QueryLatent,
  QueryDirect,
  QueryNorm,
  FusedRotary
};

/// Names that a Cell below attention registers, separated by blanks.
struct CellRow {
  llvm::StringLiteral cell;
  llvm::StringLiteral leaves;
  LatentWhen when = LatentWhen::Always;
};
} // namespace

static constexpr CellRow separateRows[] = {
    {"", "shape cast reshape transpose dp_only_transpose merger_head_transpose "
         "batch_matmul batch_matmul_q_k mul add softmax cast_attn tile_kv "
         "slice_qkv dim_slice_4d dim_slice_3d pe_concat value_concat sum_test "
         "mul_zeros"},
    {"q2l_proj", "matmul cast reshape shape"},
    {"lq_norm", "norm cast rcast"},
    {"l2q_nope_proj", "matmul cast reshape shape"},
    {"l2q_pe_proj", "matmul cast reshape shape"},
    {"kv2l_k_pe", "matmul cast reshape shape"},
    {"kv2l_latent_kv", "matmul cast reshape shape"},
    {"lkv_norm", "norm cast rcast"},
    {"lkv2kv_k_nope", "matmul cast reshape shape"},
    {"lkv2kv_v", "matmul cast reshape shape"},
    {"wo", "matmul cast reshape shape"},
    {"apply_rotary_emb", "reshape transpose add bmm_swap mul mul_inc neg slice "
                         "concat shape cast gather"},
    {"apply_rotary_emb", "expand_dims0 expand_dims1 rope",
     LatentWhen::FusedRotary},
    {"flash_attention", "flash_attention", LatentWhen::Flash},
};

/// The Cells that the two classes of the mcore graph register before their
/// projections.
static constexpr CellRow mcoreRows[] = {
    {"", "shape reshape bs_transpose tnd_transpose tile value_concat dim_slice "
         "cast split tile_kv pe_concat pe_tnd_concat"},
    {"core_attention",
     "flash_attention bnsd_transpose bsh_transpose merge_head_transpose shape "
     "reshape fa_out_transpose",
     LatentWhen::Flash},
    {"core_attention",
     "bmm_qk bmm_qkv mul add softmax cast bnsd_transpose shape reshape "
     "fa_out_transpose",
     LatentWhen::Scores},
    {"linear_proj", "cast transpose matmul reshape"},
    {"apply_rotary_emb",
     "add add_input_is_parallel mul mul_input_is_parallel cos sin neg "
     "neg_input_is_parallel split split_input_is_parallel tnd_split cat "
     "cat_input_is_parallel stack slice reshape"},
};

static constexpr CellRow downTogetherRows[] = {
    {"q_layernorm", "norm cast", LatentWhen::QueryNorm},
    {"linear_qb", "cast matmul transpose add reshape", LatentWhen::QueryLatent},
    {"linear_qkv", "cast matmul transpose add reshape"},
    {"k_layernorm", "norm cast", LatentWhen::Norms},
    {"linear_kvb", "cast matmul transpose add reshape"},
};

static constexpr CellRow queryApartRows[] = {
    {"linear_q_proj", "cast matmul transpose add reshape",
     LatentWhen::QueryDirect},
    {"linear_q_down_proj", "cast matmul transpose add reshape",
     LatentWhen::QueryLatent},
    {"linear_q_up_proj", "cast matmul transpose add reshape",
     LatentWhen::QueryLatent},
    {"linear_kv_down_proj", "cast matmul transpose add reshape"},
    {"linear_kv_up_proj", "cast matmul transpose add reshape"},
    {"q_layernorm", "norm cast", LatentWhen::QueryNorm},
    {"kv_layernorm", "norm cast", LatentWhen::Norms},
};

static bool holds(LatentWhen when, const ModelSpec &spec) {
  const LatentAttentionSpec &latent = *spec.latent;
  switch (when) {
  case LatentWhen::Always:
    return true;
  case LatentWhen::Flash:
    return spec.usesFlashAttention;
  case LatentWhen::Scores:
    return !spec.usesFlashAttention;
  case LatentWhen::Norms:
    return latent.hasNorms;
  case LatentWhen::QueryLatent:
    return latent.queryRank.has_value();
  case LatentWhen::QueryDirect:
    return !latent.queryRank;
  case LatentWhen::QueryNorm:
    return latent.hasNorms && latent.queryRank;
  case LatentWhen::FusedRotary:
    return spec.fusions.rotary.isOn;
  }
  llvm_unreachable("unknown condition");
}

static void addRows(llvm::ArrayRef<CellRow> rows, const ModelSpec &spec,
                    std::vector<std::string> &names) {
  const std::string attention =
      getLatentNames(spec.latent->layout).cell.str() + ".";
  for (const CellRow &row : rows) {
    if (!holds(row.when, spec))
      continue;
    const std::string prefix =
        row.cell.empty() ? attention : attention + row.cell.str() + ".";
    llvm::SmallVector<llvm::StringRef> leaves;
    row.leaves.split(leaves, ' ');
    for (llvm::StringRef leaf : leaves)
      names.push_back(prefix + leaf.str());
  }
}

std::vector<std::string> getLatentCellNames(const ModelSpec &spec) {
  std::vector<std::string> names;
  switch (spec.latent->layout) {
  case LatentLayout::Separate:
    addRows(separateRows, spec, names);
    break;
  case LatentLayout::DownTogether:
    addRows(mcoreRows, spec, names);
    addRows(downTogetherRows, spec, names);
    break;
  case LatentLayout::QueryApart:
    addRows(mcoreRows, spec, names);
    addRows(queryApartRows, spec, names);
    break;
  }
  return names;
}

} // namespace mf
