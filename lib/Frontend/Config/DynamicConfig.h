//===- DynamicConfig.h - The YAML of the dynamic-graph trainer --*- C++ -*-===//

#ifndef MF_LIB_CONFIG_DYNAMICCONFIG_H
#define MF_LIB_CONFIG_DYNAMICCONFIG_H

#include "DynamicLayout.h"

namespace mf {

/// Whether the sections of a document are those of the dynamic-graph trainer.
/// It is an error if some are and others are not.
bool isDynamicFormat(const Node &root, DiagnosticList &diagnostics);

/// The same configuration in the sections of the static graph, whose values
/// point to where they come from. The rest, for which those sections have no
/// words, is added by addDynamicSettings.
Node translateDynamicFormat(const Node &root, const DynamicLayout &layout,
                            DiagnosticList &diagnostics);
void addDynamicSettings(const Node &root, const DynamicLayout &layout,
                        TrainingConfig &config, DiagnosticList &diagnostics);

/// The section model with the defaults of its class.
Node readDynamicModel(const Node &root, const DynamicLayout &layout,
                      DiagnosticList &diagnostics);
DynamicDepth readDynamicDepth(const Node &model);
/// chunk_loss_num: the pieces of the sequence by which the loss is computed.
int64_t readDynamicLossPieces(const Node &root, DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_CONFIG_DYNAMICCONFIG_H
