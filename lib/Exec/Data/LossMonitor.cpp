//===- LossMonitor.cpp - The lines a training run prints ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/LossMonitor.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Format.h"
#include <algorithm>
#include <charconv>
#include <cmath>

using namespace llvm;

namespace mf {

namespace {

/// The shortest decimal that reads back to a fp32 number: 0.d1d2d3... times
/// 10^(exponent + 1).
struct ShortestDecimal {
  std::string digits;
  int exponent = 0;

  explicit ShortestDecimal(float magnitude) {
    char buffer[32];
    const auto result = std::to_chars(std::begin(buffer), std::end(buffer),
                                      magnitude, std::chars_format::scientific);
    StringRef text(buffer, result.ptr - buffer);
    auto [mantissa, power] = text.split('e');
    power.consume_front("+");
    (void)power.getAsInteger(10, exponent);
    for (char c : mantissa)
      if (c != '.')
        digits += c;
  }

  /// Returns "1.25e-05" or, without decimals, "1" + `bare` + "e-05".
  std::string getScientific(StringRef bare) const {
    std::string text;
    raw_string_ostream out(text);
    out << digits[0];
    if (digits.size() > 1)
      out << '.' << StringRef(digits).drop_front();
    else
      out << bare;
    out << (exponent < 0 ? "e-" : "e+") << format("%02d", std::abs(exponent));
    return text;
  }

  /// Returns "12.5" or, without decimals, "12." + `bare`.
  std::string getPositional(StringRef bare) const {
    std::string text = digits;
    if (exponent < 0)
      return "0." + std::string(-exponent - 1, '0') + text;
    if (text.size() <= static_cast<size_t>(exponent) + 1) {
      text.resize(exponent + 1, '0');
      return text + "." + bare.str();
    }
    return text.insert(exponent + 1, ".");
  }
};

std::optional<std::string> formatNonFinite(float value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  return std::nullopt;
}

/// Formats a number as NumPy prints a float32 array with one element: at most
/// eight decimals, no trailing zeros, exponents below 1e-4 and from 1e8 on.
std::string formatFloat32Array(float value) {
  if (std::optional<std::string> text = formatNonFinite(value))
    return "[" + *text + "]";
  const std::string sign = std::signbit(value) ? "-" : "";
  const float magnitude = std::fabs(value);
  if (magnitude == 0)
    return "[" + sign + "0.]";
  const ShortestDecimal decimal(magnitude);
  if (magnitude < 1e-4F || magnitude >= 1e8F)
    return "[" + sign + decimal.getScientific(".") + "]";
  std::string text = decimal.getPositional("");
  if (text.size() - text.find('.') > 9) {
    text.clear();
    raw_string_ostream(text) << format("%.8f", magnitude);
    text = StringRef(text).rtrim('0').str();
  }
  return "[" + sign + text + "]";
}

/// Formats a duration as Python prints datetime.timedelta(seconds=...).
std::string formatDuration(int64_t seconds) {
  std::string text;
  raw_string_ostream out(text);
  const int64_t days = seconds / 86400;
  if (days != 0)
    out << days << (days == 1 ? " day, " : " days, ");
  seconds %= 86400;
  out << seconds / 3600
      << format(":%02d:%02d", static_cast<int>(seconds / 60 % 60),
                static_cast<int>(seconds % 60));
  return text;
}

} // namespace

std::string formatFloat32(float value) {
  if (std::optional<std::string> text = formatNonFinite(value))
    return *text;
  const std::string sign = std::signbit(value) ? "-" : "";
  const float magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign + "0.0";
  const ShortestDecimal decimal(magnitude);
  // NumPy compares after widening to double.
  const double wide = magnitude;
  return sign + (wide < 1e-4 || wide >= 1e16 ? decimal.getScientific("")
                                             : decimal.getPositional("0"));
}

std::string formatStepLine(const StepMeasurement &step,
                           const StepPrintOptions &options) {
  std::string line;
  raw_string_ostream out(line);
  out << format("INFO - { Epoch:[  1/  1], step:[%5lld/%5lld], loss: ",
                static_cast<long long>(step.step),
                static_cast<long long>(options.steps));
  auto printLoss = [&](float loss) {
    // C may print a sign, whereas Python does not.
    if (std::isnan(loss))
      out << "  nan";
    else
      out << format("%5.3f", loss);
  };
  if (step.loss)
    printLoss(*step.loss);
  else
    out << " None";
  for (const auto &[name, part] : step.lossParts) {
    out << ", " << name << ": ";
    printLoss(part);
  }
  out << format(", per_step_time: %lldms",
                static_cast<long long>(step.seconds * 1e3))
      << ", lr: " << formatFloat32(step.learningRate)
      << ", overflow cond: " << (step.overflow ? "True" : "False")
      << ", loss_scale: " << formatFloat32(step.lossScale) << ", global_norm: "
      << (step.globalNorm ? formatFloat32Array(*step.globalNorm) : "None");
  if (options.teraflopsPerRank)
    out << format(", train_throughput_per_npu: %.3fT",
                  *options.teraflopsPerRank);
  return line;
}

std::string formatProgressLine(const StepMeasurement &step, int64_t steps,
                               int64_t sequencesPerStep) {
  const double fraction = steps <= 0
                              ? 1.0
                              : std::clamp(static_cast<double>(step.step) /
                                               static_cast<double>(steps),
                                           0.0, 1.0);
  // A clock too coarse for the step must not divide by zero.
  const double seconds = std::max(step.seconds * 1e3, 1e-3) / 1000;
  const auto remaining = static_cast<int64_t>(
      seconds * static_cast<double>(std::max<int64_t>(0, steps - step.step)));
  const int cells = static_cast<int>(50 * fraction);
  std::string line;
  raw_string_ostream out(line);
  out << format("INFO -   %4.1f%% |", 100 * fraction);
  for (int i = 0; i < 50; ++i)
    out << (i < cells ? "\u2588" : " ");
  out << format("| %.5f samples/s/p  ",
                static_cast<double>(sequencesPerStep) / seconds)
      << formatDuration(remaining) << " }";
  return line;
}

void printStep(const StepMeasurement &step, const StepPrintOptions &options,
               raw_ostream &os) {
  os << formatStepLine(step, options) << '\n';
  for (const std::string &text : formatDropRates(step.dropRates))
    os << text << '\n';
  if (options.sequencesPerStep)
    os << formatProgressLine(step, options.steps, *options.sequencesPerStep)
       << '\n';
  os.flush();
}

} // namespace mf
