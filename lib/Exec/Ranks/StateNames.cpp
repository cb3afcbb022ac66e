//===- StateNames.cpp - Names of parameters and their state ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/StateNames.h"
#include "mf/Exec/Ranks/TokenExperts.h"

using namespace mf::program;

namespace mf::ranks {

void StateNames::add(llvm::ArrayRef<Static> statics) {
  for (const Static &buffer : statics) {
    if (!buffer.of.empty())
      parameterOf.try_emplace(buffer.name, buffer.of);
    if (buffer.role == Role::Parameter)
      parameters.push_back(&buffer);
    if (buffer.role == Role::Table)
      tables.insert(buffer.of.empty() ? buffer.name : buffer.of);
    if (buffer.role == Role::FirstMoment)
      trained.insert(buffer.of);
  }
}

std::string StateNames::getOwner(const Static &parameter) const {
  if (parameter.tied.empty())
    return parameter.of.empty() ? parameter.name : parameter.of;
  auto found = parameterOf.find(parameter.tied);
  return found == parameterOf.end() ? parameter.tied : found->second;
}

std::string StateNames::getCopied(const std::string &parameter) const {
  for (const Static *other : parameters)
    if (other->of == parameter)
      return getOwner(*other);
  return parameter;
}

std::set<std::string> StateNames::getParameters() const {
  std::set<std::string> names;
  for (const Static *parameter : parameters)
    names.insert({getOwner(*parameter), parameter->of});
  return names;
}

std::string StateNames::getParameterName(const Static &buffer) const {
  return (buffer.role == Role::Parameter || isTokenExperts(buffer)) &&
                 buffer.tied.empty()
             ? getOwner(buffer)
             : std::string();
}

std::string StateNames::getTrainedName(const Static &buffer) const {
  return trained.count(buffer.of) > 0 ? getParameterName(buffer)
                                      : std::string();
}

std::string StateNames::getGradientName(const Static &buffer) {
  if (buffer.role != Role::Gradient)
    return {};
  return buffer.of.empty() ? buffer.name : buffer.of;
}

std::string StateNames::getCheckpointName(const Static &buffer) {
  const std::string &name = buffer.of.empty() ? buffer.name : buffer.of;
  if (isTokenExperts(buffer))
    return name;
  switch (buffer.role) {
  case Role::Parameter:
    return name;
  case Role::FirstMoment:
    return "adam_m." + name;
  case Role::SecondMoment:
    return "adam_v." + name;
  case Role::Average:
    return "pma_weight." + name;
  case Role::Factor:
    return buffer.name;
  default:
    return {};
  }
}

} // namespace mf::ranks
