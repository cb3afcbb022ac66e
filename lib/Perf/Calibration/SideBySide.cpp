//===- SideBySide.cpp - What a profile shows at the same time -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SideBySide.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace mf::calibration {

SideBySide::SideBySide(const Profile &profile) {
  for (const ProfiledExchange &exchange : profile.exchanges) {
    const double end = exchange.start + exchange.seconds;
    exchanges[exchange.folder].push_back({exchange.start, end, 0, &exchange});
    named[{exchange.folder, exchange.step, exchange.name}] = &exchange;
  }
  for (const ProfiledLaunch &launch : profile.launches)
    if (!launch.isCommunication())
      for (const ProfiledTime &time : launch.times)
        if (time.start)
          kernels[time.folder].push_back(
              {*time.start, *time.start + time.seconds, 0, nullptr});
  for (const ProfiledTransfer &transfer : profile.transfers) {
    auto found = named.find({transfer.folder, transfer.step, transfer.name});
    if (found == named.end())
      continue;
    const double end = found->second->start + found->second->seconds;
    moves[transfer.folder].push_back(
        {end - transfer.seconds, end, 0, found->second});
  }
  sort(kernels);
  sort(exchanges);
  sort(moves);
}

void SideBySide::sort(Rows &rows) {
  for (auto &[folder, all] : rows) {
    llvm::sort(all, [](const Row &one, const Row &other) {
      return std::tie(one.start, one.end) < std::tie(other.start, other.end);
    });
    double last = all.front().end;
    for (Row &row : all)
      row.lastEnd = last = std::max(last, row.end);
  }
}

/// Rows of the exchange `other` do not count.
SideBySide::Beside SideBySide::find(const Rows &rows, uint32_t folder,
                                    double start, double end,
                                    const ProfiledExchange *other) {
  Beside beside;
  auto found = rows.find(folder);
  if (found == rows.end() || end <= start)
    return beside;
  double covered = 0, from = start, most = 0;
  for (const Row *row = llvm::partition_point(
           llvm::ArrayRef(found->second),
           [&](const Row &other) { return other.lastEnd <= start; });
       row != found->second.data() + found->second.size() && row->start < end;
       ++row) {
    if (other && row->exchange == other)
      continue;
    const double common = std::min(end, row->end) - std::max(start, row->start);
    covered +=
        std::max(0.0, std::min(end, row->end) - std::max(from, row->start));
    from = std::max(from, row->end);
    if (common <= most)
      continue;
    most = common;
    beside.exchange = row->exchange;
  }
  beside.share = std::min(1.0, covered / (end - start));
  return beside;
}

SideBySide::Beside SideBySide::getExchanges(const ProfiledTime &kernel) const {
  if (!kernel.start)
    return {};
  return find(exchanges, kernel.folder, *kernel.start,
              *kernel.start + kernel.seconds);
}

SideBySide::Beside SideBySide::getKernels(uint32_t folder, int64_t step,
                                          const std::string &name) const {
  auto found = named.find({folder, step, name});
  if (found == named.end())
    return {};
  const ProfiledExchange &exchange = *found->second;
  return find(kernels, folder, exchange.start,
              exchange.start + exchange.seconds);
}

bool SideBySide::sharesLinks(const ProfiledTransfer &transfer) const {
  // Clocks are not exact.
  constexpr double leastShare = 0.01;
  auto found = named.find({transfer.folder, transfer.step, transfer.name});
  if (found == named.end())
    return false;
  const double end = found->second->start + found->second->seconds;
  return find(moves, transfer.folder, end - transfer.seconds, end,
              found->second)
             .share > leastShare;
}

} // namespace mf::calibration
