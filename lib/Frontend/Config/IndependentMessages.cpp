//===- IndependentMessages.cpp - Messages that no error causes ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/IndependentMessages.h"
#include <algorithm>
#include <set>

namespace mf {

/// Returns the line at which the section around a line begins; 0 if there is
/// none.
static unsigned findSection(const Node &root, unsigned line) {
  unsigned begin = 0;
  for (const Node::Entry &entry : root.getEntries())
    if (const unsigned key = entry.key.getLocation().line; key <= line)
      begin = std::max(begin, key);
  return begin;
}

DiagnosticList findIndependent(llvm::ArrayRef<Diagnostic> later,
                               const DiagnosticList &known, const Node &root) {
  std::set<unsigned> wrong;
  for (const Diagnostic &message : known.getAll())
    if (message.severity == Severity::Error)
      wrong.insert(findSection(root, message.location.line));
  DiagnosticList independent;
  for (const Diagnostic &message : later) {
    const unsigned section = findSection(root, message.location.line);
    if (!wrong.empty() && (section == 0 || wrong.count(section) != 0))
      continue;
    Diagnostic &copy =
        message.severity == Severity::Error
            ? independent.error(message.location, message.message)
            : independent.warning(message.location, message.message);
    copy.notes = message.notes;
  }
  return independent;
}

} // namespace mf
