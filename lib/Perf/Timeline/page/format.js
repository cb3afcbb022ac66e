// SPDX-License-Identifier: Apache-2.0
//
// Numbers and words for people.

const gib = 2 ** 30;

// Digits behind the point with which four digits of a number count.
function getDecimals(value, fewest) {
  return value > 0 ? Math.min(9, Math.max(fewest, 3 - Math.floor(Math.log10(value)))) : fewest;
}

function formatDigits(value, fewest) {
  return value.toFixed(getDecimals(value, fewest));
}

// The units that things of a size are told in: their names and sizes.
function getTimeUnit(seconds) {
  return seconds >= 0.5 ? ["s", 1] : seconds >= 5e-4 ? ["ms", 1e-3] : ["µs", 1e-6];
}

function getByteUnit(bytes) {
  return bytes >= gib / 10 ? ["GiB", gib] : bytes >= 2 ** 20 / 10 ? ["MiB", 2 ** 20] :
    ["KiB", 2 ** 10];
}

function formatSeconds(seconds) {
  const [name, size] = getTimeUnit(seconds);
  return formatDigits(seconds / size, 1) + " " + name;
}

function formatBytes(bytes) {
  const [name, size] = getByteUnit(bytes);
  return formatDigits(bytes / size, 1) + " " + name;
}

// Numbers of a table have one unit and as many digits behind the point.
function makeFormat([, size], largest, fewest) {
  const decimals = getDecimals(largest / size, fewest);
  return value => (value / size).toFixed(decimals);
}

function formatCount(count) {
  return count.toLocaleString("en-US", {maximumFractionDigits: count < 1000 ? 1 : 0});
}

function formatShare(share, decimals = 1) {
  return (100 * share).toFixed(decimals) + " %";
}

// With digits that count where it is small.
function formatSmallShare(share) {
  return formatShare(share, getDecimals(1e4 * share, 1));
}

const phaseNames = {F: "forward", B: "backward", I: "input gradient", W: "weight gradient"};
const phaseColors = {F: "--forward", B: "--backward", I: "--input-gradient", W: "--weight-gradient"};

// In the order of GapCause in lib/Perf/Timeline/Gaps.h.
const gapCauses = [
  {name: "exposed communication", color: "--communication", member: "exposed_communication_seconds"},
  {name: "stall", color: "--copy", member: "stall_seconds"},
  {name: "bubble", color: "--hatch", member: "bubble_seconds"},
];

// In the order of Category in include/mf/Perf/Timeline/StepTimeline.h; kernels by their engine.
const categoryColors = [
  null, "--communication", "--communication", "--communication", "--copy", "--copy",
  "--communication",
];

function describeTask(task, chunks) {
  return phaseNames[task.phase] + " of micro-batch " + task.microBatch +
    (chunks.length > 1 ? ", chunk " + task.chunk : "");
}

// Elements are made of texts, never of markup: names come from programs.
function makeElement(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (name === "style") element.style.cssText = value;
    else element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// On a narrow screen each cell is a line, with the name of its column as page.css reads it here.
function nameCells(id) {
  const table = document.getElementById(id);
  const rows = [...table.tHead.rows];
  const names = [...rows.at(-1).cells].map(cell => cell.textContent);
  let column = 0;
  for (const group of rows.length > 1 ? rows[0].cells : [])
    for (let i = 0; i < group.colSpan; ++i, ++column)
      if (group.textContent && names[column]) names[column] += `, ${group.textContent}`;
  for (const row of table.tBodies[0].rows)
    [...row.cells].forEach((cell, i) => { cell.dataset.name = names[i] || ""; });
}

function fillLegend(id, entries) {
  document.getElementById(id).replaceChildren(...entries.map(({name, style, mark}) =>
    makeElement("li", {}, makeElement("i", {style: style || "", class: mark || ""}), name)));
}
