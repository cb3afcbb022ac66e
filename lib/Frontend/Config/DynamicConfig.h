//===- DynamicConfig.h - The YAML of the dynamic-graph trainer --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_CONFIG_DYNAMICCONFIG_H
#define MF_LIB_FRONTEND_CONFIG_DYNAMICCONFIG_H

#include "DynamicLayout.h"

namespace mf {

/// True if the sections of a document are those of the dynamic-graph trainer.
/// It is an error if only some of them are.
bool isDynamicFormat(const Node &root, DiagnosticList &diagnostics);

/// Returns the same configuration in the sections of the static graph. Values
/// point to their origin in the document. addDynamicSettings adds the settings
/// that these sections cannot express.
Node translateDynamicFormat(const Node &root, const DynamicLayout &layout,
                            DiagnosticList &diagnostics);
void addDynamicSettings(const Node &root, const DynamicLayout &layout,
                        TrainingConfig &config, DiagnosticList &diagnostics);

/// Returns whether attention is DeepSeek-V4's, which is the default of its
/// class, as the section `model` is written.
bool hasHybridAttention(const Node &model);
/// Returns the section model with the defaults of its class.
Node readDynamicModel(const Node &root, const DynamicLayout &layout,
                      DiagnosticList &diagnostics);
DynamicDepth readDynamicDepth(const Node &model);
/// Reads chunk_loss_num, the number of pieces of the sequence in which the loss
/// is computed.
int64_t readDynamicLossPieces(const Node &root, DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_DYNAMICCONFIG_H
