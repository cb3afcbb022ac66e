//===- Initializer.cpp - Initial values of parameters ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/Initializer.h"
#include "mf/Exec/Data/ElementConversion.h"
#include "mf/Support/Philox.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace llvm;

namespace mf {

namespace {

/// Returns the value of a polynomial, whose coefficients begin with the
/// constant term.
template <size_t n> double evaluate(const double (&coefficients)[n], double x) {
  double value = coefficients[n - 1];
  for (size_t i = n - 1; i-- > 0;)
    value = value * x + coefficients[i];
  return value;
}

/// Maps a uniform random number to a value of the initializer's distribution.
float sample(const Initializer &initializer, uint32_t word) {
  const double probability = (word + 0.5) * 0x1p-32;
  const double standard = initializer.kind == Initializer::Kind::Normal
                              ? inverseNormal(probability)
                              : 2 * probability - 1;
  return static_cast<float>(initializer.mean + initializer.sigma * standard);
}

void storeElement(float value, DType type, uint8_t *to) {
  if (type == DType::F32) {
    std::memcpy(to, &value, sizeof value);
    return;
  }
  const uint16_t bits =
      type == DType::BF16 ? floatToBfloat16(value) : floatToHalf(value);
  std::memcpy(to, &bits, sizeof bits);
}

void fillConstant(float value, DType type, MutableArrayRef<uint8_t> bytes) {
  const size_t elementBytes = getBytes(type);
  for (size_t i = 0; i < bytes.size(); i += elementBytes)
    storeElement(value, type, bytes.data() + i);
}

Error checkArguments(const Initializer &initializer, int64_t firstElement,
                     DType type, size_t bytes) {
  if (!isFloatType(type))
    return createStringError(inconvertibleErrorCode(),
                             "cannot initialise elements of type %s, expected "
                             "f32, bf16 or f16",
                             getName(type).data());
  if (firstElement < 0 || bytes % getBytes(type) != 0)
    return createStringError(inconvertibleErrorCode(),
                             "%zu bytes from element %lld on are no whole "
                             "elements of %s",
                             bytes, static_cast<long long>(firstElement),
                             getName(type).data());
  if (initializer.kind == Initializer::Kind::Uniform &&
      (!std::isfinite(initializer.sigma) || initializer.sigma < 0))
    return createStringError(inconvertibleErrorCode(),
                             "uniform distribution between -(%g) and %g",
                             initializer.sigma, initializer.sigma);
  if (initializer.kind == Initializer::Kind::Normal &&
      (!std::isfinite(initializer.mean) || !std::isfinite(initializer.sigma) ||
       initializer.sigma < 0))
    return createStringError(inconvertibleErrorCode(),
                             "normal distribution with mean %g and sigma %g",
                             initializer.mean, initializer.sigma);
  return Error::success();
}

} // namespace

Initializer Initializer::zeros() { return {}; }

Initializer Initializer::ones() {
  Initializer result;
  result.kind = Kind::Ones;
  return result;
}

Initializer Initializer::normal(double sigma, double mean) {
  Initializer result;
  result.kind = Kind::Normal;
  result.mean = mean;
  result.sigma = sigma;
  return result;
}

Initializer Initializer::uniform(double bound) {
  Initializer result;
  result.kind = Kind::Uniform;
  result.sigma = bound;
  return result;
}

uint64_t hashParameterName(StringRef name) { return hashDrawnName(name); }

double inverseNormal(double probability) {
  static constexpr double a[] = {
      3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
      1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
      3.3430575583588128105e4, 2.5090809287301226727e3};
  static constexpr double b[] = {1.0,
                                 4.2313330701600911252e1,
                                 6.8718700749205790830e2,
                                 5.3941960214247511077e3,
                                 2.1213794301586595867e4,
                                 3.9307895800092710610e4,
                                 2.8729085735721942674e4,
                                 5.2264952788528545610e3};
  static constexpr double c[] = {
      1.42343711074968357734e0,  4.63033784615654529590e0,
      5.76949722146069140550e0,  3.64784832476320460504e0,
      1.27045825245236838258e0,  2.41780725177450611770e-1,
      2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr double d[] = {1.0,
                                 2.05319162663775882187e0,
                                 1.67638483018380384940e0,
                                 6.89767334985100004550e-1,
                                 1.48103976427480074590e-1,
                                 1.51986665636164571966e-2,
                                 5.47593808499534494600e-4,
                                 1.05075007164441684324e-9};
  static constexpr double e[] = {
      6.65790464350110377720e0,  5.46378491116411436990e0,
      1.78482653991729133580e0,  2.96560571828504891230e-1,
      2.65321895265761230930e-2, 1.24266094738807843860e-3,
      2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr double f[] = {1.0,
                                 5.99832206555887937690e-1,
                                 1.36929880922735805310e-1,
                                 1.48753612908506148525e-2,
                                 7.86869131145613259100e-4,
                                 1.84631831751005468180e-5,
                                 1.42151175831644588870e-7,
                                 2.04426310338993978564e-15};

  const double q = probability - 0.5;
  if (std::fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * (evaluate(a, r) / evaluate(b, r));
  }
  const double r = std::sqrt(-std::log(q < 0 ? probability : 1 - probability));
  const double tail = r <= 5 ? evaluate(c, r - 1.6) / evaluate(d, r - 1.6)
                             : evaluate(e, r - 5) / evaluate(f, r - 5);
  return q < 0 ? -tail : tail;
}

Error initializeElements(const Initializer &initializer, uint64_t seed,
                         StringRef name, int64_t firstElement, DType type,
                         MutableArrayRef<uint8_t> bytes) {
  if (Error error =
          checkArguments(initializer, firstElement, type, bytes.size()))
    return createStringError(inconvertibleErrorCode(),
                             "parameter '" + name +
                                 "': " + toString(std::move(error)));
  if (initializer.kind == Initializer::Kind::Zeros ||
      initializer.kind == Initializer::Kind::Ones) {
    const bool one = initializer.kind == Initializer::Kind::Ones;
    fillConstant(one ? 1.0F : 0.0F, type, bytes);
    return Error::success();
  }

  const uint64_t hash = hashParameterName(name);
  const std::array<uint32_t, 2> key = {static_cast<uint32_t>(seed),
                                       static_cast<uint32_t>(seed >> 32)};
  const auto first = static_cast<uint64_t>(firstElement);
  const size_t elementBytes = getBytes(type);
  const uint64_t end = first + bytes.size() / elementBytes;
  uint8_t *to = bytes.data();
  for (uint64_t element = first; element < end;) {
    const uint64_t group = element / 4;
    const std::array<uint32_t, 4> words = philox4x32(
        {static_cast<uint32_t>(group), static_cast<uint32_t>(group >> 32),
         static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32)},
        key);
    for (const uint64_t last = std::min(end, group * 4 + 4); element < last;
         ++element, to += elementBytes)
      storeElement(sample(initializer, words[element % 4]), type, to);
  }
  return Error::success();
}

} // namespace mf
