// Numbers and words for people.

const gib = 2 ** 30;

// With four digits that count.
function formatDigits(value, fewest) {
  if (!(value > 0)) return (0).toFixed(fewest);
  const decimals = Math.min(9, Math.max(fewest, 3 - Math.floor(Math.log10(value))));
  return value.toFixed(decimals);
}

function formatSeconds(seconds) {
  const size = Math.abs(seconds);
  if (size >= 1) return formatDigits(seconds, 2) + " s";
  if (size >= 1e-3) return formatDigits(seconds * 1e3, 1) + " ms";
  return formatDigits(seconds * 1e6, 1) + " µs";
}

function formatBytes(bytes) {
  if (bytes >= gib / 10) return formatDigits(bytes / gib, 1) + " GiB";
  if (bytes >= 2 ** 20 / 10) return formatDigits(bytes / 2 ** 20, 1) + " MiB";
  return formatDigits(bytes / 2 ** 10, 0) + " KiB";
}

function formatCount(count) {
  return count.toLocaleString("en-US", {maximumFractionDigits: count < 1000 ? 1 : 0});
}

function formatShare(share, decimals = 1) {
  return (100 * share).toFixed(decimals) + " %";
}

const phaseNames = {F: "forward", B: "backward", I: "input gradient", W: "weight gradient"};
const phaseColors = {F: "--forward", B: "--backward", I: "--input-gradient", W: "--weight-gradient"};

// In the order of GapCause in lib/Timeline/Gaps.h.
const gapCauses = [
  {name: "exposed communication", color: "--communication", member: "exposed_communication_seconds"},
  {name: "stall", color: "--copy", member: "stall_seconds"},
  {name: "bubble", color: "--hatch", member: "bubble_seconds"},
];

// In the order of Category in include/mf/Timeline/StepTimeline.h; kernels by their engine.
const categoryColors = [
  null, "--communication", "--communication", "--communication", "--copy", "--copy",
  "--communication",
];

function describeTask(task, numChunks) {
  return phaseNames[task.phase] + " of micro-batch " + task.microBatch +
    (numChunks > 1 ? ", chunk " + task.chunk : "");
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

function fillLegend(id, entries) {
  document.getElementById(id).replaceChildren(...entries.map(({name, style, mark}) =>
    makeElement("li", {}, makeElement("i", {style: style || "", class: mark || ""}), name)));
}
