//===- ConfigAttributes.h - Training configuration as attributes -*- C++
//-*-===//
//
// Between the values that the Config library reads from a YAML and the typed
// attributes that the passes hand on.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_CONFIG_CONFIGATTRIBUTES_H
#define MF_PASSES_CONFIG_CONFIGATTRIBUTES_H

#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/BatchRules.h"
#include "mf/Frontend/Config/FusionConfig.h"
#include "mf/Frontend/Config/RankLayout.h"
#include "mf/Frontend/Config/StageMap.h"
#include "mf/Frontend/Config/TrainingConfig.h"
#include "mlir/IR/Diagnostics.h"

namespace mf::passes {

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// The `training` attribute of a model; null and an error where a size is out
/// of bounds. `options` has pipeline_stage, offset and interleaving, `batch`,
/// `ranks` and `rowBlocks` are the sizes as MindSpore Transformers resolves
/// them, `schedule` is the policy that orders the stages' runs, `hasReplicas`
/// tells whether stages have several ranks.
ir::TrainingAttr
getTrainingAttr(EmitError emitError, mlir::MLIRContext *context,
                const TrainingConfig &config, const StageMapOptions &options,
                const EffectiveBatch &batch, const RankLayout &ranks,
                int64_t rowBlocks, const FusionConfig &fusions,
                llvm::StringRef schedule, bool hasReplicas);

/// The recompute_config that a `training` attribute holds.
RecomputeConfig getRecomputeConfig(ir::TrainingAttr training);

/// The swap_config that it holds.
SwapConfig getSwapConfig(ir::TrainingAttr training);

/// The fusions that it holds, and where the YAML has their keys.
FusionConfig getFusionConfig(ir::TrainingAttr training);

/// The offset that it holds.
StageOffset getStageOffset(ir::TrainingAttr training);

/// The stage map that a model's `training` attribute asks for, with chunks on
/// the stages where its schedule wants them; none if there was an error.
/// mf-partition turns it into placements; all later passes read those.
std::optional<StageMap> createStageMap(ir::ModelOp model,
                                       DiagnosticList &diagnostics);

/// Reports a mesh with another number of stages than the `training` attribute.
mlir::LogicalResult checkMesh(ir::ModelOp model);

/// The stage map that the placements of a model's layers make. Reports layers
/// without a placement, and stages and chunks that neither the `training`
/// attribute nor the mesh has.
mlir::FailureOr<StageMap> readStageMap(ir::ModelOp model);

/// `location` as an MLIR location; unknown if it has no file.
mlir::Location getLocation(mlir::MLIRContext *context,
                           const Location &location);

/// Emits every diagnostic with its location and notes. Diagnostics without a
/// location of their own are about `fallback`. False if there was an error.
bool emitDiagnostics(mlir::Location fallback, const DiagnosticList &list);

} // namespace mf::passes

#endif // MF_PASSES_CONFIG_CONFIGATTRIBUTES_H
