//===- CertifyUpdate.cpp - What each update has to compute ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/CertificateAttribute.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/certify/UpdateTerms.h"

namespace mf::passes {
#define GEN_PASS_DEF_CERTIFYUPDATE
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;

/// Writes the certificate of an update (mf/Program/Certificate.h).
static LogicalResult certify(UpdateOp update) {
  mf::passes::UpdateTerms terms(update);
  if (failed(terms.run()))
    return failure();
  Builder builder(update.getContext());
  auto getTerm = [&](mf::program::Term term) {
    return builder.getI64IntegerAttr(static_cast<int64_t>(term));
  };
  SmallVector<Attribute> results;
  for (const mf::program::CertifiedResult &result : terms.getResults())
    results.push_back(builder.getArrayAttr(
        {builder.getStringAttr(result.name), getTerm(result.term)}));
  NamedAttrList entries;
  entries.set("results", builder.getArrayAttr(results));
  if (std::optional<mf::program::Term> gradient = terms.getLossGradient())
    entries.set("loss_gradient", getTerm(*gradient));
  update->setAttr(certificateAttribute,
                  entries.getDictionary(update.getContext()));
  remark::analysis(update.getLoc(), remark::RemarkOpts::name("Certificate")
                                        .category("certify")
                                        .function(update.getSymName()))
      << remark::add("has terms for what it leaves")
      << remark::metric("results", results.size());
  return success();
}

namespace {

struct CertifyUpdatePass
    : mf::passes::impl::CertifyUpdateBase<CertifyUpdatePass> {
  void runOnOperation() override {
    for (auto update : getOperation().getBody().getOps<UpdateOp>())
      if (failed(certify(update)))
        return signalPassFailure();
  }
};

} // namespace
