//===- mf_step.h - What the functions of a stage use ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_CANN_SUPPORT_MF_STEP_H
#define MF_LIB_CANN_SUPPORT_MF_STEP_H

#include "mf_channels.h"
#include "mf_facts.h"
#include "mf_rank.h"

namespace mf_cann {

inline CannTensor f32(char *data, const Dims &dims) {
  return {data, ACL_FLOAT, dims, {}};
}
inline CannTensor bf16(char *data, const Dims &dims) {
  return {data, ACL_BF16, dims, {}};
}
inline CannTensor f16(char *data, const Dims &dims) {
  return {data, ACL_FLOAT16, dims, {}};
}
inline CannTensor i32(char *data, const Dims &dims) {
  return {data, ACL_INT32, dims, {}};
}
inline CannTensor i64(char *data, const Dims &dims) {
  return {data, ACL_INT64, dims, {}};
}
inline CannTensor bits(char *data, const Dims &dims) {
  return {data, packedBits, dims, {}};
}

/// The memory of a stage's step, the channels that it uses, and its functions.
struct Step {
  size_t arenaBytes, hostBytes, numStreams, numEvents;
  int64_t workspaceRoom;
  const char *largest;
  std::vector<UsedDirection> uses;
  void (*addMirrors)(CannRank &);
  void (*computeGradients)(CannRank &);
  void (*finishStep)(CannRank &);
};

} // namespace mf_cann

#endif // MF_LIB_CANN_SUPPORT_MF_STEP_H
