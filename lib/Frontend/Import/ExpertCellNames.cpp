//===- ExpertCellNames.cpp - Names of Cells with experts ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Tables of names in the order in which constructors register them, each with
// the condition under which it does.
//
//===----------------------------------------------------------------------===//

#include "LayerCellNames.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"

namespace mf {
namespace {

/// The condition under which a constructor registers a name.
enum class ExpertWhen : uint8_t {
  Always,
  HasBias,    ///< Scores have a bias that balances the load of the experts.
  SafeTokens, ///< Zero tokens are added.
  Fused,      ///< SwiGLU is a single kernel.
  Unfused,    ///< SwiGLU is several operators.
};

/// Names that a Cell below the one of a table registers, separated by blanks.
struct CellLeaves {
  llvm::StringLiteral cell;
  llvm::StringLiteral leaves;
  ExpertWhen when = ExpertWhen::Always;
};

using Table = llvm::ArrayRef<CellLeaves>;

} // namespace

//===----------------------------------------------------------------------===//
// Feed forwards
//===----------------------------------------------------------------------===//

static constexpr CellLeaves llamaFeedForward[] = {
    {"", "mul cast reshape w13_concat"},
    {"", "swiglu expand_dims", ExpertWhen::Fused},
    {"w1", "matmul cast reshape shape"},
    {"w1.activation", "silu", ExpertWhen::Unfused},
    {"w2", "matmul cast reshape shape"},
    {"w3", "matmul cast reshape shape"},
};

static constexpr CellLeaves concatenatedFeedForward[] = {
    {"", "mul cast reshape split"},
    {"w_gate_hidden", "matmul cast reshape shape"},
    {"activate", "silu"},
    {"w2", "matmul cast reshape shape"},
};

static constexpr CellLeaves telechatFeedForward[] = {
    {"", "mul cast"},
    {"w1", "matmul cast reshape shape"},
    {"w1.activation", "silu"},
    {"w1.dropout", "dropout"},
    {"w3", "matmul cast reshape shape"},
    {"w3.dropout", "dropout"},
    {"w2", "matmul bias_add cast reshape shape"},
    {"w2.dropout", "dropout"},
};

static constexpr CellLeaves mcoreFeedForward[] = {
    {"", "mul split reshape add cast"},
    {"linear_fc1", "cast matmul transpose reshape"},
    {"activation_func", "slice", ExpertWhen::Fused},
    {"activation_func", "silu"},
    {"activation_func", "mul", ExpertWhen::Fused},
    {"linear_fc2", "cast transpose matmul reshape"},
};

/// Dense, the linear layer of routers.
static constexpr CellLeaves routerDense[] = {
    {"", "reshape shape_op matmul"},
};

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

/// MoEV2 without its feed forward and router.
static constexpr CellLeaves capacityExperts[] = {
    {"", "add_loss reshape shape cast transpose_4dim_dp1 transpose_4dim_dp0 "
         "transpose_5dim_ep2 concat_dp stride_slice stride_slice_dp "
         "stride_slice_ep stride_slice_dp_mp stride_slice_ep_mp "
         "stride_slice_outer_dp_mp stride_slice_outer_ep_mp "
         "stride_slice_outer_ep stride_slice_outer_dp transpose_5dim_ep1 "
         "transpose_mp1 transpose_mp2 stride_slice_allgather"},
};

static constexpr CellLeaves capacityRouter[] = {
    {"", "mul cast"},
};

/// TopkRouterV2.
static constexpr CellLeaves capacityChoice[] = {
    {"",
     "sign gate_gather afb_add afb_sub afb_add_topk_bias assign afb_mul "
     "afb_reduce_mean afb_topk assign_add tc_topk tc_sum",
     ExpertWhen::HasBias},
    {"", "cast reshape shape gating_activation topk argmax onehot_2d onehot_3d "
         "cumsum mul_2d_1d mul_2d mul_3d mul_4d add_2d add_3d less gt "
         "reduce_sum transpose_3d transpose slice slice_range bmm_range "
         "add_eps reduce_sum_keep div_3d concat_3d zeros_op not_equal add_one "
         "add_range sub_range mul_range sort_range mod print tile mul "
         "reduce_mean reduce_mean_2d add_scalar add sub mod_expert "
         "tensor2scalar dispatch_gather concat zeros_op_4d combine_gather "
         "mul_router_coeff sum_router_coeff"},
    {"z_loss_func", "mean_ops sum_ops exp ln square cast mul"},
};

/// MoEV3 without its router's linear layer.
static constexpr CellLeaves droplessExperts[] = {
    {"", "shape reshape cast gating_activation topk mul transpose_3d sort mod "
         "gather_sort onehot cumsum transpose_unsort_map gather_unsort "
         "mul_router_coeff sum_router_coeff reduce_sum_keep add_eps div_3d "
         "reduce_mean_aux_3d reduce_mean_aux_2d mul_aux_2d onehot_aux "
         "mul_noshard add_loss"},
    {"",
     "gate_gather assign_add onehot_2d reduce_mean afb_reduce_mean afb_topk "
     "afb_add_topk_bias",
     ExpertWhen::HasBias},
    {"", "stride_slice"},
    {"ffn", "cast"},
    {"ffn",
     "op_sort_safe_tokens op_gather_safe_tokens op_add_safe_tokens "
     "op_concat_safe_tokens op_concat_safe_tokens_expert_ids "
     "op_stridedslice_safe_tokens",
     ExpertWhen::SafeTokens},
    {"ffn", "hook_ffn_forward"},
};

/// The Cell around routed and shared experts.
static constexpr CellLeaves sharedExperts[] = {
    {"", "cast sigmoid mul add reshape"},
};

/// MoELayer without the shared experts.
static constexpr CellLeaves mcoreExperts[] = {
    {"", "add reshape shape add_loss transpose transpose2"},
    {"router", "shape reshape cast mul reduce_sum_keep add_eps div_3d "
               "gating_activation topk"},
    {"router",
     "gate_gather assign_add onehot_2d reduce_mean afb_reduce_mean afb_topk "
     "afb_add_topk_bias",
     ExpertWhen::HasBias},
    {"router", "reduce_mean_aux_3d reduce_mean_aux_2d mul_aux_2d onehot_aux "
               "mul_noshard add_loss"},
    {"experts", "morphed_forward cast_op reshape"},
};

//===----------------------------------------------------------------------===//
// Trees
//===----------------------------------------------------------------------===//

namespace {
class ExpertTree {
public:
  explicit ExpertTree(const ModelSpec &spec)
      : spec(spec), experts(*spec.experts) {}

  std::vector<std::string> build() {
    if (spec.family == ModelFamily::Mcore)
      addMcore();
    else
      addClassic();
    return std::move(names);
  }

private:
  bool holds(ExpertWhen when) const {
    switch (when) {
    case ExpertWhen::Always:
      return true;
    case ExpertWhen::HasBias:
      return experts.router.bias || experts.router.groups;
    case ExpertWhen::SafeTokens:
      return experts.dropless && experts.dropless->safeTokens;
    case ExpertWhen::Fused:
      return experts.fusions.swiglu;
    case ExpertWhen::Unfused:
      return !experts.fusions.swiglu;
    }
    llvm_unreachable("unknown condition");
  }

  void add(const std::string &cell, Table table) {
    for (const CellLeaves &row : table)
      if (holds(row.when))
        for (llvm::StringRef leaf : llvm::split(row.leaves, ' '))
          names.push_back(cell + "." + row.cell.str() +
                          (row.cell.empty() ? "" : ".") + leaf.str());
  }

  void addMcore() {
    add("mlp", mcoreExperts);
    if (experts.sharedWidth == 0)
      return;
    add("mlp.shared_experts", mcoreFeedForward);
    if (experts.gatesShared)
      add("mlp.shared_experts_gate", routerDense);
  }

  void addClassic() {
    const std::string outer = "feed_forward";
    bool hasShared = experts.sharedWidth > 0;
    if (hasShared)
      add(outer, sharedExperts);
    addRouted(hasShared ? outer + ".routed_experts" : outer);
    if (hasShared)
      add(outer + ".shared_experts", llamaFeedForward);
    if (experts.gatesShared)
      add(outer + ".shared_experts_gate", routerDense);
  }

  Table getFeedForward() const {
    if (experts.capacity->gateUpBlocks > 0)
      return concatenatedFeedForward;
    return spec.family == ModelFamily::Telechat ? Table(telechatFeedForward)
                                                : Table(llamaFeedForward);
  }

  void addRouted(const std::string &cell) {
    if (experts.dropless) {
      add(cell, droplessExperts);
      add(cell + ".router_dense", routerDense);
      return;
    }
    add(cell, capacityExperts);
    add(cell + ".ffn", getFeedForward());
    add(cell + ".router", capacityRouter);
    add(cell + ".router.dense", routerDense);
    add(cell + ".router.router", capacityChoice);
  }

  const ModelSpec &spec;
  const ExpertSpec &experts;
  std::vector<std::string> names;
};
} // namespace

std::vector<std::string> getExpertCellNames(const ModelSpec &spec) {
  return ExpertTree(spec).build();
}

} // namespace mf
