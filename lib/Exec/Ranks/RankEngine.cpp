//===- RankEngine.cpp - Runs steps on ranks -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/RankEngine.h"

namespace mf::ranks {

char ReportedError::ID = 0;

RankEngine::~RankEngine() = default;

} // namespace mf::ranks
