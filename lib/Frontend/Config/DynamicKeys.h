//===- DynamicKeys.h - Fields of the dynamic-graph trainer ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The sections of the YAML that MindSpore Transformers' dynamic-graph trainer
// reads, with one record per field: its type in Python, its default, its
// meaning, and whether a training step depends on it.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_FRONTEND_CONFIG_DYNAMICKEYS_H
#define MF_LIB_FRONTEND_CONFIG_DYNAMICKEYS_H

#include "mf/Frontend/Config/KnownKeys.h"

namespace mf {

/// A type that the trainer checks values against, by its name in messages.
struct DynamicType {
  /// The name as Python prints it; empty for a type that nothing checks.
  llvm::StringLiteral name;
  /// The kinds of values that it takes, as bits.
  unsigned kinds = 0;
  /// The type of a list's elements; null if nothing checks them.
  const DynamicType *element = nullptr;

  bool takes(NodeKind kind) const {
    return (kinds >> static_cast<unsigned>(kind) & 1) != 0;
  }
};

/// The use of a field's value.
enum class DynamicUse : uint8_t {
  Used,     ///< Another value changes the program or produces a message.
  NoEffect, ///< The step does not depend on the value.
  Section   ///< The fields of the section have their own table.
};

struct DynamicKey {
  llvm::StringLiteral name = "";
  DynamicType type;
  /// The default as a YAML writes it; empty if there is none.
  llvm::StringLiteral missing = "";
  llvm::StringLiteral meaning = "";
  DynamicUse use = DynamicUse::Used;
  /// The trainer's behaviour, which does not depend on the value. A value other
  /// than the default produces a warning with this text.
  llvm::StringLiteral instead = "";
  /// The trainer fails without it.
  bool isRequired = false;
  llvm::StringLiteral section = ""; ///< its name
  /// Returns the static graph's key for the same setting. Null if there is none
  /// that is a member of TrainingConfig.
  const KnownKey &(*counterpart)() = nullptr;

  constexpr DynamicKey in(llvm::StringLiteral itsSection) const {
    DynamicKey key = *this;
    key.section = itsSection;
    return key;
  }
  /// Names the counterpart by its member.
  template <auto member> constexpr DynamicKey as() const {
    DynamicKey key = *this;
    key.counterpart = []() -> const KnownKey & {
      return known::findKey(member);
    };
    return key;
  }

  /// Returns the names of the section and of the field.
  std::string getPath() const {
    return section.empty() ? name.str() : (section + "." + name).str();
  }
};

struct DynamicSection {
  /// The names of the maps around it, separated by dots; empty for the
  /// document.
  llvm::StringLiteral name;
  /// The class that messages of the trainer name.
  llvm::StringLiteral className;
  /// Other fields go on to the class that `type` names, or are kept.
  bool takesOthers;
  /// Null is the same as no section.
  bool isOptional;
  llvm::ArrayRef<const DynamicKey *> keys;

  const DynamicKey *find(llvm::StringRef key) const;
};

/// The fields by section, as `parallelism::tensorParallel`, and the names of
/// sections, as `parallelism::section`.
namespace dynamic {

/// Helpers to write the records.
namespace record {

template <typename... Kinds> constexpr unsigned anyOf(Kinds... kinds) {
  return ((1U << static_cast<unsigned>(kinds)) | ...);
}

// Types. Python takes an int for a float, and a bool for neither.
using Kind = NodeKind;
inline constexpr DynamicType anyType = {""};
inline constexpr DynamicType boolType = {"bool", anyOf(Kind::Bool)};
inline constexpr DynamicType intType = {"int", anyOf(Kind::Int)};
inline constexpr DynamicType floatType = {"float",
                                          anyOf(Kind::Int, Kind::Float)};
inline constexpr DynamicType stringType = {"str", anyOf(Kind::String)};
inline constexpr DynamicType mapType = {"dict", anyOf(Kind::Map)};
inline constexpr DynamicType floatList = {"list", anyOf(Kind::List),
                                          &floatType};
inline constexpr DynamicType stringList = {"list", anyOf(Kind::List),
                                           &stringType};
inline constexpr DynamicType mapList = {"list", anyOf(Kind::List), &mapType};
inline constexpr DynamicType optionalInt = {"typing.Optional[int]",
                                            anyOf(Kind::Int, Kind::Null)};
inline constexpr DynamicType optionalString = {"typing.Optional[str]",
                                               anyOf(Kind::String, Kind::Null)};
inline constexpr DynamicType optionalStrings = {
    "typing.Optional[typing.List[str]]", anyOf(Kind::List, Kind::Null),
    &stringType};
inline constexpr DynamicType optionalInts = {
    "typing.Optional[typing.List[int]]", anyOf(Kind::List, Kind::Null),
    &intType};
inline constexpr DynamicType optionalList = {
    "typing.Union[list, tuple, NoneType]", anyOf(Kind::List, Kind::Null)};
inline constexpr DynamicType optionalListOrMap = {
    "typing.Union[dict, list, NoneType]",
    anyOf(Kind::List, Kind::Map, Kind::Null)};
inline constexpr DynamicType stagesType = {
    "typing.Union[list, str, NoneType]",
    anyOf(Kind::List, Kind::String, Kind::Null)};
inline constexpr DynamicType normNamesType = {
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

} // namespace record

#define DYNAMIC_SECTION(ID, NAME, ...)                                         \
  namespace ID {                                                               \
  inline constexpr llvm::StringLiteral section = NAME;                         \
  }
#define DYNAMIC_KEY(SECTION, ID, ...)                                          \
  namespace SECTION {                                                          \
  using namespace record;                                                      \
  inline constexpr DynamicKey ID = DynamicKey(__VA_ARGS__).in(section);        \
  }
#include "DynamicKeys.def"

namespace dataloader {
/// Keys of `config`, which describes the files of tokens.
inline constexpr llvm::StringLiteral documentMask =
    "create_compressed_eod_mask";
inline constexpr llvm::StringLiteral documentEnd = "eod";
} // namespace dataloader

/// Keys that choose the kernel of AdamW. With one of the first two the kernel
/// has the rate of the step before.
inline constexpr llvm::StringLiteral fusedAdamKeys[] = {
    "use_fused", "enable_fused_opt", "use_fused_adamw"};
inline constexpr llvm::ArrayRef<llvm::StringLiteral> lateAdamKeys = {
    fusedAdamKeys, 2};

} // namespace dynamic

/// Returns all sections in the order of the documentation. The first is the
/// document itself.
llvm::ArrayRef<DynamicSection> getDynamicSections();
/// Returns the section of this name, which must exist.
const DynamicSection &getDynamicSection(llvm::StringRef name);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_DYNAMICKEYS_H
