// SPDX-License-Identifier: Apache-2.0
//
// The page of mf-plan: given and planned side by side, and why.

function fillPlanHeader(data) {
  const {plan} = data;
  document.title = data.source + ": a plan";
  document.getElementById("title").textContent = data.source;
  document.getElementById("subtitle").textContent = data.about;
  const change = plan.planned.seconds / plan.given.seconds - 1;
  const peak = measure => Math.max(...measure.stages.map(stage => stage.peak_bytes));
  const numbers = [
    ["given step", formatSeconds(plan.given.seconds)],
    ["planned step", formatSeconds(plan.planned.seconds)],
    [change > 0 ? "longer" : "shorter", (100 * Math.abs(change)).toFixed(2) + " %"],
    ["given peak", formatBytes(peak(plan.given))],
    ["planned peak", formatBytes(peak(plan.planned))],
    ["limit", formatBytes(plan.limit_bytes)],
  ];
  document.getElementById("numbers").replaceChildren(...numbers.map(([name, text]) => {
    const [number, unit] = text.split(" ");
    return makeElement("div", {}, makeElement("dt", {}, name),
      makeElement("dd", {}, number + " ", makeElement("small", {}, unit)));
  }));
}

// What is swapped in the same way as a line; other settings as the YAML has them.
function showSetting(value) {
  if (Array.isArray(value) && value.length > 0 && value[0].layers) {
    const layers = new Map();
    for (const item of value) {
      const key = `${item.op_name || "all"}, backward_prefetch ${item.backward_prefetch}: layers `;
      layers.set(key, [...(layers.get(key) || []), ...item.layers]);
    }
    return [...layers].map(([key, numbers]) => key + numbers.join(", ")).join("\n");
  }
  return JSON.stringify(value).replace(/,/g, ", ");
}

// Settings by name; patterns of operators have rows of their own.
function flattenSettings(settings) {
  const rows = new Map();
  for (const [name, value] of Object.entries(settings)) {
    if (value === null || typeof value !== "object" || Array.isArray(value))
      rows.set(name, showSetting(value));
    else
      for (const [pattern, layers] of Object.entries(value))
        rows.set(name + ": " + pattern, showSetting(layers));
  }
  return rows;
}

function fillSettings(data) {
  const given = flattenSettings(data.given_settings);
  const planned = flattenSettings(data.plan.planned.settings);
  const names = [...new Set([...given.keys(), ...planned.keys()])].sort();
  const show = (rows, name, other) => rows.get(name) || other;
  const rows = names.map(name => {
    // What the plan does not name stays; a pattern that it leaves out is none's.
    const isPattern = name.includes(": ");
    const isRead = name.split(": ")[0] in data.given_settings;
    const before = show(given, name, isRead ? "–" : "as the YAML says");
    const after = show(planned, name, isPattern && isRead && !data.plan.planned.is_given ? "–" : before);
    return {name, before, after, isChanged: before !== after};
  }).filter(row => row.isChanged || data.plan.planned.is_given ||
    data.varied.includes(row.name));
  const header = makeElement("tr", {}, ...["setting", "given", "planned"].map(name =>
    makeElement("th", {scope: "col"}, name)));
  document.getElementById("settings").replaceChildren(makeElement("thead", {}, header),
    makeElement("tbody", {}, ...rows.map(row =>
      makeElement("tr", {class: row.isChanged ? "changed" : ""},
        makeElement("th", {scope: "row"}, row.name), makeElement("td", {}, row.before),
        makeElement("td", {}, row.after)))));
  nameCells("settings");
}

function getBusySeconds(measure, stage, microBatches) {
  return measure.chunks.filter(chunk => chunk.stage === stage).reduce((sum, chunk) =>
    sum + microBatches * (chunk.forward_seconds + chunk.backward_seconds),
  measure.stages[stage].update_seconds);
}

// Two bars on one scale: what is given, what is planned.
function makePair(given, planned, scale) {
  const bar = (value, color) => makeElement("div",
    {style: `width: ${100 * Math.min(1, value / scale)}%; background: ${color}`});
  return makeElement("td", {class: "pair", "aria-hidden": "true"}, makeElement("div", {class: "frame"},
    bar(given, "var(--given)"), bar(planned, "var(--busy)")));
}

function fillPlanStages(data) {
  const {given, planned, limit_bytes: limit} = data.plan;
  const busy = (measure, i, count) => getBusySeconds(measure, i, count);
  const seconds = planned.stages.map((_, i) => busy(planned, i, data.micro_batches));
  const before = given.stages.map((_, i) => busy(given, i, data.given_micro_batches));
  const mostBytes = Math.max(limit, ...given.stages.map(stage => stage.peak_bytes));
  const mostSeconds = Math.max(...seconds, ...before);
  const names = ["", "memory", "given", "planned", "room", "host", "time", "given", "planned"];
  const memory = makeFormat(getByteUnit(mostBytes), mostBytes, 1);
  const time = makeFormat(getTimeUnit(mostSeconds), mostSeconds, 1);
  const cells = (stage, i) => {
    const old = given.stages[i];
    return [
      makePair(old ? old.peak_bytes : 0, stage.peak_bytes, mostBytes),
      makeElement("td", {class: old && old.peak_bytes > limit ? "over" : ""}, old ? memory(old.peak_bytes) : "–"),
      makeElement("td", {}, memory(stage.peak_bytes)),
      makeElement("td", {}, memory(limit - stage.peak_bytes)),
      makeElement("td", {}, memory(stage.host_bytes)),
      makePair(before[i] || 0, seconds[i], mostSeconds),
      makeElement("td", {}, old ? time(before[i]) : "–"),
      makeElement("td", {}, time(seconds[i])),
    ];
  };
  const groups = makeElement("tr", {class: "groups"}, makeElement("td"),
    makeElement("th", {colspan: 5, scope: "colgroup"}, `memory at the peak, ${getByteUnit(mostBytes)[0]}`),
    makeElement("th", {colspan: 3, scope: "colgroup"}, `work in a step, ${getTimeUnit(mostSeconds)[0]}`));
  const header = makeElement("tr", {}, ...names.map(name =>
    makeElement(name ? "th" : "td", name ? {scope: "col"} : {}, name)));
  document.getElementById("table").replaceChildren(makeElement("thead", {}, groups, header),
    makeElement("tbody", {}, ...planned.stages.map((stage, i) => makeElement("tr", {},
      makeElement("th", {scope: "row"}, "stage " + i), ...cells(stage, i)))));
  nameCells("table");
  fillLegend("stages-legend", [{name: "given", style: "background: var(--given)"},
    {name: "planned", style: "background: var(--busy)"}]);
}

// The layers that would be treated in another way.
function describeChanges(data, changes) {
  const several = new Set(data.chunks.map(chunk => chunk.stage)).size < data.chunks.length;
  return changes.map(({chunk, kind, treatment, before, after}) => {
    const place = [...(data.kinds.length > 1 ? ["of " + kind] : []), ...(several ? ["in chunk " + chunk] : [])];
    const count = Math.abs(after - before);
    return [`${count} layer${count === 1 ? "" : "s"}`, ...place, after > before ? "more" : "fewer",
      getTreatmentStyle(treatment).layers].join(" ");
  }).join(", ");
}

function describeRefusal(data, stage) {
  const refusal = data.refusals.find(other => other.stage === stage);
  if (!refusal) return `stage ${stage}: no treatment of its layers is faster`;
  const planned = formatSeconds(data.plan.planned.seconds), time = formatSeconds(refusal.time || 0);
  const reason = refusal.missing_memory > 0 ?
    `but would need ${formatBytes(refusal.missing_memory)} more than the limit` :
    time === planned ? `and fits, but the step would still take ${planned}` :
      `and fits, but the step would then take ${time} instead of ${planned}`;
  return `stage ${stage}: ${describeChanges(data, refusal.changes)} would save ` +
    `${formatSeconds(refusal.saved)} per micro-batch, ${reason}`;
}

function fillWhy(data) {
  document.getElementById("bound").textContent = data.bound;
  document.getElementById("why").replaceChildren(...(data.chunks.length === 0 ? [] : data.plan.planned.stages)
    .map((_, stage) => makeElement("li", {}, describeRefusal(data, stage))));
}

window.addEventListener("error", event => {
  document.documentElement.dataset.error = event.message;
});
const planData = JSON.parse(document.getElementById("data").textContent);
for (const fill of [fillPlanHeader, fillSettings, fillPlanStages, fillLayers, fillFrontier, fillWhy, fillDiff])
  fill(planData);
