// SPDX-License-Identifier: Apache-2.0
//
// The step's numbers, what limits it, and the table of stages.

function getBaseName(path) {
  return path.split("/").pop().replace(/\.mlir(bc)?$/, "") || "step";
}

function fillHeader(step) {
  const {report} = step;
  const title = getBaseName(step.program);
  document.title = title + ": a training step in time";
  document.getElementById("title").textContent = title;
  const count = (number, name) =>
    `${formatCount(number)} ${name}${number === 1 ? "" : name.endsWith("h") ? "es" : "s"}`;
  document.getElementById("subtitle").textContent = [
    report.source + (report.target ? " on " + report.target : ""),
    count(report.num_ranks, "rank"), count(report.stages.length, "stage"),
    count(report.micro_batches, "micro-batch"),
    count(report.tokens_per_step, "token") + " a step",
  ].join(" · ");
}

function fillNumbers(step) {
  const {report} = step;
  const peak = Math.max(0, ...report.stages.map(stage => stage.peak_bytes));
  const bubbles = report.stages.reduce((sum, stage) => sum + stage.bubble_seconds, 0);
  const bubble = bubbles / (report.stages.length * report.step_seconds || 1);
  const [time, unit] = formatSeconds(report.step_seconds).split(" ");
  const [bytes, bytesUnit] = formatBytes(peak).split(" ");
  const numbers = [
    ["step time", time, unit],
    ["tokens/s per NPU", formatCount(report.tokens_per_second_per_npu), ""],
    ["model FLOPs utilization", formatSmallShare(report.model_flops_utilization).slice(0, -2), "%"],
    ["hardware FLOPs utilization", formatSmallShare(report.hardware_flops_utilization).slice(0, -2), "%"],
    ["bubble, mean of stages", formatShare(bubble).slice(0, -2), "%"],
    ["largest peak of memory", bytes, bytesUnit],
  ];
  if (report.hardware_flops_utilization === 0) numbers.splice(2, 2);
  document.getElementById("numbers").replaceChildren(...numbers.map(([name, number, unit]) =>
    makeElement("div", {}, makeElement("dt", {}, name),
      makeElement("dd", {}, number + " ", makeElement("small", {}, unit)))));
}

// Sorts of work have hues; all else is computing.
const pathHues = [
  [/communication|all-to-all|messages/, "12 60%"], [/^copies/, "266 35%"],
  [/^(bubble|the host|others)$/, "210 8%"], [/./, "212 50%"],
];

// The largest of a sort is darkest.
function addPathColors(parts) {
  for (const part of parts) part.hue = pathHues.find(([words]) => words.test(part.words))[1];
  for (const part of parts) {
    const sort = parts.filter(other => other.hue === part.hue);
    const shade = (part.hue.startsWith("12 ") ? 46 : 38) + 24 * sort.indexOf(part) / Math.max(4, sort.length - 1);
    part.color = `hsl(${part.hue} ${shade}%)`;
  }
  return parts;
}

// Those that can be told apart, and the others in one.
function getPathParts(step) {
  const isLarge = ([, seconds]) => seconds >= 0.01 * step.seconds;
  const parts = step.path.filter(isLarge);
  const others = step.path.filter(part => !isLarge(part)).reduce((sum, part) => sum + part[1], 0);
  if (others > 0) parts.push(["others", others]);
  return addPathColors(parts.map(([words, seconds]) =>
    ({words, seconds, share: seconds / step.seconds})));
}

// What fits a part of the bar.
function getPathLabel({words, share}, width) {
  const percent = formatShare(share, 0);
  const letter = 7;
  if (share * width > letter * (words.length + percent.length + 4)) return `${words} ${percent}`;
  return share * width > letter * (percent.length + 1) ? percent : "";
}

function fillLimits(step) {
  if (step.path.length === 0) {
    document.getElementById("limits").hidden = true;
    return;
  }
  const text = step.limits.charAt(0).toUpperCase() + step.limits.slice(1) + ".";
  document.getElementById("limits-text").textContent = text;
  const parts = getPathParts(step);
  const bar = document.getElementById("path");
  bar.setAttribute("aria-label", text);
  bar.replaceChildren(...parts.map(part => {
    const element = makeElement("div",
      {style: `width: ${100 * part.share}%; background: ${part.color}`},
      getPathLabel(part, bar.clientWidth));
    element.addEventListener("pointermove", event =>
      showTooltip(event, part.words, [`${formatSeconds(part.seconds)}, ${formatShare(part.share)}`]));
    element.addEventListener("pointerleave", hideTooltip);
    return element;
  }));
  fillLegend("path-legend", parts.map(part =>
    ({name: part.words, style: "background: " + part.color})));
  document.getElementById("gains").replaceChildren(
    ...step.gains.map(gain => makeElement("li", {}, gain)));
}

const timeParts = [
  {name: "busy", member: "busy_seconds", style: "background: var(--busy)"},
  {name: "exposed communication", member: "exposed_communication_seconds",
    style: "background: var(--communication)"},
  {name: "stall", member: "stall_seconds", style: "background: var(--copy)"},
  {name: "bubble", member: "bubble_seconds", style: "", mark: "hatch"},
];

const memoryParts = [
  ["parameter", "parameters"], ["gradient", "gradients"],
  ["optimizer_state", "optimizer state"], ["activation", "activations"],
];

function makeTimeBar(step, stage) {
  const bar = makeElement("div");
  for (const part of timeParts.slice(0, 3))
    bar.append(makeElement("span",
      {style: `width: ${100 * stage[part.member] / (step.seconds || 1)}%; ${part.style}`}));
  return makeElement("td", {class: "bar"}, bar);
}

function makeStageRow(step, stage, formatTime, formatMemory) {
  const cells = [makeElement("td", {}, "stage " + stage.stage), makeTimeBar(step, stage)];
  for (const {member} of timeParts)
    cells.push(makeElement("td", {}, formatTime(stage[member]), makeElement("small", {},
      " " + formatShare(stage[member] / (step.seconds || 1)))));
  let others = stage.peak_bytes;
  for (const [category] of memoryParts) {
    others -= stage.bytes[category] || 0;
    cells.push(makeElement("td", {}, formatMemory(stage.bytes[category] || 0)));
  }
  const isOver = stage.limit_bytes > 0 && stage.peak_bytes > stage.limit_bytes;
  cells.push(makeElement("td", {}, formatMemory(others)),
    makeElement("td", {class: isOver ? "over" : ""}, formatMemory(stage.peak_bytes)),
    makeElement("td", {}, stage.limit_bytes > 0 ? formatMemory(stage.limit_bytes) : "none"),
    makeElement("td", {}, formatMemory(stage.host_bytes)));
  return makeElement("tr", {}, ...cells);
}

function fillTable(step) {
  const {report} = step;
  const peak = Math.max(...report.stages.map(stage => stage.peak_bytes), 0);
  const timeUnit = getTimeUnit(step.seconds), byteUnit = getByteUnit(peak);
  const groups = makeElement("tr", {class: "groups"}, makeElement("th"),
    makeElement("th", {colspan: 5}, `time, ${timeUnit[0]} and % of the step`),
    makeElement("th", {colspan: 8}, `memory at the peak, ${byteUnit[0]}`));
  const names = ["", "", ...timeParts.map(part => part.name), ...memoryParts.map(part => part[1]),
    "others", "peak", "limit", "host"];
  const header = makeElement("tr", {}, ...names.map(name => makeElement("th", {}, name)));
  const formatTime = makeFormat(timeUnit, step.seconds, 1);
  const formatMemory = makeFormat(byteUnit, peak, 1);
  document.getElementById("table").replaceChildren(makeElement("thead", {}, groups, header),
    makeElement("tbody", {}, ...report.stages.map(stage =>
      makeStageRow(step, stage, formatTime, formatMemory))));
  nameCells("table");
  fillLegend("stages-legend", timeParts);
}
