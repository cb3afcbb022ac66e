//===- RankMesh.h - The mesh that a training YAML asks for -----*- C++ -*-===//

#ifndef MF_PASSES_CONFIG_RANKMESH_H
#define MF_PASSES_CONFIG_RANKMESH_H

#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/RankLayout.h"
#include "mlir/IR/BuiltinOps.h"

namespace mf::passes {

/// The axes in the order of ranks: `pp`, and of dp, cp and mp those of more
/// than one rank. Axes come in factors, `dp_0` and `dp_1`, where the ranks that
/// share experts out end within one. cp is cp_co and cp_ds where only some of
/// its ranks exchange rows for heads; mp is mp_kv and mp_copy where `model` has
/// fewer heads of keys and values, and its family then copies them. Axes
/// come in factors, too, where the ranks end that share a parameter out as
/// `parallel` says. If experts do not divide over whole factors, `problem` says
/// so.
mlir::FailureOr<ir::MeshAttr> getRankMesh(ir::ModelOp model,
                                          const RankLayout &ranks,
                                          const ParallelConfig &parallel,
                                          std::string &problem);

/// Gives the module the mesh of `ranks`, if they share out more than stages,
/// and says which rows of the data they read, if not all the same. `ep` in the
/// model's cuts and attributes becomes its axes. Fully sharded parameters get
/// their `mf.sharing`. Errors: another mesh is there, a model's rows do not
/// divide over dp, or expert_parallel is not made of whole factors.
mlir::LogicalResult setRankMesh(mlir::ModuleOp module,
                                const TrainingConfig &config,
                                const RankLayout &ranks);

/// Warns where the YAML or the launcher's RANK_SIZE names another number of
/// ranks.
void checkDeviceNum(const ParallelConfig &config, const RankLayout &ranks,
                    DiagnosticList &diagnostics);

} // namespace mf::passes

#endif // MF_PASSES_CONFIG_RANKMESH_H
