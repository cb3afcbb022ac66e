//===- CameReader.cpp - The optimizer's keys of Came ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OptimizerReaders.h"

namespace mf {

/// Reads two lists: `[of squares, of parameters' norms, of instability]`. The
/// second element is the epsilon that scale_parameter uses.
static void readConstants(SectionReader &reader, CameConfig &came) {
  Node eps = reader.get("eps");
  if (eps.isUndefinedOrNull())
    return;
  const std::vector<Node> &items = eps.getElements();
  std::vector<double> numbers;
  for (const Node &item : items)
    if (std::optional<double> number = item.getNumber())
      if (*number >= 0)
        numbers.push_back(*number);
  if (items.size() != 3 || numbers.size() != 3)
    return reader.rejectValue("eps", eps,
                              "a list of three numbers that are not negative, "
                              "as [1.e-30, 1.e-3, 1.e-16]");
  came.eps = numbers[0];
  came.instabilityEps = numbers[2];
}

/// Switches of Came that change the step are off in all that is lowered.
static void checkSwitches(SectionReader &reader) {
  if (reader.readBool("scale_parameter", false))
    reader.diagnostics.error(
        reader.get("scale_parameter").getLocation(),
        "'scale_parameter' of Came, a rate that follows the norm of each "
        "parameter, is not supported; expected False");
  for (llvm::StringRef key : {"relative_step", "warmup_init", "compression"})
    if (reader.readBool(key, false))
      reader.diagnostics.error(
          reader.get(key).getLocation(),
          "expected " + quote(key) +
              " to be False, which is all that Came takes beside an "
              "lr_schedule");
}

void readCame(SectionReader &reader, OptimizerConfig &config) {
  if (!config.came)
    return reader.warnOfKeys(&partId<CameConfig>, "the optimizer is not Came");
  readConstants(reader, *config.came);
  checkSwitches(reader);
  for (llvm::StringRef key : {"betas", "beta2"})
    if (Node value = reader.get(key))
      reader.diagnostics.error(value.getLocation(),
                               "expected 'beta1', 'beta3' and 'decay_rate' of "
                               "Came, but got " +
                                   quote(key));
  if (config.beta1 <= 0)
    reader.rejectValue("beta1", reader.get("beta1"),
                       "a number above 0: without a first moment Came does "
                       "not move parameters");
  if (config.came->beta3 >= 1)
    reader.rejectValue("beta3", reader.get("beta3"), "a number below 1");
}

} // namespace mf
