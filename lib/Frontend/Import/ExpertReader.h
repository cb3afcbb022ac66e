//===- ExpertReader.h - Experts from a YAML ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_IMPORT_EXPERTREADER_H
#define MF_LIB_FRONTEND_IMPORT_EXPERTREADER_H

#include "SpecReader.h"
#include "mf/Frontend/Import/ModelSpec.h"

namespace mf {

/// Returns the experts of a family with legacy classes, read from moe_config,
/// or none if there is only one expert. `model` reads model_config.
std::optional<ExpertSpec> readClassicExperts(const TrainingConfig &config,
                                             const ExpertClasses &classes,
                                             std::optional<Release> release,
                                             const ModelSpec &spec,
                                             SpecReader &model);

/// Experts of the mcore training graph, from model_config.
std::optional<ExpertSpec> readMcoreExperts(const TrainingConfig &config,
                                           const ModelSpec &spec,
                                           SpecReader &model);

/// Reads the experts of `spec`'s family. Emits errors if the family has none
/// but the YAML requests them.
void readExperts(const TrainingConfig &config, std::optional<Release> release,
                 SpecReader &model, ModelSpec &spec);

/// Computes rows, places and ranks from the batch.
void resolveExpertSizes(const TrainingConfig &config,
                        const ModelOverrides &overrides, ModelSpec &spec,
                        DiagnosticList &diagnostics);

//===----------------------------------------------------------------------===//
// Parts of the readers
//===----------------------------------------------------------------------===//

/// Reads a key whose value is not used. Warns that a value has no effect
/// unless it is the default `neutral`, given as Python prints it. The message
/// continues after `has no effect ` with `why`.
void readUnused(SpecReader &reader, const SpecReader::Keys &keys,
                llvm::StringRef neutral, const llvm::Twine &why);

/// Reads an int of at least 0.
int64_t readCount(SpecReader &reader, const SpecReader::Keys &keys,
                  int64_t missing);

/// Lists of loss names and factors, zipped.
struct NamedFactor {
  std::string name;
  double factor = 0.0;
  Location location;
};
std::vector<NamedFactor> readLossFactors(SpecReader &reader,
                                         const KnownKey &types,
                                         const KnownKey &factors);

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_EXPERTREADER_H
