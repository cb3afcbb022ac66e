//===- SettingAttributes.h - Values of settings as attributes ---*- C++ -*-===//
//
// The form of each kind of value of the YAML in attributes, in both directions.
// ConfigAttributes.cpp lists which member of the configuration is which
// parameter of an attribute.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_CONFIG_SETTINGATTRIBUTES_H
#define MF_PASSES_CONFIG_SETTINGATTRIBUTES_H

#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/StageMap.h"
#include "mlir/IR/Builders.h"

namespace mf::passes {

/// The operators that do not run again, as patterns or as parts of names.
struct KeptOperators {
  LayerSetting &patterns;
  std::vector<std::string> &names;

  static KeptOperators get(RecomputeConfig &config) {
    return {config.selectRecomputeExclude, config.keptOperators};
  }
};

using SwapEntries = std::optional<std::vector<SwapEntry>>;
using OperatorSwaps = std::optional<std::vector<SwapConfig::OperatorSwap>>;

/// Return the parameter of an attribute for a value. Values that are absent
/// have null attributes.
inline bool toParameter(mlir::Builder &, bool value) { return value; }
inline int64_t toParameter(mlir::Builder &, int64_t value) { return value; }
mlir::ArrayAttr toParameter(mlir::Builder &builder,
                            const std::vector<std::string> &texts);
mlir::Attribute toParameter(mlir::Builder &builder, const StageOffset &offset);
mlir::Attribute toParameter(mlir::Builder &builder,
                            const LayerSetting &setting);
mlir::Attribute toParameter(mlir::Builder &builder, const KeptOperators &kept);
mlir::ArrayAttr toParameter(mlir::Builder &builder, const SwapEntries &entries);
mlir::ArrayAttr toParameter(mlir::Builder &builder, const OperatorSwaps &swaps);

/// Set a value to what a parameter of an attribute says. Values that have a
/// place in the attribute get it.
inline void fromParameter(bool parameter, bool &value) { value = parameter; }
inline void fromParameter(int64_t parameter, int64_t &value) {
  value = parameter;
}
void fromParameter(mlir::Attribute parameter, StageOffset &offset);
void fromParameter(mlir::Attribute parameter, LayerSetting &setting);
void fromParameter(mlir::Attribute parameter, KeptOperators kept);
void fromParameter(mlir::ArrayAttr parameter, SwapEntries &entries);
void fromParameter(mlir::ArrayAttr parameter, OperatorSwaps &swaps);

/// Return a place as an attribute, which is null if it is unknown, and back.
mlir::Attribute toPlace(mlir::MLIRContext *context, const Location &location);
Location fromPlace(mlir::Attribute place);

} // namespace mf::passes

#endif // MF_PASSES_CONFIG_SETTINGATTRIBUTES_H
