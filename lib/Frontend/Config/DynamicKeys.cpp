//===- DynamicKeys.cpp - Fields of the dynamic-graph trainer --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicKeys.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

namespace {

template <typename... Kinds> constexpr unsigned anyOf(Kinds... kinds) {
  return ((1U << static_cast<unsigned>(kinds)) | ...);
}

// Types. Python takes an int for a float, and a bool for neither.
using Kind = NodeKind;
constexpr DynamicType anyType = {""};
constexpr DynamicType boolType = {"bool", anyOf(Kind::Bool)};
constexpr DynamicType intType = {"int", anyOf(Kind::Int)};
constexpr DynamicType floatType = {"float", anyOf(Kind::Int, Kind::Float)};
constexpr DynamicType stringType = {"str", anyOf(Kind::String)};
constexpr DynamicType mapType = {"dict", anyOf(Kind::Map)};
constexpr DynamicType floatList = {"list", anyOf(Kind::List), &floatType};
constexpr DynamicType stringList = {"list", anyOf(Kind::List), &stringType};
constexpr DynamicType mapList = {"list", anyOf(Kind::List), &mapType};
constexpr DynamicType optionalInt = {"typing.Optional[int]",
                                     anyOf(Kind::Int, Kind::Null)};
constexpr DynamicType optionalString = {"typing.Optional[str]",
                                        anyOf(Kind::String, Kind::Null)};
constexpr DynamicType optionalStrings = {"typing.Optional[typing.List[str]]",
                                         anyOf(Kind::List, Kind::Null),
                                         &stringType};
constexpr DynamicType optionalInts = {"typing.Optional[typing.List[int]]",
                                      anyOf(Kind::List, Kind::Null), &intType};
constexpr DynamicType optionalList = {"typing.Union[list, tuple, NoneType]",
                                      anyOf(Kind::List, Kind::Null)};
constexpr DynamicType optionalListOrMap = {
    "typing.Union[dict, list, NoneType]",
    anyOf(Kind::List, Kind::Map, Kind::Null)};
constexpr DynamicType stagesType = {
    "typing.Union[list, str, NoneType]",
    anyOf(Kind::List, Kind::String, Kind::Null)};
constexpr DynamicType normNamesType = {
    "typing.Union[bool, str, list]",
    anyOf(Kind::Bool, Kind::String, Kind::List)};

constexpr DynamicKey field(llvm::StringLiteral name, DynamicType type,
                           llvm::StringLiteral missing,
                           llvm::StringLiteral meaning) {
  return {name, type, missing, meaning};
}
/// Returns a field on which a step does not depend.
constexpr DynamicKey noEffect(llvm::StringLiteral name, DynamicType type,
                              llvm::StringLiteral missing,
                              llvm::StringLiteral meaning) {
  return {name, type, missing, meaning, DynamicUse::NoEffect};
}
/// Returns a field that the trainer overwrites or never reads.
constexpr DynamicKey dead(llvm::StringLiteral name, DynamicType type,
                          llvm::StringLiteral missing,
                          llvm::StringLiteral meaning,
                          llvm::StringLiteral instead) {
  return {name, type, missing, meaning, DynamicUse::NoEffect, instead};
}
constexpr DynamicKey required(llvm::StringLiteral name,
                              llvm::StringLiteral meaning) {
  return {name, stringType, "", meaning, DynamicUse::Used, "", true};
}
constexpr DynamicKey subsection(llvm::StringLiteral name) {
  return {name, mapType, "", "", DynamicUse::Section};
}

} // namespace

#define DYNAMIC_SECTION(ID, NAME, CLASS, TAKES_OTHERS, IS_OPTIONAL, ...)       \
  static constexpr DynamicKey ID##Fields[] = {__VA_ARGS__};
#include "DynamicKeys.def"

llvm::ArrayRef<DynamicSection> getDynamicSections() {
  static constexpr DynamicSection sections[] = {
#define DYNAMIC_SECTION(ID, NAME, CLASS, TAKES_OTHERS, IS_OPTIONAL, ...)       \
  {NAME, CLASS, TAKES_OTHERS, ID##Fields, IS_OPTIONAL},
#include "DynamicKeys.def"
  };
  return sections;
}

const DynamicKey *DynamicSection::find(llvm::StringRef key) const {
  const auto *found = llvm::find_if(
      keys, [&](const DynamicKey &known) { return known.name == key; });
  return found == keys.end() ? nullptr : found;
}

const DynamicSection &getDynamicSection(llvm::StringRef name) {
  return *llvm::find_if(
      getDynamicSections(),
      [&](const DynamicSection &section) { return section.name == name; });
}

} // namespace mf
