//===- RankEngine.cpp - Runs steps on ranks -------------------------------===//

#include "mf/Exec/Ranks/RankEngine.h"

namespace mf::ranks {

char ReportedError::ID = 0;

RankEngine::~RankEngine() = default;

} // namespace mf::ranks
