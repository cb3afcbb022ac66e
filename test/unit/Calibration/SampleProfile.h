//===- SampleProfile.h - Profiles of devices that are known -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_CALIBRATION_SAMPLEPROFILE_H
#define MF_TEST_UNIT_CALIBRATION_SAMPLEPROFILE_H

#include "mf/Perf/Calibration/Profile.h"
#include "mf/Perf/Target/Target.h"
#include <random>

namespace mf::calibration {

/// A device with something of everything, and two networks.
target::Target getSampleDevice();

/// The same with its efficiencies multiplied by random factors up to `factor`.
target::Target getRandomDevice(std::mt19937 &random, double factor);

/// How times are off from what a target predicts.
struct Noise {
  /// Standard deviation of the logarithm.
  double deviation = 0;
  /// The share of rows that take 2 to 20 times as long.
  double outliers = 0;
};

/// A profile of launches of matrix products, attention, norms and others in
/// several sizes, each in `rows` rows, on a device. Shapes and types are as a
/// device shows them.
Profile getSampleProfile(const target::Target &device, int rows,
                         const Noise &noise, std::mt19937 &random);

/// Adds collectives and messages of several sizes between 2 to 16 ranks.
void addTransfers(Profile &profile, const target::Target &device, int rows,
                  const Noise &noise, std::mt19937 &random);

} // namespace mf::calibration

#endif // MF_TEST_UNIT_CALIBRATION_SAMPLEPROFILE_H
