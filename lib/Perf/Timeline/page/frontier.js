// SPDX-License-Identifier: Apache-2.0
//
// The step against the limit on memory.

function makeSvg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const curveSize = {height: 260, left: 66, right: 16, top: 14, bottom: 44};

// Times of a scale: from a bit below the least to a bit above the largest.
function getTimeRange(points) {
  const times = points.map(point => point.seconds);
  const low = Math.min(...times), high = Math.max(...times);
  const margin = (high - low) * 0.08 || high * 0.01;
  return [low - margin, high + margin];
}

function describePoint(point) {
  return `${formatBytes(point.limit)}: ${point.seconds === null ? "no plan fits" :
    formatSeconds(point.seconds)}`;
}

function makeCurve(points, limit, width) {
  const {height, left, right, top, bottom} = curveSize;
  const [low, high] = getTimeRange(points);
  const first = points[0].limit, last = points[points.length - 1].limit;
  const toX = bytes => left + (bytes - first) / (last - first || 1) * (width - left - right);
  const toY = seconds => top + (high - seconds) / (high - low) * (height - top - bottom);
  const svg = makeSvg("svg", {viewBox: `0 0 ${width} ${height}`, role: "group",
    "aria-label": "Step time against the limit on memory"});
  const step = getTickStep(high - low, 4);
  for (let i = Math.ceil(low / step); i * step <= high; ++i)
    svg.append(makeSvg("line", {class: "axis", x1: left, x2: width - right, y1: toY(i * step), y2: toY(i * step)}),
      makeSvg("text", {x: left - 8, y: toY(i * step) + 4, "text-anchor": "end"}, formatTick(i * step, step)));
  for (const point of points)
    svg.append(makeSvg("text", {x: toX(point.limit), y: height - 24, "text-anchor": "middle"},
      formatBytes(point.limit).split(" ")[0].replace(/(\.\d).*/, "$1")));
  svg.append(makeSvg("text", {x: (left + width) / 2, y: height - 5, "text-anchor": "middle"},
    `limit, ${getByteUnit(first)[0]}`),
  makeSvg("line", {class: "limit", x1: toX(limit), x2: toX(limit), y1: top, y2: height - bottom}),
  makeSvg("polyline", {class: "line", points: points.map(point =>
    `${toX(point.limit)},${toY(point.seconds)}`).join(" ")}));
  for (const point of points) {
    const dot = makeSvg("circle", {cx: toX(point.limit), cy: toY(point.seconds), r: 6, tabindex: 0,
      role: "img", "aria-label": describePoint(point), class: point.limit === limit ? "here" : ""});
    addTip(dot, formatBytes(point.limit), () => [formatSeconds(point.seconds),
      point.isProven ? "proven" : `at most ${formatShare(point.gap, 2)} above the best`]);
    svg.append(dot);
  }
  return svg;
}

// A tooltip for the pointer and for the keyboard.
function addTip(element, title, getLines) {
  element.addEventListener("pointermove", event => showTooltip(event, title, getLines()));
  element.addEventListener("pointerleave", hideTooltip);
  element.addEventListener("focus", () => {
    const box = element.getBoundingClientRect();
    showTooltip({clientX: box.right, clientY: box.bottom}, title, getLines());
  });
  element.addEventListener("blur", hideTooltip);
}

function fillFrontier(data) {
  const {frontier, treatments, plan} = data;
  const solved = frontier.filter(point => point.seconds !== null);
  if (solved.length < 2) {
    document.getElementById("frontier").hidden = true;
    return;
  }
  const curve = document.getElementById("curve");
  const draw = () => curve.replaceChildren(
    makeCurve(solved, plan.limit_bytes, Math.min(900, curve.clientWidth)));
  draw();
  window.addEventListener("resize", draw);
  const names = ["limit", "step", ...treatments];
  const used = treatments.map((_, i) => solved.some(point => point.treated[i] > 0));
  const keep = (_, i) => i < 2 || used[i - 2];
  const header = makeElement("tr", {}, ...names.filter(keep).map(name =>
    makeElement("th", {scope: "col"}, name)));
  const rows = frontier.map(point => {
    const cells = point.seconds === null ? ["no plan fits"] :
      [formatSeconds(point.seconds), ...point.treated];
    return makeElement("tr", {}, makeElement("th", {scope: "row"}, formatBytes(point.limit)),
      ...cells.filter((_, i) => keep(_, i + 1)).map(cell => makeElement("td", {}, String(cell))));
  });
  document.getElementById("points").replaceChildren(
    makeElement("caption", {class: "note"}, "Layers under each treatment at each limit"),
    makeElement("thead", {}, header), makeElement("tbody", {}, ...rows));
  nameCells("points");
}
