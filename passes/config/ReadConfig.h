//===- ReadConfig.h - A training YAML that is in memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_CONFIG_READCONFIG_H
#define MF_PASSES_CONFIG_READCONFIG_H

#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/RankLayout.h"
#include "mf/Frontend/Config/TrainingConfig.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"

namespace mf::passes {

/// Creates mf-read-config that reads `text` as the contents of `options.file`,
/// or the file without `text`. `handler`, which may be empty, receives the
/// normalised settings of each model.
std::unique_ptr<mlir::Pass> createReadConfig(const ReadConfigOptions &options,
                                             std::optional<std::string> text,
                                             LayerReportHandler handler);

/// Compares the keys from which the importer made the module's model with those
/// of a YAML. It is an error if the YAML says otherwise. A YAML may leave keys
/// out. Removes the keys from the module, as they are checked once.
void checkModelKeys(mlir::ModuleOp module, const TrainingConfig &config,
                    DiagnosticList &diagnostics);

/// Returns the axes in the order of ranks: `pp`, and those of dp, cp and mp
/// that have more than one rank. An axis is split into factors, such as `dp_0`
/// and `dp_1`, where the ranks end over which experts are distributed, or which
/// shard a parameter as `parallel` defines. cp is split into cp_co and cp_ds if
/// only some of its ranks exchange rows for heads. mp is split into mp_kv and
/// mp_copy if `model` has fewer key and value heads and its family copies them.
/// If experts are not divisible by whole factors, `problem` is set.
mlir::FailureOr<ir::MeshAttr> getRankMesh(ir::ModelOp model,
                                          const RankLayout &ranks,
                                          const ParallelConfig &parallel,
                                          std::string &problem);

/// Sets the mesh of `ranks` on the module if they share more than stages, and
/// the rows of the data that they read, if these differ. `ep` in the model's
/// cuts and attributes is replaced by axes. Fully sharded parameters get their
/// `mf.sharing`. Fails if the module has another mesh, if a model's rows are
/// not divisible by dp, or if expert_parallel is not a product of whole
/// factors.
mlir::LogicalResult setRankMesh(mlir::ModuleOp module,
                                const TrainingConfig &config,
                                const RankLayout &ranks);

/// Warns if the YAML or the launcher's RANK_SIZE names another number of ranks.
void checkDeviceNum(const ParallelConfig &config, const RankLayout &ranks,
                    DiagnosticList &diagnostics);

} // namespace mf::passes

#endif // MF_PASSES_CONFIG_READCONFIG_H
