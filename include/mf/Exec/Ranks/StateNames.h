//===- StateNames.h - Names of parameters and their state ------*- C++ -*-===//

#ifndef MF_RANKS_STATENAMES_H
#define MF_RANKS_STATENAMES_H

#include "mf/Program/Program.h"
#include "llvm/ADT/StringMap.h"
#include <set>
#include <string>
#include <vector>

namespace mf::ranks {

/// The names that statics of a program have in files: a parameter that which
/// the program gives it (`of`), one that is tied to another the name of that,
/// and a gradient that of its parameter.
class StateNames {
public:
  /// Adds the statics of a stage, which must outlive the names. These are
  /// complete once all stages are there.
  void add(llvm::ArrayRef<program::Static> statics);

  /// The name of a parameter's first value, and of its tensor in a file.
  std::string getOwner(const program::Static &parameter) const;
  /// The parameter that the one called `parameter` is a copy of, or itself.
  std::string getCopied(const std::string &parameter) const;

  /// The names of all parameters, those of tied ones too.
  std::set<std::string> getParameters() const;
  /// The names of the parameters that have moments.
  const std::set<std::string> &getTrained() const { return trained; }

  /// The name of a static in a file of parameters, of those that have moments
  /// and of gradients; empty if it is not in one. A tied parameter is in none.
  std::string getParameterName(const program::Static &buffer) const;
  std::string getTrainedName(const program::Static &buffer) const;
  static std::string getGradientName(const program::Static &buffer);
  /// The name in a rank's file of a checkpoint, which has moments before the
  /// names of their parameters; empty if the static is not in one.
  static std::string getCheckpointName(const program::Static &buffer);

private:
  /// By the name of a static, the parameter that it is.
  llvm::StringMap<std::string> parameterOf;
  std::vector<const program::Static *> parameters;
  std::set<std::string> trained;
};

} // namespace mf::ranks

#endif // MF_RANKS_STATENAMES_H
