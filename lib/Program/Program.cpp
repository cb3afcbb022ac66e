//===- Program.cpp - The decoded form of a lowered step -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Program.h"
#include "mf/Program/LocatedError.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::program {

std::vector<int64_t> Channel::getMembers(const Mesh &mesh, int64_t rank,
                                         bool isSend) const {
  if (!isTransfer)
    return mesh.getMembers(group, rank);
  if (axis == stageAxis)
    return {mesh.getRankOfStage(rank, fromStage),
            mesh.getRankOfStage(rank, toStage)};
  return {isSend ? rank : mesh.getShifted(rank, axis, -shift),
          isSend ? mesh.getShifted(rank, axis, shift) : rank};
}

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
  case Role::Accumulated:
    return "accumulated";
  case Role::Gathered:
    return "gathered";
  case Role::Draw:
    return "draw";
  case Role::Average:
    return "average";
  case Role::Factor:
    return "factor";
  case Role::Rounded:
    return "rounded";
  }
  return "";
}

std::optional<Role> parseRole(llvm::StringRef name) {
  for (uint8_t number = 0; number <= static_cast<uint8_t>(lastRole); ++number)
    if (const auto role = static_cast<Role>(number); getName(role) == name)
      return role;
  return std::nullopt;
}

llvm::StringRef getName(InitialValue::Kind kind) {
  switch (kind) {
  case InitialValue::Kind::Zeros:
    return "zeros";
  case InitialValue::Kind::Ones:
    return "ones";
  case InitialValue::Kind::Normal:
    return "normal";
  case InitialValue::Kind::RotaryCos:
    return "rotary_cos";
  case InitialValue::Kind::RotarySin:
    return "rotary_sin";
  case InitialValue::Kind::CausalMask:
    return "causal_mask";
  case InitialValue::Kind::Constant:
    return "constant";
  case InitialValue::Kind::Alibi:
    return "alibi";
  case InitialValue::Kind::Coordinate:
    return "coordinate";
  case InitialValue::Kind::Uniform:
    return "uniform";
  case InitialValue::Kind::IndexSum:
    return "index_sum";
  case InitialValue::Kind::TokenExperts:
    return "token_experts";
  case InitialValue::Kind::StreamMixing:
    return "stream_mixing";
  case InitialValue::Kind::Hadamard:
    return "hadamard";
  }
  llvm_unreachable("unknown kind of initial value");
}

std::optional<InitialValue::Kind> parseInitialKind(llvm::StringRef name) {
  using Kind = InitialValue::Kind;
  for (Kind kind :
       {Kind::Zeros, Kind::Ones, Kind::Normal, Kind::RotaryCos, Kind::RotarySin,
        Kind::CausalMask, Kind::Constant, Kind::Alibi, Kind::Coordinate,
        Kind::Uniform, Kind::IndexSum, Kind::TokenExperts, Kind::StreamMixing,
        Kind::Hadamard})
    if (getName(kind) == name)
      return kind;
  return std::nullopt;
}

bool isOfStep(Role role) {
  return role == Role::Gradient || role == Role::Accumulated ||
         role == Role::Gathered;
}

char LocatedError::ID = 0;

void LocatedError::log(llvm::raw_ostream &os) const {
  os << message;
  for (const Note &note : notes)
    os << "\n  note: " << note.text;
}

std::error_code LocatedError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

} // namespace mf::program
