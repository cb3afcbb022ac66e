// SPDX-License-Identifier: Apache-2.0
//
// What the canvases share: colours of the theme, sharp pixels, a tooltip.

function getColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Looked up once a drawing.
function readPalette() {
  const names = ["--background", "--panel", "--ink", "--muted", "--line", "--work", "--hatch",
    "--communication", "--copy", "--busy", "--cube", "--vector", "--label", "--memory",
    "--memory-fill", "--limit", "--forward", "--backward", "--input-gradient",
    "--weight-gradient", "--shade", "--shade-step"];
  return Object.fromEntries(names.map(name => [name, getColor(name)]));
}

// A phase has a hue, a micro-batch a shade of it, so that neighbours differ.
function getTaskColor(palette, task, chunks) {
  const shade = Number(palette["--shade"]) +
    (task.microBatch % 4 - 1.5) * Number(palette["--shade-step"]);
  const [hue, saturation] = palette[phaseColors[task.phase]].split(" ");
  return `hsl(${Number(hue) + 14 * Math.max(0, chunks.indexOf(task.chunk))} ${saturation} ${shade}%)`;
}

// Gives a canvas the size of its place on the screen; returns what draws on it in CSS pixels.
function prepareCanvas(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

function makeHatch(context, color) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d");
  pen.strokeStyle = color;
  pen.lineWidth = 1.2;
  pen.beginPath();
  for (const offset of [-6, 0, 6]) {
    pen.moveTo(offset, 6);
    pen.lineTo(offset + 6, 0);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}

// A round number of seconds for about `count` intervals of `length`.
function getTickStep(length, count) {
  const rough = length / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map(factor => factor * power).find(step => step >= rough);
}

// Labels of a time axis have as many digits as tell its ticks apart.
function formatTick(seconds, step) {
  const [unit, factor] = step >= 0.1 ? ["s", 1] : step >= 1e-4 ? ["ms", 1e3] : ["µs", 1e6];
  const decimals = Math.max(0, -Math.floor(Math.log10(step * factor * 1.0001)));
  return (seconds * factor).toFixed(decimals) + " " + unit;
}

const tooltip = document.getElementById("tooltip");

function showTooltip(event, title, lines) {
  tooltip.replaceChildren(makeElement("b", {}, title),
    ...lines.filter(Boolean).map(line => makeElement("div", {}, line)));
  tooltip.hidden = false;
  const box = tooltip.getBoundingClientRect();
  const right = document.documentElement.clientWidth - box.width - 12;
  tooltip.style.left = window.scrollX + Math.max(4, Math.min(event.clientX + 14, right)) + "px";
  tooltip.style.top = window.scrollY + event.clientY + 18 + "px";
}

function hideTooltip() {
  tooltip.hidden = true;
}
