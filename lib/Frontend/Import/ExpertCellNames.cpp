//===- ExpertCellNames.cpp - Names of Cells with experts ------------------===//
//
// Tables of names in the order in which constructors register them, each with
// the condition under which it does.
//
//===----------------------------------------------------------------------===//

#include "LayerCellNames.h"
#include "llvm/ADT/ArrayRef.h"

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

struct Name {
  llvm::StringLiteral path;
  ExpertWhen when = ExpertWhen::Always;
};

using Table = llvm::ArrayRef<Name>;

} // namespace

//===----------------------------------------------------------------------===//
// Feed forwards
//===----------------------------------------------------------------------===//

static constexpr Name llamaFeedForward[] = {
    {"mul"},
    {"cast"},
    {"reshape"},
    {"w13_concat"},
    {"swiglu", ExpertWhen::Fused},
    {"expand_dims", ExpertWhen::Fused},
    {"w1.matmul"},
    {"w1.cast"},
    {"w1.reshape"},
    {"w1.shape"},
    {"w1.activation.silu", ExpertWhen::Unfused},
    {"w2.matmul"},
    {"w2.cast"},
    {"w2.reshape"},
    {"w2.shape"},
    {"w3.matmul"},
    {"w3.cast"},
    {"w3.reshape"},
    {"w3.shape"},
};

static constexpr Name concatenatedFeedForward[] = {
    {"mul"},
    {"cast"},
    {"reshape"},
    {"split"},
    {"w_gate_hidden.matmul"},
    {"w_gate_hidden.cast"},
    {"w_gate_hidden.reshape"},
    {"w_gate_hidden.shape"},
    {"activate.silu"},
    {"w2.matmul"},
    {"w2.cast"},
    {"w2.reshape"},
    {"w2.shape"},
};

static constexpr Name telechatFeedForward[] = {
    {"mul"},
    {"cast"},
    {"w1.matmul"},
    {"w1.cast"},
    {"w1.reshape"},
    {"w1.shape"},
    {"w1.activation.silu"},
    {"w1.dropout.dropout"},
    {"w3.matmul"},
    {"w3.cast"},
    {"w3.reshape"},
    {"w3.shape"},
    {"w3.dropout.dropout"},
    {"w2.matmul"},
    {"w2.bias_add"},
    {"w2.cast"},
    {"w2.reshape"},
    {"w2.shape"},
    {"w2.dropout.dropout"},
};

static constexpr Name mcoreFeedForward[] = {
    {"mul"},
    {"split"},
    {"reshape"},
    {"add"},
    {"cast"},
    {"linear_fc1.cast"},
    {"linear_fc1.matmul"},
    {"linear_fc1.transpose"},
    {"linear_fc1.reshape"},
    {"activation_func.slice", ExpertWhen::Fused},
    {"activation_func.silu"},
    {"activation_func.mul", ExpertWhen::Fused},
    {"linear_fc2.cast"},
    {"linear_fc2.transpose"},
    {"linear_fc2.matmul"},
    {"linear_fc2.reshape"},
};

/// Dense, the linear layer of routers.
static constexpr Name routerDense[] = {
    {"reshape"},
    {"shape_op"},
    {"matmul"},
};

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

/// MoEV2 without its feed forward and router.
static constexpr Name capacityExperts[] = {
    {"add_loss"},
    {"reshape"},
    {"shape"},
    {"cast"},
    {"transpose_4dim_dp1"},
    {"transpose_4dim_dp0"},
    {"transpose_5dim_ep2"},
    {"concat_dp"},
    {"stride_slice"},
    {"stride_slice_dp"},
    {"stride_slice_ep"},
    {"stride_slice_dp_mp"},
    {"stride_slice_ep_mp"},
    {"stride_slice_outer_dp_mp"},
    {"stride_slice_outer_ep_mp"},
    {"stride_slice_outer_ep"},
    {"stride_slice_outer_dp"},
    {"transpose_5dim_ep1"},
    {"transpose_mp1"},
    {"transpose_mp2"},
    {"stride_slice_allgather"},
};

static constexpr Name capacityRouter[] = {
    {"mul"},
    {"cast"},
};

/// TopkRouterV2.
static constexpr Name capacityChoice[] = {
    {"sign", ExpertWhen::HasBias},
    {"gate_gather", ExpertWhen::HasBias},
    {"afb_add", ExpertWhen::HasBias},
    {"afb_sub", ExpertWhen::HasBias},
    {"afb_add_topk_bias", ExpertWhen::HasBias},
    {"assign", ExpertWhen::HasBias},
    {"afb_mul", ExpertWhen::HasBias},
    {"afb_reduce_mean", ExpertWhen::HasBias},
    {"afb_topk", ExpertWhen::HasBias},
    {"assign_add", ExpertWhen::HasBias},
    {"tc_topk", ExpertWhen::HasBias},
    {"tc_sum", ExpertWhen::HasBias},
    {"cast"},
    {"reshape"},
    {"shape"},
    {"gating_activation"},
    {"topk"},
    {"argmax"},
    {"onehot_2d"},
    {"onehot_3d"},
    {"cumsum"},
    {"mul_2d_1d"},
    {"mul_2d"},
    {"mul_3d"},
    {"mul_4d"},
    {"add_2d"},
    {"add_3d"},
    {"less"},
    {"gt"},
    {"reduce_sum"},
    {"transpose_3d"},
    {"transpose"},
    {"slice"},
    {"slice_range"},
    {"bmm_range"},
    {"add_eps"},
    {"reduce_sum_keep"},
    {"div_3d"},
    {"concat_3d"},
    {"zeros_op"},
    {"not_equal"},
    {"add_one"},
    {"add_range"},
    {"sub_range"},
    {"mul_range"},
    {"sort_range"},
    {"mod"},
    {"print"},
    {"tile"},
    {"mul"},
    {"reduce_mean"},
    {"reduce_mean_2d"},
    {"add_scalar"},
    {"add"},
    {"sub"},
    {"mod_expert"},
    {"tensor2scalar"},
    {"dispatch_gather"},
    {"concat"},
    {"zeros_op_4d"},
    {"combine_gather"},
    {"mul_router_coeff"},
    {"sum_router_coeff"},
    {"z_loss_func.mean_ops"},
    {"z_loss_func.sum_ops"},
    {"z_loss_func.exp"},
    {"z_loss_func.ln"},
    {"z_loss_func.square"},
    {"z_loss_func.cast"},
    {"z_loss_func.mul"},
};

/// MoEV3 without its router's linear layer.
static constexpr Name droplessExperts[] = {
    {"shape"},
    {"reshape"},
    {"cast"},
    {"gating_activation"},
    {"topk"},
    {"mul"},
    {"transpose_3d"},
    {"sort"},
    {"mod"},
    {"gather_sort"},
    {"onehot"},
    {"cumsum"},
    {"transpose_unsort_map"},
    {"gather_unsort"},
    {"mul_router_coeff"},
    {"sum_router_coeff"},
    {"reduce_sum_keep"},
    {"add_eps"},
    {"div_3d"},
    {"reduce_mean_aux_3d"},
    {"reduce_mean_aux_2d"},
    {"mul_aux_2d"},
    {"onehot_aux"},
    {"mul_noshard"},
    {"add_loss"},
    {"gate_gather", ExpertWhen::HasBias},
    {"assign_add", ExpertWhen::HasBias},
    {"onehot_2d", ExpertWhen::HasBias},
    {"reduce_mean", ExpertWhen::HasBias},
    {"afb_reduce_mean", ExpertWhen::HasBias},
    {"afb_topk", ExpertWhen::HasBias},
    {"afb_add_topk_bias", ExpertWhen::HasBias},
    {"stride_slice"},
    {"ffn.cast"},
    {"ffn.op_sort_safe_tokens", ExpertWhen::SafeTokens},
    {"ffn.op_gather_safe_tokens", ExpertWhen::SafeTokens},
    {"ffn.op_add_safe_tokens", ExpertWhen::SafeTokens},
    {"ffn.op_concat_safe_tokens", ExpertWhen::SafeTokens},
    {"ffn.op_concat_safe_tokens_expert_ids", ExpertWhen::SafeTokens},
    {"ffn.op_stridedslice_safe_tokens", ExpertWhen::SafeTokens},
    {"ffn.hook_ffn_forward"},
};

/// The Cell around routed and shared experts.
static constexpr Name sharedExperts[] = {
    {"cast"}, {"sigmoid"}, {"mul"}, {"add"}, {"reshape"},
};

/// MoELayer without the shared experts.
static constexpr Name mcoreExperts[] = {
    {"add"},
    {"reshape"},
    {"shape"},
    {"add_loss"},
    {"transpose"},
    {"transpose2"},
    {"router.shape"},
    {"router.reshape"},
    {"router.cast"},
    {"router.mul"},
    {"router.reduce_sum_keep"},
    {"router.add_eps"},
    {"router.div_3d"},
    {"router.gating_activation"},
    {"router.topk"},
    {"router.gate_gather", ExpertWhen::HasBias},
    {"router.assign_add", ExpertWhen::HasBias},
    {"router.onehot_2d", ExpertWhen::HasBias},
    {"router.reduce_mean", ExpertWhen::HasBias},
    {"router.afb_reduce_mean", ExpertWhen::HasBias},
    {"router.afb_topk", ExpertWhen::HasBias},
    {"router.afb_add_topk_bias", ExpertWhen::HasBias},
    {"router.reduce_mean_aux_3d"},
    {"router.reduce_mean_aux_2d"},
    {"router.mul_aux_2d"},
    {"router.onehot_aux"},
    {"router.mul_noshard"},
    {"router.add_loss"},
    {"experts.morphed_forward"},
    {"experts.cast_op"},
    {"experts.reshape"},
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
    for (const Name &name : table)
      if (holds(name.when))
        names.push_back(cell + "." + name.path.str());
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
