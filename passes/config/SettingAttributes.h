//===- SettingAttributes.h - Settings as attributes -------------*- C++ -*-===//

#ifndef MF_PASSES_CONFIG_SETTINGATTRIBUTES_H
#define MF_PASSES_CONFIG_SETTINGATTRIBUTES_H

#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/StageMap.h"
#include "mlir/IR/Builders.h"

namespace mf::passes {

// Return the settings as attributes, from which getRecomputeConfig,
// getSwapConfig and getStageOffset make them again.
ir::RecomputeConfigAttr toAttribute(mlir::Builder &builder,
                                    const RecomputeConfig &config);
ir::SwapConfigAttr toAttribute(mlir::Builder &builder,
                               const SwapConfig &config);
mlir::Attribute toAttribute(mlir::Builder &builder, const StageOffset &offset);
mlir::ArrayAttr toAttribute(mlir::Builder &builder,
                            const std::vector<std::string> &texts);

/// Returns a place as an attribute, which is null if it is unknown.
mlir::Attribute toPlace(mlir::MLIRContext *context, const Location &location);

} // namespace mf::passes

#endif // MF_PASSES_CONFIG_SETTINGATTRIBUTES_H
