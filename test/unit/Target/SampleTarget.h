//===- SampleTarget.h - A target for tests ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_TARGET_SAMPLETARGET_H
#define MF_TEST_UNIT_TARGET_SAMPLETARGET_H

#include "mf/Perf/Target/Target.h"

namespace mf::target {

/// A target with something of everything, in round numbers.
inline Target getSampleTarget() {
  Target target;
  target.name = "sample";
  target.engines = {
      {Engine::Cube, {{DType::BF16, 300e12}, {DType::F32, 75e12}}},
      {Engine::Vector, {{DType::F32, 10e12}}}};
  target.memory = {int64_t{64} << 30, 1e12, 0.5, 64e6};
  target.host = {25e9, 24e9, 1e-5};
  target.kernels = {{"matmul", 0.8, 1, 0, 4e-6, {}},
                    {"attention",
                     0.4,
                     1,
                     0,
                     5e-6,
                     {{"keys", 500, 0, 1}, {"head_size", 0, 128, 0.7}}},
                    {"norm", 0, 4, 3, 4e-6, {}}};
  target.networks = {
      {"hccs", "npu", 8, Wiring::Mesh, 28e9, 0.5, 0.9, 1e-5, 2e-5, 0.25},
      {"roce", "hccs", 0, Wiring::Switch, 25e9, 0.7, 0.6, 3e-5, 6e-5, 0.2}};
  target.stepLatency = 0.02;
  return target;
}

} // namespace mf::target

#endif // MF_TEST_UNIT_TARGET_SAMPLETARGET_H
