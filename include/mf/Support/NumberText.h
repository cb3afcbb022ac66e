//===- NumberText.h - Numbers as text --------------------------*- C++ -*-===//
//
// The forms in which tools print numbers. Every other place that prints one
// chooses among these.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SUPPORT_NUMBERTEXT_H
#define MF_SUPPORT_NUMBERTEXT_H

#include <string>

namespace mf {

/// Returns how many digits behind the point show four digits that count; at
/// least `fewest`.
int getDecimals(double value, int fewest);

/// Returns six digits that count, and never an exponent: "1132.66", "0.25",
/// "59055800320".
std::string formatRounded(double value);

/// Returns `value` with that many digits behind the point.
std::string formatFixed(double value, int decimals);

/// Returns at most that many digits that count, with an exponent where that is
/// shorter: "0.3333", "1e+12", "nan".
std::string formatDigits(double value, int digits);

/// Returns whole numbers, such as bytes, in full, and ten digits of others,
/// which hides the rounding errors of sums of decimal fractions.
std::string formatAmount(double value);

/// Returns the fewest digits that read back as the same number: "4e-06",
/// "0.1", "inf".
std::string formatExact(double value);

} // namespace mf

#endif // MF_SUPPORT_NUMBERTEXT_H
