//===- Program.cpp - The decoded form of a lowered step -------------------===//

#include "mf/Program/Program.h"

namespace mf::program {

llvm::StringRef getName(Role role) {
  switch (role) {
  case Role::Parameter:
    return "parameter";
  case Role::Table:
    return "table";
  case Role::Gradient:
    return "gradient";
  case Role::FirstMoment:
    return "first_moment";
  case Role::SecondMoment:
    return "second_moment";
  case Role::Constant:
    return "constant";
  case Role::Tokens:
    return "tokens";
  case Role::Labels:
    return "labels";
  case Role::LearningRate:
    return "learning_rate";
  case Role::StepNumber:
    return "step_number";
  case Role::Report:
    return "report";
  case Role::LossScale:
    return "loss_scale";
  }
  return "";
}

} // namespace mf::program
