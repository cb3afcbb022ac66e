//===- StateNames.h - Names of parameters and their state ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_EXEC_RANKS_STATENAMES_H
#define MF_EXEC_RANKS_STATENAMES_H

#include "mf/Program/Program.h"
#include "llvm/ADT/StringMap.h"
#include <set>
#include <string>
#include <vector>

namespace mf::ranks {

/// The names of a program's statics in files. A parameter has the name that the
/// program gives it (`of`), a tied parameter the name of the parameter that it
/// is tied to, and a gradient the name of its parameter.
class StateNames {
public:
  /// Adds the statics of a stage, which must outlive this object. The names are
  /// complete after all stages have been added.
  void add(llvm::ArrayRef<program::Static> statics);

  /// Returns the name that determines a parameter's initial value, and that of
  /// its tensor in a file.
  std::string getOwner(const program::Static &parameter) const;
  /// Returns the parameter that `parameter` is a copy of, or itself.
  std::string getCopied(const std::string &parameter) const;

  /// Returns the names of all parameters, including tied ones.
  std::set<std::string> getParameters() const;
  /// Returns the names of tables, such as those of rotary embeddings.
  const std::set<std::string> &getTables() const { return tables; }
  /// Returns the names of the parameters that have moments.
  const std::set<std::string> &getTrained() const { return trained; }

  /// Return the name of a static in a file of parameters, of trained parameters
  /// (those with moments) and of gradients; empty if the file does not contain
  /// it. Tied parameters are in no file. Tables of experts are parameters.
  std::string getParameterName(const program::Static &buffer) const;
  std::string getTrainedName(const program::Static &buffer) const;
  static std::string getGradientName(const program::Static &buffer);
  /// Returns the name in a rank's file of a checkpoint, in which a prefix for
  /// the moment precedes the name of its parameter. Empty if the file does not
  /// contain the static.
  static std::string getCheckpointName(const program::Static &buffer);

private:
  /// Maps the names of statics to the parameters that they hold.
  llvm::StringMap<std::string> parameterOf;
  std::vector<const program::Static *> parameters;
  std::set<std::string> trained, tables;
};

} // namespace mf::ranks

#endif // MF_EXEC_RANKS_STATENAMES_H
