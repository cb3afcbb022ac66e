//===- ScalarTypes.cpp - Types of plain YAML scalars ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The implicit resolvers of PyYAML's safe loader (YAML 1.1), written out as
// scanners instead of its regular expressions.
//
//===----------------------------------------------------------------------===//

#include "mf/Frontend/Config/Node.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cstdlib>
#include <limits>

namespace mf {

static std::optional<bool> resolveBool(llvm::StringRef text) {
  return llvm::StringSwitch<std::optional<bool>>(text)
      .Cases({"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"},
             true)
      .Cases({"no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"},
             false)
      .Default(std::nullopt);
}

static bool isNull(llvm::StringRef text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" ||
         text == "NULL";
}

static std::string withoutUnderscores(llvm::StringRef text) {
  std::string digits;
  for (char c : text)
    if (c != '_')
      digits += c;
  return digits;
}

static bool allOf(llvm::StringRef text, llvm::StringRef allowed) {
  return text.find_first_not_of(allowed) == llvm::StringRef::npos;
}

/// Splits `90:15:30` into its base-60 digits. Returns false if the text is no
/// such number.
static bool splitSexagesimal(llvm::StringRef text,
                             llvm::SmallVectorImpl<llvm::StringRef> &places) {
  text.split(places, ':');
  if (places.size() < 2)
    return false;
  for (llvm::StringRef place : llvm::drop_begin(places)) {
    bool isTwoDigits = place.size() == 2 && place[0] >= '0' &&
                       place[0] <= '5' && llvm::isDigit(place[1]);
    bool isOneDigit = place.size() == 1 && llvm::isDigit(place[0]);
    if (!isTwoDigits && !isOneDigit)
      return false;
  }
  return true;
}

/// Reads `text` (a sign and digits in `radix`) into `data.integer`, which stays
/// empty when the value needs more than 64 bits.
static void setInteger(NodeData &data, llvm::StringRef digits, unsigned radix,
                       bool isNegative) {
  data.kind = NodeKind::Int;
  std::string plain = withoutUnderscores(digits);
  if (plain.empty())
    return;
  std::string signedText = (isNegative ? "-" : "") + plain;
  int64_t value = 0;
  if (!llvm::StringRef(signedText).getAsInteger(radix, value))
    data.integer = value;
  data.real = data.integer
                  ? static_cast<double>(*data.integer)
                  : std::strtod(signedText.c_str(), /*endptr=*/nullptr);
}

static bool resolveInt(NodeData &data) {
  llvm::StringRef text = data.text;
  bool isNegative = text.starts_with("-");
  if (isNegative || text.starts_with("+"))
    text = text.drop_front();
  if (text.empty() || !llvm::isDigit(text[0]))
    return false;
  if (text.starts_with("0b") && text.size() > 2 &&
      allOf(text.drop_front(2), "01_")) {
    setInteger(data, text.drop_front(2), 2, isNegative);
    return true;
  }
  if (text.starts_with("0x") && text.size() > 2 &&
      allOf(text.drop_front(2), "0123456789abcdefABCDEF_")) {
    setInteger(data, text.drop_front(2), 16, isNegative);
    return true;
  }
  if (text[0] == '0' && text.size() > 1 &&
      allOf(text.drop_front(), "01234567_")) {
    setInteger(data, text.drop_front(), 8, isNegative);
    return true;
  }
  if (text == "0" || (text[0] != '0' && allOf(text, "0123456789_"))) {
    setInteger(data, text, 10, isNegative);
    return true;
  }
  llvm::SmallVector<llvm::StringRef> places;
  if (text[0] == '0' || !splitSexagesimal(text, places) ||
      !allOf(places[0], "0123456789_"))
    return false;
  data.kind = NodeKind::Int;
  int64_t value = 0;
  for (llvm::StringRef place : places) {
    int64_t digit = 0;
    if (llvm::StringRef(withoutUnderscores(place)).getAsInteger(10, digit) ||
        __builtin_mul_overflow(value, 60, &value) ||
        __builtin_add_overflow(value, digit, &value))
      return true;
  }
  data.integer = isNegative ? -value : value;
  data.real = static_cast<double>(*data.integer);
  return true;
}

/// True if `text` is empty or an exponent with the sign that PyYAML requires.
static bool isExponent(llvm::StringRef text) {
  if (text.empty())
    return true;
  return text.size() > 2 && (text[0] == 'e' || text[0] == 'E') &&
         (text[1] == '+' || text[1] == '-') &&
         allOf(text.drop_front(2), "0123456789");
}

static bool setFloat(NodeData &data, double value) {
  data.kind = NodeKind::Float;
  data.real = value;
  return true;
}

static bool resolveFloat(NodeData &data) {
  llvm::StringRef text = data.text;
  if (text == ".nan" || text == ".NaN" || text == ".NAN")
    return setFloat(data, std::numeric_limits<double>::quiet_NaN());
  bool isNegative = text.starts_with("-");
  bool isSigned = isNegative || text.starts_with("+");
  llvm::StringRef body = isSigned ? text.drop_front() : text;
  if (body == ".inf" || body == ".Inf" || body == ".INF") {
    double infinity = std::numeric_limits<double>::infinity();
    return setFloat(data, isNegative ? -infinity : infinity);
  }
  auto [whole, rest] = body.split('.');
  if (whole.size() == body.size())
    return false;
  llvm::SmallVector<llvm::StringRef> places;
  if (splitSexagesimal(whole, places)) {
    if (!llvm::isDigit(places[0].empty() ? 'x' : places[0][0]) ||
        !allOf(places[0], "0123456789_") || !allOf(rest, "0123456789_"))
      return false;
    double value = 0;
    for (llvm::StringRef place : places)
      value = value * 60 + std::strtod(withoutUnderscores(place).c_str(),
                                       /*endptr=*/nullptr);
    value += std::strtod(("0." + withoutUnderscores(rest)).c_str(),
                         /*endptr=*/nullptr);
    return setFloat(data, isNegative ? -value : value);
  }
  // In PyYAML, `.5` may not have a sign and requires a digit after the point.
  if (whole.empty() &&
      (isSigned || rest.empty() || !llvm::isDigit(rest.front())))
    return false;
  if (!whole.empty() &&
      (!llvm::isDigit(whole.front()) || !allOf(whole, "0123456789_")))
    return false;
  size_t fraction = rest.find_first_not_of("0123456789_");
  if (!isExponent(fraction == llvm::StringRef::npos ? ""
                                                    : rest.substr(fraction)))
    return false;
  return setFloat(data, std::strtod(withoutUnderscores(text).c_str(),
                                    /*endptr=*/nullptr));
}

void resolvePlainScalar(NodeData &data) {
  if (isNull(data.text)) {
    data.kind = NodeKind::Null;
    return;
  }
  if (std::optional<bool> boolean = resolveBool(data.text)) {
    data.kind = NodeKind::Bool;
    data.boolean = *boolean;
    return;
  }
  if (resolveInt(data) || resolveFloat(data))
    return;
  data.kind = NodeKind::String;
}

} // namespace mf
