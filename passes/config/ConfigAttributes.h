//===- ConfigAttributes.h - Attributes of the configuration -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Writes the values that the Config library reads from a YAML as the typed
// attributes that passes use, and maps layers to stages by these attributes.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_CONFIG_CONFIGATTRIBUTES_H
#define MF_PASSES_CONFIG_CONFIGATTRIBUTES_H

#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/BatchRules.h"
#include "mf/Frontend/Config/FusionConfig.h"
#include "mf/Frontend/Config/RankLayout.h"
#include "mf/Frontend/Config/ResolvedLayers.h"
#include "mf/Frontend/Config/StageMap.h"
#include "mf/Frontend/Config/TrainingConfig.h"
#include "mlir/IR/Diagnostics.h"

namespace mf::passes {

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// Returns the `training` attribute of a model. Reports an error and returns
/// null if a size is out of bounds. `options` has pipeline_stage, offset and
/// interleaving; `batch`, `ranks` and `rowBlocks` are the sizes as MindSpore
/// Transformers resolves them; `schedule` is the policy that orders the tasks
/// of stages; `hasReplicas` tells whether stages have several ranks.
ir::TrainingAttr
getTrainingAttr(EmitError emitError, mlir::MLIRContext *context,
                const TrainingConfig &config, const StageMapOptions &options,
                const EffectiveBatch &batch, const RankLayout &ranks,
                int64_t rowBlocks, const FusionConfig &fusions,
                llvm::StringRef schedule, bool hasReplicas);

/// Returns the stage map that a model's `training` attribute defines, with
/// chunks on the stages that its schedule requires; none if there was an error.
/// mf-partition turns it into placements, which all later passes read.
std::optional<StageMap> createStageMap(ir::ModelOp model,
                                       DiagnosticList &diagnostics);

/// Resolves what the YAML asks of the layers of a model with a `training`
/// attribute, and sets their `settings`. Sets nothing if the layers cannot be
/// placed, which mf-partition reports.
std::optional<ResolvedLayers> setLayerSettings(ir::ModelOp model,
                                               const TrainingConfig &config,
                                               DiagnosticList &diagnostics);

/// Reports a mesh whose number of stages differs from that of the `training`
/// attribute.
mlir::LogicalResult checkMesh(ir::ModelOp model);

/// Returns `location` as an MLIR location, which is unknown if it has no file.
mlir::Location getLocation(mlir::MLIRContext *context,
                           const Location &location);

/// Emits every diagnostic with its location and notes. Diagnostics without a
/// location are emitted at `fallback`. Returns false if there was an error.
bool emitDiagnostics(mlir::Location fallback, const DiagnosticList &list);

} // namespace mf::passes

#endif // MF_PASSES_CONFIG_CONFIGATTRIBUTES_H
