//===- NumberText.h - Numbers as text --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The formats in which tools print numbers. All code that prints numbers uses
// one of these.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SUPPORT_NUMBERTEXT_H
#define MF_SUPPORT_NUMBERTEXT_H

#include <string>

namespace mf {

/// Returns the number of decimals, at least `fewest`, that show four
/// significant digits.
int getDecimals(double value, int fewest);

/// Formats six significant digits without an exponent: "1132.66", "0.25",
/// "59055800320".
std::string formatRounded(double value);

/// Formats `value` with the given number of decimals.
std::string formatFixed(double value, int decimals);

/// Formats at most the given number of significant digits, with an exponent
/// where that is shorter: "0.3333", "1e+12", "nan".
std::string formatDigits(double value, int digits);

/// Formats whole numbers, such as bytes, in full, and ten digits of others,
/// which hides the rounding errors of sums of decimal fractions.
std::string formatAmount(double value);

/// Formats the fewest digits that read back as the same number: "4e-06", "0.1",
/// "inf".
std::string formatExact(double value);

} // namespace mf

#endif // MF_SUPPORT_NUMBERTEXT_H
