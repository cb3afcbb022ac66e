//===- SharedParameters.h - Parameters of several stages --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A parameter that is tied to one of another stage is a copy of it. Both copies
// must stay equal, so both stages update them with the sum of their gradients,
// and a norm over all stages counts this sum once. The proof over ranks uses
// this class to find the stages that share a parameter.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_SHAREDPARAMETERS_H
#define MF_LIB_PROGRAM_SHAREDPARAMETERS_H

#include "mf/Program/Program.h"
#include "llvm/ADT/StringMap.h"
#include <set>

namespace mf::program {

/// Returns whether statics of this role are parameters, or are stored or
/// computed for one in training.
bool belongsToParameter(Role role);

class SharedParameters {
public:
  explicit SharedParameters(const Program &program);

  /// Returns the index of the group of a static's parameter; the static may be
  /// the parameter, its gradient or its state. Returns none if no other stage
  /// has a copy.
  std::optional<uint32_t> find(const StageProgram &stage,
                               const Static &buffer) const;

  /// Returns the name of the parameter of which all members of a group are
  /// copies.
  const std::string &getName(uint32_t group) const {
    return groups[group].name;
  }
  /// Returns whether `stages` are the stages of the group. An empty list means
  /// all stages.
  bool isOver(uint32_t group, llvm::ArrayRef<int64_t> stages) const;

private:
  struct SharedParameter {
    std::string name;
    std::set<int64_t> stages;
  };
  int64_t numStages;
  std::vector<SharedParameter> groups;
  /// The group of each parameter of a stage, by the parameter's name. A copy of
  /// a parameter of the same stage has no storage, and is known by its
  /// gradient.
  std::vector<llvm::StringMap<uint32_t>> ofStages;
};

} // namespace mf::program

#endif // MF_LIB_PROGRAM_SHAREDPARAMETERS_H
