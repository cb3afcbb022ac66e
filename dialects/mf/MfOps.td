//===- MfOps.td - All operations of the mf dialect -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

include "dialects/mf/MfAttentionOps.td"
include "dialects/mf/MfCollectiveOps.td"
include "dialects/mf/MfDropoutOps.td"
include "dialects/mf/MfElementwiseOps.td"
include "dialects/mf/MfExpertOps.td"
include "dialects/mf/MfHybridAttentionOps.td"
include "dialects/mf/MfHyperConnectionOps.td"
include "dialects/mf/MfModelOps.td"
include "dialects/mf/MfNetworkOps.td"
include "dialects/mf/MfRouterOps.td"
include "dialects/mf/MfShapeOps.td"
include "dialects/mf/MfStepOps.td"
include "dialects/mf/MfSwapOps.td"
include "dialects/mf/MfVocabularyOps.td"
