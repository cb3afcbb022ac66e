//===- ExpertReader.h - Experts from a YAML ---------------------*- C++ -*-===//

#ifndef MF_LIB_IMPORT_EXPERTREADER_H
#define MF_LIB_IMPORT_EXPERTREADER_H

#include "SpecReader.h"
#include "mf/Frontend/Import/ModelSpec.h"

namespace mf {

/// The keys of moe_config that the layer classes of a family read.
struct ExpertRules {
  /// moe_intermediate_size, first_k_dense_replace and use_fused_swiglu.
  bool isDeepSeek = false;
  /// use_gmm and shared_expert_num (not TeleChat).
  bool readsDropless = true;
  /// Gates are either divided by their sum or multiplied with
  /// routed_scaling_factor, and divided by that of the choices that found a
  /// place unless one operator finds the places. (Before release 1.5, and the
  /// layers of mixtral_extend.)
  bool normalizesOrScales = false;
  /// Auxiliary and z losses are added to the loss (not Llama).
  bool addsLosses = true;
  /// Standard deviation of the router's initial weight, and of experts without
  /// capacity; the model's if not given.
  std::optional<double> initializerRange;
};

/// Experts of a family with classic layer classes, from moe_config; none if it
/// has one expert. `model` reads model_config.
std::optional<ExpertSpec> readClassicExperts(const TrainingConfig &config,
                                             const ExpertRules &rules,
                                             const ModelSpec &spec,
                                             SpecReader &model);

/// Experts of the mcore training graph, from model_config.
std::optional<ExpertSpec> readMcoreExperts(const TrainingConfig &config,
                                           const ModelSpec &spec,
                                           SpecReader &model);

/// The experts of `spec`'s family, or errors if it has none but the YAML asks
/// for them.
void readExperts(const TrainingConfig &config, std::optional<Release> release,
                 SpecReader &model, ModelSpec &spec);

/// Rows, places and ranks, once the batch is known.
void resolveExpertSizes(const TrainingConfig &config,
                        const ModelOverrides &overrides, ModelSpec &spec,
                        DiagnosticList &diagnostics);

//===----------------------------------------------------------------------===//
// Parts of the readers
//===----------------------------------------------------------------------===//

/// A value of `key`, or none; a warning says that it has no effect, unless it
/// is the default `neutral`, which Python prints so; `why` follows `has no
/// effect `.
void warnWithoutEffect(SpecReader &reader, llvm::StringLiteral key,
                       llvm::StringRef neutral, const llvm::Twine &why);

/// An int of at least 0.
int64_t readCount(SpecReader &reader, SpecReader::Keys keys, int64_t missing);

/// Lists of loss names and factors, zipped.
struct NamedFactor {
  std::string name;
  double factor = 0.0;
  Location location;
};
std::vector<NamedFactor> readLossFactors(SpecReader &reader,
                                         llvm::StringLiteral types,
                                         llvm::StringLiteral factors);

} // namespace mf

#endif // MF_LIB_IMPORT_EXPERTREADER_H
