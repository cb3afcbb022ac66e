//===- SharedParameters.h - Parameters of several stages --------*- C++ -*-===//
//
// A parameter that is tied to one of another stage is its copy: both have to
// stay equal, so both stages update them by the sum of their gradients, and in
// a norm over all stages that sum counts once. The proof over ranks takes who
// shares what from here.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_SHAREDPARAMETERS_H
#define MF_LIB_PROGRAM_SHAREDPARAMETERS_H

#include "mf/Program/Program.h"
#include "llvm/ADT/StringMap.h"
#include <set>

namespace mf::program {

/// Whether a static is a parameter, or what training keeps or makes for one.
bool belongsToParameter(Role role);

class SharedParameters {
public:
  explicit SharedParameters(const Program &program);

  /// The number of the group to which the parameter belongs that a static is,
  /// or is a gradient or state of; none if no other stage has a copy.
  std::optional<uint32_t> find(const StageProgram &stage,
                               const Static &buffer) const;

  /// The name of the parameter that all of a group are copies of.
  const std::string &getName(uint32_t group) const {
    return groups[group].name;
  }
  /// Whether a collective over these stages is over those of the group; all
  /// stages if there are none.
  bool isOver(uint32_t group, llvm::ArrayRef<int64_t> stages) const;

private:
  struct SharedParameter {
    std::string name;
    std::set<int64_t> stages;
  };
  int64_t numStages;
  std::vector<SharedParameter> groups;
  /// The group of each parameter of a stage, by the parameter's name.
  std::vector<llvm::StringMap<uint32_t>> ofStages;
};

} // namespace mf::program

#endif // MF_LIB_PROGRAM_SHAREDPARAMETERS_H
