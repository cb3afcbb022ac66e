//===- ProblemLimits.h - Sizes beyond which nothing is meant --*- C++ -*-===//

#ifndef MF_LIB_PLAN_PROBLEMLIMITS_H
#define MF_LIB_PLAN_PROBLEMLIMITS_H

#include <cstdint>

namespace mf::plan {

/// Of a model. More are hardly meant.
constexpr int64_t mostLayers = 1 << 12;

} // namespace mf::plan

#endif // MF_LIB_PLAN_PROBLEMLIMITS_H
