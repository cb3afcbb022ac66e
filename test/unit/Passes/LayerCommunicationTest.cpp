//===- LayerCommunicationTest.cpp - Collectives that backward repeats -----===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/mark/LayerCommunication.h"
#include "gtest/gtest.h"

using namespace mf;
using namespace mf::passes;
using Kind = CollectiveDecision::Kind;
using Choice = CommunicationChoice;

namespace {

class LayerCommunicationTest : public testing::Test {
protected:
  CollectiveRequest ask(Choice choice, const RecomputeTarget &setting) {
    return {choice, &setting};
  }
  Kind decide() { return decideCollective(site).kind; }
  const RecomputeTarget *getSetting() { return decideCollective(site).setting; }

  CollectiveSite site;
  RecomputeTarget ofProducer, ofReader;
};

TEST_F(LayerCommunicationTest, NothingIsDecidedWhereNothingIsSaid) {
  EXPECT_EQ(decide(), Kind::None);
  site.sumsParts = true;
  EXPECT_EQ(decide(), Kind::None);
}

TEST_F(LayerCommunicationTest, WhatGoesToReadersDoesWhatItsProducerSays) {
  site.producer = ask(Choice::Repeat, ofProducer);
  EXPECT_EQ(decide(), Kind::Repeat);
  EXPECT_EQ(getSetting(), &ofProducer);
  site.producer = ask(Choice::Keep, ofProducer);
  EXPECT_EQ(decide(), Kind::Keep);
}

TEST_F(LayerCommunicationTest, ReadersComeBeforeTheProducer) {
  site.producer = ask(Choice::Repeat, ofProducer);
  site.readers = {ask(Choice::Keep, ofReader)};
  EXPECT_EQ(decide(), Kind::Keep);
  EXPECT_EQ(getSetting(), &ofReader);
  site.producer = ask(Choice::Keep, ofProducer);
  site.readers = {ask(Choice::Repeat, ofReader), ask(Choice::Keep, ofReader)};
  EXPECT_EQ(decide(), Kind::Repeat);
}

TEST_F(LayerCommunicationTest, AnExcludeOnEitherSideComesFirst) {
  site.producer = ask(Choice::Exclude, ofProducer);
  site.readers = {ask(Choice::Repeat, ofReader)};
  EXPECT_EQ(decide(), Kind::Keep);
  EXPECT_EQ(getSetting(), &ofProducer);
  site.producer = ask(Choice::Repeat, ofProducer);
  site.readers.push_back(ask(Choice::Exclude, ofReader));
  EXPECT_EQ(decide(), Kind::Keep);
}

TEST_F(LayerCommunicationTest, ASumFollowsItsProducerAlone) {
  site.sumsParts = true;
  site.producer = ask(Choice::Repeat, ofProducer);
  site.readers = {ask(Choice::Repeat, ofReader)};
  EXPECT_EQ(decide(), Kind::None);
  site.isProducerRecomputed = true;
  EXPECT_EQ(decide(), Kind::Repeat);
  site.producer.reset();
  site.readers = {ask(Choice::Exclude, ofReader)};
  EXPECT_EQ(decide(), Kind::Repeat);
}

TEST_F(LayerCommunicationTest, ASumIsKeptWhereCommunicationIs) {
  site.sumsParts = site.isProducerRecomputed = true;
  site.producer = ask(Choice::Exclude, ofProducer);
  EXPECT_EQ(decide(), Kind::Keep);
  site.producer = ask(Choice::Keep, ofProducer);
  EXPECT_EQ(decide(), Kind::Keep);
  site.producer.reset();
  site.mpCommRecompute = false;
  EXPECT_EQ(decide(), Kind::Keep);
}

} // namespace
