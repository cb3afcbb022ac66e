//===- mf_facts.h - What a program tells libmf-step -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A program describes hundreds of statics. These functions take literals, so
// that each statement of a program is one call, which compilers translate fast.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_CANN_SUPPORT_MF_FACTS_H
#define MF_LIB_CANN_SUPPORT_MF_FACTS_H

#include "mf/Step/StepRun.h"
#include <initializer_list>

namespace mf_cann {

using Sizes = std::initializer_list<int64_t>;
using Names = std::initializer_list<const char *>;

/// Adds a static to the last stage that was added.
inline void addStatic(mf::step::Facts &facts, const char *name,
                      const char *role, const char *of, const char *tied,
                      const char *type, Sizes dims, int64_t bytes, bool onHost,
                      int64_t offset) {
  facts.stages.back().push_back(
      {name, role, of, tied, type, dims, bytes, onHost, offset, {}, {}, {}});
}

/// Sets the value of the last static before the first step.
inline void setInitial(mf::step::Facts &facts, const char *kind, double value,
                       double scale, double amplitude,
                       std::initializer_list<double> frequencies) {
  facts.stages.back().back().initial = {kind, value, scale, amplitude,
                                        frequencies};
}

/// Sets the tensor that the last static is a shard of, and the axes of the mesh
/// over which each dimension of the tensor is cut.
inline void setSlice(mf::step::Facts &facts, Sizes dims,
                     std::initializer_list<Names> axes) {
  mf::step::StepBuffer &buffer = facts.stages.back().back();
  buffer.sliceDims = dims;
  for (const Names &ofDimension : axes)
    buffer.sliceAxes.emplace_back(ofDimension.begin(), ofDimension.end());
}

inline void addChannel(mf::step::Facts &facts, const char *name,
                       bool isTransfer, Names axes, Sizes stages,
                       int64_t fromStage, int64_t toStage, const char *axis,
                       int64_t shift) {
  facts.channels.push_back({name,
                            isTransfer,
                            {axes.begin(), axes.end()},
                            stages,
                            fromStage,
                            toStage,
                            axis,
                            shift});
}

} // namespace mf_cann

#endif // MF_LIB_CANN_SUPPORT_MF_FACTS_H
