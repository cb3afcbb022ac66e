//===- ModelKeys.h - The keys of model_config -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_FRONTEND_CONFIG_MODELKEYS_H
#define MF_FRONTEND_CONFIG_MODELKEYS_H

#include "mf/Frontend/Config/KeyHelp.h"
#include "mf/Frontend/Config/KnownKeys.h"

namespace mf {

/// Returns the first of `names` with a value in a map, or else the first that
/// is in the map, or else the first.
llvm::StringRef findWritten(const Node &map,
                            llvm::ArrayRef<llvm::StringRef> names);

namespace keys {

/// Configuration classes that have names of their own for some keys. Classes
/// without an enumerator have the names of Llama.
enum Naming : uint8_t {
  Llama,
  Qwen,
  Telechat,
  ChatGlm,
  Glm,
  Gpt2,
  Spark,
  HuggingFace,         ///< config.json
  HuggingFaceDeepSeek, ///< as HuggingFace where a key has no names for it
  HuggingFaceMixtral,  ///< the same
  Mcore,               ///< the mcore training graph and the dynamic graph
  Nobody               ///< names that are known, but that no class reads
};

} // namespace keys

namespace keys {

// Why a class of models does not read a key.
inline constexpr llvm::StringLiteral ofNames = "names of the model";
inline constexpr llvm::StringLiteral elsewhere =
    "read where stages, recomputation, swap and fusions are decided";
inline constexpr llvm::StringLiteral generation = "text generation";
inline constexpr llvm::StringLiteral sameResult =
    "the same result another way, or of another size of table";

} // namespace keys

/// The record of a key of model_config. Its type and default are those of the
/// class of the model, which reads the key with SpecReader.
class ModelKey {
public:
  /// `names`, separated by blanks, are those of classes without names of their
  /// own. The first is preferred.
  constexpr ModelKey(llvm::StringLiteral names, llvm::StringLiteral meaning)
      : meaning(meaning), names(names) {}

  /// Gives the names that these classes read instead.
  template <typename... Namings>
  constexpr ModelKey of(llvm::StringLiteral itsNames,
                        Namings... namings) const {
    ModelKey key = *this;
    for (OwnNames &own : key.ownNames)
      if (own.namings == 0) {
        own = {itsNames, ((1U << namings) | ...)};
        break;
      }
    return key;
  }
  /// Makes a name that the model's class does not read a warning.
  constexpr ModelKey checked() const {
    ModelKey key = *this;
    key.isWrongElsewhere = true;
    return key;
  }

  /// Makes the key a warning in models whose class does not read it, unless the
  /// value is one of `values`, in Python's spelling and separated by `|`. The
  /// warning says what the key does.
  constexpr ModelKey notModelled(llvm::StringLiteral values,
                                 llvm::StringLiteral does = "") const {
    ModelKey key = *this;
    key.neutral = values;
    key.effect = does;
    return key;
  }
  /// Says why classes that do not read the key do not need it. Names that other
  /// classes have for it are unknown nevertheless.
  constexpr ModelKey unread(llvm::StringLiteral reason) const {
    ModelKey key = *this;
    key.unreadReason = reason;
    return key;
  }
  /// Makes names that the mcore graph's experts do not read a warning, unless
  /// the value is the default, in Python's spelling.
  constexpr ModelKey unusedByExperts(llvm::StringLiteral value) const {
    ModelKey key = *this;
    key.unusedDefault = value;
    return key;
  }

  /// Returns the names that classes read, the preferred one first.
  llvm::SmallVector<llvm::StringRef> getNames(keys::Naming naming) const;
  /// Returns the names in all classes.
  llvm::SmallVector<llvm::StringRef> getAllNames() const;
  /// Returns the names that are not those of single classes, separated by
  /// blanks: of all others, and of none.
  llvm::SmallVector<llvm::StringLiteral> getCommonNames() const;
  /// Returns the first of all names.
  llvm::StringRef getName() const { return names.split(' ').first; }
  /// Returns the name under which a map has the key, in any class.
  llvm::StringRef findName(const Node &model) const {
    return findWritten(model, getAllNames());
  }
  /// Returns the value in a map that may have any of the names.
  Node find(const Node &model) const { return model[findName(model)]; }
  /// Returns the value in a map under a name that these classes read.
  Node find(const Node &model, keys::Naming naming) const {
    return model[findWritten(model, getNames(naming))];
  }

  llvm::StringLiteral meaning;
  bool isWrongElsewhere = false;
  llvm::StringLiteral neutral = "", effect = "";
  llvm::StringLiteral unreadReason = "";
  llvm::StringLiteral unusedDefault = "";

private:
  struct OwnNames {
    llvm::StringLiteral names = "";
    unsigned namings = 0;
  };

  llvm::StringLiteral names;
  OwnNames ownNames[4] = {};
};

namespace keys {

#define MODEL_KEY(NAME, RECORD)                                                \
  inline constexpr ModelKey NAME = ModelKey RECORD;
#include "mf/Frontend/Config/ModelKeys.def"

} // namespace keys

/// Returns the record that has this name, or null.
const ModelKey *findModelKey(llvm::StringRef name);

/// Returns all records.
llvm::ArrayRef<const ModelKey *> getModelKeys();

/// Returns the keys of model_config that a class of models need not read.
const KnownSection &getUnreadModelKeys();

/// Returns the keys that classes of models read.
std::vector<KeyHelp> describeModelKeys();

/// Prints them as a part of the page of keys.
void printModelKeyPage(llvm::raw_ostream &out);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_MODELKEYS_H
