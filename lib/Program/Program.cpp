//===- Program.cpp - The decoded form of a lowered step -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Program.h"
#include "mf/Program/LocatedError.h"
#include "llvm/ADT/STLExtras.h"
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

/// The names of roles, in their order.
static constexpr llvm::StringLiteral roleNames[] = {
    "parameter", "table",      "gradient",    "first_moment",  "second_moment",
    "constant",  "tokens",     "labels",      "learning_rate", "step_number",
    "report",    "loss_scale", "accumulated", "gathered",      "draw",
    "average",   "factor",     "rounded"};
static_assert(std::size(roleNames) == static_cast<size_t>(lastRole) + 1);

/// The names of kinds of initial values, in their order.
static constexpr llvm::StringLiteral initialKindNames[] = {
    "zeros",       "ones",          "normal",        "rotary_cos", "rotary_sin",
    "causal_mask", "constant",      "alibi",         "coordinate", "uniform",
    "index_sum",   "token_experts", "stream_mixing", "hadamard"};
static_assert(std::size(initialKindNames) ==
              static_cast<size_t>(InitialValue::Kind::Hadamard) + 1);

template <typename Enum, size_t count>
static std::optional<Enum> parse(const llvm::StringLiteral (&names)[count],
                                 llvm::StringRef name) {
  const auto *found = llvm::find(names, name);
  if (found == std::end(names))
    return std::nullopt;
  return static_cast<Enum>(found - names);
}

llvm::StringRef getName(Role role) {
  return roleNames[static_cast<size_t>(role)];
}

std::optional<Role> parseRole(llvm::StringRef name) {
  return parse<Role>(roleNames, name);
}

llvm::StringRef getName(InitialValue::Kind kind) {
  return initialKindNames[static_cast<size_t>(kind)];
}

std::optional<InitialValue::Kind> parseInitialKind(llvm::StringRef name) {
  return parse<InitialValue::Kind>(initialKindNames, name);
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
